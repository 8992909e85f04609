"use strict";
// Everything the page says is there without this script; it adds a search box, buttons, and links that open what they lead to.
(() => {
  const byId = (id) => document.getElementById(id);

  const list = byId("event-groups");
  const form = byId("event-search");
  const query = byId("event-query");
  const kind = byId("event-kind");
  const surface = byId("event-surface");
  const count = byId("event-count");
  const rows = list ? [...list.querySelectorAll("tr[data-kind]")] : [];
  const gaps = list ? [...list.querySelectorAll("tr.gap")] : [];
  const groups = list ? [...list.children] : [];
  const texts = new WeakMap();

  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };

  const filter = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = !words.length && !kind.value && !surface.value;
    let shown = 0;
    for (const row of rows) {
      const fits =
        (!kind.value || row.dataset.kind === kind.value) &&
        (!surface.value || row.classList.contains(surface.value)) &&
        words.every((word) => textOf(row).includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    // What a gap holds was not searched, so it goes; a group stays while one of its rows does.
    for (const gap of gaps) gap.hidden = !all;
    for (const group of groups) group.hidden = !all && !group.querySelector("tr[data-kind]:not([hidden])");
    count.textContent = all
      ? `${rows.length.toLocaleString("en")} rows`
      : `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows${gaps.length ? "; events that this page leaves out are not searched" : ""}`;
  };

  if (rows.length) {
    form.hidden = false;
    let wait = 0;
    const later = () => {
      clearTimeout(wait);
      wait = setTimeout(filter, 120);
    };
    query.addEventListener("input", later);
    kind.addEventListener("change", filter);
    surface.addEventListener("change", filter);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      filter();
    });
    document.addEventListener("keydown", (event) => {
      const busy = event.target instanceof Element && event.target.closest("input, select, textarea");
      if (event.key !== "/" || busy || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      query.focus();
    });
    count.textContent = `${rows.length.toLocaleString("en")} rows`;
  }

  const messages = [...document.querySelectorAll("#message-list > details")];
  if (messages.length) {
    byId("message-controls").hidden = false;
    byId("open-all").addEventListener("click", () => messages.forEach((message) => (message.open = true)));
    byId("close-all").addEventListener("click", () => messages.forEach((message) => (message.open = false)));
  }

  // A link to an event that the filter hides, or that lies inside a run or a gap, leads to what is nearest.
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
    if (!match || !rows.length) return;
    const row = nearest(Number(match[1]));
    if (row.hidden) {
      form.reset();
      filter();
    }
    list.querySelectorAll("tr.target").forEach((old) => old.classList.remove("target"));
    row.classList.add("target");
    row.querySelector("details").open = true;
    row.scrollIntoView();
    row.querySelector("summary").focus({ preventScroll: true });
  };
  addEventListener("hashchange", follow);
  follow();
})();
