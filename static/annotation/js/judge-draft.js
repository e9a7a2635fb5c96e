// What was entered so far: kept in this browser at every change and on the server soon after.

import { fill } from "../../eqstudio/js/listen-core.js";
import { answerOf, refresh } from "./judge-item.js";
import { $, page, state, time, timers, words } from "./judge-page.js";
import { postJson } from "./outbox.js";

const SERVER_MS = 700;
const LOCAL_MS = 1000;
let shelf = null;

/** Where drafts of this browser are. */
export function draftsOn(drafts) {
  shelf = drafts;
}

export function draftHere(assignment) {
  return shelf.get(assignment);
}

export function changed() {
  state.lastActivity = Date.now();
  state.item.touched = true;
  refresh();
  keepHere();
  clearTimeout(timers.server);
  timers.server = setTimeout(keepThere, SERVER_MS);
}

/** Playing goes on: no need to write at every step. */
export function keepSoon() {
  timers.local ??= setTimeout(keepHere, LOCAL_MS);
}

function draftNow() {
  return { ...answerOf(state.item), at: Date.now() };
}

export function keepHere() {
  clearTimeout(timers.local);
  timers.local = null;
  const { item } = state;
  if (item && !item.sent && item.touched) shelf.put(item.assignment, draftNow());
}

export async function keepThere({ keepalive = false } = {}) {
  clearTimeout(timers.server);
  timers.server = null;
  const { item } = state;
  if (!item || item.sent) return;
  const { assignment } = item;
  const stored = page.dataset.draft && (await postJson(page.dataset.draft, { assignment, draft: draftNow() }, { keepalive }));
  if (state.item?.assignment !== assignment) return;
  const sentence = stored && stored.state === "stored" ? words.saved : words.savedHere;
  $("#judge-saved").textContent = fill(sentence, { time: time(Date.now(), { hourCycle: "h23" }) });
}
