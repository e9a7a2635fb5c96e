// What the parts of the judging page share: its places, its words, the item that is open, what can be undone.

import { fill, make, wordsFrom } from "../../eqstudio/js/listen-core.js";

export const page = document.getElementById("judge");
export const place = document.getElementById("judge-item");
export const words = wordsFrom("judge-words", {});

/** `item` is null while there is none; `undoable` is {judgement, until}; `nextHtml` waits behind a training answer. */
export const state = { item: null, undoable: null, nextHtml: null, lastActivity: Date.now() };

/** Timers of one item, all stopped when it goes. */
export const timers = {};

export const $ = (selector) => place.querySelector(selector);
export const $$ = (selector) => [...place.querySelectorAll(selector)];

export function stopTimers() {
  for (const name of Object.keys(timers)) {
    clearTimeout(timers[name]);
    timers[name] = null;
  }
}

export const hourMinute = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

export function time(when, options) {
  return new Date(when).toLocaleTimeString(document.documentElement.lang, options);
}

const news = document.getElementById("judge-news");

/** Say something above the item; `kind` is "" or "bad". */
export function tell(text, kind = "", ...actions) {
  news.className = `judge-news row ${kind ? `notice ${kind}` : ""}`;
  news.replaceChildren(...(text ? [make("span", { text }), ...actions] : []));
}

export function tellFailed(result) {
  const refused = result.state === "refused";
  tell(refused ? fill(words.failed, { message: result.data.error ?? "" }) : words.offline, "bad");
}
