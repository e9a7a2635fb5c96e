// The keys of the judging page, beside those of listening. Never while somebody types.

import { clipOf, currentClip, playAll } from "../../eqstudio/js/listen.js";
import { isTyping, keysOn } from "../../eqstudio/js/listen-keys.js";
import { fill } from "../../eqstudio/js/listen-core.js";
import { backToClip, itemClips, jumpTo, openComment, pick, showComment } from "./judge-item.js";
import { $, $$, place, state, tell, words } from "./judge-page.js";
import { canReport, closePanels, openPanel, panelOpen } from "./judge-panels.js";

function slotHere() {
  const focused = document.activeElement?.closest(".judge-slot[data-letter]");
  return focused ?? currentClip()?.element.closest(".judge-slot") ?? null;
}

function gradeHere(value) {
  const slot = slotHere();
  if (!slot?.dataset.letter) return;
  if (slot.querySelector(".judge-grades").disabled) tell(fill(words.hear, { what: slot.dataset.letter }));
  else pick(slot.querySelector(`input[value="${value}"]`));
}

function reject() {
  pick($('input[name="verdict"][value="reject"]'));
  $('input[name="reasons"]').focus({ preventScroll: true });
}

/** Digits belong to what has the focus: an open panel, the reasons, a question, else the version. */
function digit(key, target) {
  if (panelOpen() === "judge-skip-panel") {
    const button = $$("[data-skip-to]")[Number(key) - 1];
    return button ? () => button.click() : null;
  }
  if (target.closest("#judge-reasons")) {
    const box = $$('input[name="reasons"]')[Number(key) - 1];
    return box ? () => pick(box) : null;
  }
  const question = target.closest(".judge-question");
  if (question) {
    const radio = question.querySelectorAll("input")[Number(key) - 1];
    return radio ? () => pick(radio) : null;
  }
  return /^[1-4]$/.test(key) ? () => gradeHere(key) : null;
}

function escape() {
  closePanels();
  backToClip();
}

/** `act` has submit, undo and next, the deeds of the page itself. */
export function watchKeys(act) {
  keysOn(place, ({ key, target }) => {
    state.lastActivity = Date.now();
    const low = key.toLowerCase();
    const free = !target.closest("button, a, summary, select");
    if (low === "z") return act.undo;
    if (key === "Escape") return escape;
    if (state.nextHtml) return key === "Enter" && free ? act.next : null;
    if (!state.item || state.item.sent) return null;
    if (key === "Enter" && free) return act.submit;
    if (/^[1-9]$/.test(key)) return digit(key, target);
    if (low === $("#judge-form").dataset.commentKey) return $("#judge-comment-button") ? openComment : null;
    if (/^[a-z]$/.test(low) && $(`.judge-slot[data-letter="${low.toUpperCase()}"]`)) return () => jumpTo(low.toUpperCase());
    const skip = $("#judge-skip-panel") ? () => openPanel("judge-skip-panel") : null;
    const report = canReport() ? () => openPanel("judge-problem-panel") : null;
    const keep = () => pick($('input[name="verdict"][value="keep"]'));
    return { k: keep, r: reject, s: skip, w: report, p: () => playAll(itemClips()) }[low];
  });
  place.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !isTyping(event.target)) return;
    if (event.target.id === "judge-comment" && !event.target.value) showComment(false);
    escape();
  });
}

/** After a click on a choice: the clip that the keys belong to again. */
export function clipBeside(radio) {
  return clipOf(radio.closest(".judge-slot")?.querySelector(".clip"));
}
