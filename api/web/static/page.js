// What the pages do by themselves in a browser. No page needs this script to be read, or to send a form.
"use strict";
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.body?.dataset.root ?? "";
  const cookie = name => document.cookie.split("; ").find(each => each.startsWith(name + "="))?.slice(name.length + 1);

  // Times: in the reader's zone, "2 min ago" for a day; the server's UTC text stays on hover.
  function age(seconds) {
    if (seconds < 1) return "now";
    if (seconds < 60) return `${Math.floor(seconds)} s ago`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
    return `${Math.floor(seconds / 3600)} h ago`;
  }
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const year = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  function showTimes(within = document, which = "time[datetime]") {
    for (const time of all(which, within)) {
      const then = new Date(time.dateTime), seconds = (Date.now() - then) / 1000;
      if (isNaN(then)) continue;
      if ("day" in time.dataset) { time.textContent = year.format(then); continue; }
      if ("clock" in time.dataset) { time.textContent = clock.format(then); continue; }
      if ("exact" in time.dataset) time.textContent = day.format(then);
      else if (seconds >= 0 && seconds < 86400) time.textContent = age(seconds);
      else time.textContent = Math.abs(seconds) > 2e7 ? year.format(then) : day.format(then);
    }
  }

  // Notices, with Undo for 30 seconds.
  let undo = null;
  function notice(text, { bad = false, undoPath = "" } = {}) {
    const element = document.createElement("div");
    element.className = bad ? "notice bad" : "notice";
    element.append(text);
    if (undoPath) {
      const button = document.createElement("button");
      button.textContent = "Undo";
      undo = () => { undo = null; element.remove(); post(undoPath); };
      button.onclick = () => undo?.();
      element.append(button);
    }
    const close = document.createElement("button");
    close.className = "link";
    close.textContent = "Close";
    close.onclick = () => element.remove();
    element.append(close);
    $("#notices")?.append(element);
    setTimeout(() => { element.remove(); if (undoPath) undo = null; }, undoPath ? 30000 : bad ? 20000 : 8000);
  }
  function post(path) {
    const form = document.createElement("form");
    form.method = "post";
    form.action = root + path;
    const token = document.createElement("input");
    token.name = "csrf";
    token.value = JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRF"];
    form.append(token);
    document.body.append(form);
    form.submit();
  }
  function showNotice() {
    const value = cookie("memorybase_notice");
    if (!value) return;
    document.cookie = `memorybase_notice=; path=${root || "/"}; max-age=0; samesite=lax`;
    try {
      const { text, undo: undoPath } = JSON.parse(decodeURIComponent(value.replace(/^"|"$/g, "")));
      notice(text, { undoPath });
    } catch { /* another program's cookie */ }
  }

  // Dialogs: data-opens, data-closes, data-must-be.
  function open(id) {
    const dialog = document.getElementById(id);
    if (!dialog || dialog.open) return;
    dialog.showModal();
    dialog.querySelector("input[hx-get]")?.dispatchEvent(new Event("opened"));
  }
  document.addEventListener("click", event => {
    const opener = event.target.closest("[data-opens]"), closer = event.target.closest("[data-closes]");
    const copier = event.target.closest("[data-copies]"), all_ = event.target.closest("[data-selects-all]");
    if (opener) open(opener.dataset.opens);
    if (closer) document.getElementById(closer.dataset.closes)?.close();
    if (copier) copy(copier);
    if (all_) { for (const box of boxes(all_)) box.checked = all_.checked; }
    if (event.target.matches("dialog")) event.target.close();
  });
  document.addEventListener("input", event => {
    const wanted = event.target.dataset?.mustBe;
    if (wanted !== undefined) $("button:not([type=button])", event.target.form).disabled = event.target.value !== wanted;
    if (event.target.type === "range") {
      const output = $(`output[for="${event.target.id}"]`);
      if (output) output.value = (output.dataset.before ?? "") + Number(event.target.value).toFixed(output.dataset.decimals ?? 1);
    }
  });
  // What is wrong with a field stands below it until it is changed: the browser's own words cover it and go away.
  document.addEventListener("invalid", event => {
    const { target } = event;
    event.preventDefault();
    if ([...target.form.elements].find(each => !each.validity.valid) === target) target.focus();
    explain(target);
    const label = target.labels?.[0]?.textContent.trim() || target.getAttribute("aria-label") || "This field";
    const text = document.createElement("p");
    text.className = "error invalid";
    text.setAttribute("role", "alert");
    text.textContent = target.validity.valueMissing ? `${label} must not be empty.` : target.validationMessage;
    target.after(text);
    target.setAttribute("aria-invalid", "true");
  }, true);
  document.addEventListener("input", event => explain(event.target));
  function explain(field) {
    if (field.nextElementSibling?.matches(".invalid")) { field.nextElementSibling.remove(); field.removeAttribute("aria-invalid"); }
  }
  // data-submits: a choice that changes what else can be chosen; it names what is taken back before.
  document.addEventListener("change", event => {
    const { target } = event, form = target.form;
    if (!form || target.dataset.submits === undefined) return;
    for (const each of form.elements) {
      if (!target.dataset.submits.split(" ").includes(each.name)) continue;
      if (each.type === "checkbox") each.checked = false; else each.value = "";
    }
    form.requestSubmit();
  });
  async function copy(button) {
    const code = $("code", button.closest(".code, .id")), before = button.textContent;
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      said = "Press Ctrl+C";
    }
    if ($("svg", button)) { notice(`${said}.`); return; }
    button.textContent = said;
    setTimeout(() => { button.textContent = before; }, 2000);
  }

  // Selection: checkboxes named by data-selectable, a bar that counts them, Shift for a range.
  const boxes = near => all("input[data-selectable]", near.closest("form, table, section") ?? document);
  let lastBox = null;
  function countSelection() {
    for (const bar of all("[data-selection]")) {
      const chosen = all("input[data-selectable]:checked", bar.closest("form") ?? document).length;
      bar.hidden = chosen === 0;
      for (const output of all("[data-selected]", bar)) output.textContent = chosen.toLocaleString("en");
    }
  }
  document.addEventListener("click", event => {
    if (!event.target.matches?.("input[data-selectable]")) return;
    const list = boxes(event.target);
    if (event.shiftKey && lastBox && list.includes(lastBox)) {
      const [from, to] = [list.indexOf(lastBox), list.indexOf(event.target)].sort((a, b) => a - b);
      for (const box of list.slice(from, to + 1)) box.checked = event.target.checked;
    }
    lastBox = event.target;
  });
  document.addEventListener("change", countSelection);
  // The buttons of the bar act on what is selected: without a selection they send nothing.
  document.addEventListener("submit", event => {
    if (!event.submitter?.closest("[data-selection]") || boxes(event.submitter).some(box => box.checked)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // Keys: Ctrl-K, g and a place, j and k over rows, Enter to open, x to select, / to find, ? for help, Ctrl-Z to undo.
  let afterG = false;
  const rows = () => all("[data-row]").filter(row => row.checkVisibility());
  // What Enter does in a row: it opens its link; a row without one has a button. The checkbox is for x.
  const control = row => $("a[href]", row) ?? $("button, summary", row);
  let currentLink;
  function keepCurrent() { // when a live list is replaced
    const row = currentLink && !$("[data-row].current") && rows().find(each => control(each)?.href === currentLink);
    if (!row) return;
    row.classList.add("current");
    if (document.activeElement === document.body) control(row).focus({ preventScroll: true });
  }
  function move(step) {
    const list = rows(), at = list.findIndex(row => row.classList.contains("current"));
    const next = list[Math.max(0, Math.min(list.length - 1, at + step))];
    if (!next) return;
    list[at]?.classList.remove("current");
    next.classList.add("current");
    currentLink = control(next)?.href;
    (control(next) ?? next).focus();
    next.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("keydown", event => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); open("palette"); return; }
    // A field of a dialog that was just closed has the focus until the next frame: its keys are the page's.
    const target = event.target.closest?.("dialog:not([open])") ? document.body : event.target;
    if (target.closest?.("#palette")) { walkPalette(event); return; }
    if (target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]") || $("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && undo) { event.preventDefault(); undo(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (afterG) {
      afterG = false;
      $(`.rail a[data-key="${CSS.escape(event.key)}"]`)?.click();
      return;
    }
    if (event.key === "Enter") {
      // A button, a link and a fold do their own; anywhere else Enter would send the form around the rows.
      if (target.closest?.("a, button, summary")) return;
      const row = target.closest?.("[data-row]") ?? (target === document.body ? $("[data-row].current") : null);
      if (!row && !target.matches?.("input[data-selects-all]")) return;
      event.preventDefault();
      if (row) control(row)?.click();
      return;
    }
    const acts = {
      g: () => { afterG = true; setTimeout(() => { afterG = false; }, 1500); },
      j: () => $("[data-key-j]") ? $("[data-key-j]").click() : move(1),
      k: () => $("[data-key-k]") ? $("[data-key-k]").click() : move(-1),
      x: () => $("input[data-selectable]", $("[data-row].current") ?? document.createElement("div"))?.click(),
      "/": () => { ($("main input[type=search]") ?? { focus: () => open("palette") }).focus(); },
      "?": () => open("shortcuts"),
    };
    if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
  });
  function walkPalette(event) {
    const links = all("#palette-found a"), at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown") { event.preventDefault(); (links[at + 1] ?? links[0])?.focus(); }
    if (event.key === "ArrowUp") { event.preventDefault(); (links[at - 1] ?? $("#palette input")).focus(); }
    if (event.key === "Enter" && at < 0) { event.preventDefault(); links[0]?.click(); }
  }

  // A session: what one message's popover shows; where the page opens, unless the reader comes back to it.
  document.addEventListener("click", event => {
    const button = event.target.closest?.("[data-about]"), about = $("#about");
    if (!button || !about) return;
    about.replaceChildren();
    htmx.ajax("GET", `${about.dataset.url}&message=${button.dataset.about}`, { target: about, swap: "innerHTML" });
  });
  if (performance.getEntriesByType("navigation")[0]?.type === "navigate") {
    const here = $("[data-scroll-here]"), isShort = document.documentElement.scrollHeight < 2 * innerHeight;
    const scroll = () => here.scrollIntoView({ block: here.dataset.scrollHere });
    // A short session is read from its title on. The font changes the heights of a long one.
    if (here && !(isShort && here.dataset.scrollHere === "end")) { scroll(); document.fonts.ready.then(scroll); }
  }

  // A fold that stays open in this tab until it is closed.
  for (const fold of all("details[data-remembers]")) {
    const key = `memorybase-${fold.dataset.remembers}`;
    if (sessionStorage.getItem(key)) fold.open = true;
    fold.addEventListener("toggle", () => fold.open ? sessionStorage.setItem(key, "1") : sessionStorage.removeItem(key));
  }

  // Light and dark.
  $("#theme")?.addEventListener("click", () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark" ||
      (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    const theme = isDark ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    document.cookie = `memorybase_theme=${theme}; path=/; max-age=31536000; samesite=lax`;
  });

  // Live parts listen for "tick" (2 s) and "tick-slow" (10 s) from the body; none come while the page is hidden.
  let ticks = 0;
  setInterval(() => {
    if (document.hidden) return;
    document.body.dispatchEvent(new Event("tick"));
    if (++ticks % 5 === 0) { document.body.dispatchEvent(new Event("tick-slow")); showTimes(document, "time[datetime]:not([data-clock], [data-day])"); }
  }, 2000);

  // An open menu stays: its part is refreshed once it is closed.
  document.addEventListener("htmx:beforeSwap", event => {
    const isTick = event.detail.requestConfig.triggeringEvent?.type.startsWith("tick");
    if (isTick && event.detail.target.querySelector(":popover-open")) event.detail.shouldSwap = false;
  });

  // The alert bar's count is also in the navigation and in the window's title.
  const plainTitle = document.title;
  function showCount() {
    const count = Number($("#alert [data-count]")?.dataset.count ?? 0), badge = $("#problem-count");
    document.title = count ? `(${count}) ${plainTitle}` : plainTitle;
    if (badge) { badge.hidden = !count; badge.textContent = count; }
  }

  document.addEventListener("htmx:afterSwap", event => { showTimes(event.target); showCount(); countSelection(); keepCurrent(); });
  document.addEventListener("htmx:responseError", event => {
    if (event.target.id === "alert") return;
    notice(event.detail.xhr.getResponseHeader("content-type")?.startsWith("text/plain") ? event.detail.xhr.responseText : "The request failed.", { bad: true });
  });
  document.addEventListener("htmx:sendError", event => {
    if (event.target.id !== "alert" && !event.target.hasAttribute("data-live")) notice("memorybase does not answer.", { bad: true });
  });
  showTimes();
  showCount();
  showNotice();
  countSelection();
  open($("[data-opens-now]")?.dataset.opensNow);
})();
