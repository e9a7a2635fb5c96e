// What a clip says when it cannot be played: in words, with what to do.

import { fill, make } from "./listen-core.js";
import { words } from "./listen-words.js";

function action(text, act) {
  const button = make("button", { type: "button", class: "btn quiet", text });
  button.addEventListener("click", act);
  return button;
}

/** Why a clip failed; the media element itself does not tell an expired address from a broken file. */
async function cause(address) {
  try {
    const headers = { Range: "bytes=0-0", Accept: "application/json" };
    // What the player was told may be kept as a page; what is wanted here is the sentence.
    const answer = await fetch(address, { headers, redirect: "manual", cache: "no-store" });
    if (answer.type === "opaqueredirect" || [401, 403, 404].includes(answer.status)) return words.expired;
    if (answer.status === 410) return (await answer.json()).error;
    return answer.ok ? words.broken : fill(words.server, { status: answer.status });
  } catch (error) {
    if (error instanceof TypeError) return words.offline;
    throw error;
  }
}

/** Say what went wrong with `clip` and offer to try again, to reload, or to report it where the page takes reports. */
export async function explain(clip) {
  const text = await cause(clip.element.dataset.src);
  if (text === words.expired) {
    clip.say(text, action(words.reload, () => location.reload()));
    return;
  }
  const again = action(words.again, () => {
    clip.retry();
    clip.play();
  });
  const tell = () =>
    clip.element.dispatchEvent(new CustomEvent("clip:report", { bubbles: true, detail: { id: clip.id, message: text } }));
  clip.say(text, again, ...(clip.element.closest("[data-reportable]") ? [action(words.report, tell)] : []));
}
