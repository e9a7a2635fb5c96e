// What opens below the item: where a skipped item goes, and a report on a sound.

import { currentClip } from "../../eqstudio/js/listen.js";
import { itemClips } from "./judge-item.js";
import { $, $$, page, tell, words } from "./judge-page.js";

const PANELS = ["judge-skip-panel", "judge-problem-panel"];

export function openPanel(id) {
  const panel = document.getElementById(id);
  if (!panel) return;
  closePanels();
  if (id === "judge-problem-panel") chooseClip();
  panel.hidden = false;
  showOpen();
  panel.scrollIntoView({ block: "nearest" });
  panel.querySelector("button, select, input").focus();
}

/** True when something was open. */
export function closePanels() {
  const open = PANELS.map((id) => document.getElementById(id)).filter((panel) => panel && !panel.hidden);
  for (const panel of open) panel.hidden = true;
  showOpen();
  return open.length > 0;
}

/** The panel that is open, if any. */
export function panelOpen() {
  return PANELS.find((id) => document.getElementById(id)?.hidden === false) ?? "";
}

function showOpen() {
  for (const button of $$("[data-opens]")) {
    button.setAttribute("aria-expanded", String(!document.getElementById(button.dataset.opens)?.hidden));
  }
}

function chooseClip(id = currentClip()?.id) {
  const select = $("#judge-problem-clip");
  select.value = [...select.options].some((option) => option.value === id) ? id : "";
}

/** A clip could not be played and the person says so: the report is filled in already. */
export function openReport({ id, message }) {
  openPanel("judge-problem-panel");
  chooseClip(id);
  $("#judge-problem-kind").value = "not_playing";
  $("#judge-problem-detail").value = message;
}

/** Where the item goes, with its reason; null and a word about it when the reason is missing. */
export function skipBody(skip) {
  const reason = $("#judge-skip-reason").value.trim();
  if (skip !== "unjudgeable") return { skip, reason: "" };
  if (reason) return { skip, reason };
  $("#judge-skip-reason").focus();
  tell(words.why);
  return null;
}

export function reportBody(give_back) {
  const detail = $("#judge-problem-detail").value.trim();
  return { variant: $("#judge-problem-clip").value, problem: $("#judge-problem-kind").value, detail, give_back };
}

/** Open the guidelines at a worked example and play it. */
export function playExample(uid) {
  const guidelines = $("#judge-guidelines");
  guidelines.open = true;
  const { player } = document.getElementById(`judge-example-${uid}`).querySelector(".clip");
  player.element.scrollIntoView({ block: "nearest" });
  player.wave.focus({ preventScroll: true });
  player.play();
}

/** Whether there is anything to hear, and so to report. */
export function canReport() {
  return Boolean(page.dataset.problem) && itemClips().length > 0;
}
