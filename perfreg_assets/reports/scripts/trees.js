// Canvas charts of merged call trees, zoomed by mouse and keyboard, told in words: what the flame graphs of run pages and of
// call logs' pages and the circle packing have in common. Ten thousand nodes are drawn at once.
// Names only ever become text: on the canvas and as textContent.
export const SELF_SHARE_FULL = 0.05; // of the whole: from here on a change has its full colour
const ROW = 20;
export const SMALLEST = 0.4; // narrower frames and smaller circles are not drawn

// ---- trees ------------------------------------------------------------------------------------
// tree: of each node, behind its parent, the numbers of its parent (-1: the root) and of its name, and its own before and now
export const treeOf = (tree, names) => {
  const root = { name: tree.name, before: null, now: 0, children: [], isRoot: true };
  const nodes = tree.parent.map((_, i) => ({
    name: names[tree.methods[i]],
    before: tree.before[i],
    now: tree.now[i],
    children: [],
  }));
  tree.parent.forEach((parent, i) => (parent < 0 ? root : nodes[parent]).children.push(nodes[i]));
  return root;
};
export const hierarchyOf = (tree) => {
  const root = d3.hierarchy(tree).sum((node) => node.now);
  root.eachAfter((node) => {
    // before of everything below; null where no earlier log has the service
    const own = node.data.before;
    node.before = (node.children || []).reduce(
      (sum, child) => (child.before === null ? sum : (sum || 0) + child.before),
      own,
    );
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
export const readColours = () => {
  colours = {};
  for (const name of ["page", "text", "muted", "line", "focus", "neutral", "more", "less", "low", "high"])
    colours[name] = rgb(`--${name}`);
};
export const mix = (a, b, share) => a.map((v, i) => Math.round(v + (b[i] - v) * share));
export const css = (c) => `rgb(${c[0]},${c[1]},${c[2]})`;
export const inkOn = (c) => (0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] > 140 ? "#12161b" : "#ffffff");
const flameColour = (node, whole) => {
  const own = node.data;
  if (own.before === null) return mix(colours.low, colours.high, Math.min(1, own.now / whole / 4 / SELF_SHARE_FULL));
  const change = Math.max(-1, Math.min(1, (own.now - own.before) / whole / SELF_SHARE_FULL));
  return mix(colours.neutral, change > 0 ? colours.more : colours.less, Math.abs(change));
};

// ---- words ------------------------------------------------------------------------------------
const number = (value) =>
  value === 0
    ? "0"
    : Math.abs(value) >= 1000
      ? Math.round(value).toLocaleString("en")
      : value
          .toPrecision(3)
          .replace(/(\.\d*?)0+$/, "$1")
          .replace(/\.$/, "");
// words: `unit` of a value, `per` what the root's is of, `of` what shares are of, `own` what a node itself has
const told = (node, whole, words) => {
  const own = node.data;
  const share = whole ? `${((100 * node.value) / whole).toFixed(1)} % of ${words.of}` : `no ${words.what}`;
  const amount = (now, before) =>
    before === null
      ? `${number(now)} ${words.unit}`
      : `${number(now)} ${words.unit}, before ${number(before)} ${words.unit}`;
  if (own.isRoot) return `${own.name}: ${amount(node.value, node.before)}${words.per}`;
  return `${own.name}: own ${words.what} ${amount(own.now, own.before)}; with everything below ${amount(node.value, node.before)}; ${share}; depth ${node.depth}`;
};

// ---- a chart: what is in view, what is selected -------------------------------------------------
export const treeChart = (canvas, output, layout, words) => {
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
    output.textContent = told(self.selected, self.root.value, words);
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
    output.textContent = told(node || self.selected, self.root.value, words);
  });
  return self;
};

export const fitted = (pen, text, width) => {
  const room = Math.floor(width / 6.6); // of a 12-pixel letter
  return room < 3 ? "" : text.length <= room ? text : `${text.slice(0, room - 1)}…`;
};

export const flameLayout = {
  place: (chart) => d3.partition()(chart.root),
  height: (chart) => (chart.root.height + 1) * ROW,
  box: (chart, node) => {
    const { x0, x1 } = chart.focus;
    const scale = chart.width / (x1 - x0 || 1);
    const left = Math.max(0, (node.x0 - x0) * scale);
    return [left, Math.min(chart.width, (node.x1 - x0) * scale) - left];
  },
  each: (chart, act) => {
    // ancestors, then what is below the focus, as far as it is wide enough
    chart.focus
      .ancestors()
      .slice(1)
      .forEach((node) => act(node, 0, chart.width));
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
      const colour = node.data.isRoot ? colours.neutral : flameColour(node, chart.root.value || 1);
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

export const colour = (name) => colours[name];
