// Every `.clip[data-clip]` becomes a small player that knows which parts of it were heard.
//
//   data-clip       the clip's name on this page        data-label     what it is called ("A", "Maya")
//   data-src        where the sound is                  data-required  share to be heard (0-1), if any
//   data-duration   seconds                             data-group     clips that `x` switches between
//   data-peaks      JSON list of 0-1                    data-preload   "auto" loads it before it is wanted
//
// Events bubble from the element: `clip:progress` {id, heard, share, done, playing, plays, position} and
// `clip:report` {id, message} when a person says that a clip cannot be played.

import { clock, fill, make, merge, ranges, share, wordsFrom } from "./listen-core.js";
import { WavePicture } from "./listen-wave.js";

export const RATES = [0.5, 0.75, 1, 1.25, 1.5, 2];
const SLOW_AFTER_MS = 4000;

const words = wordsFrom("listen-words", {
  play: "Play {label}",
  pause: "Pause {label}",
  position: "{label}: position. Space plays and pauses, arrow keys move.",
  of: "{now} of {all}",
  heard: "heard",
  heardShare: "{percent} % heard",
  speed: "Speed {rate}, change",
  loop: "Repeat {label}",
  loopShort: "Repeat",
  clip: "clip",
  loading: "Still loading: the connection is slow.",
  blocked: "Your browser waits for a click before it plays sound. Press play once more.",
  offline: "This clip could not be loaded: there is no connection. What you did is kept.",
  expired: "This page has been open too long, so its sounds have closed. Reload the page: what you did is kept.",
  broken: "This clip could not be played: the file or its format is not readable here.",
  server: "This clip could not be loaded: the server answered {status}.",
  again: "Try again",
  reload: "Reload the page",
  report: "Report a problem",
});

let current = null;
let rate = Number(sessionStorage.getItem("eqstudio.rate")) || 1;
const live = new Set();

class Clip {
  constructor(element) {
    this.element = element;
    this.id = element.dataset.clip;
    this.label = element.dataset.label || words.clip;
    this.duration = Number(element.dataset.duration) || 0;
    this.required = Number(element.dataset.required) || 0;
    this.group = element.dataset.group || "";
    this.plays = 0;
    this.base = [];
    this.session = null;
    this.wanted = null;
    this.audio = new Audio();
    this.audio.preload = element.dataset.preload || "metadata";
    this.build();
    this.listen();
    this.audio.src = element.dataset.src;
    live.add(this);
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
      "aria-valuemax": String(this.duration),
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
      "aria-label": fill(words.loop, { label: this.label }),
      title: words.loopShort,
      text: "\u21BB",
    });
    this.message = make("div", { class: "clip-message", role: "status" });
    const figures = make("span", { class: "clip-figures" }, this.time, this.heardText);
    const tools = make("span", { class: "clip-tools" }, this.rateButton, this.loopButton);
    const body = make("div", { class: "clip-body" }, this.playButton, this.wave, figures, tools, this.message);
    this.element.replaceChildren(body);
    this.element.classList.add("is-ready");
  }

  listen() {
    const { audio } = this;
    audio.addEventListener("play", () => this.started());
    audio.addEventListener("playing", () => this.say(""));
    audio.addEventListener("timeupdate", () => this.heardUpTo());
    audio.addEventListener("pause", () => this.stopped());
    audio.addEventListener("ended", () => this.stopped());
    audio.addEventListener("seeking", () => this.sessionEnd());
    audio.addEventListener("error", () => this.failed());
    audio.addEventListener("loadedmetadata", () => this.seekWanted());
    for (const name of ["waiting", "stalled"]) audio.addEventListener(name, () => this.slow());
    this.playButton.addEventListener("click", () => this.toggle());
    this.rateButton.addEventListener("click", () => setRate(RATES[(RATES.indexOf(rate) + 1) % RATES.length]));
    this.loopButton.addEventListener("click", () => this.setLoop(!audio.loop));
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

  async play() {
    for (const other of live) if (other !== this && other.playing) other.pause();
    focusOn(this);
    this.audio.playbackRate = rate;
    this.audio.preservesPitch = true;
    if (this.audio.error) this.retry();
    if (this.audio.ended || this.position >= this.duration - 0.03) this.seek(0);
    try {
      await this.audio.play();
      prefetchAfter(this);
    } catch (error) {
      if (error.name === "NotAllowedError") this.say(words.blocked);
      else if (error.name !== "AbortError" && error.name !== "NotSupportedError") throw error;
    }
  }

  pause() {
    this.audio.pause();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
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

  setLoop(on) {
    this.audio.loop = on;
    this.loopButton.setAttribute("aria-pressed", String(on));
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

  heardUpTo() {
    const now = this.audio.currentTime;
    if (this.audio.seeking || (this.audio.paused && !this.session)) return;
    const step = now - (this.session ? this.session[1] : now);
    if (!this.session || step < 0 || step > 1.5 * rate) {
      this.sessionEnd();
      this.session = [now, now];
    } else this.session[1] = now;
    this.paint();
    this.tell();
  }

  sessionEnd() {
    if (this.session) this.base = merge([...this.base, this.session]);
    this.session = null;
  }

  tick() {
    this.paint();
    if (this.playing && this.element.isConnected) requestAnimationFrame(() => this.tick());
  }

  paint() {
    const { duration } = this;
    const at = this.position;
    const heard = this.heard;
    const part = share(heard, duration);
    const playing = this.playing;
    this.playButton.textContent = playing ? "\u275A\u275A" : "\u25B6";
    this.playButton.setAttribute("aria-label", fill(playing ? words.pause : words.play, { label: this.label }));
    this.element.classList.toggle("is-playing", playing);
    this.element.classList.toggle("is-heard", this.required > 0 && this.done);
    this.wave.setAttribute("aria-valuenow", at.toFixed(1));
    this.wave.setAttribute("aria-valuetext", fill(words.of, { now: clock(at), all: clock(duration) }));
    this.time.textContent = playing || at > 0 ? `${clock(at)} / ${clock(duration)}` : clock(duration);
    const full = this.required > 0 ? this.done : part > 0.98;
    if (part === 0) this.heardText.textContent = "";
    else this.heardText.textContent = full ? words.heard : fill(words.heardShare, { percent: Math.floor(part * 100) });
    this.rateButton.textContent = `${rate}\u00D7`;
    this.rateButton.setAttribute("aria-label", fill(words.speed, { rate: `${rate}\u00D7` }));
    this.picture.show(at, heard, duration);
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

  /** Say in words what went wrong; the media element itself does not tell an expired address from a broken file. */
  async failed() {
    if (!this.element.isConnected) return;
    const again = this.action(words.again, () => {
      this.retry();
      this.play();
    });
    const text = await this.cause();
    if (text === words.expired) {
      this.say(text, this.action(words.reload, () => location.reload()));
      return;
    }
    const report = this.action(words.report, () => this.report(text));
    this.say(text, again, ...(this.element.closest("[data-reportable]") ? [report] : []));
  }

  async cause() {
    try {
      const headers = { Range: "bytes=0-0", Accept: "application/json" };
      const answer = await fetch(this.element.dataset.src, { headers, redirect: "manual" });
      if (answer.type === "opaqueredirect" || [401, 403, 404].includes(answer.status)) return words.expired;
      if (answer.status === 410) return (await answer.json()).error;
      return answer.ok ? words.broken : fill(words.server, { status: answer.status });
    } catch (error) {
      if (error instanceof TypeError) return words.offline;
      throw error;
    }
  }

  report(message) {
    this.element.dispatchEvent(new CustomEvent("clip:report", { bubbles: true, detail: { id: this.id, message } }));
  }

  action(text, act) {
    const button = make("button", { type: "button", class: "btn quiet", text });
    button.addEventListener("click", act);
    return button;
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
      l: () => this.setLoop(!this.audio.loop),
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

  drag(event) {
    const box = this.wave.getBoundingClientRect();
    const to = (move) => this.seek(((move.clientX - box.left) / box.width) * this.duration);
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
    live.delete(this);
    if (current === this) current = null;
  }
}

function focusOn(clip) {
  if (current === clip) return;
  current?.element.classList.remove("is-current");
  current = clip;
  clip.element.classList.add("is-current");
}

function prefetchAfter(clip) {
  const following = clipsIn(document);
  const next = following[following.indexOf(clip) + 1];
  if (next) next.audio.preload = "auto";
}

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
  return current;
}

export function pauseAll() {
  for (const clip of live) clip.pause();
}

/** Set the speed of every clip; kept for the session. Pitch stays as it is. */
export function setRate(value) {
  rate = value;
  sessionStorage.setItem("eqstudio.rate", String(value));
  for (const clip of live) {
    clip.audio.playbackRate = value;
    clip.paint();
  }
}

/** One step slower (-1) or faster (1). */
export function stepRate(step) {
  const at = RATES.indexOf(rate) + step;
  setRate(RATES[Math.min(RATES.length - 1, Math.max(0, at))]);
}

/** Go on with `to` at the place where `from` is: to compare two renditions. */
export function switchTo(from, to) {
  const { playing, position } = from;
  from.pause();
  to.seek(Math.min(position, Math.max(0, to.duration - 0.05)));
  to.wave.focus();
  if (playing) to.play();
}

/** Make players of the clips inside `scope`. */
export function enhance(scope = document) {
  for (const element of scope.querySelectorAll(".clip[data-clip]")) {
    if (!element.player) element.player = new Clip(element);
  }
}

/** Let go of the clips inside `scope`, before it leaves the page. */
export function dispose(scope) {
  for (const clip of clipsIn(scope)) clip.dispose();
}

enhance();
document.addEventListener("htmx:load", (event) => enhance(event.target.parentElement ?? document));
document.addEventListener("htmx:beforeCleanupElement", (event) => {
  if (event.target instanceof Element) dispose(event.target);
});
