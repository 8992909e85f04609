"use strict";
// Everything the page says is there without this script. It adds the search, the filter of events, buttons that fold,
// links that open what they lead to, and the mark in the table of contents.
(() => {
  const byId = (id) => document.getElementById(id);
  const number = (value) => value.toLocaleString("en");
  const main = byId("main");
  document.documentElement.classList.add("scripted");

  // ------------------------------------------------------------------------------------------------- the filter

  const list = byId("event-groups");
  const filterForm = byId("event-filter");
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = new WeakMap();
  const textOf = (element) => {
    if (!texts.has(element)) texts.set(element, element.textContent.toLowerCase());
    return texts.get(element);
  };
  const rows = list ? [...list.querySelectorAll("tr[data-kind]")] : [];
  const gaps = list ? [...list.querySelectorAll("tr.gap")] : [];
  const groups = list ? [...list.children] : [];

  const filter = () => {
    const query = words(byId("event-query").value);
    const kind = byId("event-kind").value;
    const surface = byId("event-surface").value;
    const all = !query.length && !kind && !surface;
    let shown = 0;
    for (const row of rows) {
      const fits =
        (!kind || row.dataset.kind === kind) &&
        (!surface || row.classList.contains(surface)) &&
        query.every((word) => textOf(row).includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    // What a gap holds was not looked at, so it goes; a group stays while one of its rows does.
    for (const gap of gaps) gap.hidden = !all;
    for (const group of groups) group.hidden = !all && !group.querySelector("tr[data-kind]:not([hidden])");
    byId("event-count").textContent = all
      ? `${number(rows.length)} rows`
      : `${number(shown)} of ${number(rows.length)} rows${gaps.length ? "; events that this page leaves out are not looked at" : ""}`;
  };
  const unfilter = () => {
    filterForm.reset();
    filter();
  };

  const delayed = (act) => {
    let wait = 0;
    return () => {
      clearTimeout(wait);
      wait = setTimeout(act, 120);
    };
  };

  if (rows.length) {
    filterForm.hidden = false;
    byId("event-query").addEventListener("input", delayed(filter));
    byId("event-kind").addEventListener("change", filter);
    byId("event-surface").addEventListener("change", filter);
    filterForm.addEventListener("submit", (event) => {
      event.preventDefault();
      filter();
    });
    filter();
  }

  // ------------------------------------------------------------------------------------------------- what is folded

  const reveal = (element) => {
    for (let each = element.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
    if (element.hidden || element.closest("[hidden]")) unfilter();
  };
  const folds = byId("folds");
  folds.hidden = false;
  const all = () => [...main.querySelectorAll("details")];
  byId("open-all").addEventListener("click", () => all().forEach((each) => (each.open = true)));
  byId("close-all").addEventListener("click", () => all().forEach((each) => (each.open = false)));

  // Paper cannot be unfolded: sections, messages and tables are printed open. Rows of events print as they are,
  // and what a column holds is looked up on the screen.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all().filter((each) => !each.open && !each.closest("#event-groups, .docs"));
    opened.forEach((each) => (each.open = true));
  });
  addEventListener("afterprint", () => {
    opened.forEach((each) => (each.open = false));
    opened = [];
  });

  // ------------------------------------------------------------------------------------------------- the search

  const form = byId("find");
  const query = byId("find-query");
  const state = byId("find-state");
  const before = byId("find-before");
  const next = byId("find-next");
  form.hidden = false;

  // What can be found, in the order of the page: rows, messages, facts, nodes of diagrams, words of charts, headings.
  const UNITS =
    "tbody > tr:not(.gap), .message, .facts > div, .numbers > li, .picture g.node, .picture g.cluster, .dsh-chart text, section p, h1, h2, h3";
  let units = null;
  let found = [];
  let at = -1;
  const links = [...document.querySelectorAll("nav a[href]")];
  const linkOf = new Map(links.map((link) => [link.hash.slice(1), link]));
  const badges = new Map();

  const placesOf = (unit) => {
    const places = [];
    for (let each = unit.closest("article[id], section[id]"); each; each = each.parentElement.closest("section[id]")) {
      places.push(each.id);
    }
    return places;
  };
  const look = () => {
    const asked = words(query.value);
    units ??= [...main.querySelectorAll(UNITS)].filter((unit) => !unit.parentElement.closest(".message"));
    found = asked.length ? units.filter((unit) => asked.every((word) => textOf(unit).includes(word))) : [];
    const counts = new Map();
    for (const unit of found) for (const place of placesOf(unit)) counts.set(place, (counts.get(place) ?? 0) + 1);
    for (const [id, link] of linkOf) {
      if (!badges.has(id)) {
        const badge = document.createElement("span");
        badge.className = "hits";
        link.append(badge);
        badges.set(id, badge);
      }
      badges.get(id).textContent = counts.get(id) ? number(counts.get(id)) : "";
      badges.get(id).title = counts.get(id) ? "matches here" : "";
    }
    document.documentElement.classList.toggle("searching", asked.length > 0);
    mark(null);
    at = -1;
    before.disabled = next.disabled = !found.length;
    say(asked.length);
  };
  const say = (asked) => {
    const more = main.querySelector(".gap") ? "; what this page leaves out is not searched" : "";
    if (!asked) state.textContent = "";
    else if (!found.length) state.textContent = `nothing found${more}`;
    else if (at < 0) state.textContent = `${number(found.length)} ${found.length === 1 ? "match" : "matches"}${more}`;
    else {
      const place = placesOf(found[at]).map((id) => byId(`h-${id}`)?.textContent)[0];
      state.textContent = `${number(at + 1)} of ${number(found.length)}${place ? `, in ${place}` : ""}`;
    }
  };
  const mark = (unit) => {
    main.querySelectorAll(".found").forEach((old) => old.classList.remove("found"));
    if (typeof CSS !== "undefined" && CSS.highlights) CSS.highlights.delete("found");
    if (!unit) return;
    unit.classList.add("found");
    if (typeof Highlight === "undefined" || !CSS.highlights) return;
    const ranges = [];
    const walker = document.createTreeWalker(unit, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && ranges.length < 500; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue; // a letter whose small form is longer: the places differ
      for (const word of words(query.value)) {
        for (let from = text.indexOf(word); from >= 0 && ranges.length < 500; from = text.indexOf(word, from + word.length)) {
          const range = new Range();
          range.setStart(node, from);
          range.setEnd(node, from + word.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  };
  const go = (step) => {
    if (!found.length) return;
    at = at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length;
    const unit = found[at];
    reveal(unit);
    const own = unit.matches("details") ? unit : unit.matches("tr") ? unit.querySelector("details") : null;
    // A row whose line shows the words stays as it is; else the words lie in what it hides.
    if (own && !words(query.value).every((word) => own.querySelector("summary").textContent.toLowerCase().includes(word))) own.open = true;
    mark(unit);
    unit.scrollIntoView({ block: "center", inline: "nearest" });
    say(true);
  };
  let asked = "";
  const lookNow = () => {
    if (query.value !== asked) {
      asked = query.value;
      look();
    }
  };
  query.addEventListener("input", delayed(lookNow));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    lookNow();
    go(1);
  });
  query.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      lookNow();
      go(-1);
    } else if (event.key === "Escape") {
      query.value = "";
      lookNow();
    }
  });
  before.addEventListener("click", () => go(-1));
  next.addEventListener("click", () => go(1));
  document.addEventListener("keydown", (event) => {
    const busy = event.target instanceof Element && event.target.closest("input, select, textarea");
    if (event.key !== "/" || busy || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    query.focus();
    query.select();
  });

  // ------------------------------------------------------------------------------------------------- where one is

  const targets = links.map((link) => byId(link.hash.slice(1))).filter(Boolean);
  let current = null;
  let led = null; // what a link led to: the place, as long as it is in sight
  const locate = () => {
    const top = (target) => target.getBoundingClientRect().top;
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    let here = targets[0];
    for (const target of targets) if (top(target) <= innerHeight * 0.3) here = target;
    // At the very end the last section is the one, however short it is.
    if (atEnd) here = targets[targets.length - 1];
    if (led && (top(led) < -10 || top(led) > innerHeight * (atEnd ? 1 : 0.6))) led = null;
    if (led) here = led;
    if (here === current || !here) return;
    current = here;
    for (const link of links) {
      const is = link.hash.slice(1) === here.id;
      if (is) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
      if (is && link.closest(".side").scrollHeight > link.closest(".side").clientHeight) link.scrollIntoView({ block: "nearest" });
    }
    const section = here.closest("section")?.id;
    document.querySelectorAll("nav > ul > li").forEach((item) => {
      item.classList.toggle("here", item.firstElementChild.hash.slice(1) === section);
    });
  };
  let waiting = false;
  const locateSoon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      locate();
    });
  };
  addEventListener("scroll", locateSoon, { passive: true });
  addEventListener("resize", locateSoon, { passive: true });

  // ------------------------------------------------------------------------------------------------- links

  // A link to an event that is not in the table, because it lies in a run or a gap, leads to what is nearest.
  const seqs = rows.map((row) => Number(row.id.slice(1)));
  const nearest = (seq) => {
    let low = 0;
    let high = seqs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (seqs[middle] <= seq) low = middle;
      else high = middle - 1;
    }
    return rows[low];
  };
  const follow = () => {
    const match = /^#e(\d+)$/.exec(location.hash);
    const target = match && rows.length ? nearest(Number(match[1])) : null;
    if (!target) {
      const named = location.hash.length > 1 ? byId(location.hash.slice(1)) : null;
      if (named && main.contains(named)) {
        reveal(named);
        if (named.matches("article")) named.querySelector("details")?.setAttribute("open", "");
        named.scrollIntoView();
        led = targets.includes(named) ? named : null;
      }
      locateSoon();
      return;
    }
    reveal(target);
    list.querySelectorAll("tr.target").forEach((old) => old.classList.remove("target"));
    target.classList.add("target");
    target.querySelector("details").open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
    locateSoon();
  };
  addEventListener("hashchange", follow);
  // The same link once more changes no address, but what it leads to may have been folded since.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) follow();
  });
  follow();
  locate();
})();
