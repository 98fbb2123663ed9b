// Flame graph and circle packing of a service's merged call tree, on canvas: ten thousand nodes are drawn at once.
// Names only ever become text: on the canvas and as textContent.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("call-log-data").textContent);
  const started = performance.now();
  const find = (selector) => document.querySelector(selector);
  const SELF_SHARE_FULL = 0.05; // of the service's time: from here on a change has its full colour
  const ROW = 20;
  const SMALLEST = 0.4; // narrower frames and smaller circles are not drawn

  // ---- trees ------------------------------------------------------------------------------------
  const treeOf = (service) => {
    const root = { name: service.name, before: null, now: 0, children: [], isService: true };
    const nodes = service.parent.map((_, i) => ({
      name: data.names[service.methods[i]],
      before: service.before[i], now: service.now[i], children: [],
    }));
    service.parent.forEach((parent, i) => (parent < 0 ? root : nodes[parent]).children.push(nodes[i]));
    return root;
  };
  const hierarchyOf = (tree) => {
    const root = d3.hierarchy(tree).sum((node) => node.now);
    root.eachAfter((node) => { // before of everything below; null where no earlier log has the service
      const own = node.data.before;
      node.before = (node.children || []).reduce((sum, child) => (child.before === null ? sum : (sum || 0) + child.before), own);
    });
    return root.sort((a, b) => b.value - a.value);
  };

  // ---- colours ----------------------------------------------------------------------------------
  const style = getComputedStyle(document.documentElement);
  let colours = {};
  const rgb = (name) => {
    const hex = style.getPropertyValue(name).trim().slice(1);
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  };
  const readColours = () => {
    colours = {};
    for (const name of ["page", "text", "muted", "line", "focus", "neutral", "more", "less", "low", "high"]) colours[name] = rgb(`--${name}`);
  };
  const mix = (a, b, share) => a.map((v, i) => Math.round(v + (b[i] - v) * share));
  const css = (c) => `rgb(${c[0]},${c[1]},${c[2]})`;
  const inkOn = (c) => (0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] > 140 ? "#12161b" : "#ffffff");
  const flameColour = (node, whole) => {
    const own = node.data;
    if (own.before === null) return mix(colours.low, colours.high, Math.min(1, own.now / whole / 4 / SELF_SHARE_FULL));
    const change = Math.max(-1, Math.min(1, (own.now - own.before) / whole / SELF_SHARE_FULL));
    return mix(colours.neutral, change > 0 ? colours.more : colours.less, Math.abs(change));
  };

  // ---- words ------------------------------------------------------------------------------------
  const number = (value) => (value === 0 ? "0" : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""));
  const told = (node, whole) => {
    const own = node.data;
    const share = whole ? `${(100 * node.value / whole).toFixed(1)} % of the service` : "no time";
    const ms = (now, before) => (before === null ? `${number(now)} ms` : `${number(now)} ms, before ${number(before)} ms`);
    if (own.isService) return `${own.name}: ${ms(node.value, node.before)} per call`;
    return `${own.name}: own time ${ms(own.now, own.before)}; with everything below ${ms(node.value, node.before)}; ${share}; depth ${node.depth}`;
  };

  // ---- a chart: what is in view, what is selected -------------------------------------------------
  const chart = (canvas, output, layout) => {
    const pen = canvas.getContext("2d");
    const self = { root: null, focus: null, selected: null, width: 0, height: 0 };
    const isShown = (node) => node === self.focus || node.ancestors().includes(self.focus);
    self.draw = () => {
      const ratio = window.devicePixelRatio || 1;
      self.width = canvas.clientWidth;
      self.height = layout.height(self);
      canvas.style.height = `${self.height}px`;
      canvas.width = Math.round(self.width * ratio);
      canvas.height = Math.round(self.height * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, self.width, self.height);
      layout.draw(self, pen);
      output.textContent = told(self.selected, self.root.value);
      canvas.dataset.focus = self.focus.data.name;
      canvas.dataset.selected = self.selected.data.name;
    };
    self.show = (root) => {
      self.root = self.focus = self.selected = root;
      layout.place(self);
      self.draw();
    };
    self.zoom = (node) => {
      self.focus = self.selected = node;
      self.draw();
    };
    self.select = (node) => {
      if (!node) return;
      self.selected = node;
      if (!isShown(node)) self.focus = node;
      self.draw();
    };
    const sibling = (step) => {
      const all = self.selected.parent ? self.selected.parent.children : [];
      return all[all.indexOf(self.selected) + step];
    };
    canvas.addEventListener("keydown", (event) => {
      const keys = {
        ArrowDown: () => self.select((self.selected.children || [])[0]),
        ArrowUp: () => self.select(self.selected.parent),
        ArrowRight: () => self.select(sibling(1)),
        ArrowLeft: () => self.select(sibling(-1)),
        Home: () => self.zoom(self.root),
        Enter: () => self.zoom(self.selected),
        Escape: () => self.zoom(self.focus.parent || self.root),
      };
      if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return layout.hit(self, event.clientX - box.left, event.clientY - box.top);
    };
    canvas.addEventListener("click", (event) => {
      const node = at(event);
      if (node) self.zoom(node === self.focus && node.parent ? node.parent : node);
    });
    canvas.addEventListener("mousemove", (event) => {
      const node = at(event);
      output.textContent = told(node || self.selected, self.root.value);
    });
    return self;
  };

  const fitted = (pen, text, width) => {
    const room = Math.floor(width / 6.6); // of a 12-pixel letter
    return room < 3 ? "" : text.length <= room ? text : `${text.slice(0, room - 1)}…`;
  };

  const flameLayout = {
    place: (chart) => d3.partition()(chart.root),
    height: (chart) => (chart.root.height + 1) * ROW,
    box: (chart, node) => {
      const { x0, x1 } = chart.focus;
      const scale = chart.width / (x1 - x0 || 1);
      const left = Math.max(0, (node.x0 - x0) * scale);
      return [left, Math.min(chart.width, (node.x1 - x0) * scale) - left];
    },
    each: (chart, act) => { // ancestors, then what is below the focus, as far as it is wide enough
      chart.focus.ancestors().slice(1).forEach((node) => act(node, 0, chart.width));
      const waiting = [chart.focus];
      while (waiting.length) {
        const node = waiting.pop();
        const [left, width] = flameLayout.box(chart, node);
        if (width < SMALLEST && node !== chart.focus) continue;
        act(node, left, width);
        if (node.children) waiting.push(...node.children);
      }
    },
    draw: (chart, pen) => {
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      flameLayout.each(chart, (node, left, width) => {
        const colour = node.data.isService ? colours.neutral : flameColour(node, chart.root.value || 1);
        pen.globalAlpha = node.depth < chart.focus.depth ? 0.55 : 1;
        pen.fillStyle = css(colour);
        pen.fillRect(left, node.depth * ROW, Math.max(width - 0.5, 0.5), ROW - 1);
        const text = fitted(pen, node.data.name, width - 8);
        if (text) {
          pen.fillStyle = inkOn(colour);
          pen.fillText(text, left + 4, node.depth * ROW + ROW / 2);
        }
        if (node === chart.selected) {
          pen.globalAlpha = 1;
          pen.strokeStyle = css(colours.focus);
          pen.lineWidth = 2;
          pen.strokeRect(left + 1, node.depth * ROW + 1, Math.max(width - 2.5, 1), ROW - 3);
        }
      });
      pen.globalAlpha = 1;
    },
    hit: (chart, x, y) => {
      let found = null;
      flameLayout.each(chart, (node, left, width) => {
        if (Math.floor(y / ROW) === node.depth && x >= left && x < left + width) found = node;
      });
      return found;
    },
  };

  const packLayout = {
    // Own time of a method that calls others is a circle of its own within it.
    place: (chart) => {
      const copy = (node) => {
        const children = (node.children || []).map(copy);
        if (children.length && node.data.now > 0) children.push({ of: node, value: node.data.now, children: [] });
        return { of: node, value: children.length ? 0 : node.data.now, children };
      };
      const packed = d3.hierarchy(copy(chart.root)).sum((one) => one.value).sort((a, b) => b.value - a.value);
      d3.pack().size([1000, 1000]).padding(1)(packed);
      chart.circles = packed.descendants().filter((one) => one.r > 0 && one.value > 0);
      chart.circleOf = new Map();
      for (const one of chart.circles) if (!chart.circleOf.has(one.data.of)) chart.circleOf.set(one.data.of, one);
    },
    height: (chart) => Math.min(chart.width, 640),
    view: (chart) => {
      const circle = chart.circleOf.get(chart.focus) || chart.circles[0];
      if (!circle) return null;
      const scale = Math.min(chart.width, chart.height) / 2 / (circle.r * 1.02);
      return { scale, left: chart.width / 2 - circle.x * scale, top: chart.height / 2 - circle.y * scale };
    },
    draw: (chart, pen) => {
      const view = packLayout.view(chart);
      if (!view) return;
      const whole = chart.root.value || 1;
      pen.font = "12px system-ui, sans-serif";
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.lineWidth = 1;
      const labels = [];
      for (const one of chart.circles) {
        const r = one.r * view.scale, x = view.left + one.x * view.scale, y = view.top + one.y * view.scale;
        if (r < SMALLEST || x + r < 0 || x - r > chart.width || y + r < 0 || y - r > chart.height) continue;
        pen.beginPath();
        pen.arc(x, y, r, 0, 2 * Math.PI);
        if (!one.children) {
          const colour = mix(colours.low, colours.high, Math.min(1, one.value / whole / 4 / SELF_SHARE_FULL));
          pen.fillStyle = css(colour);
          pen.fill();
          if (r > 24) labels.push([one, x, y, r, inkOn(colour)]);
        }
        pen.strokeStyle = css(colours.muted);
        pen.globalAlpha = 0.6;
        pen.stroke();
        pen.globalAlpha = 1;
      }
      for (const [one, x, y, r, ink] of labels) {
        pen.fillStyle = ink;
        const name = one.data.of.data.name;
        const text = fitted(pen, name.length * 6.6 > 2 * r - 8 ? name.split(/[.\/]/).pop() : name, 2 * r - 8);
        if (text) pen.fillText(text, x, y);
      }
      const circle = chart.circleOf.get(chart.selected);
      if (circle) {
        pen.beginPath();
        pen.arc(view.left + circle.x * view.scale, view.top + circle.y * view.scale, Math.max(circle.r * view.scale, 3), 0, 2 * Math.PI);
        pen.strokeStyle = css(colours.focus);
        pen.lineWidth = 2.5;
        pen.stroke();
      }
    },
    hit: (chart, x, y) => {
      const view = packLayout.view(chart);
      let found = null;
      if (view) for (const one of chart.circles) { // by depth: the last that holds the point is the innermost
        const dx = (x - view.left) / view.scale - one.x, dy = (y - view.top) / view.scale - one.y;
        if (dx * dx + dy * dy <= one.r * one.r) found = one.data.of;
      }
      return found;
    },
  };

  // ---- the page ---------------------------------------------------------------------------------
  const flame = chart(find("[data-flame]"), find("[data-flame-told]"), flameLayout);
  const pack = chart(find("[data-pack]"), find("[data-pack-told]"), packLayout);
  const select = find("[data-service]");
  data.services.forEach((service, i) => select.add(new Option(service.name || "(all)", i)));
  const show = () => {
    const service = data.services[select.value];
    if (!service) return;
    const root = hierarchyOf(treeOf(service));
    flame.show(root);
    pack.show(root);
  };
  const redraw = () => {
    if (!flame.root) return;
    readColours();
    flame.draw();
    pack.draw();
  };
  readColours();
  const at = data.services.findIndex((service) => service.name === data.shown);
  if (at >= 0) select.value = at;
  show();
  select.addEventListener("change", show);
  find("[data-whole]").addEventListener("click", () => { flame.zoom(flame.root); pack.zoom(pack.root); });
  let waiting = 0;
  window.addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(redraw); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.body.dataset.drawnMs = Math.round(performance.now() - started);
  document.body.dataset.ready = "yes";
})();
