// What a page gains where scripts run: live updates, relative times, keys. Every page works without this file.
//
// Live updates: the server says WHAT changed, and the page asks its own address again for the regions that show it. So
// there is one way to render, and nothing is lost when an event is.
(() => {
  const root = document.documentElement, data = document.body.dataset;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const regions = () => all("[data-live]");
  root.dataset.script = "";

  // --- What scrolls sideways on a narrow screen begins where the reader is ---
  const sideways = ".tabs, .scroll";
  for (const el of all(".rail [aria-current], .tabs [aria-current]")) {
    const box = el.closest(".rail, .tabs"), place = el.getBoundingClientRect();
    box.scrollLeft += place.left + place.width / 2 - box.getBoundingClientRect().left - box.clientWidth / 2;
  }

  // --- Live updates ---
  let source, timer, poll, errors = 0, paused = false, asking = false;
  const dirty = new Set();

  // busy: to replace the region now would destroy what somebody is doing.
  function busy(region) {
    const focus = document.activeElement, text = getSelection();
    return region.contains(focus) && focus.matches("input:not([type=checkbox]),select,textarea") ||
      region.querySelector("input[name=id]:checked, dialog[open], [data-keep][open]") ||
      !text.isCollapsed && (region.contains(text.anchorNode) || region.contains(text.focusNode));
  }

  // Between the two halves of a click what is pressed must not go: the browser would make no click of it.
  let pressed = null;
  addEventListener("pointerdown", (e) => { pressed = e.target; }, true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(() => { pressed = null; }), true);

  function stale(on) {
    for (const button of all(".stale")) button.toggleAttribute("data-on", on);
  }

  // replace keeps the focus where it was, and what somebody has folded or unfolded.
  function replace(old, fresh) {
    const focus = old.contains(document.activeElement) ? document.activeElement : null;
    const folds = all("details[id][data-folded]", old).map((d) => [d.id, d.open]);
    const scrolled = all("[id][data-scroll]", old).map((el) => [el.id, el.scrollTop]);
    const aside = all(sideways, old).map((el) => el.scrollLeft);
    const current = old.querySelector("[data-current] a.open")?.getAttribute("href");
    old.replaceWith(fresh);
    for (const [id, open] of folds) {
      const d = document.getElementById(id);
      d?.toggleAttribute("open", open);
      d?.toggleAttribute("data-folded", true);
    }
    for (const [id, top] of scrolled) { const el = document.getElementById(id); if (el) el.scrollTop = top; }
    all(sideways, fresh).forEach((el, i) => { el.scrollLeft = aside[i] ?? 0; });
    if (current) mark(fresh.querySelector(`a.open[href="${CSS.escape(current)}"]`)?.closest("[data-row]"), false);
    if (!focus) return;
    const href = focus.getAttribute("href"), value = focus.value;
    const again = focus.id ? document.getElementById(focus.id)
      : href ? fresh.querySelector(`a[href="${CSS.escape(href)}"]`)
      : value ? fresh.querySelector(`[name="${CSS.escape(focus.name)}"][value="${CSS.escape(value)}"]`) : null;
    again?.focus({ preventScroll: true });
  }

  async function pull(names) {
    asking = true;
    try {
      const answer = await fetch(location.href, { headers: { "X-Reax-Fragments": names.join(",") } });
      if (answer.status === 401) return signedOut();
      if (answer.redirected) return location.reload();
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const region of all("[data-live]", fresh)) {
        const old = document.querySelector(`[data-live="${CSS.escape(region.dataset.live)}"]`);
        if (!old || old.dataset.was === region.innerHTML) continue;
        if (old.contains(pressed)) { dirty.add(region.dataset.live); continue; }
        if (busy(old)) { stale(true); continue; }
        const was = region.innerHTML;
        replace(old, document.adoptNode(region));
        region.dataset.was = was;
      }
      relative();
    } catch { // the server is gone, or cannot answer now: what was asked for is still not shown
      setTimeout(() => { for (const name of names) dirty.add(name); wait(); }, 3000);
    } finally {
      asking = false;
      if (dirty.size) wait();
    }
  }

  function wait() {
    timer ||= setTimeout(() => {
      timer = 0;
      if (asking || paused || out || document.hidden || !dirty.size) return;
      const names = [...dirty];
      dirty.clear();
      pull(names);
    }, 400);
  }

  function changed(topics) {
    for (const region of regions()) {
      if (!topics || region.dataset.topics.split(",").some((t) => topics.includes(t))) dirty.add(region.dataset.live);
    }
    if (dirty.size) wait();
  }

  // A region of the topic "clock" shows what changes without an event, such as for how long an actor has been busy.
  setInterval(() => { if (!document.hidden && source) changed(["clock"]); }, 3000);

  function say(word) {
    root.dataset.conn = word;
    for (const el of all("[data-live-text]")) el.textContent = data[word];
  }

  // Without a session nothing is to be had; the page stays as it is, and says how to go on.
  let out = false;
  function signedOut() {
    out = true;
    close();
    say("out");
    for (const button of all("[data-pause]")) button.classList.add("out");
  }

  function open() {
    if (out || source || paused || document.hidden || !regions().length) return;
    source = new EventSource(data.events);
    source.addEventListener("changed", (e) => changed(e.data.split(",")));
    source.onopen = () => {
      // What happened while nobody listened is not known: everything is asked for once.
      changed();
      errors = 0;
      clearInterval(poll);
      poll = 0;
      say("on");
    };
    source.onerror = () => {
      say("off");
      if (++errors >= 3) poll ||= setInterval(changed, 10000);
      // After an answer that is no stream, as a proxy gives for a server that is gone, the browser tries no more.
      if (source.readyState === EventSource.CLOSED) {
        source = null;
        changed(); // which finds out whether it is the session that has ended
        setTimeout(open, 3000);
      }
    };
  }

  function close() {
    source?.close();
    source = null;
    clearInterval(poll);
    poll = 0;
  }

  // A browser has few connections for a server, so tabs that nobody sees must not hold one.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return close();
    open();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);

  // --- Times: the server prints the clock, the script how long ago that is ---
  const words = new Intl.RelativeTimeFormat(root.lang, { numeric: "auto", style: "narrow" });
  const steps = [[60, 1, "second"], [3600, 60, "minute"], [86400, 3600, "hour"], [Infinity, 86400, "day"]];
  function relative() {
    for (const time of all("time[data-rel]")) {
      const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000;
      const [, size, unit] = steps.find(([limit]) => Math.abs(seconds) < limit);
      const text = words.format(Math.trunc(seconds / size), unit);
      if (time.textContent === text) continue;
      if (!time.dataset.rel) { // the clock of the chosen zone must not get lost
        time.dataset.rel = "1";
        time.title = time.textContent + " · " + time.dateTime.replace("T", " ").replace("Z", " UTC");
      }
      time.textContent = text;
    }
  }
  setInterval(relative, 5000);

  // --- Forms with a preview: what is typed is sent to the form's page, which answers with the preview alone ---
  for (const form of all("form[data-preview]")) {
    let typing, asked = 0;
    form.addEventListener("input", (e) => {
      if (e.target.matches("textarea")) return;
      clearTimeout(typing);
      typing = setTimeout(async () => {
        const query = new URLSearchParams([...new FormData(form)].filter(([name]) => !form.elements[name]?.matches?.("textarea")));
        const turn = ++asked;
        try {
          const answer = await fetch(form.action + "?" + query, { headers: { "X-Reax-Fragments": form.dataset.preview } });
          const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(form.dataset.preview);
          if (!fresh || turn !== asked) return; // a later one is on its way
          document.getElementById(form.dataset.preview).replaceWith(document.adoptNode(fresh));
          relative();
        } catch { /* the button does the same */ }
      }, 300);
    });
  }

  // --- Rows: j, k, x, Enter, a click anywhere, shift for a range ---
  let last;
  const rows = () => all("[data-row]");
  function mark(row, scroll = true) {
    for (const other of all("[data-current]")) other.removeAttribute("data-current");
    row?.setAttribute("data-current", "");
    if (scroll) row?.scrollIntoView({ block: "nearest" });
  }
  function step(by) {
    const list = rows(), at = list.findIndex((r) => r.hasAttribute("data-current"));
    mark(list[at < 0 ? 0 : Math.min(Math.max(at + by, 0), list.length - 1)]);
  }
  function count(form) {
    const boxes = all("input[name=id]", form), picked = boxes.filter((b) => b.checked).length;
    for (const head of all("[data-all]", form)) {
      head.checked = picked > 0 && picked === boxes.length;
      head.indeterminate = picked > 0 && picked < boxes.length;
    }
    for (const el of all("[data-n]", form)) el.textContent = picked;
  }
  document.addEventListener("change", (e) => {
    const form = e.target.form;
    if (!form || !e.target.matches("input[name=id], [data-all]")) return;
    if (e.target.matches("[data-all]")) for (const box of all("input[name=id]", form)) box.checked = e.target.checked;
    count(form);
  });

  function visit(row, tab) {
    const link = row?.querySelector("a.open");
    if (link) tab ? window.open(link.href, "_blank", "noopener") : link.click();
  }
  function click(e) {
    const target = e.target, on = (selector) => target.closest?.(selector);
    let el;
    if (target.matches?.("input[name=id]")) {
      const boxes = all("input[name=id]", target.form), at = boxes.indexOf(target), from = boxes.indexOf(last);
      if (e.shiftKey && from >= 0) for (const box of boxes.slice(Math.min(at, from), Math.max(at, from) + 1)) box.checked = target.checked;
      last = target;
      count(target.form);
    } else if ((el = on("[data-dialog]"))) {
      const dialog = document.getElementById(el.dataset.dialog);
      if (dialog && !e.ctrlKey && !e.metaKey) { e.preventDefault(); dialog.showModal(); }
    } else if (on("[data-close]") && on("dialog")) {
      e.preventDefault();
      on("dialog").close();
    } else if (on("[data-refresh]")) {
      location.reload();
    } else if (out && on("[data-pause]")) {
      location.reload();
    } else if ((el = on("[data-pause]"))) {
      paused = !paused;
      el.setAttribute("aria-pressed", paused);
      if (paused) { close(); say("paused"); } else { open(); changed(); }
    } else if ((el = on("summary"))) {
      el.parentElement.toggleAttribute("data-folded", true);
    } else if ((el = on("[data-copy], [data-copy-from]"))) {
      copy(el);
    } else if ((el = on("[data-row]")) && !on("a, button, input, label, td.pick, .actions") && getSelection().isCollapsed) {
      visit(el, e.button === 1 || e.ctrlKey || e.metaKey);
    }
    for (const menu of all("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
  }
  document.addEventListener("click", click);
  document.addEventListener("auxclick", (e) => { if (e.button === 1 && !e.target.closest?.("a")) click(e); });

  // Browsers give the clipboard to secure pages alone; elsewhere a field and the old command do it.
  async function copy(button) {
    const text = button.dataset.copy ?? document.getElementById(button.dataset.copyFrom)?.value ?? "";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      button.after(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.title = button.dataset.copied;
    button.classList.add("done");
  }

  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") for (const menu of all("details.menu[open]")) menu.open = false;
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector("dialog[open]")) return;
    if (e.target.matches("input:not([type=checkbox]),select,textarea,[contenteditable]")) return;
    const row = document.querySelector("[data-current]");
    if (e.key === "/") document.getElementById("search").focus();
    else if (e.key === "?") document.getElementById("keys").showModal();
    else if (e.key === "j") step(1);
    else if (e.key === "k") step(-1);
    else if (e.key === "x" && row) row.querySelector("input[name=id]")?.click();
    else if (e.key === "Enter" && row && e.target === document.body) visit(row);
    else {
      const link = e.key.length === 1 && document.querySelector(`[data-key="${CSS.escape(e.key)}"]`);
      if (!link) return;
      link.click();
    }
    e.preventDefault();
  });

  // The browser's own zone is the likeliest one.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone, zones = document.getElementById("zones");
  if (zone && zones) zones.prepend(new Option(zone, zone));

  for (const form of document.forms) if (form.querySelector("[data-n]")) count(form);
  relative();
  open();
})();
