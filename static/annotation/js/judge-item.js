// One item: read from the page, filled in with what is known of it, and what is still missing.

import { fill } from "../../eqstudio/js/listen-core.js";
import { clipOf, clipsIn, currentClip } from "../../eqstudio/js/listen.js";
import { newKey } from "./outbox.js";
import { $, $$, place, state, words } from "./judge-page.js";

/** The clips that are judged or lead up to it, in order; examples of the guidelines are none of them. */
export function itemClips() {
  const lines = $(".judge-lines");
  return lines ? clipsIn(lines) : [];
}

/** Read the item of the page with the newest draft: that of this browser (`here`), else the server's. */
export function readItem(data, here) {
  const there = data.draft ?? {};
  const fromServer = there.verdict !== undefined && !there.at && !data.revise;
  const { active_ms: activeMs = 0, ...rest } = there;
  const draft = here && !fromServer && here.at >= (there.at ?? 0) ? here : { activeMs, ...rest };
  const empty = { grades: {}, verdict: "", reasons: [], comment: "", answers: {}, heard: {}, activeMs: 0 };
  return { ...data, key: newKey(), ...empty, ...draft, sent: false, touched: Object.keys(draft).length > 1 };
}

/** What is kept and sent of an item. */
export function answerOf({ key, grades, verdict, reasons, comment, answers, heard, activeMs }) {
  return { key, grades, verdict, reasons, comment, answers, heard, activeMs };
}

export function fillIn() {
  const { item } = state;
  for (const clip of itemClips()) clip.restore(item.heard[clip.id]);
  for (const { uid, letter } of item.judged) check(`input[name="grade-${letter}"][value="${item.grades[uid]}"]`);
  for (const name of item.asked) check(`input[name="answer-${name}"][value="${item.answers[name]}"]`);
  check(`input[name="verdict"][value="${item.verdict}"]`);
  for (const box of $$('input[name="reasons"]')) box.checked = item.reasons.includes(box.value);
  $("#judge-comment").value = item.comment;
  showComment(Boolean(item.comment) || item.commentMode === "required");
}

function check(selector) {
  const input = $(selector);
  if (input) input.checked = true;
}

export function showComment(open) {
  $("#judge-comment-field").hidden = !open;
  $("#judge-comment-button")?.setAttribute("aria-expanded", String(open));
}

export function openComment() {
  showComment(true);
  $("#judge-comment").focus();
}

export function toggleComment() {
  if ($("#judge-comment-field").hidden) openComment();
  else if (!state.item.comment) showComment(false);
  else $("#judge-comment").focus();
}

export function jumpTo(letter) {
  const slot = $(`.judge-slot[data-letter="${letter}"]`);
  const clip = clipOf(slot?.querySelector(".clip"));
  if (clip) clip.wave.focus();
  else slot?.querySelector("input")?.focus();
}

/** Focus a choice, with all that may be chosen there in view. */
function goTo(input) {
  input.focus({ preventScroll: true });
  (input.closest("fieldset") ?? input).scrollIntoView({ block: "nearest" });
}

/** The keys belong to the sound again. */
export function backToClip() {
  const clip = currentClip() ?? itemClips()[0];
  if (clip) clip.wave.focus({ preventScroll: true });
  else document.activeElement?.blur();
}

/** What still has to be done before the item can be submitted, first things first: {text, go}. */
export function missing() {
  const { item } = state;
  const to = (selector) => () => goTo($(selector));
  const found = itemClips()
    .filter((clip) => !clip.done)
    .map((clip) => ({ text: fill(words.hear, { what: clip.label }), go: () => clip.wave.focus() }));
  for (const { uid, letter } of item.verdict === "reject" ? [] : item.judged) {
    if (!item.grades[uid]) found.push({ text: fill(words.grade, { what: letter }), go: () => jumpTo(letter) });
  }
  for (const name of item.asked) {
    const box = `input[name="answer-${name}"]`;
    const what = $(box).closest("fieldset").dataset.short;
    if (item.answers[name] === undefined) found.push({ text: fill(words.answer, { what }), go: to(box) });
  }
  if (!item.verdict) found.push({ text: words.verdict, go: to('input[name="verdict"]') });
  return [...found, ...missingWords(item, to)];
}

function missingWords(item, to) {
  const found = [];
  const said = item.comment.trim();
  const reject = item.verdict === "reject";
  if (reject && !item.reasons.length) found.push({ text: words.reason, go: to('input[name="reasons"]') });
  if (reject && item.reasons.includes("other") && !said) found.push({ text: words.comment, go: openComment });
  else if (item.commentMode === "required" && !said) found.push({ text: words.commentNeeded, go: openComment });
  return found;
}

/** Show what may be done now and what is missing. */
export function refresh() {
  const { item } = state;
  for (const slot of $$(".judge-slot[data-letter]")) {
    const clip = clipOf(slot.querySelector(".clip"));
    slot.querySelector(".judge-grades").disabled = item.sent || Boolean(clip && !clip.done);
    slot.classList.toggle("is-done", Boolean(item.grades[slot.dataset.uid]));
  }
  const reasons = $("#judge-reasons");
  const appears = reasons.hidden && item.verdict === "reject";
  reasons.hidden = item.verdict !== "reject";
  if (appears) reasons.scrollIntoView({ block: "nearest" });
  const open = missing();
  const button = $("#judge-submit");
  const ready = item.revise ? words.change : words.submit;
  button.setAttribute("aria-disabled", String(!state.nextHtml && (item.sent || open.length > 0)));
  button.title = open.map((part) => part.text).join("\n");
  if (state.nextHtml) $("#judge-submit-text").textContent = words.next;
  else $("#judge-submit-text").textContent = item.sent ? words.sending : open[0]?.text ?? ready;
}

/** Take over what was changed in the form; false when it was nothing of the answer. */
export function takeChange({ target }) {
  const { item } = state;
  const { name, value, checked } = target;
  if (name.startsWith("grade-")) item.grades[target.closest(".judge-slot").dataset.uid] = Number(value);
  else if (name.startsWith("answer-")) {
    item.answers[name.slice("answer-".length)] = "number" in target.dataset ? Number(value) : value;
  } else if (name === "verdict") item.verdict = value;
  else if (name === "reasons") {
    item.reasons = checked ? [...item.reasons, value] : item.reasons.filter((code) => code !== value);
  } else return false;
  return true;
}

/** Choose a radio button or a box as a click would. */
export function pick(input) {
  input.checked = input.type === "radio" ? true : !input.checked;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Nothing more can be entered: the answer is on its way, or stored. */
export function freeze() {
  for (const input of place.querySelectorAll("#judge-form input, #judge-form textarea")) {
    if (input.id !== "judge-volume") input.disabled = true;
  }
}
