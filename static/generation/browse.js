// Walking a corpus by keyboard: j and k from one dialogue to the next, n and p from one page of the list to the next.

const typing = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])";

const rows = [...document.querySelectorAll("a[data-row]")];

function step(by) {
  const at = rows.indexOf(document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by;
  rows[next]?.focus();
}

function follow(relation) {
  document.querySelector(`a[rel="${relation}"]`)?.click();
}

const actions = rows.length
  ? { j: () => step(1), k: () => step(-1), n: () => follow("next"), p: () => follow("prev") }
  : { j: () => follow("next"), k: () => follow("prev"), n: () => follow("next"), p: () => follow("prev") };

// One box that ticks all of its kind.
for (const all of document.querySelectorAll("input[data-ticks]")) {
  const those = () => [...document.querySelectorAll(`input[name="${all.dataset.ticks}"]`)];
  const show = () => {
    const ticked = those().filter((box) => box.checked).length;
    all.checked = ticked > 0 && ticked === those().length;
    all.indeterminate = ticked > 0 && ticked < those().length;
  };
  all.addEventListener("change", () => those().forEach((box) => { box.checked = all.checked; }));
  for (const box of those()) box.addEventListener("change", show);
  show();
  all.closest("[hidden]").hidden = false;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.target.closest(typing)) return;
  if (document.querySelector("dialog[open]") || event.target.closest(".rail, .top")) return;
  const act = actions[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  act();
});
