// The meeting screen by keyboard: one key opens a form or goes on, Ctrl+Enter sends it, Esc leaves the field.
// What was typed and not sent is never lost by a wrong key: the browser asks before it leaves the page.
(() => {
  "use strict";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const FIELDS = { o: "id_settle-owner", s: "id_settle-next_step", d: "id_settle-due" };

  function open(details) {
    details.open = true;
    const field = all("input:not([type=hidden]), select, textarea", details)[0];
    if (field) field.focus();
  }
  function hotkey(key) {
    const field = FIELDS[key] && document.getElementById(FIELDS[key]);
    if (field) {
      field.closest("details").open = true;
      field.focus();
      return true;
    }
    const target = all("[data-hotkey]").find((one) => one.dataset.hotkey === key);
    if (!target) return false;
    if (target.matches("summary")) open(target.closest("details"));
    else target.click();
    return true;
  }
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest?.("input, select, textarea");
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && field?.form) {
      event.preventDefault();
      field.form.requestSubmit();
    } else if (event.key === "Escape" && field) field.blur();
    else if (!field && !event.ctrlKey && !event.metaKey && !event.altKey && !document.querySelector("dialog[open]")) {
      if (hotkey(event.key)) event.preventDefault();
    }
  });

  // unsent text
  document.addEventListener("input", (event) => {
    const form = event.target.closest?.("[data-guarded]");
    if (form) form.dataset.unsent = "";
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[hx-post]")) for (const form of all("[data-unsent]")) if (form === event.target) delete form.dataset.unsent;
  });
  window.addEventListener("beforeunload", (event) => {
    if (document.querySelector("[data-unsent]")) event.preventDefault();
  });

  // After an answer the keys work again at once: nobody has to reach for the mouse.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr } = event.detail;
    if (xhr.status === 200 && target.contains(document.activeElement)) document.activeElement.blur();
  });
  // At the swap and not when it has settled: by then a quick hand may be typing in a field.
  document.addEventListener("htmx:afterSwap", (event) => {
    const details = event.detail.elt;
    if (!details.matches?.("details.doing")) return;
    const summary = details.querySelector("[data-error-summary], .refused h2");
    if (summary) {
      details.querySelector("form").dataset.unsent = "";
      summary.tabIndex = -1;
      summary.focus();
    }
  });
})();
