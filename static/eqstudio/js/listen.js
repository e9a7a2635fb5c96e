// Every `.clip[data-clip]` becomes a small player that knows which parts of it were heard.
//
//   data-clip       the clip's name on this page        data-label     what it is called ("A", "Maya")
//   data-src        where the sound is                  data-required  share to be heard (0-1), if any
//   data-duration   seconds                             data-group     clips that `x` switches between
//   data-peaks      JSON list of 0-1                    data-preload   "auto" loads it before it is wanted
//   data-untimed    its length is not told, where it could answer for the ear
//
// Events bubble from the element: `clip:progress` {id, heard, share, done, playing, plays, position}, `clip:ended` {id} and
// `clip:report` {id, message} when a person says that a clip cannot be played.

import { Clip } from "./listen-clip.js";
import { keep, RATES, setSeries, state, volumeOf } from "./listen-state.js";
import { handOver } from "./listen-switch.js";

export { forgetSupplied, RATES, supply } from "./listen-state.js";

/** The player of a `.clip` element. */
export function clipOf(element) {
  return element?.player ?? null;
}

/** The players inside `scope`, in page order. */
export function clipsIn(scope) {
  return [...scope.querySelectorAll(".clip[data-clip]")].map(clipOf).filter(Boolean);
}

/** The clip that has the focus or played last. */
export function currentClip() {
  return state.current;
}

export function pauseAll() {
  setSeries([]);
  for (const clip of state.live) clip.pause();
}

/** Set the speed of every clip; kept for the session. Pitch stays as it is. */
export function setRate(value) {
  if (state.fixed) return;
  state.rate = value;
  keep("eqstudio.rate", value, () => sessionStorage);
  for (const clip of state.live) {
    clip.audio.playbackRate = value;
    clip.paint();
  }
}

/** One step slower (-1) or faster (1). */
export function stepRate(step) {
  const at = RATES.indexOf(state.rate) + step;
  setRate(RATES[Math.min(RATES.length - 1, Math.max(0, at))]);
}

export function volume() {
  return state.volume;
}

/** Set the volume (0.05 to 1) of every clip; kept in this browser. */
export function setVolume(value) {
  state.volume = volumeOf(value);
  keep("eqstudio.volume", state.volume, () => localStorage);
  for (const clip of state.live) clip.audio.volume = state.volume;
  document.dispatchEvent(new CustomEvent("clip:volume", { detail: { volume: state.volume } }));
}

/** Go on with `to` at the place where `from` is: to compare two renditions. Without a gap while it plays. */
export async function switchTo(from, to) {
  to.wave.focus();
  if (from.playing) await handOver(from, to);
  else to.seek(Math.min(from.position, Math.max(0, to.duration - 0.05)));
}

/** Hear a clip from its start; again, while it plays, pauses it. */
export function playFrom(clip) {
  clip.wave.focus();
  if (clip.playing) {
    clip.toggle();
    return;
  }
  pauseAll();
  clip.seek(0);
  clip.toggle();
}

/** Play `clips` one after another, beginning with the first that is not heard yet; again stops it. */
export function playAll(clips) {
  if (state.series.length) {
    pauseAll();
    return;
  }
  const begin = Math.max(0, clips.findIndex((clip) => !clip.done));
  setSeries(clips.slice(begin));
  playNext();
}

function playNext() {
  const [clip] = state.series;
  if (!clip) return;
  const here = document.activeElement;
  if (here === document.body || here?.matches(".clip-wave, [data-play-all]")) clip.wave.focus({ preventScroll: true });
  clip.element.scrollIntoView({ block: "nearest" });
  clip.seek(0);
  clip.play({ series: true });
}

/** Make players of the clips inside `scope`. */
export function enhance(scope = document) {
  for (const element of scope.querySelectorAll(".clip[data-clip]")) {
    if (!element.player) element.player = new Clip(element, setRate);
  }
}

/** Let go of the clips inside `scope`, before it leaves the page. */
export function dispose(scope) {
  for (const clip of clipsIn(scope)) clip.dispose();
}

enhance();
document.addEventListener("clip:ended", (event) => {
  if (clipOf(event.target) !== state.series[0]) return;
  setSeries(state.series.slice(1));
  playNext();
});
document.addEventListener("clip:progress", (event) => {
  if (!event.detail.playing) return;
  const all = clipsIn(document);
  const next = all[all.indexOf(clipOf(event.target)) + 1];
  if (next && next.audio.preload !== "auto") next.audio.preload = "auto";
});
document.addEventListener("htmx:load", (event) => enhance(event.target.parentElement ?? document));
document.addEventListener("htmx:beforeCleanupElement", (event) => {
  if (event.target instanceof Element) dispose(event.target);
});
