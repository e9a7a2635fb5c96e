// The instructions: Enter begins, wherever the focus is, unless it is on something that has a use for Enter itself.

const form = document.getElementById("sit-begin");

addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("a, button, summary, input, select, textarea") || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  form.requestSubmit();
});
