// Runs before the first paint, so that a chosen theme never flashes the other one.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch (error) {
    if (!(error instanceof DOMException)) throw error; // storage is switched off: the system's theme it is
  }
})();
