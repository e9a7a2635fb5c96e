// The reservation of the item, active time, and leaving the page.

import { fill } from "../../eqstudio/js/listen-core.js";
import { currentClip } from "../../eqstudio/js/listen.js";
import { keepHere, keepThere } from "./judge-draft.js";
import { $, hourMinute, page, state, time, timers, words } from "./judge-page.js";
import { postJson } from "./outbox.js";

const HEARTBEAT_MS = 60000;
const IDLE_AFTER_MS = 30000;

export function showReserved(until) {
  $("#judge-reserved").textContent = until ? fill(words.reserved, { time: time(until, hourMinute) }) : "";
}

async function beat() {
  if (!state.item || state.item.revise || document.visibilityState !== "visible") return;
  const { assignment } = state.item;
  const result = await postJson(page.dataset.heartbeat, { assignment });
  if (state.item?.assignment !== assignment) return;
  if (result.state === "stored") showReserved(result.data.lease_until);
  else if (result.state === "refused") $("#judge-reserved").textContent = words.ended;
}

/** A page that was left and opened again has only a moment left of its reservation. */
export function beatIfShort(until) {
  if (until && Date.parse(until) - Date.now() < 2 * HEARTBEAT_MS) beat();
}

/** Nothing was entered, so nothing is lost when somebody else gets the item. */
function leave() {
  const { item } = state;
  if (!item || item.sent || item.touched || !page.dataset.leave) return;
  postJson(page.dataset.leave, { assignment: item.assignment }, { keepalive: true });
}

export function watchLease() {
  setInterval(beat, HEARTBEAT_MS);
  setInterval(() => {
    const { item } = state;
    const active = Date.now() - state.lastActivity < IDLE_AFTER_MS || currentClip()?.playing;
    if (item && !item.sent && active && document.visibilityState === "visible") item.activeMs += 1000;
  }, 1000);
  for (const name of ["pointerdown", "wheel"]) {
    addEventListener(name, () => {
      state.lastActivity = Date.now();
    }, { passive: true });
  }
  addEventListener("pageshow", (event) => {
    if (event.persisted) beat();
  });
  addEventListener("pagehide", () => {
    keepHere();
    if (timers.server) keepThere({ keepalive: true });
    else leave();
  });
}
