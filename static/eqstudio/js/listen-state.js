// What all clips of a page share: which one is current, speed, volume, sounds that were fetched ahead.

export const RATES = [0.5, 0.75, 1, 1.25, 1.5, 2];
const QUIETEST = 0.05;

function stored(key, storage) {
  try {
    return Number(storage().getItem(key)) || 1;
  } catch (error) {
    if (!(error instanceof DOMException)) throw error; // storage is switched off
    return 1;
  }
}

/** Where a page says so (`data-speed="fixed"`), everybody hears every sound at its own speed. */
const fixed = document.querySelector('[data-speed="fixed"]') !== null;

export const state = {
  live: new Set(),
  current: null,
  series: [],
  fixed,
  rate: fixed ? 1 : stored("eqstudio.rate", () => sessionStorage),
  volume: stored("eqstudio.volume", () => localStorage),
  lead: 0.03,
};

export function keep(key, value, storage) {
  try {
    storage().setItem(key, String(value));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

export function focusOn(clip) {
  if (state.current === clip) return;
  state.current?.element.classList.remove("is-current");
  state.current = clip;
  clip.element.classList.add("is-current");
}

/** Clips that still have to be played one after another; the first of them plays now. */
export function setSeries(clips) {
  if (!clips.length && !state.series.length) return;
  state.series = clips;
  document.dispatchEvent(new CustomEvent("clip:series", { detail: { running: clips.length > 0 } }));
}

/** Never silent: what is not heard must not count as heard. */
export function volumeOf(value) {
  return Math.min(1, Math.max(QUIETEST, value));
}

const supplied = new Map();

/** Keep the sound of a clip that is wanted later. */
export function supply(id, blob) {
  if (!supplied.has(id)) supplied.set(id, URL.createObjectURL(blob));
}

/** The sound that was kept for a clip, which now belongs to its player; null when there is none. */
export function takeSupplied(id) {
  const found = supplied.get(id) ?? null;
  supplied.delete(id);
  return found;
}

/** Let go of sounds that nobody came for. */
export function forgetSupplied() {
  for (const address of supplied.values()) URL.revokeObjectURL(address);
  supplied.clear();
}
