// From one rendition to the other at the same place and without a gap: the second begins to play unheard, a moment ahead,
// and takes over once it runs. Both are media elements, since these keep the pitch at every speed.

import { focusOn, setSeries, state } from "./listen-state.js";

const PATIENCE_MS = 400;
const CLOSE_ENOUGH_S = 0.02;
let handing = false;

function once(target, name) {
  return new Promise((done) => {
    const timer = setTimeout(() => done(false), PATIENCE_MS);
    target.addEventListener(
      name,
      () => {
        clearTimeout(timer);
        done(true);
      },
      { once: true },
    );
  });
}

function lastPlace(clip) {
  return Math.max(0, clip.duration - 0.05);
}

async function place(clip, seconds) {
  const arrived = once(clip.audio, "seeked");
  clip.audio.currentTime = Math.min(Math.max(0, seconds), lastPlace(clip));
  await arrived;
}

/** Without a sound at hand there is nothing to begin early: stop one, start the other. */
function plainly(from, to) {
  from.pause();
  to.seek(Math.min(from.position, lastPlace(to)));
  to.play();
}

/** Let `to` go on where `from` plays. A second call while one runs is left out. */
export async function handOver(from, to) {
  if (handing) return;
  if (to.audio.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) {
    plainly(from, to);
    return;
  }
  handing = true;
  setSeries([]);
  focusOn(to);
  const { audio } = to;
  audio.muted = true;
  try {
    to.soundAs();
    await place(to, from.audio.currentTime + state.lead * state.rate);
    await audio.play();
    await adjust(from, to);
    from.pause();
  } catch (error) {
    if (error.name !== "AbortError" && error.name !== "NotAllowedError") throw error;
  } finally {
    audio.muted = false;
    handing = false;
  }
}

/** Wait until `to` runs, and set it right once if it is off; remember how long starting takes here. */
async function adjust(from, to) {
  const began = to.audio.currentTime;
  const runs = () => to.audio.currentTime > began || to.audio.paused;
  for (let frame = 0; frame < 20 && !runs(); frame += 1) await new Promise((done) => setTimeout(done, 4));
  const late = from.audio.currentTime - to.audio.currentTime;
  state.lead = Math.min(0.3, Math.max(0, state.lead + late / state.rate / 2));
  if (from.playing && Math.abs(late) > CLOSE_ENOUGH_S && to.audio.currentTime < lastPlace(to) - Math.abs(late)) {
    await place(to, from.audio.currentTime + state.lead * state.rate);
  }
}
