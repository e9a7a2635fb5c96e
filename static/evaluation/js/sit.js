// The exam page: hear everything, answer, submit, next. Answers wait in the outbox until the server has them.

import { fill, make, wordsFrom } from "../../eqstudio/js/listen-core.js";
import { showVolume, watchTools } from "../../eqstudio/js/listen-tools.js";
import { clipOf, clipsIn, currentClip, dispose, enhance, pauseAll, playAll, playFrom } from "../../eqstudio/js/listen.js";
import { keysOn, leaveRadio } from "../../eqstudio/js/listen-keys.js";
import { newKey, Outbox } from "../../annotation/js/outbox.js";

const KEEP_MS = 1000;

const page = document.getElementById("sit");
const place = document.getElementById("sit-question");
const news = document.getElementById("sit-news");
const words = wordsFrom("sit-words", {});
const outbox = new Outbox({
  user: page.dataset.user,
  strip: document.getElementById("sit-outbox"),
  loginUrl: page.dataset.login,
  onStored,
  onRefused,
});
const { drafts } = outbox;

let question = null;
let keepTimer = null;
let nextHtml = null; // waits behind what a practice answer would have been

const $ = (selector) => place.querySelector(selector);
const $$ = (selector) => [...place.querySelectorAll(selector)];
const now = () => new Date().toISOString();

function begin() {
  const block = $("#sit-data");
  question = null;
  nextHtml = null;
  if (!block) return;
  const data = JSON.parse(block.textContent);
  enhance(place);
  showVolume(place);
  const counts = { changes: 0, losses: 0, pastes: 0, activeMs: 0 };
  const said = { answer: null, confidence: null, comment: "" };
  const fresh = { key: newKey(), ...said, heard: {}, plays: {}, ...counts, shownAt: now(), firstPlayAt: "" };
  question = { ...fresh, ...drafts.get(data.trial), ...data, sent: false };
  for (const clip of clipsIn(place)) clip.restore(question.heard[clip.id]);
  fillIn();
  refresh();
  const first = clipsIn(place)[0];
  if (first) first.wave.focus({ preventScroll: true });
  else $('[name="answer"]')?.focus();
}

function fillIn() {
  const sure = question.confidence && $(`input[name="confidence"][value="${question.confidence}"]`);
  if (sure) sure.checked = true;
  const comment = $("#sit-comment");
  if (comment) comment.value = question.comment;
  if (question.answer === null) return;
  const text = $("#sit-text");
  if (text) text.value = question.answer;
  else $(`input[name="answer"][value="${question.answer}"]`).checked = true;
}

function unheard() {
  return clipsIn(place).filter((clip) => !clip.done);
}

function hasAnswer() {
  return typeof question.answer === "string" ? question.answer.trim() !== "" : question.answer !== null;
}

function missing() {
  const found = unheard().map((clip) => ({ text: fill(words.hear, { what: clip.label }), go: () => clip.wave.focus() }));
  const field = () => $('[name="answer"]').focus();
  if (!hasAnswer()) found.push({ text: $("#sit-text") ? words.write : words.choose, go: field });
  return found;
}

function refresh() {
  const locked = question.sent || unheard().length > 0;
  for (const field of $$('[name="answer"]')) field.disabled = locked;
  for (const field of $$('[name="confidence"], [name="comment"]')) field.disabled = question.sent;
  const open = missing();
  $("#sit-submit").setAttribute("aria-disabled", String(!nextHtml && (question.sent || open.length > 0)));
  if (nextHtml) $("#sit-submit-text").textContent = words.next;
  else $("#sit-submit-text").textContent = question.sent ? words.sending : open[0]?.text ?? words.submit;
}

function keep() {
  clearTimeout(keepTimer);
  keepTimer = null;
  if (!question || question.sent) return;
  const { trial, number, sent, ...draft } = question;
  drafts.put(trial, { ...draft, at: Date.now() });
}

place.addEventListener("input", (event) => {
  if (!question || question.sent) return;
  const { name, value } = event.target;
  if (name === "confidence") question.confidence = Number(value);
  if (name === "comment") question.comment = value;
  if (name === "confidence" || name === "comment") keep();
  if (name !== "answer") return;
  if (question.answer !== null && event.target.type === "radio") question.changes += 1;
  question.answer = question.number ? Number(value) : value;
  refresh();
  keep();
});

place.addEventListener("paste", () => {
  if (question && !question.sent) question.pastes += 1;
});

place.addEventListener("click", (event) => {
  const radio = event.target.closest('input[type="radio"]');
  if (radio && event.detail > 0) leaveRadio(radio, clipOf(radio.closest(".sit-option")?.querySelector(".clip")));
});

place.addEventListener("clip:progress", ({ detail }) => {
  if (!question || question.sent) return;
  question.heard[detail.id] = detail.heard;
  question.plays[detail.id] = Math.max(question.plays[detail.id] ?? 0, detail.plays);
  if (detail.playing) question.firstPlayAt ||= now();
  refresh();
  keepTimer ??= setTimeout(keep, KEEP_MS);
});

place.addEventListener("clip:report", ({ detail }) => {
  const clip = clipsIn(place).find((candidate) => candidate.id === detail.id);
  tell(fill(words.notHeard, { what: clip?.label ?? "" }), "warn");
  const button = make("button", { type: "button", class: "btn", text: words.goOn });
  button.addEventListener("click", () => send({ failure: "not_heard", error: `${clip?.label ?? ""}: ${detail.message}`.slice(0, 400) }));
  news.append(button);
});

place.addEventListener("submit", (event) => {
  if (event.target.id !== "sit-form") return;
  event.preventDefault();
  submit();
});

function submit() {
  if (nextHtml) {
    swap(nextHtml);
    return;
  }
  if (!question || question.sent) return;
  const open = missing();
  if (open.length) open[0].go();
  else {
    const { answer, confidence, comment } = question;
    send({ answer: typeof answer === "string" ? answer.trim() : answer, confidence, comment });
  }
}

async function send(said) {
  if (question.sent) return;
  pauseAll();
  keep();
  question.sent = true;
  refresh();
  const { trial, key, heard, plays, changes, losses, pastes, activeMs, shownAt, firstPlayAt } = question;
  const paradata = {
    shown_at: shownAt,
    first_play_at: firstPlayAt,
    submitted_at: now(),
    plays,
    changes,
    focus_losses: losses,
    pastes,
    active_ms: activeMs,
  };
  await outbox.put({ key, url: page.dataset.answer, body: { trial, client_key: key, heard, paradata, ...said }, draft: trial });
  if (!question?.sent || question.trial !== trial || nextHtml) return;
  $("#sit-submit-text").textContent = words.waiting;
  tell(words.wait);
}

function onStored(entry, data) {
  if (data.sitting !== page.dataset.sitting) return;
  tell("");
  clearTimeout(keepTimer);
  keepTimer = null;
  const here = question?.trial === entry.body.trial && $("#sit-feedback");
  if (here && data.feedback) told(here, data);
  else swap(data.html);
}

function swap(html) {
  pauseAll();
  dispose(place);
  place.innerHTML = html;
  scrollTo(0, 0);
  begin();
}

/** What was expected, above the question as it was answered; the next one waits for Enter. */
function told(here, { feedback, html }) {
  nextHtml = html;
  refresh();
  here.innerHTML = feedback;
  scrollTo(0, 0);
  $(".judge-told").focus({ preventScroll: true });
}

function onRefused(entry, data) {
  if (question?.trial !== entry.body.trial) return false;
  question.sent = false;
  refresh();
  tell(fill(words.failed, { message: data.error ?? "" }), "bad");
  return true;
}

function tell(text, kind = "") {
  news.className = `judge-news row ${kind ? `notice ${kind}` : ""}`;
  news.replaceChildren(...(text ? [make("span", { text })] : []));
}

function choose(radio) {
  if (!radio) return;
  if (radio.disabled) {
    missing()[0].go();
    return;
  }
  radio.checked = true;
  radio.dispatchEvent(new Event("input", { bubbles: true }));
}

function playOption(option) {
  const clip = clipOf(option.querySelector(".clip"));
  if (clip) playFrom(clip);
  else choose(option.querySelector("input"));
}

keysOn(place, ({ key, target }) => {
  const enter = key === "Enter" && !target.closest("button, a, summary");
  const pause = $("#sit-begin");
  if (enter && pause) return () => pause.requestSubmit();
  if (nextHtml) return enter ? submit : null;
  if (!question || question.sent) return null;
  if (enter) return submit;
  if (key.toLowerCase() === "p") return () => playAll(clipsIn(place));
  if (/^[1-9]$/.test(key)) return () => choose($$('input[name="answer"]')[Number(key) - 1]);
  const option = /^[a-z]$/i.test(key) && $(`.sit-option[data-letter="${key.toUpperCase()}"]`);
  return option ? () => playOption(option) : null;
});

setInterval(() => {
  const here = document.visibilityState === "visible" && (document.hasFocus() || currentClip()?.playing);
  if (question && !question.sent && here) question.activeMs += 1000;
}, 1000);
addEventListener("blur", () => {
  if (question) question.losses += 1;
});
addEventListener("pagehide", keep);
watchTools(place, () => clipsIn(place), () => (currentClip() ?? clipsIn(place)[0])?.wave.focus({ preventScroll: true }));

begin();
outbox.flush();
