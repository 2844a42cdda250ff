// Draws a memory's map on a canvas. What is chosen on it is listed beside it, which is how it is read without seeing it.
"use strict";
(() => {
  if (window.memorybaseMaps) return window.memorybaseMaps();

  const LISTED = 50, NEAR = 20, REACH = 12, ID = 22, EDGE = 24;
  const COLORS = 9, TIMES = 5;
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  // One shape in four, so that a color is not the only difference. Each is drawn around 0, 0.
  const SHAPES = [
    (path, x, y, r) => { path.moveTo(x + r, y); path.arc(x, y, r, 0, 7); },
    (path, x, y, r) => { const s = r * 0.9; path.rect(x - s, y - s, 2 * s, 2 * s); },
    (path, x, y, r) => { const s = r * 1.2; path.moveTo(x, y - s); path.lineTo(x + s, y + s * 0.8); path.lineTo(x - s, y + s * 0.8); path.closePath(); },
    (path, x, y, r) => { const s = r * 1.3; path.moveTo(x, y - s); path.lineTo(x + s, y); path.lineTo(x, y + s); path.lineTo(x - s, y); path.closePath(); },
  ];
  const OUTLINES = ["M11 6A5 5 0 1 1 1 6a5 5 0 0 1 10 0z", "M2 2h8v8H2z", "M6 1l5 9H1z", "M6 0l6 6-6 6-6-6z"];

  class MemoryMap {
    constructor(element) {
      this.element = element;
      this.url = element.dataset.map;
      this.find = selector => element.querySelector(selector);
      this.field = this.find(".map-field");
      this.canvas = this.find("canvas");
      this.tip = this.find(".map-tip");
      this.context = this.canvas.getContext("2d");
      this.coloring = element.dataset.color;
      this.tool = "lasso";
      this.view = null; // scale, left, top
      this.chosen = [];
      this.current = -1;
      this.question = null;
      this.lasso = null;
      this.pointers = new Map();
      this.tips = new Map();
      this.listen();
      this.readColors();
      this.load();
    }

    // Data

    async load() {
      const loading = this.find(".map-loading");
      loading.textContent = "Loading the points…";
      loading.hidden = false;
      try {
        const data = await json(`${this.url}/points`);
        this.box = data.box;
        this.colorings = data.colorings;
        this.ids = data.ids.match(new RegExp(`.{${ID}}`, "g")) ?? [];
        this.x = Float32Array.from(data.x);
        this.y = Float32Array.from(data.y, each => 9999 - each); // upwards, as charts are read
      } catch {
        const again = document.createElement("button");
        again.textContent = "Retry";
        again.onclick = () => this.load();
        loading.replaceChildren("The points could not be loaded. ", again);
        return;
      }
      loading.hidden = true;
      this.element.dataset.points = this.ids.length;
      this.showLegend();
      this.showAll();
      const asked = this.find("[name=question]").value.trim();
      if (asked) this.ask(asked);
    }

    async ask(question) {
      const address = new URL(location);
      question ? address.searchParams.set("question", question) : address.searchParams.delete("question");
      history.replaceState(history.state, "", address);
      this.question = null;
      this.draw();
      if (!question) return this.say("");
      this.say("Looking where the question falls…");
      try {
        const found = await json(`${this.url}/question?question=${encodeURIComponent(question)}`);
        if (found.x === undefined) return this.say(found.problem);
        const [left, low, side] = this.box, place = new Map(this.ids.map((id, index) => [id, index]));
        this.question = { x: (found.x - left) / side * 9999, y: 9999 - (found.y - low) / side * 9999 };
        this.showAll();
        const marked = found.found.map(id => place.get(id)).filter(index => index !== undefined);
        this.say(found.problem || `The cross is where the question falls. Marked are the ${marked.length} best results of a search that are on the map.`);
        this.choose(marked);
      } catch {
        this.say("memorybase does not answer.");
      }
    }

    // View

    readColors() {
      const probe = document.createElement("span");
      probe.hidden = true;
      this.element.append(probe);
      const read = name => { probe.className = name; return getComputedStyle(probe).color; };
      this.colors = Array.from({ length: COLORS }, (_, index) => read(`map-${index}`));
      this.times = Array.from({ length: TIMES }, (_, index) => read(`map-time-${index}`));
      [this.ink, this.accent, this.surface] = ["map-ink", "map-accent", "map-surface"].map(read);
      probe.remove();
    }

    resize() {
      const { clientWidth: width, clientHeight: height } = this.field, ratio = window.devicePixelRatio || 1;
      if (!width || (this.width === width && this.height === height)) return;
      [this.width, this.height] = [width, height];
      [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
      this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.showAll();
    }

    showAll() {
      if (!this.ids || !this.width) return;
      const extra = this.question ? [this.question] : [];
      const xs = [...this.x, ...extra.map(each => each.x)], ys = [...this.y, ...extra.map(each => each.y)];
      const [left, right, top, bottom] = [min(xs), max(xs), min(ys), max(ys)];
      const scale = Math.min((this.width - 2 * EDGE) / (right - left || 1), (this.height - 2 * EDGE - 24) / (bottom - top || 1));
      this.view = {
        scale,
        left: this.width / 2 - scale * (left + right) / 2,
        top: (this.height + 24) / 2 - scale * (top + bottom) / 2, // below the buttons
      };
      this.draw();
    }

    zoom(factor, x = this.width / 2, y = this.height / 2) {
      if (!this.view) return;
      const scale = Math.min(Math.max(this.view.scale * factor, 0.005), 5);
      const real = scale / this.view.scale;
      this.view = { scale, left: x - (x - this.view.left) * real, top: y - (y - this.view.top) * real };
      this.draw();
    }

    pan(x, y) {
      this.view.left += x;
      this.view.top += y;
      this.draw();
    }

    at(index) {
      return [this.x[index] * this.view.scale + this.view.left, this.y[index] * this.view.scale + this.view.top];
    }

    draw() {
      if (this.view && !this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
    }

    paint() {
      const context = this.context, { of } = this.colorings[this.coloring], isTime = this.coloring === "time";
      const radius = this.ids.length > 1500 ? 2.6 : this.ids.length > 300 ? 3.4 : 4.4;
      const chosen = new Set(this.chosen), paths = new Map();
      context.clearRect(0, 0, this.width, this.height);
      for (let index = 0; index < this.ids.length; index++) {
        const [x, y] = this.at(index);
        if (x < -9 || y < -9 || x > this.width + 9 || y > this.height + 9) continue;
        const key = of[index] + (chosen.has(index) ? "+" : "");
        if (!paths.has(key)) paths.set(key, new Path2D());
        SHAPES[isTime ? 0 : of[index] % 4](paths.get(key), x, y, key.length > 1 ? radius + 1.4 : radius);
      }
      for (const isChosen of [false, true]) {
        for (const [key, path] of paths) {
          if (key.length > 1 !== isChosen) continue;
          context.globalAlpha = isChosen ? 1 : chosen.size ? 0.28 : 0.85;
          context.fillStyle = (isTime ? this.times : this.colors)[key[0]];
          context.fill(path);
          if (isChosen) { context.strokeStyle = this.ink; context.lineWidth = 1; context.stroke(path); }
        }
      }
      context.globalAlpha = 1;
      if (this.current >= 0) this.ring(...this.at(this.current), radius + 5);
      if (this.question) this.cross(this.question.x * this.view.scale + this.view.left, this.question.y * this.view.scale + this.view.top);
      if (this.lasso) this.paintLasso();
    }

    ring(x, y, radius) {
      this.context.beginPath();
      this.context.arc(x, y, radius, 0, 7);
      this.context.strokeStyle = this.accent;
      this.context.lineWidth = 2.5;
      this.context.stroke();
    }

    cross(x, y) {
      for (const [color, width] of [[this.surface, 7], [this.ink, 3]]) {
        this.context.beginPath();
        for (const [a, b] of [[1, 1], [1, -1]]) { this.context.moveTo(x - 9 * a, y - 9 * b); this.context.lineTo(x + 9 * a, y + 9 * b); }
        this.context.strokeStyle = color;
        this.context.lineWidth = width;
        this.context.lineCap = "round";
        this.context.stroke();
      }
    }

    paintLasso() {
      this.context.beginPath();
      for (const [x, y] of this.lasso) this.context.lineTo(x, y);
      this.context.closePath();
      this.context.fillStyle = this.accent;
      this.context.globalAlpha = 0.12;
      this.context.fill();
      this.context.globalAlpha = 1;
      this.context.strokeStyle = this.accent;
      this.context.lineWidth = 1.5;
      this.context.stroke();
    }

    // Legend

    showLegend() {
      const isTime = this.coloring === "time";
      this.find(".map-legend").replaceChildren(...this.colorings[this.coloring].legend.map(entry => {
        const button = document.createElement("button"), item = document.createElement("li");
        const name = document.createElement("span"), count = document.createElement("small");
        button.type = "button";
        button.setAttribute("aria-pressed", "false");
        button.append(swatch(isTime ? `map-time-${entry.color}` : `map-${entry.color}`, isTime ? 0 : entry.color % 4), name, count);
        name.textContent = entry.label ?? `${day.format(new Date(entry.from))} – ${day.format(new Date(entry.to))}`;
        name.title = name.textContent;
        count.textContent = entry.count.toLocaleString("en");
        button.onclick = () => this.chooseColor(button, String(entry.color));
        item.append(button);
        return item;
      }));
    }

    chooseColor(button, color) {
      if (button.getAttribute("aria-pressed") === "true") return this.clear();
      const { of } = this.colorings[this.coloring];
      this.choose([...this.ids.keys()].filter(index => of[index] === color));
      button.setAttribute("aria-pressed", "true");
    }

    color(name) {
      this.coloring = name;
      for (const each of this.element.querySelectorAll("[data-coloring]")) {
        each.dataset.coloring === name ? each.setAttribute("aria-current", "true") : each.removeAttribute("aria-current");
      }
      const address = new URL(location);
      address.searchParams.set("color", name);
      history.replaceState(history.state, "", address);
      this.showLegend();
      this.draw();
    }

    // What is chosen

    choose(indexes) {
      this.chosen = indexes;
      this.listed = 0;
      for (const each of this.element.querySelectorAll(".map-legend [aria-pressed=true]")) each.setAttribute("aria-pressed", "false");
      this.find("[data-map-clear]").hidden = !indexes.length;
      this.draw();
      if (indexes.length) return this.list();
      this.find("[data-map-more]").hidden = true;
      this.find(".map-found").innerHTML = "<p class=\"muted\">No message there.</p>";
    }

    clear() {
      this.current = -1;
      this.hideTip();
      this.choose([]);
      this.find(".map-found").replaceChildren();
    }

    list() {
      const page = this.chosen.slice(this.listed, this.listed + LISTED), found = this.find(".map-found");
      const address = `${this.url}/messages?total=${this.chosen.length}&ids=${page.map(index => this.ids[index]).join(",")}`;
      const isFirst = this.listed === 0;
      this.listed += page.length;
      this.find("[data-map-more]").hidden = this.listed >= this.chosen.length;
      if (isFirst) found.scrollTop = 0;
      window.htmx.ajax("GET", address, isFirst
        ? { source: found, target: found, swap: "innerHTML" }
        : { source: found, target: found.querySelector("ol"), swap: "beforeend", select: "li" });
    }

    nearest(x, y, reach = REACH) {
      let best = -1, closest = reach * reach;
      for (let index = 0; this.view && index < this.ids.length; index++) {
        const [a, b] = this.at(index), distance = (a - x) ** 2 + (b - y) ** 2;
        if (distance < closest) [best, closest] = [index, distance];
      }
      return best;
    }

    nearestTo(x, y) {
      const distance = index => (this.x[index] - x) ** 2 + (this.y[index] - y) ** 2;
      return [...this.ids.keys()].sort((a, b) => distance(a) - distance(b)).slice(0, NEAR);
    }

    inside(path) {
      return [...this.ids.keys()].filter(index => {
        const [x, y] = this.at(index);
        let within = false;
        for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
          const [a, b] = path[i], [c, d] = path[j];
          if (b > y !== d > y && x < (c - a) * (y - b) / (d - b) + a) within = !within;
        }
        return within;
      });
    }

    step(dx, dy) {
      if (!this.view) return;
      let next = -1, closest = Infinity;
      const [x, y] = this.current >= 0 ? this.at(this.current) : [this.width / 2, this.height / 2];
      for (let index = 0; index < this.ids.length; index++) {
        const [a, b] = this.at(index), along = (a - x) * dx + (b - y) * dy, aside = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
        const isAhead = this.current < 0 || (along > 0.01 && aside <= along * 1.2);
        const distance = Math.hypot(a - x, b - y) + aside;
        if (index !== this.current && isAhead && distance < closest) [next, closest] = [index, distance];
      }
      if (next < 0) return;
      this.current = next;
      const [a, b] = this.at(next);
      this.pan(Math.max(EDGE - a, 0) + Math.min(this.width - EDGE - a, 0), Math.max(EDGE - b, 0) + Math.min(this.height - EDGE - b, 0));
      this.showTip(next, true);
    }

    // Tip

    async showTip(index, aloud = false) {
      if (this.tipped === index && !aloud) return;
      this.tipped = index;
      await new Promise(resolve => setTimeout(resolve, 60));
      if (this.tipped !== index) return;
      const id = this.ids[index];
      try {
        if (!this.tips.has(id)) {
          const answer = await fetch(`${this.url}/messages?brief=1&ids=${id}`, { headers: { "HX-Request": "true" } });
          if (!answer.ok) return;
          if (this.tips.size > 500) this.tips.clear();
          this.tips.set(id, await answer.text());
        }
      } catch { return; } // the next point may have an answer
      if (this.tipped !== index) return;
      this.tip.innerHTML = this.tips.get(id);
      this.tip.hidden = false;
      const [x, y] = this.at(index), { offsetWidth: width, offsetHeight: height } = this.tip;
      this.tip.style.left = `${Math.max(4, Math.min(x + 12, this.width - width - 4))}px`;
      this.tip.style.top = `${y + 12 + height < this.height ? y + 12 : Math.max(4, y - height - 12)}px`;
      if (aloud) this.say(this.tip.textContent.trim().replace(/\s+/g, " "));
    }

    hideTip() {
      this.tipped = -1;
      this.tip.hidden = true;
    }

    say(text) {
      this.find(".map-said").textContent = text;
    }

    // Events

    listen() {
      new ResizeObserver(() => this.resize()).observe(this.field);
      const recolor = () => { this.readColors(); this.draw(); };
      new MutationObserver(recolor).observe(document.documentElement, { attributeFilter: ["data-theme"] });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
      this.canvas.addEventListener("pointerdown", event => this.down(event));
      this.canvas.addEventListener("pointermove", event => this.moved(event));
      for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, event => this.up(event));
      this.canvas.addEventListener("pointerleave", () => { if (!this.pointers.size) this.hideTip(); });
      this.field.addEventListener("wheel", event => {
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.field) return; // the page scrolls
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 400), ...this.place(event));
      }, { passive: false });
      this.field.addEventListener("keydown", event => this.key(event));
      this.element.addEventListener("click", event => this.click(event));
      this.element.addEventListener("submit", event => { if ("mapAct" in event.target.dataset) this.remember(event.target); });
      this.find("[data-map-question]").addEventListener("submit", event => {
        event.preventDefault();
        this.ask(new FormData(event.target).get("question").trim());
      });
    }

    // An action on messages returns to the map as it is.
    remember(form) {
      form.elements.back.value = form.elements.back.value.split("?")[0] + location.search;
    }

    click(event) {
      const target = event.target.closest("a, button");
      if (!target) return;
      if (target.dataset.coloring) { event.preventDefault(); this.color(target.dataset.coloring); }
      if (target.dataset.mapTool) this.use(target.dataset.mapTool);
      if (target.dataset.mapZoom) ({ in: () => this.zoom(1.5), out: () => this.zoom(1 / 1.5), all: () => this.showAll() })[target.dataset.mapZoom]();
      if ("mapClear" in target.dataset) this.clear();
      if ("mapMore" in target.dataset) this.list();
    }

    use(tool) {
      this.tool = this.field.dataset.tool = tool;
      for (const each of this.element.querySelectorAll("[data-map-tool]")) each.setAttribute("aria-pressed", String(each.dataset.mapTool === tool));
    }

    key(event) {
      if (event.target !== this.field || event.ctrlKey || event.metaKey || event.altKey) return;
      const acts = {
        ArrowLeft: () => this.step(-1, 0), ArrowRight: () => this.step(1, 0), ArrowUp: () => this.step(0, -1), ArrowDown: () => this.step(0, 1),
        Enter: () => { if (this.current >= 0) this.choose(this.nearestTo(this.x[this.current], this.y[this.current])); },
        Escape: () => this.clear(), "+": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5), 0: () => this.showAll(),
      };
      if (!this.ids || !acts[event.key]) return;
      event.preventDefault();
      acts[event.key]();
    }

    place(event) {
      const frame = this.canvas.getBoundingClientRect();
      return [event.clientX - frame.left, event.clientY - frame.top];
    }

    down(event) {
      if (!this.view || event.button > 1) return;
      this.canvas.setPointerCapture(event.pointerId);
      this.field.focus({ preventScroll: true });
      this.pointers.set(event.pointerId, this.place(event));
      this.hideTip();
      const lassoes = this.pointers.size === 1 && this.tool === "lasso" && !event.shiftKey && event.button === 0;
      this.lasso = lassoes ? [this.place(event)] : null;
      this.from = this.place(event);
    }

    moved(event) {
      const [x, y] = this.place(event), before = this.pointers.get(event.pointerId);
      if (!before) {
        const index = this.ids && event.pointerType === "mouse" ? this.nearest(x, y) : -1;
        index < 0 ? this.hideTip() : this.showTip(index);
        return;
      }
      const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      this.pointers.set(event.pointerId, [x, y]);
      if (other) {
        this.zoom(gap([x, y], other) / gap(before, other), ...middle([x, y], other));
        this.pan((x - before[0]) / 2, (y - before[1]) / 2);
      } else if (this.lasso) {
        this.lasso.push([x, y]);
        this.draw();
      } else {
        this.pan(x - before[0], y - before[1]);
      }
    }

    up(event) {
      const path = this.lasso, [x, y] = this.place(event);
      if (!this.pointers.delete(event.pointerId)) return;
      this.lasso = null;
      this.draw();
      if (event.type === "pointercancel" || this.pointers.size) return;
      if (gap(this.from, [x, y]) < 4 && (path?.length ?? 0) < 12) {
        this.current = this.nearest(x, y, 2 * REACH);
        if (this.current >= 0) this.choose([this.current]);
        else if (path) this.clear();
      } else if (path) {
        this.choose(this.inside(path));
      }
    }
  }

  const gap = ([a, b], [c, d]) => Math.hypot(a - c, b - d) || 1;
  const middle = ([a, b], [c, d]) => [(a + c) / 2, (b + d) / 2];
  const min = values => values.reduce((a, b) => Math.min(a, b), Infinity);
  const max = values => values.reduce((a, b) => Math.max(a, b), -Infinity);

  async function json(url) {
    const answer = await fetch(url, { headers: { Accept: "application/json" } });
    if (!answer.ok || !answer.headers.get("content-type")?.startsWith("application/json")) throw new Error(answer.status);
    return answer.json();
  }

  function swatch(name, shape) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    for (const [key, value] of Object.entries({ width: 12, height: 12, "aria-hidden": "true", class: name })) svg.setAttribute(key, value);
    path.setAttribute("d", OUTLINES[shape]);
    svg.append(path);
    return svg;
  }

  // The map may come with the page or later, as a part of it.
  window.memorybaseMaps = () => {
    for (const element of document.querySelectorAll("[data-map]:not([data-started])")) {
      element.dataset.started = "";
      new MemoryMap(element);
    }
  };
  document.addEventListener("htmx:afterSwap", window.memorybaseMaps);
  window.memorybaseMaps();
})();
