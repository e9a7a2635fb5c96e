// Keeps what a person said until the server has stored it: through lost connections, ended sessions, errors of the
// server, reloads and closed tabs. Every entry carries a client key, so sending it twice stores it once.

import { fill, make, wordsFrom } from "../../eqstudio/js/listen-core.js";

const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 60000;
const TIMEOUT_MS = 20000;
const CUT_OFF = new Set(["TypeError", "SyntaxError", "TimeoutError", "AbortError"]);
const DRAFT_LIFE_MS = 14 * 24 * 3600 * 1000;

export const words = wordsFrom("outbox-words", {
  waitingOne: "Not saved yet: 1 answer waits here.",
  waitingMany: "Not saved yet: {n} answers wait here.",
  kept: "It is kept in this browser and sent as soon as possible, also after a reload.",
  memory: "This browser keeps nothing, so leave this tab open.",
  offline: "There is no connection.",
  signedOut: "You have been signed out.",
  signIn: "Sign in again in a new tab",
  server: "The server has trouble (answer {status}).",
  broken: "Something went wrong on this page.",
  send: "Send now",
  refused: "An answer was not accepted: {message}",
  discard: "Discard it",
});

/** A random key of 32 characters. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function cookie(name) {
  const found = document.cookie.split("; ").find((part) => part.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

/**
 * Send JSON and say what became of it: {state, data, status}. `state` is stored, refused (the server understood and
 * said no), offline (also where the answer breaks off half way: it may be stored, and is sent again), signedOut or server.
 */
export async function postJson(url, body, { keepalive = false } = {}) {
  const sent = {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json", "X-CSRFToken": cookie("csrftoken") },
    body: JSON.stringify(body),
    redirect: "manual",
    keepalive,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  };
  try {
    return await whatBecame(await fetch(url, sent));
  } catch (error) {
    if (CUT_OFF.has(error.name)) return { state: "offline" };
    throw error;
  }
}

async function whatBecame(answer) {
  const { status } = answer;
  if (answer.type === "opaqueredirect" || status === 401) return { state: "signedOut", status };
  const isJson = (answer.headers.get("Content-Type") ?? "").includes("application/json");
  if (answer.ok && isJson) return { state: "stored", status, data: await answer.json() };
  if (isJson && status >= 400 && status < 500 && ![408, 425, 429].includes(status)) {
    return { state: "refused", status, data: await answer.json() };
  }
  return { state: status === 403 ? "signedOut" : "server", status };
}

/** A place for JSON values that outlives the page where the browser allows it. */
class Shelf {
  constructor(prefix) {
    this.prefix = prefix;
    this.memory = new Map();
    this.lasting = true;
  }

  put(key, value) {
    this.memory.set(key, value);
    try {
      localStorage.setItem(this.prefix + key, JSON.stringify(value));
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      this.lasting = false;
    }
  }

  get(key) {
    return this.all().find(([name]) => name === key)?.[1] ?? null;
  }

  remove(key) {
    this.memory.delete(key);
    if (this.readable()) localStorage.removeItem(this.prefix + key);
  }

  readable() {
    try {
      return Boolean(localStorage);
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      this.lasting = false;
      return false;
    }
  }

  all() {
    const found = new Map(this.memory);
    if (this.readable()) {
      for (const name of Object.keys(localStorage)) {
        if (name.startsWith(this.prefix)) found.set(name.slice(this.prefix.length), JSON.parse(localStorage.getItem(name)));
      }
    }
    return [...found];
  }
}

/** Drafts of one person in this browser. Those that nobody came back to in two weeks are let go. */
function draftShelf(user) {
  const shelf = new Shelf(`eqstudio.draft.${user}.`);
  for (const [key, draft] of shelf.all()) if (!(draft.at > Date.now() - DRAFT_LIFE_MS)) shelf.remove(key);
  return shelf;
}

export class Outbox {
  /** `user` owns the entries; `strip` is where waiting ones are shown; callbacks take (entry, data). */
  constructor({ user, strip, loginUrl, onStored, onRefused }) {
    this.shelf = new Shelf(`eqstudio.outbox.${user}.`);
    this.drafts = draftShelf(user);
    Object.assign(this, { strip, loginUrl, onStored, onRefused });
    this.wait = FIRST_WAIT_MS;
    this.sending = null;
    this.trouble = null;
    addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible" && this.trouble) this.flush();
    });
    addEventListener("beforeunload", (event) => {
      if (!this.shelf.lasting && this.waiting().length) event.preventDefault();
    });
  }

  entries() {
    return this.shelf.all().map(([, entry]) => entry).sort((a, b) => a.made - b.made);
  }

  waiting() {
    return this.entries().filter((entry) => !entry.refused);
  }

  /** Keep `body` first, then send it to `url`. `draft` names the draft that is not needed once it is stored. */
  put({ key, url, body, draft }) {
    this.shelf.put(key, { key, url, body, draft, made: Date.now() });
    return this.flush();
  }

  /** Send everything that waits, oldest first; one run at a time. */
  flush() {
    this.sending ??= this.run().finally(() => {
      this.sending = null;
    });
    return this.sending;
  }

  /** Whatever is thrown on the way, it is tried again later. */
  async run() {
    clearTimeout(this.timer);
    try {
      await this.sendAll();
    } catch (error) {
      this.later({ state: "broken" });
      throw error;
    }
  }

  async sendAll() {
    const tried = new Set();
    for (let entry = this.nextOf(tried); entry; entry = this.nextOf(tried)) {
      tried.add(entry.key);
      const result = await postJson(entry.url, entry.body);
      if (result.state === "stored") this.stored(entry, result.data);
      else if (result.state === "refused") this.refused(entry, result.data);
      else {
        this.later(result);
        return;
      }
    }
    this.trouble = null;
    this.wait = FIRST_WAIT_MS;
    this.show();
  }

  nextOf(tried) {
    return this.waiting().find((entry) => !tried.has(entry.key));
  }

  stored(entry, data) {
    this.shelf.remove(entry.key);
    this.drafts.remove(entry.draft);
    this.trouble = null;
    this.onStored(entry, data);
  }

  refused(entry, data) {
    if (this.onRefused(entry, data)) this.shelf.remove(entry.key);
    else this.shelf.put(entry.key, { ...entry, refused: data.error ?? "" });
  }

  later(result) {
    this.trouble = result;
    this.timer = setTimeout(() => this.flush(), this.wait);
    this.wait = Math.min(LONGEST_WAIT_MS, this.wait * 2);
    this.show();
  }

  show() {
    const waiting = this.waiting();
    const parts = [];
    if (waiting.length && this.trouble) parts.push(this.waitingNotice(waiting.length));
    for (const entry of this.entries()) if (entry.refused !== undefined) parts.push(this.refusedNotice(entry));
    this.strip.replaceChildren(...parts);
  }

  waitingNotice(n) {
    const count = n === 1 ? words.waitingOne : fill(words.waitingMany, { n });
    const cause = fill(words[this.trouble.state], { status: this.trouble.status ?? "" });
    const actions = [this.button(words.send, () => this.flush())];
    if (this.trouble.state === "signedOut") {
      actions.unshift(make("a", { class: "btn", href: this.loginUrl, target: "_blank", text: words.signIn }));
    }
    return make(
      "div",
      { class: "notice warn" },
      make("strong", { text: count }),
      make("span", { text: `${cause} ${this.shelf.lasting ? words.kept : words.memory}` }),
      make("div", { class: "actions" }, ...actions),
    );
  }

  refusedNotice(entry) {
    const discard = this.button(words.discard, () => {
      this.shelf.remove(entry.key);
      this.show();
    });
    const again = this.button(words.send, () => {
      const { refused, ...rest } = entry;
      this.put(rest);
    });
    return make(
      "div",
      { class: "notice bad" },
      make("span", { text: fill(words.refused, { message: entry.refused }) }),
      make("div", { class: "actions" }, again, discard),
    );
  }

  button(text, act) {
    const button = make("button", { type: "button", class: "btn", text });
    button.addEventListener("click", act);
    return button;
  }
}
