// The picture of a clip: its waveform, the parts that were heard, the place where it is.

const SVG = "http://www.w3.org/2000/svg";
let serial = 0;

/**
 * An SVG path of `bars` vertical strokes in a box of `bars` by 100. Scaled to the clip's own loudest point, so that a
 * picture never says which of two clips is the quieter one.
 */
function wavePath(peaks, bars = 100) {
  const values = peaks.length ? peaks : [0];
  const top = Math.max(...values) || 1;
  let path = "";
  for (let bar = 0; bar < bars; bar += 1) {
    const from = Math.floor((bar * values.length) / bars);
    const to = Math.max(from + 1, Math.floor(((bar + 1) * values.length) / bars));
    const height = Math.max(2, (Math.max(...values.slice(from, to)) / top) * 46);
    path += `M${bar + 0.5} ${(50 - height).toFixed(1)}V${(50 + height).toFixed(1)}`;
  }
  return path;
}

function shape(name, attributes, parent) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  parent.append(node);
  return node;
}

export class WavePicture {
  constructor(peaks) {
    const id = `clip-wave-${(serial += 1)}`;
    const path = wavePath(peaks);
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("viewBox", "0 0 100 100");
    this.svg.setAttribute("preserveAspectRatio", "none");
    this.svg.setAttribute("aria-hidden", "true");
    this.mask = shape("clipPath", { id }, this.svg);
    shape("path", { class: "clip-rest", d: path }, this.svg);
    shape("path", { class: "clip-done", d: path, "clip-path": `url(#${id})` }, this.svg);
    this.part = shape("rect", { class: "clip-part", y: 0, height: 100, width: 0 }, this.svg);
    this.cursor = shape("line", { class: "clip-cursor", y1: 0, y2: 100, x1: 0, x2: 0 }, this.svg);
  }

  /** Show the place `at`, the intervals `heard` and the repeated `part` (or null) of a clip of `duration` seconds. */
  show(at, heard, duration, part) {
    const x = (seconds) => (duration ? (seconds / duration) * 100 : 0);
    this.cursor.setAttribute("x1", x(at));
    this.cursor.setAttribute("x2", x(at));
    this.part.setAttribute("x", part ? x(part[0]) : 0);
    this.part.setAttribute("width", part ? x(part[1] - part[0]) : 0);
    while (this.mask.childElementCount > heard.length) this.mask.lastElementChild.remove();
    heard.forEach(([start, end], index) => {
      const bar = this.mask.children[index] ?? shape("rect", { y: 0, height: 100 }, this.mask);
      bar.setAttribute("x", x(start));
      bar.setAttribute("width", x(end - start));
    });
  }
}
