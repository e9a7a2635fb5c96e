// The sounds of the item that will probably come next, fetched while this one is judged. Nothing is reserved by it.

import { forgetSupplied, supply } from "../../eqstudio/js/listen.js";
import { itemClips } from "./judge-item.js";
import { page, state } from "./judge-page.js";
import { postJson } from "./outbox.js";

const MOST_BYTES = 32 * 1024 * 1024;
let asked = null;

/** Once this item's own sounds are here and half of them are heard, ask for those of the next. */
export function fetchAhead() {
  const { item } = state;
  if (!page.dataset.ahead || !item || item.sent || asked === item.assignment) return;
  const clips = itemClips();
  if (!clips.every((clip) => clip.loaded || clip.done) || clips.filter((clip) => clip.done).length < clips.length / 2) return;
  asked = item.assignment;
  fetchFor(item.assignment);
}

async function fetchFor(assignment) {
  forgetSupplied();
  const result = await postJson(page.dataset.ahead, { assignment });
  if (result.state !== "stored") return;
  let bytes = 0;
  for (const { id, url } of result.data.clips) {
    if (state.item?.assignment !== assignment || bytes > MOST_BYTES) return;
    const blob = await sound(url);
    if (!blob || state.item?.assignment !== assignment) return;
    bytes += blob.size;
    supply(id, blob);
  }
}

async function sound(url) {
  try {
    const answer = await fetch(url, { redirect: "manual", priority: "low" });
    return answer.ok ? await answer.blob() : null;
  } catch (error) {
    if (error instanceof TypeError) return null; // no connection: the next item loads by itself later
    throw error;
  }
}
