// Pure helpers of the listening component: played intervals, waveforms, times.

/** Merge intervals in seconds; touching ones become one. Rounded to milliseconds, sorted. */
export function merge(intervals, gap = 0.02) {
  const sorted = intervals
    .filter(([start, end]) => Number.isFinite(start) && Number.isFinite(end) && end > start)
    .map(([start, end]) => [Math.max(0, start), end])
    .sort((a, b) => a[0] - b[0]);
  const merged = [];
  for (const [start, end] of sorted) {
    const last = merged.at(-1);
    if (last && start <= last[1] + gap) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged.map(([start, end]) => [round(start), round(end)]);
}

/** The share of `duration` that `intervals` (merged) cover, 0 to 1. */
export function share(intervals, duration) {
  if (!(duration > 0)) return 0;
  const heard = intervals.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(end, duration) - start), 0);
  return Math.min(1, heard / duration);
}

/** The played ranges of a media element as intervals. */
export function ranges(played) {
  return Array.from({ length: played.length }, (_, i) => [played.start(i), played.end(i)]);
}

export function round(seconds) {
  return Math.round(seconds * 1000) / 1000;
}

/** 64.2 becomes "1:04". */
export function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** Fill `{name}` places of a sentence. */
export function fill(sentence, values = {}) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** The words of the page, from a JSON data block, over English ones. */
export function wordsFrom(id, english) {
  const block = document.getElementById(id);
  return { ...english, ...(block ? JSON.parse(block.textContent) : {}) };
}

/** An element with attributes and children; `text` is its text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
