// What players say, in the language of the page.

import { wordsFrom } from "./listen-core.js";

export const words = wordsFrom("listen-words", {
  play: "Play {label}",
  pause: "Pause {label}",
  position: "{label}: position. Space plays and pauses, arrow keys move.",
  of: "{now} of {all}",
  heard: "heard",
  heardShare: "{percent} % heard",
  speed: "Speed {rate}, change",
  loop: "Repeat {label}",
  loopShort: "Repeat; drag with Shift to repeat a part",
  loopPart: "Repeat {label}: from {from} to {to}",
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
