// The keys of listening, the same on every page: Space, arrows, x, [ and ], - and =, l, comma and point. Never while
// somebody types.

import { clipsIn, currentClip, setVolume, stepRate, switchTo, volume } from "./listen.js";

const STEP_S = 2;
const VOLUME_STEP = 0.1;

/** Repeat from here to the end, or to the end of the part. */
function beginPart(clip) {
  const end = clip.part?.[1] ?? clip.duration;
  clip.setPart(clip.position, end > clip.position ? end : clip.duration);
}

function endPart(clip) {
  const begin = clip.part?.[0] ?? 0;
  clip.setPart(begin < clip.position ? begin : 0, clip.position);
}

export function isTyping(target) {
  return target.closest("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])") !== null;
}

/** Go on in the other clip of the same group at the same place; from elsewhere, go to the first that has a group. */
export function switchVersion(scope) {
  const here = currentClip();
  const grouped = clipsIn(scope).filter((clip) => clip.group);
  const mates = here?.group ? grouped.filter((clip) => clip.group === here.group) : grouped;
  if (!mates.length) return;
  const next = mates[(mates.indexOf(here) + 1) % mates.length];
  if (mates.includes(here) && next !== here) switchTo(here, next);
  else next.wave.focus();
}

function listeningAction({ key, target }, scope) {
  const clip = currentClip();
  const radio = target.closest('input[type="radio"]');
  if (key === " ") {
    const free = !target.closest("button, a, summary, input") || radio?.checked;
    return clip && free ? () => clip.toggle() : null;
  }
  if (key === "ArrowLeft" || key === "ArrowRight") {
    return clip && !radio ? () => clip.seek(clip.position + (key === "ArrowLeft" ? -STEP_S : STEP_S)) : null;
  }
  return {
    x: () => switchVersion(scope),
    l: () => clip?.setLoop(!clip.looping),
    ",": () => clip && beginPart(clip),
    ".": () => clip && endPart(clip),
    "-": () => setVolume(volume() - VOLUME_STEP),
    "=": () => setVolume(volume() + VOLUME_STEP),
    "+": () => setVolume(volume() + VOLUME_STEP),
    "[": () => stepRate(-1),
    "]": () => stepRate(1),
  }[key.toLowerCase()];
}

/** Listen for keys on the page. `actionOf(event)` gives the page's own action or nothing. */
export function keysOn(scope, actionOf) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") || event.target.closest(".rail, .top")) return;
    const act = actionOf(event) ?? listeningAction(event, scope);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** After a click on a choice the keys belong to the sound again, so that an arrow seeks and does not change the choice. */
export function leaveRadio(radio, clip) {
  if (clip) clip.wave.focus({ preventScroll: true });
  else radio.blur();
}
