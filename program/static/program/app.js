// What the pages need beyond HTML: theme, relative times, toasts for what went wrong, dialogs, copying, calm polling.
// Every button also works without it. No inline handlers, no eval: the content-security policy forbids both.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // theme
  function showTheme() {
    const chosen = root.dataset.theme || "system";
    for (const button of all("[data-theme-set]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeSet === chosen));
    }
  }
  function setTheme(theme) {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    try {
      if (theme === "system") localStorage.removeItem("theme");
      else localStorage.setItem("theme", theme);
    } catch {
      // Forbidden storage: the choice lasts as long as the page.
    }
    showTheme();
  }

  // times: <time datetime="…" data-relative> says how long ago, its title the exact moment here and in UTC
  // Plain English writes the day before the month and counts 24 hours, as the server does.
  const lang = root.lang === "en" ? "en-GB" : root.lang || undefined;
  const relative = new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "long" });
  const exact = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "medium" });
  const utc = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const UNITS = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];

  function ago(then, now) {
    const seconds = Math.round((then - now) / 1000);
    for (const [unit, size] of UNITS) {
      if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
    }
    return Math.abs(seconds) < 10 ? relative.format(0, "second") : relative.format(seconds, "second");
  }
  function showTimes(within = document) {
    const now = Date.now();
    for (const element of all("time[datetime]", within)) {
      const then = new Date(element.dateTime);
      if (Number.isNaN(then.getTime()) || !element.dateTime.includes("T")) continue;
      element.title = `${exact.format(then)} (${zone})\n${utc.format(then)} (UTC)`;
      if ("relative" in element.dataset) element.textContent = ago(then.getTime(), now);
    }
  }

  // toasts: the words come from the page, so that they are in the person's language
  const region = () => document.getElementById("toasts");
  function toast(text, tone = "neutral", key = "") {
    const box = region();
    const template = document.getElementById("toast");
    if (!box || !template || !text) return;
    if (key && box.querySelector(`[data-key="${CSS.escape(key)}"]`)) return;
    const item = template.content.firstElementChild.cloneNode(true);
    item.classList.add(tone);
    item.querySelector("[data-text]").textContent = text;
    for (const icon of all("[data-tone]", item)) if (!icon.dataset.tone.split(" ").includes(tone)) icon.remove();
    if (key) item.dataset.key = key;
    // A popover lies in the top layer, so a toast is seen over an open dialog too.
    if (box.showPopover) {
      if (box.matches(":popover-open")) box.hidePopover();
      box.showPopover();
    }
    box.append(item);
    if (tone === "good" || tone === "neutral") setTimeout(() => dismiss(item), 6000);
  }
  function dismiss(item) {
    item.remove();
    const box = region();
    if (box && !box.children.length && box.matches(":popover-open")) box.hidePopover();
  }
  const settle = (key) => all(`#toasts [data-key="${key}"]`).forEach(dismiss);

  function sentenceOf(xhr) {
    const type = xhr.getResponseHeader("Content-Type") || "";
    if (type.startsWith("text/plain")) return xhr.responseText.slice(0, 400);
    if (!type.includes("json")) return "";
    try {
      const problem = JSON.parse(xhr.responseText);
      return problem.detail || problem.title || "";
    } catch {
      return "";
    }
  }
  function words(name) {
    return region()?.dataset[name] || "";
  }
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    if (xhr.status === 401) return toast(words("signedOut"), "warn", "signed-out");
    toast(sentenceOf(xhr) || words(xhr.status >= 500 ? "failed" : "refused"), "bad", `status-${xhr.status}`);
  });
  document.addEventListener("htmx:sendError", () => toast(words("unreachable"), "warn", "unreachable"));
  document.addEventListener("htmx:timeout", () => toast(words("timeout"), "warn", "unreachable"));
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) settle("unreachable");
  });
  // The server may answer with `HX-Trigger: {"toast": {"text": "…", "tone": "good"}}`.
  document.addEventListener("toast", (event) => toast(event.detail.text, event.detail.tone));

  // polling: while nobody looks, once a minute is enough; coming back asks at once
  const lastPoll = new WeakMap();
  document.addEventListener("htmx:beforeRequest", (event) => {
    const element = event.detail.elt;
    if (!element.matches("[data-poll]") || !document.hidden) return;
    const last = lastPoll.get(element) || 0;
    if (Date.now() - last < 60000) return event.preventDefault();
    lastPoll.set(element, Date.now());
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    showTimes();
    for (const element of all("[data-poll]")) window.htmx?.trigger(element, "refresh");
  });

  // a log that follows: whoever reads further up is left there, whoever is at its end stays at its end
  const MOST_LINES = 4000;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const log = event.detail.target;
    if (log.matches?.("[data-follow]")) log.dataset.atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40 ? "yes" : "";
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const log = event.detail.target;
    if (!log.matches?.("[data-follow]") || !log.dataset.atEnd) return;
    while (log.children.length > MOST_LINES) log.firstElementChild.remove();
    log.scrollTop = log.scrollHeight;
  });

  // a grid of nodes is one stop of the Tab key; arrows move inside
  function prepareGrids(within = document) {
    const grids = within.matches?.("[data-grid]") ? [within] : all("[data-grid]", within);
    for (const grid of grids) {
      const cells = all("a", grid);
      cells.forEach((cell, at) => { cell.tabIndex = at === 0 ? 0 : -1; });
    }
  }
  function moveInGrid(event) {
    const grid = event.target.closest?.("[data-grid]");
    if (!grid) return;
    const cells = all("a", grid);
    const at = cells.indexOf(event.target);
    if (at < 0) return;
    const top = cells[0].offsetTop;
    const columns = Math.max(1, cells.findIndex((cell) => cell.offsetTop > top));
    const wide = cells.at(-1).offsetTop === top ? cells.length : columns;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + wide, ArrowUp: at - wide, Home: 0, End: cells.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = cells[Math.min(Math.max(to, 0), cells.length - 1)];
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  // the menu: what somebody folded stays folded; on a phone only the group of this page is open at first
  const narrow = matchMedia("(max-width: 860px)");
  const FOLDED = "folded";
  function foldedGroups() {
    try {
      const known = JSON.parse(localStorage.getItem(FOLDED));
      return Array.isArray(known) ? known : [];
    } catch {
      return [];
    }
  }
  function foldMenu() {
    const folded = foldedGroups();
    for (const group of all("details.nav-fold")) {
      group.open = Boolean(group.querySelector("[aria-current]")) || (!narrow.matches && !folded.includes(group.id));
    }
    document.querySelector(".side .nav [aria-current]")?.scrollIntoView({ block: "nearest" });
  }
  function rememberFold(group) {
    const others = foldedGroups().filter((id) => id !== group.id);
    try {
      localStorage.setItem(FOLDED, JSON.stringify(group.open ? [...others, group.id] : others));  // it is about to turn
    } catch {
      // Forbidden storage: the fold lasts as long as the page.
    }
  }
  narrow.addEventListener("change", foldMenu);
  foldMenu();

  // clicks
  document.addEventListener("click", async (event) => {
    const target = event.target.closest("[data-dialog], [data-close], [data-copy], [data-theme-set], [data-dismiss], [data-print]");
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    const heading = event.target.closest(".nav-fold > summary");
    if (heading && !narrow.matches) rememberFold(heading.parentElement);
    if (event.target instanceof HTMLDialogElement) return event.target.close();
    if (!target) return;
    if (target.dataset.dialog) {
      const dialog = document.getElementById(target.dataset.dialog);
      if (!dialog) return;
      event.preventDefault();
      dialog.showModal();
    } else if ("close" in target.dataset) {
      const dialog = target.closest("dialog");
      if (!dialog) return;
      event.preventDefault();
      dialog.close();
    } else if (target.dataset.copy) {
      const source = document.getElementById(target.dataset.copy);
      const lines = source.matches("ol") ? all("li", source).map((line) => line.textContent) : [source.textContent.trim()];
      try {
        await navigator.clipboard.writeText(lines.join("\n"));
        toast(words("copied"), "good", "copied");
      } catch {
        getSelection().selectAllChildren(source);
        toast(words("notCopied"), "warn", "copied");
      }
    } else if (target.dataset.themeSet) setTheme(target.dataset.themeSet);
    else if ("dismiss" in target.dataset) dismiss(target.closest(".toast, .notice"));
    else if ("print" in target.dataset) window.print();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      for (const menu of all("details.menu[open]")) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
      return;
    }
    const typing = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const field = document.querySelector("[data-slash]");
      if (field) {
        event.preventDefault();
        field.focus();
      }
      return;
    }
    moveInGrid(event);
  });
  // A choice in a form marked so goes at once; without JavaScript its button does the same.
  document.addEventListener("change", (event) => {
    if (event.target.form?.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
  });

  // what htmx put into the page gets the same care
  function prepare(within = document) {
    showTimes(within);
    prepareGrids(within);
    showTheme();
    for (const log of all("[data-follow]", within)) log.scrollTop = log.scrollHeight;
  }
  // what somebody opened stays open when the page brings itself up to date
  const opened = new Set();
  document.addEventListener("toggle", ({ target }) => {
    if (target.matches?.("details[data-keep]")) opened[target.open ? "add" : "delete"](target.id);
  }, true);
  document.addEventListener("htmx:load", () => {
    for (const one of all("details[data-keep]")) if (opened.has(one.id)) one.open = true;
  });
  document.addEventListener("htmx:load", (event) => prepare(event.detail.elt));
  document.addEventListener("DOMContentLoaded", () => {
    prepare();
    document.querySelector("[data-error-summary]")?.focus();
  });
  setInterval(() => { if (!document.hidden) showTimes(); }, 20000);
})();
