// A page with several scales: hear everything, give each group a number, submit, next. What was entered waits in the outbox
// until the server has it.

import { fill, wordsFrom } from "../../eqstudio/js/listen-core.js";
import { clipsIn, currentClip, dispose, enhance, pauseAll } from "../../eqstudio/js/listen.js";
import { keysOn } from "../../eqstudio/js/listen-keys.js";
import { newKey, Outbox } from "../../annotation/js/outbox.js";

const KEEP_MS = 1000;

const page = document.getElementById("scales");
const place = document.getElementById("scales-question");
const news = document.getElementById("scales-news");
const words = wordsFrom("scales-words", {});
const outbox = new Outbox({
  user: page.dataset.user,
  strip: document.getElementById("scales-outbox"),
  loginUrl: page.dataset.login,
  onStored,
  onRefused,
});
const { drafts } = outbox;

let sheet = null;
let keepTimer = null;

const $ = (selector) => place.querySelector(selector);
const groupOf = (name) => $(`fieldset[data-group="${name}"]`);
const now = () => new Date().toISOString();
const clock = (when) => new Date(when).toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit" });

function begin() {
  const block = $("#scales-data");
  sheet = null;
  if (!block) return;
  const data = JSON.parse(block.textContent);
  enhance(place);
  const fresh = { key: newKey(), values: {}, comment: "", heard: {}, plays: {}, changes: 0, losses: 0, activeMs: 0, shownAt: now() };
  sheet = { ...fresh, ...drafts.get(data.about), ...data, sent: false };
  for (const clip of clipsIn(place)) clip.restore(sheet.heard[clip.id]);
  for (const [group, value] of Object.entries(sheet.values)) groupOf(group).querySelector(`input[value="${value}"]`).checked = true;
  if ($("#scales-comment")) $("#scales-comment").value = sheet.comment;
  refresh();
  const until = $(".judge-times time");
  if (until) until.textContent = clock(until.dateTime);
  const first = clipsIn(place)[0];
  if (first) first.wave.focus({ preventScroll: true });
  else $("input")?.focus({ preventScroll: true });
}

const unheard = () => clipsIn(place).filter((clip) => clip.required && !clip.done);

function missing() {
  const clips = unheard().map((clip) => ({ text: fill(words.hear, { what: clip.label }), go: () => clip.wave.focus() }));
  const groups = sheet.groups.filter((group) => sheet.values[group] === undefined).map((group) => ({
    text: fill(words.rate, { what: groupOf(group).dataset.label }),
    go: () => groupOf(group).querySelector("input").focus(),
  }));
  return [...clips, ...groups];
}

function refresh() {
  const locked = sheet.sent || unheard().length > 0;
  for (const field of place.querySelectorAll("fieldset[data-group] input")) field.disabled = locked;
  const open = missing();
  $("#scales-submit").setAttribute("aria-disabled", String(sheet.sent || open.length > 0));
  $("#scales-submit-text").textContent = sheet.sent ? words.sending : open[0]?.text ?? words.submit;
}

function keep() {
  clearTimeout(keepTimer);
  keepTimer = null;
  if (!sheet || sheet.sent) return;
  const { about, groups, sent, ...draft } = sheet;
  drafts.put(about, { ...draft, at: Date.now() });
}

place.addEventListener("input", ({ target }) => {
  if (!sheet || sheet.sent) return;
  const group = target.closest("fieldset[data-group]")?.dataset.group;
  if (group !== undefined) {
    if (sheet.values[group] !== undefined) sheet.changes += 1;
    sheet.values[group] = Number(target.value);
  } else if (target.id === "scales-comment") sheet.comment = target.value;
  refresh();
  keep();
});

place.addEventListener("clip:progress", ({ detail }) => {
  if (!sheet || sheet.sent) return;
  sheet.heard[detail.id] = detail.heard;
  sheet.plays[detail.id] = Math.max(sheet.plays[detail.id] ?? 0, detail.plays);
  refresh();
  keepTimer ??= setTimeout(keep, KEEP_MS);
});

place.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});

function submit() {
  if (!sheet || sheet.sent) return;
  const open = missing();
  if (open.length) open[0].go();
  else send();
}

async function send() {
  pauseAll();
  keep();
  sheet.sent = true;
  refresh();
  const { about, key, values, comment, heard, plays, changes, losses, activeMs, shownAt } = sheet;
  const paradata = { shown_at: shownAt, submitted_at: now(), plays, changes, focus_losses: losses, active_ms: activeMs };
  await outbox.put({ key, url: page.dataset.answer, body: { about, client_key: key, values, comment, heard, paradata }, draft: about });
  if (!sheet?.sent || sheet.about !== about) return;
  $("#scales-submit-text").textContent = words.waiting;
  tell(words.wait);
}

function onStored(entry, data) {
  if (data.page !== page.dataset.page) return;
  tell("");
  clearTimeout(keepTimer);
  keepTimer = null;
  dispose(place);
  place.innerHTML = data.html;
  scrollTo(0, 0);
  begin();
}

function onRefused(entry, data) {
  if (sheet?.about !== entry.body.about) return false;
  sheet.sent = false;
  refresh();
  tell(fill(words.failed, { message: data.error ?? "" }), "bad");
  return true;
}

function tell(text, kind = "") {
  news.className = `judge-news row ${kind ? `notice ${kind}` : ""}`;
  news.textContent = text;
}

/** Number keys rate the group that has the focus, else the first that has no rating, and go on to the next. */
function rate(value) {
  const here = document.activeElement?.closest("fieldset[data-group]")?.dataset.group;
  const group = here ?? sheet.groups.find((name) => sheet.values[name] === undefined) ?? sheet.groups[0];
  const radio = groupOf(group).querySelector(`input[value="${value}"]`);
  if (!radio) return;
  if (radio.disabled) {
    missing()[0].go();
    return;
  }
  radio.checked = true;
  radio.dispatchEvent(new Event("input", { bubbles: true }));
  const next = sheet.groups[sheet.groups.indexOf(group) + 1];
  (next === undefined ? $("#scales-submit") : groupOf(next).querySelector("input:checked") ?? groupOf(next).querySelector("input")).focus();
}

keysOn(place, ({ key, target }) => {
  if (!sheet || sheet.sent) return null;
  if (key === "Enter" && !target.closest("button, a, summary")) return submit;
  if (/^[0-9]$/.test(key)) return () => rate(key === "0" ? 10 : Number(key));
  const clip = /^[a-z]$/i.test(key) && clipsIn(place).find((one) => one.label === key.toUpperCase());
  return clip ? () => clip.wave.focus() : null;
});

setInterval(() => {
  const here = document.visibilityState === "visible" && (document.hasFocus() || currentClip()?.playing);
  if (sheet && !sheet.sent && here) sheet.activeMs += 1000;
}, 1000);
addEventListener("blur", () => {
  if (sheet) sheet.losses += 1;
});
addEventListener("pagehide", keep);

begin();
outbox.flush();
