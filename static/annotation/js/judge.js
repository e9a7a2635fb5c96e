// The judging page: listen, grade, decide, submit, next. Its parts are in the files beside this one.

import { fill, make } from "../../eqstudio/js/listen-core.js";
import { leaveRadio } from "../../eqstudio/js/listen-keys.js";
import { showVolume, watchTools } from "../../eqstudio/js/listen-tools.js";
import { dispose, enhance, pauseAll } from "../../eqstudio/js/listen.js";
import { fetchAhead } from "./judge-ahead.js";
import { changed, draftHere, draftsOn, keepHere, keepSoon, keepThere } from "./judge-draft.js";
import { answerOf, backToClip, fillIn, freeze, itemClips, missing, readItem, refresh, takeChange, toggleComment } from "./judge-item.js";
import { clipBeside, watchKeys } from "./judge-keys.js";
import { beatIfShort, showReserved, watchLease } from "./judge-lease.js";
import { $, hourMinute, page, place, state, stopTimers, tell, tellFailed, time, timers, words } from "./judge-page.js";
import { closePanels, openPanel, openReport, playExample, reportBody, skipBody } from "./judge-panels.js";
import { Outbox, postJson } from "./outbox.js";

const LOOK_AGAIN_MS = 60000;
const SKIPPED = { me: words.skippedMe, others: words.skippedOthers, unjudgeable: words.skippedUnjudgeable };

const outbox = new Outbox({
  user: page.dataset.user,
  strip: document.getElementById("judge-outbox"),
  loginUrl: page.dataset.login,
  onStored,
  onRefused,
});
draftsOn(outbox.drafts);

/* One item after the other */

function begin() {
  const block = $("#judge-data");
  state.item = null;
  state.nextHtml = null;
  if (!block) {
    beginWaiting();
    return;
  }
  const data = JSON.parse(block.textContent);
  enhance(place);
  state.item = readItem(data, draftHere(data.assignment));
  fillIn();
  showReserved(data.leaseUntil);
  beatIfShort(data.leaseUntil);
  showVolume(place);
  refresh();
  itemClips()[0]?.wave.focus({ preventScroll: true });
}

function beginWaiting() {
  const until = Date.parse($(".judge-done")?.dataset.until ?? "");
  if (!until) return;
  const shown = $(".judge-until");
  if (shown) shown.textContent = time(until, hourMinute);
  timers.look = setTimeout(look, Math.min(600000, Math.max(5000, until - Date.now() + 1000)));
}

function swap(html) {
  stopTimers();
  pauseAll();
  dispose(place);
  place.innerHTML = html;
  scrollTo(0, 0);
  begin();
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
    timers.look = setTimeout(look, LOOK_AGAIN_MS);
  }
}

/* Submit and what comes back */

async function submit() {
  const { item } = state;
  if (state.nextHtml) {
    next();
    return;
  }
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
  const { key, activeMs, ...said } = answerOf(item);
  const body = { ...said, client_key: key, active_ms: activeMs };
  if (!item.revise) body.assignment = item.assignment;
  if (said.verdict !== "reject") body.reasons = [];
  await outbox.put({ key, url: page.dataset.submit, body, draft: item.assignment });
  if (!state.item?.sent || state.item !== item || state.nextHtml) return;
  $("#judge-submit-text").textContent = words.waiting;
  tell(words.wait);
}

function onStored(entry, data) {
  if (data.round !== page.dataset.round) return;
  if (data.go) {
    if (state.item?.assignment === entry.draft) location.assign(data.go);
    return;
  }
  if (!page.dataset.next) return;
  state.undoable = { judgement: data.judgement, until: Date.parse(data.undo_until) };
  const here = !state.item || state.item.sent || state.item.assignment === entry.draft;
  if (here && data.feedback && state.item) told(data);
  else if (here) swap(data.html);
  tellStored(data.late);
}

/** What was expected, above the item as it was answered; the next one waits for Enter. */
function told({ feedback, html }) {
  state.nextHtml = html;
  stopTimers();
  freeze();
  refresh();
  $("#judge-feedback").innerHTML = feedback;
  scrollTo(0, 0);
  $(".judge-told").focus({ preventScroll: true });
}

function next() {
  const html = state.nextHtml;
  state.undoable = null;
  tell("");
  swap(html);
}

function onRefused(entry, data) {
  if (!state.item || state.item.assignment !== entry.draft) return false;
  state.item.sent = false;
  refresh();
  if (data.field === "client_key") tellElsewhere(data.error ?? "");
  else tell(fill(words.failed, { message: data.error ?? "" }), "bad");
  return true;
}

/** The item was judged in another tab: where to change that, and the way on. */
function tellElsewhere(message) {
  const on = make("button", { type: "button", class: "btn", text: words.next });
  on.addEventListener("click", look);
  const mine = make("a", { class: "btn", href: page.dataset.mine, text: words.mine });
  tell(fill(words.notSaved, { message }), "bad", mine, ...(page.dataset.next ? [on] : []));
}

function tellStored(late) {
  const left = state.undoable.until - Date.now();
  const undoing = left > 0 && !state.nextHtml;
  const button = make("button", { type: "button", class: "btn" }, `${words.undo} `, make("kbd", { text: "z" }));
  button.addEventListener("click", undo);
  tell(late ? words.storedLate : words.stored, "", ...(undoing ? [button] : []));
  if (!undoing) {
    state.undoable = null;
    return;
  }
  timers.undo = setTimeout(() => {
    button.remove();
    state.undoable = null;
  }, Math.min(left, 2 ** 31 - 1));
}

/* Undo, skip, report */

async function ask(url, body) {
  const result = await postJson(url, body);
  if (result.state === "stored") return result.data;
  tellFailed(result);
  return null;
}

async function undo() {
  const { undoable } = state;
  if (!undoable || undoable.until < Date.now()) return;
  state.undoable = null;
  if (state.item?.touched) await keepThere();
  const data = await ask(page.dataset.undo, { judgement: undoable.judgement });
  if (!data) return;
  swap(data.html);
  tell(words.undone);
}

async function skip(where) {
  const { item } = state;
  const body = item && !item.sent ? skipBody(where) : null;
  if (!body) return;
  pauseAll();
  if (item.touched) await keepThere();
  const data = await ask(page.dataset.skip, { assignment: item.assignment, ...body });
  if (!data) return;
  state.undoable = null;
  swap(data.html);
  tell(SKIPPED[where]);
}

async function report(giveBack) {
  const { item } = state;
  if (!item || item.sent) return;
  if (item.touched) await keepThere();
  const data = await ask(page.dataset.problem, { assignment: item.assignment, ...reportBody(giveBack) });
  if (!data) return;
  if (data.html) swap(data.html);
  else closeAll();
  tell(data.html ? words.skippedUnjudgeable : words.reported);
}

function closeAll() {
  closePanels();
  backToClip();
}

/* What people do */

place.addEventListener("change", (event) => {
  if (!state.item || state.item.sent || !event.target.name) return;
  if (takeChange(event)) changed();
});

place.addEventListener("input", (event) => {
  if (!state.item || event.target.id !== "judge-comment") return;
  state.item.comment = event.target.value;
  changed();
});

place.addEventListener("click", (event) => {
  const { target } = event;
  const radio = target.closest('input[type="radio"]');
  if (radio && event.detail > 0) leaveRadio(radio, clipBeside(radio));
  if (target.closest("#judge-look")) look();
  else if (target.closest("[data-example]")) playExample(target.closest("[data-example]").dataset.example);
  if (!state.item || state.item.sent) return;
  if (target.closest("#judge-comment-button")) toggleComment();
  else if (target.closest("[data-opens]")) openPanel(target.closest("[data-opens]").dataset.opens);
  else if (target.closest("[data-closes]")) closeAll();
  else if (target.closest("[data-skip-to]")) skip(target.closest("[data-skip-to]").dataset.skipTo);
  else if (target.closest("[data-send]")) report(target.closest("[data-send]").dataset.send === "give-back");
});

place.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});

place.addEventListener("clip:progress", ({ detail, target }) => {
  const { item } = state;
  if (!item || item.sent || !target.closest(".judge-lines")) return;
  state.lastActivity = Date.now();
  item.heard[detail.id] = detail.heard;
  item.touched ||= detail.playing;
  item.doneClips ??= new Set();
  if (detail.done && !item.doneClips.has(detail.id)) {
    item.doneClips.add(detail.id);
    changed();
  } else if (!detail.playing && item.touched) changed();
  else keepSoon();
  fetchAhead();
});

place.addEventListener("clip:report", ({ detail }) => {
  if (state.item && !state.item.sent) openReport(detail);
});

watchTools(place, itemClips, backToClip);
watchKeys({ submit, undo, next });
watchLease();
begin();
outbox.flush();
