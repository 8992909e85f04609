// The stepper's page: the log as a strip, the surface at a moment as a linked list beneath it.
//
// The kernel holds the log; this page holds windows of it. It asks with {type: "window", what, from, to, …} and gets
// an answer of the same type with the same id. Text from a log is only ever set as text.

const SVG = "http://www.w3.org/2000/svg";
const BLOCK = 128; // events per block of the strip; blocks are kept, those far away are dropped
const KEPT_BLOCKS = 24;
const KEPT_ROWS = 4096; // nodes of the surface that are kept while a reader scrolls over them
const MOST = 512; // so much the kernel tells at once
const PITCHES = [5, 9, 16, 24]; // pixels per event
const PATIENCE = 5000; // ms until an unanswered question may be asked again
// On everything that takes the focus: JupyterLab would take arrows and letters there for its own shortcuts. It looks
// at the element itself before it looks at those around it.
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };
const NODE = { width: 138, most: 176, height: 50, gap: 28, row: 92, top: 28, left: 54, right: 46 };
const ROWS_SHOWN = 3.4;
const STRIP = { turns: 0, steps: 22, glyphs: 44, height: 32 };

// -------------------------------------------------------------------------------------------------------- elements

function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) put(element, name, value);
  element.append(...children);
  return element;
}

// Touches the page only where something changes: a step sets a few attributes of hundreds.
function put(element, name, value) {
  if (value === null || value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value);
  }
}

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function place(element, x, y, width, height) {
  const { style } = element;
  style.left = `${x}px`;
  style.top = `${y}px`;
  if (width !== undefined) style.width = `${width}px`;
  if (height !== undefined) style.height = `${height}px`;
}

const number = (value) => value.toLocaleString("en");
const count = (value, what) => `${number(value)} ${what}${value === 1 ? "" : "s"}`;
const clamp = (value, least, most) => Math.max(least, Math.min(value, most));
const same = (a, b) => a.length === b.length && a.every((value, at) => value === b[at]);

// ---------------------------------------------------------------------------------------------------------- shapes

// Every kind has an outline of its own, so that no colour is needed to tell them apart.
function outline(fillName, w, h, round = 12) {
  const x = 1;
  const y = 1;
  const r = w - 1;
  const b = h - 1;
  const middle = h / 2;
  switch (fillName) {
    case "user": {
      const c = Math.min(round, (w - 2) / 2, (h - 2) / 2);
      const right = `H${r - c}Q${r},${y} ${r},${y + c}V${b - c}Q${r},${b} ${r - c},${b}`;
      return `M${x + c},${y}${right}H${x + c}Q${x},${b} ${x},${b - c}V${y + c}Q${x},${y} ${x + c},${y}Z`;
    }
    case "result":
    case "error":
    case "call": {
      const tip = Math.min(h / 2 - 1, w * 0.45, 18);
      return `M${x},${y}H${r - tip}L${r},${middle}L${r - tip},${b}H${x}Z`;
    }
    case "summary": {
      const fold = Math.min(11, w * 0.42);
      return `M${x},${y}H${r - fold}L${r},${y + fold}V${b}H${x}ZM${r - fold},${y}V${y + fold}H${r}`;
    }
    case "steering": {
      const cut = Math.min(12, w * 0.34);
      return `M${x + cut},${y}H${r - cut}L${r},${middle}L${r - cut},${b}H${x + cut}L${x},${middle}Z`;
    }
    case "context": {
      const tab = Math.min(6, h * 0.2);
      const far = x + Math.min(w * 0.45, 34);
      return `M${x},${y}H${far}L${far + tab / 2},${y + tab}H${r}V${b}H${x}Z`;
    }
    default:
      return `M${x},${y}H${r}V${b}H${x}Z`;
  }
}

function shapeOf(row) {
  return row.kind === "tool call" ? "call" : row.fill;
}

// One event on the strip, in a box of `w` by 32 that stands on the base line.
function glyph(row, w) {
  const high = STRIP.height;
  if (row === undefined) return `M${w / 2 - 1},${high - 4}h2v2h-2Z`;
  if (row.seq < 0) return `M${w / 2},${high - 12}l4,5l-4,5l-4,-5Z`;
  if (row.kind === "chunk") return `M${w / 2 - 1.5},${high - 10}h3v9h-3Z`;
  if (row.edge && (row.kind === "turn" || row.kind === "step")) {
    const top = row.kind === "turn" ? 3 : 14;
    const arm = Math.min(5, w - 3);
    const [near, far] = row.edge === "start" ? [w / 2 - arm / 2, w / 2 + arm / 2] : [w / 2 + arm / 2, w / 2 - arm / 2];
    return `M${far},${top}H${near}V${high - 1}H${far}`;
  }
  const inner = Math.max(Math.min(w - 2, 15), 3);
  const tall = row.node ? high - 4 : row.kind === "tool call" ? 20 : 14;
  const path = outline(shapeOf(row), inner, tall, 6);
  return moved(path, (w - inner) / 2, high - tall - 0.5);
}

// An outline's path at another place; its commands are absolute and upper case.
function moved(path, dx, dy) {
  return path.replace(/([MLQHV])([^MLQHVZ]*)/g, (_, command, numbers) => {
    const values = numbers.trim().split(/[ ,]+/).map(Number);
    const shift = command === "H" ? () => dx : command === "V" ? () => dy : (at) => (at % 2 ? dy : dx);
    return command + values.map((value, at) => Math.round((value + shift(at)) * 10) / 10).join(",");
  });
}

// What an event is at a moment.
function stateOf(row, moment) {
  if (!row) return "unread";
  if (row.seq > moment) return "future";
  if (!row.node) return "log";
  return row.left !== null && row.left <= moment ? "shadowed" : "live";
}

function reasonWords(reason) {
  if (reason === undefined) return "";
  return reason ? `, marked: ${reason}` : ", marked";
}

const ICONS = {
  first: "M3,3V13M13,3L5.5,8L13,13Z",
  back: "M11.5,3L4,8L11.5,13Z",
  play: "M4.5,3L12,8L4.5,13Z",
  pause: "M4.5,3H7V13H4.5ZM9.5,3H12V13H9.5Z",
  next: "M4.5,3L12,8L4.5,13Z",
  last: "M3,3L10.5,8L3,13ZM13,3V13",
  out: "M3,8H13",
  in: "M3,8H13M8,3V13",
};

function icon(name) {
  return s("svg", { class: "dshs-icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));
}

function button(name, label, shown = true) {
  const word = h("span", shown ? {} : { class: "dshs-unseen" });
  word.textContent = label;
  const named = shown ? {} : { "aria-label": label };
  return h("button", { type: "button", class: "dshs-button", ...named, ...OWN_KEYS }, icon(name), word);
}

// ------------------------------------------------------------------------------------------------------- questions

// Asks the kernel. On each line of questions one is on its way; of those that come up meanwhile only the last is asked.
class Line {
  constructor(model, hear) {
    this.model = model;
    this.hear = hear;
    this.view = Math.random().toString(36).slice(2);
    this.last = 0;
    this.asked = new Map();
    this.waiting = new Map();
    this.onMessage = (content) => this.answer(content);
    model.on("msg:custom", this.onMessage);
  }

  ask(line, question, what = line) {
    const now = performance.now();
    const before = this.asked.get(line);
    if (before && now - before.at < PATIENCE) {
      this.waiting.set(line, [question, what]);
      return;
    }
    const id = ++this.last;
    this.asked.set(line, { id, at: now });
    this.model.send({ type: "window", what, view: this.view, id, ...question });
  }

  isAsked(line) {
    return this.asked.has(line);
  }

  answer(content) {
    if (!content || content.type !== "window" || content.view !== this.view) return;
    const line = [...this.asked.keys()].find((each) => this.asked.get(each).id === content.id);
    if (line === undefined) return;
    this.asked.delete(line);
    const next = this.waiting.get(line);
    this.waiting.delete(line);
    if (next) this.ask(line, ...next);
    this.hear(line, content);
  }

  close() {
    this.model.off("msg:custom", this.onMessage);
    this.asked.clear();
    this.waiting.clear();
  }
}

// ---------------------------------------------------------------------------------------------------------- playing

// One clock per model, however many views show it. There may be other pages on the same kernel, each with a clock of its
// own: every step starts all of them anew, and the one that made it is the first to make the next. Should its page go
// away, another one's turn comes a little later.
const clocks = new WeakMap();

class Clock {
  static of(model) {
    if (!clocks.has(model)) clocks.set(model, new Clock(model));
    return clocks.get(model);
  }

  constructor(model) {
    this.model = model;
    this.views = new Set();
    this.timer = undefined;
    this.mine = false; // while this page makes a change
    this.leads = false;
    this.set = () => this.start();
    this.heard = () => {
      this.leads = this.mine;
      this.start();
    };
    this.listeners = [["change:playing", this.heard], ["change:moment", this.heard], ["change:pace", this.set]];
  }

  join(view) {
    if (this.views.size === 0) for (const [name, listener] of this.listeners) this.model.on(name, listener);
    this.views.add(view);
    this.start();
  }

  leave(view) {
    this.views.delete(view);
    if (this.views.size > 0) return;
    clearInterval(this.timer);
    for (const [name, listener] of this.listeners) this.model.off(name, listener);
    clocks.delete(this.model);
  }

  start() {
    clearInterval(this.timer);
    if (!this.model.get("playing")) return;
    const every = 1000 / this.model.get("pace");
    const after = this.leads ? every : 1.5 * every + 100 + 100 * Math.random();
    this.timer = setInterval(() => this.tick(), after);
  }

  // Make changes of which this page's clock is to know that they are its own.
  change(values) {
    this.mine = true;
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.mine = false;
    this.model.save_changes();
  }

  tick() {
    for (const view of this.views) if (view.isWaiting()) return; // the kernel is slower than the clock
    const next = this.model.get("moment") + 1;
    const length = this.model.get("length");
    this.change({ ...(next < length ? { moment: next } : {}), ...(next >= length - 1 ? { playing: false } : {}) });
  }
}

// ------------------------------------------------------------------------------------------------------------ strip

class Strip {
  constructor(stepper) {
    this.stepper = stepper;
    this.pitch = PITCHES[2];
    this.zoomed = false;
    this.blocks = new Map(); // number of a block -> { rows, turns, steps, stamp }
    this.stamp = 0;
    this.options = new Map();
    this.bins = undefined;

    this.counts = h("span", { class: "dshs-muted" });
    this.closer = button("in", "Zoom in", false);
    this.wider = button("out", "Zoom out", false);
    this.closer.addEventListener("click", () => this.zoom(1));
    this.wider.addEventListener("click", () => this.zoom(-1));
    const title = h("b");
    title.textContent = "Log";

    this.spans = h("div", { class: "dshs-spans", "aria-hidden": "true" });
    this.list = h("div", { class: "dshs-events", role: "listbox", "aria-label": "Events of the log" });
    put(this.list, "aria-orientation", "horizontal");
    this.axis = h("div", { class: "dshs-axis", "aria-hidden": "true" });
    this.content = h("div", { class: "dshs-strip-content" }, this.spans, this.list, this.axis);
    this.scroller = h("div", { class: "dshs-strip" }, this.content);
    this.bars = s("path", { class: "dshs-bars" });
    this.turnMarks = s("path", { class: "dshs-bar-turns" });
    this.folds = s("path", { class: "dshs-bar-folds" });
    this.frame = s("rect", { class: "dshs-bar-frame", y: 0.5, height: 21, rx: 3 });
    this.needle = s("path", { class: "dshs-bar-needle" });
    this.overview = s(
      "svg",
      { class: "dshs-overview", "aria-hidden": "true", height: 22 },
      this.turnMarks,
      this.bars,
      this.folds,
      this.frame,
      this.needle,
    );
    this.legend = h("ul", { class: "dshs-legend", "aria-label": "Key" });
    this.element = h(
      "div",
      { class: "dshs-panel", role: "group", "aria-label": "Log" },
      h("div", { class: "dshs-head" }, title, this.counts, h("span", { class: "dshs-space" }), this.wider, this.closer),
      this.scroller,
      this.overview,
      this.legend,
    );
    this.scroller.addEventListener("scroll", () => this.stepper.later("strip", () => this.draw()), { passive: true });
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[data-seq]");
      if (option) this.stepper.go(Number(option.dataset.seq), { focus: this });
    });
    const drag = (event) => {
      const box = this.overview.getBoundingClientRect();
      const share = clamp((event.clientX - box.left) / box.width, 0, 1);
      this.stepper.go(Math.min(Math.floor(share * this.length), this.length - 1));
    };
    this.overview.addEventListener("pointerdown", (event) => {
      this.overview.setPointerCapture(event.pointerId);
      drag(event);
    });
    this.overview.addEventListener("pointermove", (event) => event.buttons && drag(event));
    this.drawLegend();
  }

  get length() {
    return this.stepper.model.get("length");
  }

  get page() {
    return Math.max(Math.floor(this.scroller.clientWidth / this.pitch) - 2, 1);
  }

  zoom(by) {
    const bigger = PITCHES.filter((pitch) => pitch > this.pitch);
    const smaller = PITCHES.filter((pitch) => pitch < this.pitch);
    const next = by > 0 ? bigger[0] : smaller.at(-1);
    if (next === undefined) return;
    this.zoomed = true;
    this.space(next);
    this.draw();
    this.reveal({ centre: true });
  }

  space(pitch) {
    if (pitch === this.pitch) return;
    this.pitch = pitch;
    const held = this.list.contains(this.stepper.active);
    for (const option of this.options.values()) option.remove();
    this.options.clear();
    if (held) this.stepper.follow = true;
  }

  // Until a reader zooms, a log that can be shown at once is.
  fit() {
    if (this.zoomed) return;
    const whole = this.width / (this.length + 1);
    this.space(whole >= 12 ? Math.min(Math.floor(whole * 10) / 10, 20) : PITCHES[2]);
  }

  // What was told before may be old now; it stays until the news is there.
  outdate() {
    this.stamp += 1;
    this.bins = undefined;
  }

  forget() {
    this.blocks.clear();
    for (const option of this.options.values()) option.remove();
    this.options.clear();
    this.outdate();
  }

  row(seq) {
    return this.blocks.get(Math.floor(seq / BLOCK))?.rows[seq % BLOCK];
  }

  range() {
    const extra = 12;
    const first = Math.floor(this.scroller.scrollLeft / this.pitch) - 1 - extra;
    const last = first + Math.ceil(this.scroller.clientWidth / this.pitch) + 2 * extra;
    return [clamp(first, -1, this.length), clamp(last, -1, this.length - 1)];
  }

  reveal({ centre = false } = {}) {
    const x = (this.stepper.moment + 1) * this.pitch;
    const { scrollLeft, clientWidth } = this.scroller;
    const margin = Math.min(4 * this.pitch, clientWidth / 4);
    if (!centre && x >= scrollLeft + margin && x + this.pitch <= scrollLeft + clientWidth - margin) return;
    const ahead = centre ? 0.5 : x < scrollLeft + margin ? 0.25 : 0.75;
    const target = clamp(x - clientWidth * ahead, 0, Math.max((this.length + 1) * this.pitch - clientWidth, 0));
    if (Math.abs(target - scrollLeft) >= 1) this.scroller.scrollLeft = target;
  }

  take(answer) {
    for (let block = answer.from / BLOCK; block * BLOCK < answer.from + answer.rows.length; block++) {
      const at = block * BLOCK - answer.from;
      const rows = answer.rows.slice(at, at + BLOCK);
      this.blocks.set(block, { rows, turns: answer.turns, steps: answer.steps, stamp: this.stamp });
    }
    this.draw();
  }

  // Ask for the blocks in sight that are missing or old.
  want(first, last) {
    const from = Math.floor(Math.max(first, 0) / BLOCK);
    const to = Math.floor(Math.max(last, 0) / BLOCK);
    const missing = [];
    for (let block = from; block <= to; block++) {
      if (this.blocks.get(block)?.stamp !== this.stamp) missing.push(block);
    }
    if (this.blocks.size > KEPT_BLOCKS) {
      for (const block of this.blocks.keys()) if (block < from - 2 || block > to + 2) this.blocks.delete(block);
    }
    if (missing.length && this.length) {
      const start = missing[0] * BLOCK;
      const stop = Math.min((missing.at(-1) + 1) * BLOCK, start + MOST);
      this.stepper.line.ask("log", { from: start, to: stop });
    }
    return from <= to ? [from, to] : [0, -1];
  }

  draw() {
    this.width = this.scroller.clientWidth; // read before anything is written
    if (!this.width) return;
    this.fit();
    const { pitch, length, stepper } = this;
    const { moment } = stepper;
    this.content.style.width = `${(length + 1) * pitch}px`;
    put(this.wider, "aria-disabled", pitch <= PITCHES[0] ? "true" : null);
    put(this.closer, "aria-disabled", pitch >= PITCHES.at(-1) ? "true" : null);
    const [first, last] = this.range();
    const [from, to] = this.want(first, last);

    const seen = new Set([moment]);
    for (let seq = first; seq <= last; seq++) seen.add(seq);
    for (const [seq, option] of this.options) {
      if (!seen.has(seq) && option !== stepper.active) {
        option.remove();
        this.options.delete(seq);
      }
    }
    const fresh = document.createDocumentFragment();
    for (const seq of seen) {
      let option = this.options.get(seq);
      if (!option) {
        option = this.option(seq);
        this.options.set(seq, option);
        fresh.append(option);
      }
      this.paint(option, seq, seq < 0 ? { seq, kind: "beginning", fill: "plain", label: "" } : this.row(seq));
    }
    this.list.append(fresh);
    this.drawSpans(from, to, first, last);
    this.drawAxis(first, last);
    this.drawOverview();
  }

  option(seq) {
    const option = h("div", { class: "dshs-event", role: "option", "data-seq": seq, tabindex: -1, ...OWN_KEYS });
    const width = this.pitch;
    const picture = s("svg", { width, height: STRIP.height, "aria-hidden": "true" });
    picture.append(s("path", { class: "dshs-glyph" }), s("path", { class: "dshs-slash" }));
    option.append(picture);
    place(option, (seq + 1) * width, 0, width);
    put(option, "aria-posinset", seq + 2);
    return option;
  }

  paint(option, seq, row) {
    const { stepper, pitch } = this;
    const { moment } = stepper;
    const now = seq === moment;
    const state = stateOf(row, moment);
    const chosen = state === "live" && stepper.isChosen(row.rank);
    const reason = stepper.marks.get(seq);
    const classes = ["dshs-event", `k-${row?.fill ?? "plain"}`, `s-${state}`];
    if (now) classes.push("is-now");
    if (chosen) classes.push("is-chosen");
    if (reason !== undefined) classes.push("is-marked");
    if (row?.kind === "chunk") classes.push("is-chunk");
    if (row?.node) classes.push("is-node");
    put(option, "class", classes.join(" "));
    put(option, "tabindex", now ? 0 : -1);
    put(option, "aria-selected", String(now));
    put(option, "aria-setsize", this.length + 1);
    if (option.shown !== row) {
      option.shown = row;
      const [shape, slash] = option.firstChild.children;
      put(shape, "d", glyph(row, pitch));
      put(slash, "d", `M${Math.max(pitch / 2 - 6, 0)},3L${Math.min(pitch / 2 + 6, pitch)},${STRIP.height}`);
    }
    put(option, "aria-label", this.label(seq, row, state, reason));
    put(option, "title", row?.label ? `${seq} ${row.kind}: ${row.label}` : null);
  }

  label(seq, row, state, reason) {
    if (seq < 0) return "beginning, before the first event";
    if (!row) return `event ${seq}`;
    const edge = row.edge ? ` ${row.edge}` : "";
    const over = row.over ? `, in place of ${count(row.over, "node")}` : "";
    const words = { future: "not yet", shadowed: `shadowed by ${row.left}`, live: "on the surface", log: "log only" };
    return `${seq} ${row.kind}${edge}${over}, ${words[state]}${reasonWords(reason)}`;
  }

  drawSpans(from, to, first, last) {
    const turns = new Map();
    const steps = new Map();
    for (let block = from; block <= to; block++) {
      const known = this.blocks.get(block);
      if (!known) continue;
      for (const span of known.turns) turns.set(span.start, span);
      for (const span of known.steps) steps.set(span.start, span);
    }
    const made = [];
    for (const [sort, spans] of [["turn", turns], ["step", steps]]) {
      for (const span of spans.values()) {
        const stop = span.stop ?? this.length - 1;
        if (stop < first || span.start > last) continue;
        const width = (stop - span.start + 1) * this.pitch - 2;
        const future = span.start > this.stepper.moment ? " s-future" : "";
        const open = span.stop === null ? " is-open" : "";
        const box = h("div", { class: `dshs-${sort}${future}${open}`, title: span.name });
        place(box, (span.start + 1) * this.pitch + 1, sort === "turn" ? STRIP.turns : STRIP.steps, width);
        if (width > 34) {
          const name = h("bdi");
          name.textContent = span.name;
          box.append(h("span", { class: "dshs-span-name" }, name));
        }
        made.push(box);
      }
    }
    this.spans.replaceChildren(...made);
  }

  drawAxis(first, last) {
    const { pitch } = this;
    const { moment } = this.stepper;
    const every = [10, 20, 50, 100, 200].find((step) => step * pitch >= 56);
    const made = [];
    for (let seq = Math.ceil(Math.max(first, 0) / every) * every; seq <= last; seq += every) {
      if (Math.abs(seq - moment) * pitch < 44) continue;
      const tick = h("span");
      tick.textContent = String(seq);
      place(tick, (seq + 1.5) * pitch, 0);
      made.push(tick);
    }
    const now = h("span", { class: "dshs-now" });
    now.textContent = moment < 0 ? "start" : String(moment);
    place(now, clamp((moment + 1.5) * pitch, 16, Math.max((this.length + 1) * pitch - 16, 16)), 0);
    this.axis.replaceChildren(...made, now);
  }

  drawOverview() {
    if (!this.width) return;
    const { length, pitch, width } = this;
    const long = (length + 1) * pitch > width + 1;
    this.overview.style.display = long ? "" : "none";
    if (!long) return;
    if (!this.bins) {
      if (!this.stepper.line.isAsked("overview")) this.stepper.line.ask("overview", {});
    } else if (this.barsWidth !== width || this.barsOf !== this.bins) {
      this.barsWidth = width;
      this.barsOf = this.bins;
      const { size, nodes, replaced, turns } = this.bins;
      const step = (size * width) / length;
      const x = (bin) => (bin * step).toFixed(1);
      const most = Math.max(...nodes, 1);
      const wide = Math.max(step - 0.6, 0.6).toFixed(1);
      const all = (values, path) => values.map((value, at) => (value ? path(at, value) : "")).join("");
      const bar = (at, value) => `M${x(at)},20h${wide}v${((-14 * value) / most - 1).toFixed(1)}h-${wide}Z`;
      put(this.bars, "d", all(nodes, bar));
      put(this.folds, "d", all(replaced, (at) => `M${x(at + 0.5)},7l-4,-6h8Z`));
      const dense = turns.filter(Boolean).length > 60;
      put(this.turnMarks, "d", dense ? "" : all(turns, (at) => `M${x(at)},2V20`));
      put(this.overview, "viewBox", `0 0 ${width} 22`);
    }
    const scale = width / ((length + 1) * pitch);
    const wide = Math.max(width * scale, 8);
    put(this.frame, "x", Math.min(this.scroller.scrollLeft * scale, width - wide).toFixed(1));
    put(this.frame, "width", wide.toFixed(1));
    const at = (((this.stepper.moment + 1.5) * width) / (length + 1)).toFixed(1);
    put(this.needle, "d", `M${at},0V22`);
  }

  takeOverview(answer) {
    this.bins = answer;
    const turns = answer.turns.reduce((sum, value) => sum + value, 0);
    const replaced = answer.replaced.reduce((sum, value) => sum + value, 0);
    const parts = [count(this.length, "event")];
    if (turns) parts.push(count(turns, "turn"));
    if (replaced) parts.push(count(replaced, "replacement"));
    say(this.counts, parts.join(", "));
    put(this.content, "class", `dshs-strip-content${turns ? "" : " is-flat"}`);
    this.drawOverview();
  }

  drawLegend() {
    const events = [
      ["user", { fill: "user", node: true }],
      ["assistant", { fill: "assistant", node: true }],
      ["tool result", { fill: "result", node: true }],
      ["summary", { fill: "summary", node: true }],
      ["steering", { fill: "steering", node: true }],
      ["context", { fill: "context", node: true }],
      ["tool call", { fill: "plain", kind: "tool call" }],
      ["other record", { fill: "plain", kind: "other" }],
      ["chunk", { fill: "plain", kind: "chunk" }],
      ["shadowed", { fill: "user", node: true, state: "shadowed" }],
      ["selected", { fill: "user", node: true, state: "live is-chosen" }],
      ["not yet", { fill: "user", node: true, state: "future" }],
    ];
    for (const [name, row] of events) {
      const viewBox = `0 0 18 ${STRIP.height}`;
      const sample = s("svg", { width: 18, height: STRIP.height, viewBox, "aria-hidden": "true" });
      sample.append(s("path", { class: "dshs-glyph", d: glyph({ seq: 0, kind: name, ...row }, 18) }));
      if (row.state === "shadowed") sample.append(s("path", { class: "dshs-slash", d: `M3,3L15,${STRIP.height}` }));
      const word = h("span");
      word.textContent = name;
      const state = row.state ?? (row.node ? "live" : "log");
      const chunk = row.kind === "chunk" ? " is-chunk" : "";
      const box = h("span", { class: `dshs-event k-${row.fill} s-${state}${chunk}` }, sample);
      this.legend.append(h("li", {}, box, word));
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- surface

class Surface {
  constructor(stepper) {
    this.stepper = stepper;
    this.rows = new Map(); // position -> row
    this.told = undefined; // the latest answer about the moment that is shown
    this.options = new Map(); // seq -> option
    this.ahead = undefined; // an answer about a moment that may come next
    this.at = 0; // the position that the keyboard stands on
    this.queue = []; // moves of the keyboard, in order; the first one waits for its row
    this.columns = 1;

    this.title = h("b", { id: `${stepper.id}-surface` });
    this.counts = h("span", { class: "dshs-muted" });
    this.was = h("div", { class: "dshs-was", role: "img" });
    this.wires = s("svg", { class: "dshs-wires", "aria-hidden": "true" });
    this.boxes = h("div", { class: "dshs-boxes", "aria-hidden": "true" });
    this.list = h("div", { class: "dshs-nodes" }, this.wires, this.boxes);
    this.scroller = h("div", { class: "dshs-surface" }, this.list);
    this.empty = h("p", { class: "dshs-muted dshs-empty" });
    this.empty.textContent = "The surface is empty: no message has entered yet.";
    this.joint = s("svg", { class: "dshs-joint", "aria-hidden": "true" });
    this.below = h("div", { class: "dshs-behind" });
    this.element = h(
      "div",
      { class: "dshs-panel", role: "group", "aria-labelledby": this.title.id },
      h("div", { class: "dshs-head" }, this.title, this.counts),
      this.was,
      this.empty,
      this.scroller,
      this.joint,
      this.below,
    );
    this.scroller.addEventListener("scroll", () => this.stepper.later("surface", () => this.draw()), { passive: true });
    this.list.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault()); // selects no text
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[data-at]");
      if (!option) return;
      this.queue = [];
      this.move(Number(option.dataset.at), { choose: true, extend: event.shiftKey });
    });
    this.list.addEventListener("focusin", (event) => {
      const option = event.target.closest("[data-at]");
      if (option) this.look(Number(option.dataset.at));
    });
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  get count() {
    return this.told?.count ?? 0;
  }

  get page() {
    return Math.max(Math.floor(this.scroller.clientHeight / NODE.row), 1) * this.columns;
  }

  // Which positions are in sight, with a row to spare on either side.
  range() {
    const top = Math.floor(this.scroller.scrollTop / NODE.row) - 1;
    const rows = Math.ceil((this.scroller.clientHeight || ROWS_SHOWN * NODE.row) / NODE.row) + 2;
    const from = Math.max(top, 0) * this.columns;
    return [from, Math.min(from + rows * this.columns, from + MOST)];
  }

  // Whether the keyboard is on a node. Who walks over the nodes stays on that node, whatever enters meanwhile.
  get held() {
    return this.list.contains(this.stepper.active);
  }

  ask({ around = false } = {}) {
    const [from, to] = this.range();
    this.stepper.line.ask("surface", { moment: this.stepper.moment, from, to, around: around && !this.held });
  }

  // The next step in the same direction, so that it is there when it is wanted.
  foresee(by) {
    const moment = this.stepper.moment + by;
    if (moment < -1 || moment >= this.stepper.length || this.ahead?.moment === moment) return;
    const [from, to] = this.range();
    this.awaited = moment;
    this.stepper.line.ask("ahead", { moment, from, to, around: !this.held }, "surface");
  }

  forget() {
    this.rows.clear();
    this.told = undefined;
    this.ahead = undefined;
    this.queue = [];
  }

  take(answer) {
    const news = this.told?.moment !== answer.moment || this.told.count !== answer.count || this.stale;
    const far = !this.told || Math.abs(this.told.moment - answer.moment) > 1;
    const { held } = this;
    const stood = this.rows.get(this.at)?.seq;
    if (news || this.rows.size > KEPT_ROWS) this.rows.clear();
    this.stale = false;
    this.told = answer;
    this.scroller.hidden = answer.count === 0;
    answer.rows.forEach((row, at) => this.rows.set(answer.from + at, row));
    const last = Math.max(answer.count - 1, 0);
    this.measure();
    if (news) {
      // What happens, happens at the tail, unless it happens elsewhere.
      const there = held ? this.moved(stood) : answer.at >= 0 ? answer.at : far ? last : this.at;
      this.at = clamp(there, 0, last);
      this.queue = held ? this.queue.map((move) => ({ ...move, at: this.after(move.at) })) : [];
      this.drawHead();
      if (!held && (answer.at >= 0 || far)) this.reveal(this.at);
    }
    this.draw();
    this.catchUp();
  }

  // Where the node stands now that the keyboard is on; where it was replaced, what stands for it.
  moved(seq) {
    for (const [at, row] of this.rows) if (row.seq === seq) return at;
    return this.after(this.at);
  }

  // Where a position is after what has just entered.
  after(position) {
    const { at, shadowed } = this.told;
    return !shadowed || position < at ? position : Math.max(position - shadowed.count + 1, at);
  }

  // Where two nodes stand, if both were told of.
  ends(seqs) {
    const found = seqs.map((seq) => {
      for (const [at, row] of this.rows) if (row.seq === seq) return { seq, rank: row.rank, at };
      return undefined;
    });
    return found[0] && found[1] ? { from: found[0], to: found[1] } : undefined;
  }

  measure() {
    const width = this.scroller.clientWidth;
    if (!width) return;
    const room = width - NODE.left - NODE.right + NODE.gap;
    this.columns = Math.max(Math.floor(room / (NODE.width + NODE.gap)), 1);
    const most = this.columns === 1 ? 2 * NODE.width : this.count >= this.columns ? NODE.most : NODE.width + 14;
    this.width = clamp(room / this.columns - NODE.gap, 90, most);
    const rows = Math.ceil(this.count / this.columns);
    this.list.style.height = `${rows * NODE.row}px`;
    this.scroller.style.height = `${Math.min(rows, ROWS_SHOWN) * NODE.row}px`;
  }

  spot(at) {
    const row = Math.floor(at / this.columns);
    return [NODE.left + (at % this.columns) * (this.width + NODE.gap), row * NODE.row + NODE.top];
  }

  reveal(at) {
    const top = Math.floor(at / this.columns) * NODE.row;
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + NODE.row > scrollTop + clientHeight) this.scroller.scrollTop = top + NODE.row - clientHeight;
  }

  draw() {
    const { stepper, told } = this;
    this.empty.hidden = !told || told.count > 0;
    put(this.list, "role", this.count ? "listbox" : null);
    put(this.list, "aria-multiselectable", this.count ? "true" : null);
    put(this.list, "aria-labelledby", this.count ? this.title.id : null);
    if (!told || !this.scroller.clientWidth) return;
    const [from, to] = this.range();
    const last = Math.min(to, told.count) - 1;
    let missing = false;
    const seen = new Set();
    for (let at = from; at <= last; at++) {
      const row = this.rows.get(at);
      if (row) seen.add(row.seq);
      else missing = true;
    }
    const standing = this.rows.get(this.at);
    if (standing) seen.add(standing.seq);
    let lost = false;
    for (const [seq, option] of this.options) {
      if (seen.has(seq)) continue;
      if (option === stepper.active) {
        // Stays until the focus has somewhere to go, or the next key would be the notebook's.
        if (!standing && told.count) continue;
        lost = true;
      }
      option.remove();
      this.options.delete(seq);
    }
    const shown = [];
    for (let at = from; at <= last; at++) if (this.rows.has(at)) shown.push(at);
    if (standing && (this.at < from || this.at > last)) shown.push(this.at);
    const tabbed = shown.includes(this.at) ? this.at : shown[0];
    for (const at of shown) {
      const row = this.rows.get(at);
      let option = this.options.get(row.seq);
      if (!option) {
        option = this.option(row.seq);
        this.options.set(row.seq, option);
      }
      this.paint(option, row, at, at === tabbed);
      if (option.parentNode !== this.list) this.list.append(option);
    }
    this.drawWires(from, last);
    this.drawBoxes(from, last);
    this.drawJoint();
    if (lost && standing) this.options.get(standing.seq)?.focus({ preventScroll: true });
    if (missing) this.ask();
  }

  option(seq) {
    const shape = s("svg", { class: "dshs-outline", "aria-hidden": "true" }, s("path"));
    const name = h("span", { class: "dshs-name" });
    const said = h("bdi", { class: "dshs-said" });
    const option = h("div", { class: "dshs-node", role: "option", "data-seq": seq, ...OWN_KEYS }, shape, name, said);
    option.append(h("span", { class: "dshs-flag", "aria-hidden": "true" }));
    const check = s("svg", { class: "dshs-check", viewBox: "0 0 18 18", "aria-hidden": "true" });
    check.append(s("circle", { cx: 9, cy: 9, r: 8 }), s("path", { d: "M5,9.5L8,12.5L13,6" }));
    option.append(check);
    return option;
  }

  paint(option, row, at, tabbed) {
    const { stepper, told } = this;
    const enters = at === told.at;
    const chosen = stepper.isChosen(row.rank);
    const reason = stepper.marks.get(row.seq);
    const [x, y] = this.spot(at);
    place(option, x, y, this.width, NODE.height);
    const classes = ["dshs-node", `k-${row.fill}`];
    if (enters) classes.push("is-entering");
    if (chosen) classes.push("is-chosen");
    if (reason !== undefined) classes.push("is-marked");
    put(option, "class", classes.join(" "));
    put(option, "data-at", at);
    put(option, "tabindex", tabbed ? 0 : -1);
    put(option, "aria-selected", String(chosen));
    put(option, "aria-posinset", at + 1);
    put(option, "aria-setsize", told.count);
    const [shape, name, said, flag] = option.children;
    put(shape, "width", this.width);
    put(shape, "height", NODE.height);
    put(shape.firstChild, "d", outline(shapeOf(row), this.width, NODE.height));
    if (option.shown !== row.seq) {
      option.shown = row.seq;
      const seq = h("b");
      seq.textContent = String(row.seq);
      const kind = h("bdi");
      kind.textContent = row.over ? `${row.kind} of ${number(row.over)}` : row.kind;
      name.replaceChildren(seq, " ", kind);
    }
    say(said, row.label);
    say(flag, enters ? "enters" : reason !== undefined ? "!" : "");
    put(flag, "class", `dshs-flag${enters ? " is-entering" : ""}`);
    const over = row.over ? `, stands for ${count(row.over, "node")}` : "";
    const news = enters ? ", enters" : "";
    const pointed = reasonWords(reason);
    put(option, "aria-label", `${row.seq} ${row.kind}${news}${over}${pointed}: ${row.label}`);
    // Not on the option: what is in its name already would be read out once more as its description.
    put(said, "title", row.label);
  }

  drawWires(from, last) {
    const { columns, width, told } = this;
    const first = Math.floor(from / columns);
    const rows = Math.floor(last / columns) - first + 1;
    const top = first * NODE.row;
    const whole = this.scroller.clientWidth;
    this.wires.style.top = `${top}px`;
    put(this.wires, "width", whole);
    put(this.wires, "height", Math.max(rows, 0) * NODE.row);
    const lines = [];
    const tips = [];
    const words = [];
    const arrow = (x, y) => tips.push(`M${x},${y}l-7,-4v8Z`);
    const word = (text, x, y, anchor) => {
      const label = s("text", { x, y: y + 4, "text-anchor": anchor });
      label.textContent = text;
      words.push(label);
    };
    for (let at = from; at <= last; at++) {
      const [x, above] = this.spot(at);
      const y = above - top + NODE.height / 2;
      if (at === 0) {
        word("head", 2, y, "start");
        lines.push(`M34,${y}H${x - 4}`);
        arrow(x, y);
      }
      const end = x + width;
      if (at === told.count - 1) {
        lines.push(`M${end},${y}h12`);
        arrow(end + 16, y);
        word("tail", end + 20, y, "start");
      } else if ((at + 1) % columns === 0) {
        const down = y + NODE.height / 2 + 8;
        const next = y + NODE.row;
        lines.push(`M${end},${y}h10V${down}H${NODE.left - 18}V${next}H${NODE.left - 4}`);
        arrow(NODE.left, next);
      } else {
        lines.push(`M${end},${y}h${NODE.gap - 4}`);
        arrow(end + NODE.gap, y);
      }
    }
    // The line that comes from the row above the first one in sight.
    if (from > 0) {
      lines.push(`M${NODE.left - 18},0V${NODE.top + NODE.height / 2}H${NODE.left - 4}`);
      arrow(NODE.left, NODE.top + NODE.height / 2);
    }
    const wire = s("path", { class: "dshs-wire", d: lines.join("") });
    this.wires.replaceChildren(wire, s("path", { class: "dshs-tip", d: tips.join("") }), ...words);
  }

  drawBoxes(from, last) {
    const made = [];
    const chosen = this.stepper.chosen;
    if (chosen) {
      const [start, end] = [chosen.from.at, chosen.to.at];
      for (let at = Math.max(start, from); at <= Math.min(end, last); ) {
        const stop = Math.min(end, last, at - (at % this.columns) + this.columns - 1);
        const [x, y] = this.spot(at);
        const [right] = this.spot(stop);
        const ends = `${at === start ? " is-first" : ""}${stop === end ? " is-last" : ""}`;
        const box = h("div", { class: `dshs-chosen${ends}` });
        place(box, x - 9, y - 9, right - x + this.width + 18, NODE.height + 18);
        if (at === start) {
          const label = h("span");
          const narrow = stop === at && at === this.told.at; // the flag of what enters stands there too
          label.textContent = narrow ? "selected" : `selected: ${this.stepper.selectionWords()}`;
          box.append(label);
        }
        made.push(box);
        at = stop + 1;
      }
    }
    this.boxes.replaceChildren(...made);
  }

  drawHead() {
    const { told } = this;
    const { moment } = this.stepper;
    say(this.title, moment < 0 ? "Surface before the first event" : `Surface after event ${moment}`);
    const before = told.before === told.count ? "" : `, ${number(told.before)} before`;
    say(this.counts, `${count(told.count, "node")}${before}`);
    this.drawBefore();
    this.drawBehind();
  }

  // The surface before the event, small: what it takes away is struck through.
  drawBefore() {
    const { told } = this;
    this.was.hidden = told.moment < 0;
    const made = [];
    for (const part of told.was) {
      if (part.gap) {
        const gap = h("span", { class: `dshs-was-gap${part.shadowed ? " s-shadowed" : ""}` });
        gap.textContent = `… ${number(part.gap)} …`;
        made.push(gap);
        continue;
      }
      const small = s("svg", { width: 15, height: 20, viewBox: "0 0 15 20", "aria-hidden": "true" });
      small.append(s("path", { class: "dshs-glyph", d: outline(shapeOf(part), 15, 18, 5) }));
      if (part.shadowed) small.append(s("path", { class: "dshs-slash", d: "M1,0L14,20" }));
      const seq = h("span");
      seq.textContent = String(part.seq);
      made.push(h("span", { class: `dshs-event k-${part.fill} s-${part.shadowed ? "shadowed" : "live"}` }, small, seq));
    }
    const word = h("span", { class: "dshs-muted" });
    word.textContent = told.before ? "before" : "before: empty";
    this.was.replaceChildren(word, ...made);
    const gone = told.shadowed?.count ?? 0;
    const words = gone ? `, of which ${count(gone, "node")} ${gone === 1 ? "is" : "are"} shadowed now` : "";
    put(this.was, "aria-label", `The surface before: ${count(told.before, "node")}${words}`);
  }

  // What the event took the place of.
  drawBehind() {
    const { shadowed, moment } = this.told;
    this.below.hidden = !shadowed;
    if (!shadowed) {
      this.below.replaceChildren();
      return;
    }
    const some = h("b");
    some.textContent = number(shadowed.count);
    const by = h("b");
    by.textContent = String(moment);
    const range = shadowed.count === 1 ? `(${shadowed.start})` : `(range ${shadowed.start} … ${shadowed.end})`;
    const nodes = shadowed.count === 1 ? "node" : "nodes";
    const title = h("p", { id: `${this.stepper.id}-behind` });
    title.append(some, ` ${nodes} shadowed by `, by, ` at this step ${range}`);
    const list = h("ul", { "aria-labelledby": title.id });
    for (const part of shadowed.parts) {
      if (part.gap) {
        const more = h("li", { class: "dshs-more" });
        more.textContent = `… ${part.label} …`;
        list.append(more);
        continue;
      }
      const shape = s("svg", { class: "dshs-outline", "aria-hidden": "true", width: 134, height: 42 });
      shape.append(s("path", { d: outline(shapeOf(part), 134, 42) }));
      const name = h("span", { class: "dshs-name" });
      const seq = h("b");
      seq.textContent = String(part.seq);
      const kind = h("bdi");
      kind.textContent = part.over ? `${part.kind} of ${number(part.over)}` : part.kind;
      name.append(seq, " ", kind);
      const said = h("bdi", { class: "dshs-said" });
      said.textContent = part.label;
      const tile = h("li", { class: `dshs-tile k-${part.fill}`, title: `${part.seq} ${part.kind}\n${part.label}` });
      tile.append(shape, name, said);
      list.append(tile);
    }
    this.below.replaceChildren(title, list);
  }

  // The dashed arrow from what entered to what it stands for, where nothing is in its way.
  drawJoint() {
    const { told, columns } = this;
    const lastRow = Math.floor((told.count - 1) / columns);
    const inSight = this.scroller.scrollTop + this.scroller.clientHeight >= lastRow * NODE.row + NODE.row - 1;
    const shown = told.shadowed && told.at >= 0 && Math.floor(told.at / columns) === lastRow && inSight;
    this.joint.style.display = told.shadowed ? "" : "none";
    put(this.joint, "class", `dshs-joint${shown ? " is-joined" : ""}`);
    if (!told.shadowed) return;
    const x = shown ? this.spot(told.at)[0] + Math.min(this.width / 2, 60) : 34;
    const top = shown ? 0 : 16;
    const path = s("path", { class: "dshs-wire", d: `M${x},${top}V27` });
    const tip = s("path", { class: "dshs-tip", d: `M${x},34l-4,-7h8Z` });
    const word = s("text", { x: x + 9, y: 22 });
    word.textContent = shown ? "stands for" : `${told.moment} stands for`;
    put(this.joint, "width", this.scroller.clientWidth || 100);
    this.joint.replaceChildren(path, tip, word);
  }

  // ---- the keyboard

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const here = this.queue.at(-1)?.at ?? this.at;
    const moves = {
      ArrowRight: here + 1,
      ArrowLeft: here - 1,
      ArrowDown: here + this.columns,
      ArrowUp: here - this.columns,
      PageDown: here + this.page,
      PageUp: here - this.page,
      Home: 0,
      End: this.count - 1,
    };
    if (event.key in moves) {
      const target = moves[event.key];
      const straight = event.key === "ArrowDown" || event.key === "ArrowUp";
      const beyond = target < 0 || target >= this.count;
      if (!(straight && beyond)) {
        this.move(clamp(target, 0, this.count - 1), { choose: event.shiftKey, extend: event.shiftKey });
      }
    } else if (event.key === "Enter" || event.key === " ") {
      this.move(here, { choose: true, extend: event.shiftKey });
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // Go to a position, and choose it or a range up to it; all in order, as soon as the rows are there.
  move(at, { choose = false, extend = false } = {}) {
    const from = this.queue.length ? undefined : this.spotOf(this.at);
    this.queue.push({ at, choose, extend, from });
    this.catchUp();
  }

  spotOf(at) {
    const row = this.rows.get(at);
    return row && { seq: row.seq, rank: row.rank, at };
  }

  catchUp() {
    while (this.queue.length && this.count) {
      const move = this.queue[0];
      const at = clamp(move.at, 0, this.count - 1);
      this.reveal(at);
      if (!this.rows.has(at)) {
        const [from, to] = this.range();
        const start = Math.max(at - Math.floor((to - from) / 2), 0);
        const { line, moment } = this.stepper;
        line.ask("surface", { moment, from: start, to: start + to - from, around: false });
        return;
      }
      this.queue.shift();
      this.go(at, move);
    }
  }

  go(at, { choose, extend, from = this.spotOf(this.at) }) {
    if (extend && !this.anchor) this.anchor = from;
    this.at = at;
    this.draw();
    const here = this.spotOf(at);
    this.options.get(here.seq)?.focus({ preventScroll: true });
    this.look(at);
    if (!choose) return;
    if (!extend || !this.anchor) this.anchor = here;
    this.stepper.choose(this.anchor, here);
  }

  look(at) {
    const row = this.rows.get(at);
    if (!row || (at === this.at && this.stepper.model.get("focused") === row.seq)) return;
    this.at = at;
    for (const option of this.options.values()) put(option, "tabindex", Number(option.dataset.at) === at ? 0 : -1);
    this.stepper.set({ focused: row.seq });
  }
}

// ------------------------------------------------------------------------------------------------------- the whole

let made = 0;

class Stepper {
  constructor(model, el) {
    this.model = model;
    this.el = el;
    this.id = `dsh-stepper-${Date.now().toString(36)}-${++made}`;
    this.marks = new Map();
    this.chosen = undefined; // { from, to }, each { seq, rank, at }
    this.again = 0;
    this.by = 1;
    this.frames = new Map();
    this.line = new Line(model, (what, answer) => this.hear(what, answer));

    this.name = h("bdi", { class: "dshs-title" });
    this.said = h("span", { class: "dshs-what" });
    this.buttons = {
      first: button("first", "First"),
      back: button("back", "Back"),
      play: button("play", "Play"),
      next: button("next", "Next"),
      last: button("last", "Last"),
    };
    this.slider = h("input", { type: "range", class: "dshs-slider", min: -1, step: 1, ...OWN_KEYS });
    put(this.slider, "aria-label", "Moment");
    this.where = h("span", { class: "dshs-where" });
    this.notice = h("p", { class: "dshs-notice" });
    this.spoken = h("p", { class: "dshs-spoken", role: "status", "aria-live": "polite", "aria-atomic": "true" });
    this.strip = new Strip(this);
    this.surface = new Surface(this);
    const tools = h("div", { class: "dshs-tools", role: "group", "aria-label": "Moment" });
    tools.append(...Object.values(this.buttons), this.slider, this.where);
    this.root = h(
      "div",
      { class: "dsh dsh-stepper", role: "group" },
      h("div", { class: "dshs-heading" }, this.name, this.said),
      tools,
      this.strip.element,
      this.surface.element,
      this.notice,
      h("div", { class: "dshs-status" }, this.spoken, keys()),
    );
    this.host = h("div", { class: "dshs-host" }, this.root);
    el.append(this.host);

    this.buttons.first.addEventListener("click", () => this.go(-1));
    this.buttons.back.addEventListener("click", () => this.go(this.moment - 1));
    this.buttons.next.addEventListener("click", () => this.go(this.moment + 1));
    this.buttons.last.addEventListener("click", () => this.go(this.length - 1));
    this.buttons.play.addEventListener("click", () => this.play());
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.root.addEventListener("keydown", (event) => this.key(event));

    this.listeners = [
      ["change:moment", () => this.leave()],
      ["change:length", () => this.grown()],
      ["change:selection", () => this.selected()],
      ["change:marked", () => this.mark()],
      ["change:notice", () => this.tell()],
      ["change:playing", () => this.drawTools()],
      ["change:session_id", () => this.drawTools()],
      ["change:theme", () => this.dress()],
      ["msg:custom", (content) => content?.type === "renewed" && this.renew()],
    ];
    for (const [name, listener] of this.listeners) model.on(name, listener);
    this.watcher = new ResizeObserver(() => this.later("size", () => this.resized()));
    this.watcher.observe(this.root);
    Clock.of(model).join(this);

    this.dress();
    this.mark();
    this.tell();
    this.surface.measure();
    this.moved({ first: true });
    this.line.ask("overview", {});
  }

  get moment() {
    return this.model.get("moment");
  }

  get length() {
    return this.model.get("length");
  }

  // The element that has the focus, if it is one of this view.
  get active() {
    const focused = this.root.getRootNode().activeElement;
    return this.root.contains(focused) ? focused : null;
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  // Once per picture, however often it is called.
  later(name, work) {
    if (this.frames.has(name)) return;
    this.frames.set(
      name,
      requestAnimationFrame(() => {
        this.frames.delete(name);
        work();
      }),
    );
  }

  isWaiting() {
    return this.surface.told?.moment !== this.moment;
  }

  // ---- moving

  go(moment, { focus } = {}) {
    const target = clamp(moment, -1, this.length - 1);
    if (focus) this.follow = true;
    if (target === this.moment) {
      if (focus) this.moved();
      return;
    }
    this.set({ moment: target });
  }

  play() {
    const playing = !this.model.get("playing");
    const values = { playing };
    if (playing && this.moment >= this.length - 1) values.moment = -1;
    Clock.of(this.model).change(values);
  }

  // Asked at once, drawn with the next picture: a slider may go over a hundred moments in between.
  leave() {
    const { surface, moment } = this;
    this.by = moment < (surface.told?.moment ?? -1) ? -1 : 1;
    if (surface.ahead?.moment === moment) this.shown(surface.ahead);
    else if (!this.line.isAsked("ahead") || surface.awaited !== moment) surface.ask({ around: true });
    this.later("moment", () => this.moved());
  }

  moved({ first = false } = {}) {
    const held = this.follow || this.strip.list.contains(this.active);
    if (first) this.surface.ask({ around: true });
    this.drawTools();
    this.strip.draw();
    this.strip.reveal({ centre: first });
    if (first) this.strip.draw();
    if (held || this.follow) this.strip.options.get(this.moment)?.focus({ preventScroll: true });
    this.follow = false;
  }

  grown() {
    this.strip.outdate();
    this.surface.stale = true;
    this.surface.ahead = undefined;
    this.later("grown", () => {
      this.drawTools();
      this.strip.draw();
      this.line.ask("overview", {});
      this.surface.ask({ around: true });
    });
  }

  renew() {
    this.strip.forget();
    this.surface.forget();
    this.chosen = undefined;
    this.moved({ first: true });
    this.line.ask("overview", {});
  }

  resized() {
    const wasHidden = !this.strip.width; // in a tab that nobody had opened yet
    this.surface.measure();
    this.strip.draw();
    this.strip.reveal({ centre: wasHidden });
    if (wasHidden && this.surface.told?.at >= 0) this.surface.reveal(this.surface.told.at);
    this.surface.draw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      const { surface } = this;
      if (!this.model.get("selection").length && !surface.queue.length) return;
      surface.queue = surface.queue.map((move) => ({ ...move, choose: false }));
      this.clear();
    } else if (event.target === this.slider) {
      return; // its own keys are the usual ones
    } else if (event.target.closest("button") && (event.key === "Enter" || event.key === " ")) {
      return;
    } else if (event.key === "Enter") {
      this.chooseEntering(event.shiftKey);
    } else if (event.key === " ") {
      this.play();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.line.ask("change", { moment: this.moment, by: event.key === "ArrowDown" ? 1 : -1 });
    } else {
      const moves = {
        ArrowRight: this.moment + 1,
        ArrowLeft: this.moment - 1,
        PageDown: this.moment + this.strip.page,
        PageUp: this.moment - this.strip.page,
        Home: -1,
        End: this.length - 1,
      };
      if (!(event.key in moves)) return;
      this.go(moves[event.key]);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- selecting

  isChosen(rank) {
    return this.chosen !== undefined && rank >= this.chosen.from.rank && rank <= this.chosen.to.rank;
  }

  selectionWords() {
    const { from, to } = this.chosen;
    const several = to.at - from.at + 1;
    return several === 1 ? `node ${from.seq}` : `${count(several, "node")}, ${from.seq} … ${to.seq}`;
  }

  choose(a, b) {
    const [from, to] = a.rank <= b.rank ? [a, b] : [b, a];
    const before = this.model.get("selection");
    const alone = from.seq === to.seq && same(before, [from.seq, from.seq]);
    if (alone) {
      this.clear();
      return;
    }
    this.chosen = { from, to };
    this.set({ selection: [from.seq, to.seq] });
    this.drawSelection();
  }

  chooseEntering(extend) {
    const { told } = this.surface;
    const row = told && told.moment === this.moment && told.at >= 0 ? this.surface.rows.get(told.at) : undefined;
    if (!row) return;
    const here = { seq: row.seq, rank: row.rank, at: told.at };
    if (!extend || !this.surface.anchor) this.surface.anchor = here;
    this.choose(this.surface.anchor, here);
  }

  clear() {
    this.surface.anchor = undefined;
    this.chosen = undefined;
    this.set({ selection: [] });
    this.drawSelection();
  }

  // The selection was changed, here or elsewhere.
  selected() {
    const selection = this.model.get("selection");
    if (!selection.length) {
      this.hold();
      if (this.chosen) {
        this.chosen = undefined;
        this.drawSelection();
      }
      return;
    }
    if (this.chosen && this.chosen.from.seq === selection[0] && this.chosen.to.seq === selection[1]) return;
    this.chosen = this.surface.ends(selection);
    this.hold();
    if (this.chosen) this.drawSelection();
    else this.surface.ask();
  }

  drawSelection() {
    this.strip.draw();
    this.surface.draw();
    this.speak(this.chosen ? `Selected ${this.selectionWords()}.` : "Nothing is selected.");
  }

  // ---- what the kernel says

  hear(what, answer) {
    if (what === "ahead") {
      const good = answer.error === undefined && answer.length === this.length;
      if (good) this.surface.ahead = answer;
      if (this.surface.awaited !== this.moment || this.surface.told?.moment === this.moment) return;
      if (good) this.shown(answer);
      else this.surface.ask({ around: true });
      return;
    }
    if (answer.error !== undefined) {
      this.speak(`The kernel could not tell: ${answer.error}`);
      return;
    }
    if (what === "log") this.strip.take(answer);
    else if (what === "overview") this.strip.takeOverview(answer);
    else if (what === "change") this.go(answer.moment);
    else if (answer.moment === this.moment) this.shown(answer);
    else if (!this.line.isAsked("surface")) this.surface.ask({ around: true });
  }

  shown(answer) {
    const news = this.surface.told?.moment !== answer.moment || this.surface.stale;
    const selection = this.model.get("selection");
    const found = answer.selected;
    const before = this.chosen;
    if (!selection.length) this.chosen = undefined;
    else if (found && same([found[0].seq, found[1].seq], selection)) this.chosen = { from: found[0], to: found[1] };
    else {
      // The page asked before the kernel had heard of the selection.
      this.chosen = this.surface.told?.moment === answer.moment ? this.surface.ends(selection) : undefined;
      if (!this.chosen && this.again++ < 5) this.later("again", () => this.surface.ask());
    }
    if (this.chosen) this.again = 0;
    this.hold();
    this.surface.take(answer);
    this.drawTools();
    if (this.chosen !== before) this.strip.draw();
    say(this.said, answer.moment < 0 ? answer.said : `after event ${answer.moment}: ${answer.said}`);
    if (!news) return;
    this.surface.foresee(this.by);
    const label = answer.label ? ` ${answer.label}` : "";
    this.speak(answer.moment < 0 ? `${answer.said}.` : `Event ${answer.moment}: ${answer.said}.${label}`);
  }

  // A range goes on from where it began, for as long as that is an end of what is selected.
  hold() {
    const { surface, chosen } = this;
    const { anchor } = surface;
    if (!this.model.get("selection").length) surface.anchor = undefined;
    else if (chosen && anchor) surface.anchor = [chosen.from, chosen.to].find((end) => end.seq === anchor.seq);
  }

  speak(text) {
    say(this.spoken, text);
  }

  // ---- drawing

  drawTools() {
    const { moment, length, model } = this;
    const name = model.get("session_id") || "session";
    say(this.name, name);
    put(this.root, "aria-label", `Stepper of ${name}`);
    const playing = model.get("playing");
    const { first, back, play, next, last } = this.buttons;
    for (const each of [first, back]) put(each, "aria-disabled", moment < 0 ? "true" : null);
    for (const each of [next, last]) put(each, "aria-disabled", moment >= length - 1 ? "true" : null);
    put(play, "aria-disabled", length === 0 ? "true" : null);
    put(play.querySelector("path"), "d", playing ? ICONS.pause : ICONS.play);
    say(play.lastChild, playing ? "Pause" : "Play");
    put(this.slider, "max", Math.max(length - 1, 0));
    if (this.slider.value !== String(moment)) this.slider.value = String(moment);
    const share = length ? (moment + 1) / length : 0;
    this.slider.style.setProperty("--dshs-share", `${(share * 100).toFixed(2)}%`);
    const { told } = this.surface;
    const kind = told?.moment === moment && told.kind ? `, ${told.kind}` : "";
    put(this.slider, "aria-valuetext", moment < 0 ? "beginning" : `event ${moment}${kind}`);
    const bold = h("b");
    bold.textContent = moment < 0 ? "start" : number(moment);
    const whole = length ? ` of ${number(length - 1)}` : " of an empty log";
    this.where.replaceChildren(moment < 0 ? "at the " : "event ", bold, whole);
  }

  mark() {
    this.marks = new Map(this.model.get("marked") ?? []);
    if (this.surface.told) {
      this.strip.draw();
      this.surface.draw();
    }
  }

  tell() {
    const text = this.model.get("notice") ?? "";
    if (!text && this.spoken.textContent === this.notice.textContent) this.speak(""); // what is over is not said on
    say(this.notice, text);
    this.notice.hidden = !text;
    if (text) this.speak(text);
  }

  dress() {
    const theme = this.model.get("theme");
    put(this.host, "class", `dshs-host${theme === "light" || theme === "dark" ? ` dsh-is-${theme}` : ""}`);
  }

  close() {
    for (const [name, listener] of this.listeners) this.model.off(name, listener);
    this.line.close();
    Clock.of(this.model).leave(this);
    this.watcher.disconnect();
    for (const frame of this.frames.values()) cancelAnimationFrame(frame);
    this.frames.clear();
    this.host.remove();
  }
}

function keys() {
  const list = h("ul", { class: "dshs-keys", "aria-label": "Keys" });
  const known = [
    [["←", "→"], "step"],
    [["↑", "↓"], "change"],
    [["Home", "End"], "ends"],
    [["Space"], "play"],
    [["Enter"], "select"],
    [["Shift"], "range"],
    [["Esc"], "clear"],
  ];
  for (const [names, what] of known) {
    const item = h("li");
    for (const name of names) {
      const key = h("kbd");
      key.textContent = name;
      item.append(key, " ");
    }
    item.append(what);
    list.append(item);
  }
  return list;
}

function render({ model, el }) {
  const stepper = new Stepper(model, el);
  return () => stepper.close();
}

export default { render };
