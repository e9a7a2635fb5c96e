// One player: its parts on the page, its sound, what of it was heard, and the part that is repeated.

import { clock, fill, make, merge, ranges, share } from "./listen-core.js";
import { focusOn, RATES, setSeries, state, takeSupplied } from "./listen-state.js";
import { explain } from "./listen-trouble.js";
import { WavePicture } from "./listen-wave.js";
import { words } from "./listen-words.js";

const SLOW_AFTER_MS = 4000;
const SHORTEST_PART_S = 0.15;

export class Clip {
  /** `onRate` is asked for the next speed when the speed button is pressed. */
  constructor(element, onRate) {
    this.element = element;
    this.id = element.dataset.clip;
    this.label = element.dataset.label || words.clip;
    this.duration = Number(element.dataset.duration) || 0;
    this.untimed = "untimed" in element.dataset;
    this.required = Number(element.dataset.required) || 0;
    this.group = element.dataset.group || "";
    this.plays = 0;
    this.base = [];
    this.session = null;
    this.wanted = null;
    this.part = null;
    this.looping = false;
    this.source = takeSupplied(this.id);
    this.audio = new Audio();
    this.audio.preload = this.source ? "auto" : element.dataset.preload || "metadata";
    this.audio.volume = state.volume;
    this.build();
    this.listen(onRate);
    this.audio.src = this.source ?? element.dataset.src;
    state.live.add(this);
    this.paint();
  }

  build() {
    this.picture = new WavePicture(JSON.parse(this.element.dataset.peaks || "[]"));
    this.playButton = make("button", { type: "button", class: "clip-play", tabindex: "-1" });
    this.wave = make("div", {
      class: "clip-wave",
      role: "slider",
      tabindex: "0",
      "aria-label": fill(words.position, { label: this.label }),
      "aria-valuemin": "0",
      "aria-valuemax": String(this.untimed ? 100 : this.duration),
    });
    this.wave.append(this.picture.svg);
    this.time = make("span", { class: "clip-time" });
    this.heardText = make("span", { class: "clip-heard" });
    this.rateButton = make("button", { type: "button", class: "clip-tool clip-rate", tabindex: "-1" });
    this.loopButton = make("button", {
      type: "button",
      class: "clip-tool clip-loop",
      tabindex: "-1",
      "aria-pressed": "false",
      title: words.loopShort,
      text: "\u21BB",
    });
    this.message = make("div", { class: "clip-message", role: "status" });
    const figures = make("span", { class: "clip-figures" }, this.time, this.heardText);
    const tools = make("span", { class: "clip-tools" }, ...(state.fixed ? [] : [this.rateButton]), this.loopButton);
    const body = make("div", { class: "clip-body" }, this.playButton, this.wave, figures, tools, this.message);
    this.element.replaceChildren(body);
    this.element.classList.add("is-ready");
  }

  listen(onRate) {
    const { audio } = this;
    audio.addEventListener("play", () => this.started());
    audio.addEventListener("playing", () => this.say(""));
    audio.addEventListener("timeupdate", () => this.heardUpTo());
    audio.addEventListener("pause", () => this.stopped());
    audio.addEventListener("ended", () => this.finished());
    audio.addEventListener("seeking", () => this.sessionEnd());
    audio.addEventListener("error", () => this.failed());
    audio.addEventListener("loadedmetadata", () => this.seekWanted());
    for (const name of ["waiting", "stalled"]) audio.addEventListener(name, () => this.slow());
    this.playButton.addEventListener("click", () => this.toggle());
    this.rateButton.addEventListener("click", () => onRate(RATES[(RATES.indexOf(state.rate) + 1) % RATES.length]));
    this.loopButton.addEventListener("click", () => this.setLoop(!this.looping));
    this.wave.addEventListener("keydown", (event) => this.key(event));
    this.wave.addEventListener("pointerdown", (event) => this.drag(event));
    this.element.addEventListener("focusin", () => focusOn(this));
    this.element.addEventListener("click", (event) => this.leaveButton(event));
  }

  get position() {
    return this.wanted ?? this.audio.currentTime;
  }

  get playing() {
    return !this.audio.paused && !this.audio.ended;
  }

  /** Whether the whole sound is here, so that nothing else would wait for it. */
  get loaded() {
    const { buffered, duration } = this.audio;
    return buffered.length > 0 && buffered.end(buffered.length - 1) >= duration - 0.1;
  }

  get heard() {
    const now = this.session ? [this.session] : [];
    return merge([...this.base, ...ranges(this.audio.played), ...now]);
  }

  get share() {
    return share(this.heard, this.duration);
  }

  /** Whether as much was heard as the page asks for; a clip that asks for nothing is always done. */
  get done() {
    return this.share + 0.0005 >= this.required;
  }

  /** Take over what was heard before a reload. */
  restore(intervals) {
    this.base = merge([...this.base, ...(intervals || [])]);
    this.paint();
  }

  /** Play from where it is; `series` says that this is the next of clips played one after another. */
  async play({ series = false } = {}) {
    if (!series) setSeries([]);
    for (const other of state.live) if (other !== this && other.playing) other.pause();
    focusOn(this);
    this.soundAs();
    if (this.audio.error) this.retry();
    if (this.audio.ended || this.position >= this.duration - 0.03) this.seek(0);
    try {
      await this.audio.play();
    } catch (error) {
      if (error.name === "NotAllowedError") this.say(words.blocked);
      else if (error.name !== "AbortError" && error.name !== "NotSupportedError") throw error;
    }
  }

  /** The speed and volume of the page; pitch stays as it is. */
  soundAs() {
    this.audio.playbackRate = state.rate;
    this.audio.preservesPitch = true;
    this.audio.volume = state.volume;
  }

  pause() {
    this.audio.pause();
  }

  toggle() {
    if (this.playing) {
      setSeries([]);
      this.pause();
    } else this.play();
  }

  seek(seconds) {
    const target = Math.min(Math.max(0, seconds), Math.max(0, this.duration - 0.01));
    this.sessionEnd();
    if (this.audio.readyState >= 1) this.audio.currentTime = target;
    else this.wanted = target;
    this.paint();
  }

  seekWanted() {
    if (this.wanted === null) return;
    this.audio.currentTime = this.wanted;
    this.wanted = null;
  }

  /** Repeat the whole clip, or stop repeating. */
  setLoop(on) {
    this.looping = on;
    this.part = null;
    this.audio.loop = on;
    this.loopButton.setAttribute("aria-pressed", String(on));
    this.paint();
  }

  /** Repeat from `start` to `end` seconds, in either order; a part too short to hear is left alone. */
  setPart(start, end) {
    const [from, to] = start < end ? [start, end] : [end, start];
    const part = [Math.max(0, from), Math.min(this.duration, to)];
    if (part[1] - part[0] < SHORTEST_PART_S) return;
    this.setLoop(true);
    this.audio.loop = false;
    this.part = part;
    if (this.position < part[0] || this.position > part[1]) this.seek(part[0]);
    this.paint();
  }

  partEnd() {
    if (this.part && this.position >= this.part[1]) this.seek(this.part[0]);
  }

  retry() {
    this.base = this.heard;
    this.session = null;
    this.wanted = this.position;
    this.say("");
    this.audio.load();
  }

  started() {
    this.plays += 1;
    this.tick();
    this.tell();
  }

  stopped() {
    this.heardUpTo();
    this.sessionEnd();
    clearTimeout(this.slowTimer);
    this.paint();
    this.tell();
  }

  finished() {
    this.stopped();
    if (this.part) {
      this.seek(this.part[0]);
      this.audio.play();
    } else this.element.dispatchEvent(new CustomEvent("clip:ended", { bubbles: true, detail: { id: this.id } }));
  }

  heardUpTo() {
    const now = this.audio.currentTime;
    if (this.audio.seeking || (this.audio.paused && !this.session)) return;
    const step = now - (this.session ? this.session[1] : now);
    if (!this.session || step < 0 || step > 1.5 * state.rate) {
      this.sessionEnd();
      this.session = [now, now];
    } else this.session[1] = now;
    this.partEnd();
    this.paint();
    this.tell();
  }

  sessionEnd() {
    if (this.session) this.base = merge([...this.base, this.session]);
    this.session = null;
  }

  tick() {
    this.partEnd();
    this.paint();
    if (this.playing && this.element.isConnected) requestAnimationFrame(() => this.tick());
  }

  paint() {
    const { duration, heard, playing } = this;
    const at = this.position;
    const part = share(heard, duration);
    this.playButton.textContent = playing ? "\u275A\u275A" : "\u25B6";
    this.playButton.setAttribute("aria-label", fill(playing ? words.pause : words.play, { label: this.label }));
    this.element.classList.toggle("is-playing", playing);
    this.element.classList.toggle("is-heard", this.required > 0 && this.done);
    this.paintTime(at);
    const full = this.required > 0 ? this.done : part > 0.98;
    if (part === 0) this.heardText.textContent = "";
    else this.heardText.textContent = full ? words.heard : fill(words.heardShare, { percent: Math.floor(part * 100) });
    this.rateButton.textContent = `${state.rate}\u00D7`;
    this.rateButton.setAttribute("aria-label", fill(words.speed, { rate: `${state.rate}\u00D7` }));
    const [from, to] = this.part ?? [0, 0];
    const loop = this.part ? words.loopPart : words.loop;
    this.loopButton.setAttribute("aria-label", fill(loop, { label: this.label, from: clock(from), to: clock(to) }));
    this.picture.show(at, heard, duration, this.part);
  }

  paintTime(at) {
    const { duration } = this;
    const percent = duration > 0 ? Math.round((at / duration) * 100) : 0;
    const of = fill(words.of, { now: clock(at), all: clock(duration) });
    this.wave.setAttribute("aria-valuenow", this.untimed ? String(percent) : at.toFixed(1));
    this.wave.setAttribute("aria-valuetext", this.untimed ? `${percent} %` : of);
    if (this.untimed) return;
    this.time.textContent = this.playing || at > 0 ? `${clock(at)} / ${clock(duration)}` : clock(duration);
  }

  tell() {
    const { id, heard, done, playing, plays, position } = this;
    const detail = { id, heard, share: this.share, done, playing, plays, position };
    this.element.dispatchEvent(new CustomEvent("clip:progress", { bubbles: true, detail }));
  }

  say(text, ...actions) {
    clearTimeout(this.slowTimer);
    this.message.replaceChildren(...(text ? [make("span", { text }), ...actions] : []));
  }

  slow() {
    clearTimeout(this.slowTimer);
    if (!this.playing) return;
    this.slowTimer = setTimeout(() => this.say(words.loading), SLOW_AFTER_MS);
  }

  /** A sound that was fetched ahead and cannot be read is asked for once more under its own address. */
  failed() {
    if (!this.element.isConnected) return;
    if (this.source) {
      this.release();
      this.audio.src = this.element.dataset.src;
    } else explain(this);
  }

  release() {
    if (this.source) URL.revokeObjectURL(this.source);
    this.source = null;
  }

  key(event) {
    const act = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.seek(this.position - 2),
      ArrowRight: () => this.seek(this.position + 2),
      Home: () => this.seek(0),
      End: () => this.seek(this.duration),
      PageDown: () => this.seek(this.position - this.duration / 10),
      PageUp: () => this.seek(this.position + this.duration / 10),
      l: () => this.setLoop(!this.looping),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  /** After a click on one of its buttons the keys belong to the clip, so that Enter does not press the button again. */
  leaveButton(event) {
    if (event.detail > 0 && event.target.closest(".clip-play, .clip-tool")) this.wave.focus({ preventScroll: true });
  }

  /** Drag to seek; with Shift, or with a finger while the clip repeats, drag over the part to repeat. */
  drag(event) {
    const box = this.wave.getBoundingClientRect();
    const at = (move) => Math.min(1, Math.max(0, (move.clientX - box.left) / box.width)) * this.duration;
    const begun = at(event);
    const select = event.shiftKey || (event.pointerType === "touch" && this.looping);
    const to = (move) => (select ? this.setPart(begun, at(move)) : this.seek(at(move)));
    this.wave.setPointerCapture(event.pointerId);
    to(event);
    this.wave.addEventListener("pointermove", to);
    const end = () => this.wave.removeEventListener("pointermove", to);
    this.wave.addEventListener("pointerup", end, { once: true });
    this.wave.addEventListener("pointercancel", end, { once: true });
  }

  /** Stop and let go of the sound, so that hundreds of items in one tab do not pile up. */
  dispose() {
    this.audio.pause();
    this.audio.removeAttribute("src");
    this.audio.load();
    this.release();
    clearTimeout(this.slowTimer);
    state.live.delete(this);
    setSeries([]);
    if (state.current === this) state.current = null;
  }
}
