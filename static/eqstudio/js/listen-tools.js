// "Play all" and the volume, the same on every page of listening: `[data-play-all]` and `[data-volume]` inside `place`.

import { playAll, setVolume, volume } from "./listen.js";

/** The slider shows the volume that this browser keeps. */
export function showVolume(place) {
  const slider = place.querySelector("[data-volume]");
  if (slider) slider.value = String(Math.round(volume() * 100));
}

/** `clipsOf()` gives the clips that are played in a row; `back()` gives the keys back to the sound after the slider. */
export function watchTools(place, clipsOf, back) {
  place.addEventListener("click", ({ target }) => {
    if (target.closest("[data-play-all]")) playAll(clipsOf());
  });
  place.addEventListener("input", ({ target }) => {
    if (target.matches("[data-volume]")) setVolume(Number(target.value) / 100);
  });
  place.addEventListener("pointerup", ({ target }) => {
    if (target.matches("[data-volume]")) setTimeout(back);
  });
  document.addEventListener("clip:series", ({ detail }) => {
    place.querySelector("[data-play-all]")?.setAttribute("aria-pressed", String(detail.running));
  });
  document.addEventListener("clip:volume", () => showVolume(place));
}
