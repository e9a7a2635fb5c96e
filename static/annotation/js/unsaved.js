// A form whose changes survive when another form or link of the same page is used: what was not saved is put back, and the
// page says so. It is kept for this tab only, until the form is sent or its page is left for another one.

const form = document.querySelector("form[data-unsaved]");
const notice = document.querySelector("[data-unsaved-notice]");
const place = `unsaved:${location.pathname}`;

function written() {
  const found = [...new FormData(form)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && typeof value === "string");
  return JSON.stringify(found);
}

function fill(pairs) {
  for (const field of form.elements) {
    if (!field.name || field.name === "csrfmiddlewaretoken" || field.type === "file") continue;
    const values = pairs.filter(([name]) => name === field.name).map(([, value]) => value);
    if (field.type === "checkbox" || field.type === "radio") field.checked = values.includes(field.value);
    else if (field.options) for (const option of field.options) option.selected = values.includes(option.value);
    else if (values.length) field.value = values[0];
  }
}

const saved = written();
const kept = sessionStorage.getItem(place);
sessionStorage.removeItem(place);
if (kept && kept !== saved && !form.querySelector("[aria-invalid]")) {
  fill(JSON.parse(kept));
  notice.hidden = false;
}

function keep() {
  const now = written();
  if (now !== saved) sessionStorage.setItem(place, now);
}

document.addEventListener("submit", (event) => {
  if (event.target !== form) keep();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (link && new URL(link.href).pathname === location.pathname) keep();
});
