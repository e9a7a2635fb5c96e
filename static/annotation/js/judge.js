// The judging page: listen, grade, decide, submit, next. Every change is kept here at once and on the server soon after.

import { fill, make, wordsFrom } from "../../eqstudio/js/listen-core.js";
import { clipOf, clipsIn, currentClip, dispose, enhance, pauseAll } from "../../eqstudio/js/listen.js";
import { keysOn, leaveRadio } from "../../eqstudio/js/listen-keys.js";
import { newKey, Outbox, postJson } from "./outbox.js";

const HEARTBEAT_MS = 60000;
const SERVER_DRAFT_MS = 700;
const LOCAL_DRAFT_MS = 1000;
const IDLE_AFTER_MS = 30000;

const page = document.getElementById("judge");
const place = document.getElementById("judge-item");
const news = document.getElementById("judge-news");
const words = wordsFrom("judge-words", {});
const outbox = new Outbox({
  user: page.dataset.user,
  strip: document.getElementById("judge-outbox"),
  loginUrl: page.dataset.login,
  onStored,
  onRefused,
});
const { drafts } = outbox;

let item = null;
let undoable = null;
let lastActivity = Date.now();
const timers = {};

const $ = (selector) => place.querySelector(selector);
const $$ = (selector) => [...place.querySelectorAll(selector)];
const time = (when, options) => new Date(when).toLocaleTimeString(document.documentElement.lang, options);
const hourMinute = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

/* One item: read it from the page, fill in what is known of it, show what is missing. */

function begin() {
  const block = $("#judge-data");
  item = null;
  if (!block) {
    beginWaiting();
    return;
  }
  const data = JSON.parse(block.textContent);
  enhance(place);
  item = { ...data, ...emptyAnswer(), ...newestDraft(data), sent: false };
  fillIn();
  place.addEventListener("clip:progress", onProgress);
  place.addEventListener("clip:report", onReport);
  showReserved(data.leaseUntil);
  refresh();
  clipsIn(place)[0]?.wave.focus({ preventScroll: true });
}

function emptyAnswer() {
  return { key: newKey(), grades: {}, verdict: "", reasons: [], comment: "", heard: {}, activeMs: 0 };
}

function newestDraft({ assignment, draft }) {
  const here = drafts.get(assignment);
  const there = draft ?? {};
  const fromUndo = there.verdict !== undefined && !there.at;
  if (here && !fromUndo && here.at >= (there.at ?? 0)) return here;
  const { active_ms: activeMs = 0, ...rest } = there;
  return { activeMs, ...rest };
}

function fillIn() {
  for (const clip of clipsIn(place)) clip.restore(item.heard[clip.id]);
  for (const { uid, letter } of item.judged) {
    const radio = $(`input[name="grade-${letter}"][value="${item.grades[uid]}"]`);
    if (radio) radio.checked = true;
  }
  const verdict = $(`input[name="verdict"][value="${item.verdict}"]`);
  if (verdict) verdict.checked = true;
  for (const box of $$('input[name="reasons"]')) box.checked = item.reasons.includes(box.value);
  $("#judge-comment").value = item.comment;
  showComment(Boolean(item.comment));
}

function showComment(open) {
  $("#judge-comment-field").hidden = !open;
  $("#judge-comment-button").setAttribute("aria-expanded", String(open));
}

/** What still has to be done before the item can be submitted, first things first. */
function missing() {
  const found = clipsIn(place)
    .filter((clip) => !clip.done)
    .map((clip) => ({ text: fill(words.hear, { what: clip.label }), go: () => clip.wave.focus() }));
  if (item.verdict !== "reject") {
    for (const { uid, letter } of item.judged) {
      if (!item.grades[uid]) found.push({ text: fill(words.grade, { what: letter }), go: () => jumpTo(letter) });
    }
  }
  if (!item.verdict) found.push({ text: words.verdict, go: () => $('input[name="verdict"]').focus() });
  if (item.verdict === "reject" && !item.reasons.length) {
    found.push({ text: words.reason, go: () => $('input[name="reasons"]').focus() });
  }
  if (item.verdict === "reject" && item.reasons.includes("other") && !item.comment.trim()) {
    found.push({ text: words.comment, go: openComment });
  }
  return found;
}

function refresh() {
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
  button.setAttribute("aria-disabled", String(item.sent || open.length > 0));
  button.title = open.map((part) => part.text).join("\n");
  $("#judge-submit-text").textContent = item.sent ? words.sending : open[0]?.text ?? words.submit;
}

function showReserved(until) {
  $("#judge-reserved").textContent = fill(words.reserved, { time: time(until, hourMinute) });
}

/* Changes and drafts */

place.addEventListener("change", (event) => {
  if (!item || item.sent) return;
  const { name, value, checked } = event.target;
  if (name.startsWith("grade-")) item.grades[event.target.closest(".judge-slot").dataset.uid] = Number(value);
  else if (name === "verdict") item.verdict = value;
  else if (name === "reasons") {
    item.reasons = checked ? [...item.reasons, value] : item.reasons.filter((code) => code !== value);
  }
  changed();
});

place.addEventListener("input", (event) => {
  if (!item || event.target.id !== "judge-comment") return;
  item.comment = event.target.value;
  changed();
});

place.addEventListener("click", (event) => {
  const radio = event.target.closest('input[type="radio"]');
  if (radio && event.detail > 0) leaveRadio(radio, clipOf(radio.closest(".judge-slot")?.querySelector(".clip")));
  if (event.target.closest("#judge-comment-button")) toggleComment();
  else if (event.target.closest("#judge-skip")) skip("");
  else if (event.target.closest("#judge-problem")) skip(fill("{what}: {clip}", { what: words.audio, clip: currentClip()?.label }));
  else if (event.target.closest("#judge-look")) look();
});

place.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});

function onProgress({ detail }) {
  if (!item || item.sent) return;
  const wasDone = item.doneClips?.has(detail.id);
  item.doneClips ??= new Set();
  item.heard[detail.id] = detail.heard;
  lastActivity = Date.now();
  if (detail.done && !wasDone) {
    item.doneClips.add(detail.id);
    changed();
  } else if (!detail.playing) changed();
  else timers.local ??= setTimeout(keepHere, LOCAL_DRAFT_MS);
}

function onReport({ detail }) {
  const clip = clipsIn(place).find((candidate) => candidate.id === detail.id);
  skip(`${words.audio}: ${clip?.label ?? ""}: ${detail.message}`.slice(0, 200));
}

function changed() {
  lastActivity = Date.now();
  refresh();
  keepHere();
  clearTimeout(timers.server);
  timers.server = setTimeout(keepThere, SERVER_DRAFT_MS);
}

function draftNow() {
  const { key, grades, verdict, reasons, comment, heard, activeMs } = item;
  return { key, grades, verdict, reasons, comment, heard, activeMs, at: Date.now() };
}

function keepHere() {
  clearTimeout(timers.local);
  timers.local = null;
  if (item && !item.sent) drafts.put(item.assignment, draftNow());
}

async function keepThere({ keepalive = false } = {}) {
  clearTimeout(timers.server);
  timers.server = null;
  if (!item || item.sent) return;
  const { assignment } = item;
  const result = await postJson(page.dataset.draft, { assignment, draft: draftNow() }, { keepalive });
  if (item?.assignment !== assignment) return;
  const sentence = result.state === "stored" ? words.saved : words.savedHere;
  $("#judge-saved").textContent = fill(sentence, { time: time(Date.now(), { hourCycle: "h23" }) });
}

/* Submit, skip, undo, next */

async function submit() {
  if (!item || item.sent) return;
  const open = missing();
  if (open.length) {
    open[0].go();
    return;
  }
  pauseAll();
  keepHere();
  clearTimeout(timers.server);
  item.sent = true;
  refresh();
  const { assignment, key, grades, verdict, reasons, comment, heard, activeMs } = item;
  const body = { assignment, client_key: key, verdict, grades, reasons, comment, heard, active_ms: activeMs };
  if (verdict !== "reject") body.reasons = [];
  await outbox.put({ key, url: page.dataset.submit, body, draft: assignment });
  if (!item?.sent || item.assignment !== assignment) return;
  $("#judge-submit-text").textContent = words.waiting;
  tell(words.wait);
}

function onStored(entry, data) {
  if (data.round !== page.dataset.round) return;
  undoable = { judgement: data.judgement, until: Date.parse(data.undo_until) };
  if (!item || item.sent || item.assignment === entry.body.assignment) swap(data.html);
  tellStored(data.late);
}

function onRefused(entry, data) {
  if (!item || item.assignment !== entry.body.assignment) return false;
  item.sent = false;
  refresh();
  tell(fill(words.failed, { message: data.error ?? "" }), "bad");
  return true;
}

async function ask(url, body) {
  const result = await postJson(url, body);
  if (result.state === "stored") return result.data;
  tell(result.state === "refused" ? fill(words.failed, { message: result.data.error ?? "" }) : words.offline, "bad");
  return null;
}

async function skip(reason) {
  if (!item || item.sent) return;
  pauseAll();
  await keepThere();
  const data = await ask(page.dataset.skip, { assignment: item.assignment, reason });
  if (!data) return;
  undoable = null;
  swap(data.html);
  tell(words.skipped);
}

async function undo() {
  if (!undoable || undoable.until < Date.now()) return;
  const { judgement } = undoable;
  undoable = null;
  if (item) await keepThere();
  const data = await ask(page.dataset.undo, { judgement });
  if (!data) return;
  swap(data.html);
  tell(words.undone);
}

async function look() {
  const answer = await fetch(page.dataset.next, { headers: { Accept: "application/json" }, redirect: "manual" }).catch(
    (error) => {
      if (error instanceof TypeError) return null;
      throw error;
    },
  );
  if (answer?.ok) swap((await answer.json()).html);
  else {
    tell(words.offline, "bad");
    timers.look = setTimeout(look, HEARTBEAT_MS);
  }
}

function swap(html) {
  for (const name of Object.keys(timers)) {
    clearTimeout(timers[name]);
    timers[name] = null;
  }
  pauseAll();
  dispose(place);
  place.innerHTML = html;
  scrollTo(0, 0);
  begin();
}

function beginWaiting() {
  const done = $(".judge-done");
  const until = Date.parse(done?.dataset.until ?? "");
  if (!until) return;
  $(".judge-until").textContent = time(until, hourMinute);
  timers.look = setTimeout(look, Math.min(600000, Math.max(5000, until - Date.now() + 1000)));
}

/* What the page says about itself */

function tell(text, kind = "") {
  clearTimeout(timers.news);
  news.className = `judge-news row ${kind ? `notice ${kind}` : ""}`;
  news.replaceChildren(make("span", { text }));
}

function tellStored(late) {
  tell(late ? words.storedLate : words.stored);
  const left = undoable.until - Date.now();
  if (left <= 0) return;
  const button = make("button", { type: "button", class: "btn" }, `${words.undo} `, make("kbd", { text: "z" }));
  button.addEventListener("click", undo);
  news.append(button);
  timers.undo = setTimeout(() => {
    button.remove();
    undoable = null;
  }, Math.min(left, 2 ** 31 - 1));
}

/* Keys */

function openComment() {
  showComment(true);
  $("#judge-comment").focus();
}

function toggleComment() {
  if ($("#judge-comment-field").hidden) openComment();
  else if (!item.comment) showComment(false);
  else $("#judge-comment").focus();
}

function slotHere() {
  const focused = document.activeElement?.closest(".judge-slot");
  return focused ?? currentClip()?.element.closest(".judge-slot") ?? null;
}

function jumpTo(letter) {
  const slot = $(`.judge-slot[data-letter="${letter}"]`);
  const clip = clipOf(slot?.querySelector(".clip"));
  if (clip) clip.wave.focus();
  else slot?.querySelector("input")?.focus();
}

function gradeHere(value) {
  const slot = slotHere();
  if (!slot?.dataset.letter) return;
  const radio = slot.querySelector(`input[value="${value}"]`);
  if (slot.querySelector(".judge-grades").disabled) {
    tell(fill(words.hear, { what: slot.dataset.letter }));
    return;
  }
  radio.checked = true;
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}

function choose(value) {
  const radio = $(`input[name="verdict"][value="${value}"]`);
  radio.checked = true;
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}

function keyAction({ key, target }) {
  lastActivity = Date.now();
  const low = key.toLowerCase();
  if (low === "z") return undo;
  if (!item || item.sent) return null;
  if (key === "Enter" && !target.closest("button, a, summary")) return submit;
  if (/^[1-4]$/.test(key)) return () => gradeHere(key);
  if (low === $("#judge-comment-button").dataset.key) return openComment;
  if (/^[a-z]$/.test(low) && $(`.judge-slot[data-letter="${low.toUpperCase()}"]`)) return () => jumpTo(low.toUpperCase());
  return { k: () => choose("keep"), r: () => choose("reject"), s: () => skip("") }[low];
}

keysOn(place, keyAction);

/* The reservation, active time, leaving the page */

setInterval(async () => {
  if (!item || document.visibilityState !== "visible") return;
  const { assignment } = item;
  const result = await postJson(page.dataset.heartbeat, { assignment });
  if (item?.assignment !== assignment) return;
  if (result.state === "stored") showReserved(result.data.lease_until);
  else if (result.state === "refused") $("#judge-reserved").textContent = words.ended;
}, HEARTBEAT_MS);

setInterval(() => {
  const active = Date.now() - lastActivity < IDLE_AFTER_MS || currentClip()?.playing;
  if (item && !item.sent && active && document.visibilityState === "visible") item.activeMs += 1000;
}, 1000);

for (const name of ["pointerdown", "wheel"]) {
  addEventListener(name, () => {
    lastActivity = Date.now();
  }, { passive: true });
}
addEventListener("pagehide", () => {
  keepHere();
  if (timers.server) keepThere({ keepalive: true });
});

begin();
outbox.flush();
