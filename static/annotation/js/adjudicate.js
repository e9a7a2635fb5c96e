// The expert's keys: keep, reject, reason, next. Ctrl+Enter sends, also while the reason is being written.

import { keysOn } from "../../eqstudio/js/listen-keys.js";

const scope = document.querySelector("[data-adjudicate]");
const form = scope.querySelector("[data-decision]");
const next = document.querySelector("[data-next]");

function choose(verdict) {
  const radio = form?.querySelector(`input[name="verdict"][value="${verdict}"]`);
  return radio ? () => radio.click() : null;
}

const actions = {
  k: () => choose("keep"),
  r: () => choose("reject"),
  c: () => form && (() => form.elements.reason.focus()),
  n: () => next && (() => next.click()),
};

keysOn(scope, (event) => actions[event.key.toLowerCase()]?.() ?? null);

form?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) form.requestSubmit();
});

document.addEventListener("keydown", (event) => {
  const outside = !event.target.closest("form, button, a, summary, dialog");
  if (form && outside && event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
