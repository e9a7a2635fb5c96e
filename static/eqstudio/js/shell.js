// The shell's manners: theme switch, rail on phones, menus, keys of the page, "g" + letter.
const root = document.documentElement;

const isTyping = (element) => element?.closest("input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable]") != null;

/* Theme */
const themeButtons = document.querySelectorAll("[data-theme-set]");

function storedTheme() {
  return root.dataset.theme ?? "system";
}

function showTheme() {
  for (const button of themeButtons) button.setAttribute("aria-pressed", String(button.dataset.themeSet === storedTheme()));
}

function setTheme(theme) {
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem("theme");
    else localStorage.setItem("theme", theme);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error; // storage is switched off: the choice lasts for this page
  }
  showTheme();
}

for (const button of themeButtons) button.addEventListener("click", () => setTheme(button.dataset.themeSet));
showTheme();

/* Rail on phones */
const railButton = document.querySelector("[data-rail-button]");

function showRail(open) {
  root.classList.toggle("rail-open", open);
  railButton.setAttribute("aria-expanded", String(open));
}

railButton?.addEventListener("click", () => showRail(!root.classList.contains("rail-open")));

/* A strip of tabs shows the one that is open, also where it is wider than the page */
for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  const strip = tab.closest(".tabs");
  const [from, to] = [strip.getBoundingClientRect(), tab.getBoundingClientRect()];
  strip.scrollLeft += to.left + to.width / 2 - (from.left + from.width / 2);
}

/* Menus close when one looks elsewhere */
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

/* Keys */
const dialog = document.querySelector("[data-keys-dialog]");

function openKeys() {
  if (!dialog || dialog.open) return;
  const place = dialog.querySelector("[data-keys-here]");
  const template = document.querySelector("template#keys");
  place.hidden = !template;
  if (template) place.replaceChildren(place.querySelector("h3"), template.content.cloneNode(true));
  dialog.showModal();
}

for (const button of document.querySelectorAll("[data-keys-open]")) button.addEventListener("click", openKeys);
for (const button of document.querySelectorAll("[data-keys-close]")) button.addEventListener("click", () => dialog.close());

let going = 0;
const GO_WITHIN_MS = 1500;

function go(event) {
  const waited = event.timeStamp - going;
  going = 0;
  if (waited > GO_WITHIN_MS) return false;
  const link = [...document.querySelectorAll("[data-go]")].find((candidate) => candidate.dataset.go === event.key.toLowerCase());
  if (!link) return false;
  event.preventDefault();
  event.stopImmediatePropagation();
  location.assign(link.href);
  return true;
}

function closeOpen() {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
  if (root.classList.contains("rail-open")) {
    showRail(false);
    railButton.focus();
  }
}

window.addEventListener(
  "keydown",
  (event) => {
    if (event.key === "Escape") return closeOpen();
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target) || dialog?.open) return undefined;
    if (going && go(event)) return undefined;
    if (event.key === "g") going = event.timeStamp;
    else if (event.key === "?") openKeys();
    else if (event.key === "/") {
      const search = document.querySelector("[data-search]");
      if (!search || search.offsetParent === null) return undefined;
      event.preventDefault();
      search.focus();
    }
    return undefined;
  },
  { capture: true },
);

/* Forms that send themselves when a choice changes */
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-autosubmit]");
  if (form) form.requestSubmit();
});

/* Copy buttons: data-copy names the element whose text is copied */
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText((source.value ?? source.textContent).trim());
  button.textContent = button.dataset.copied;
});

/* A table that has to be scrolled and holds nothing to tab to is itself reached by tab */
function reachTables() {
  for (const frame of document.querySelectorAll(".table-wrap:not([tabindex])")) if (!frame.querySelector("a[href], button, input, select, summary")) frame.tabIndex = 0;
}

reachTables();
document.addEventListener("htmx:afterSettle", reachTables);
