// Flame graph and circle packing of a service's merged call tree; the charts are those of trees.js.
import { embedded } from "./dom.js";
import {
  SELF_SHARE_FULL,
  SMALLEST,
  treeChart,
  colour,
  css,
  fitted,
  flameLayout,
  hierarchyOf,
  inkOn,
  mix,
  readColours,
  treeOf,
} from "./trees.js";

const data = embedded("call-log-data");
const started = performance.now();
const find = (selector) => document.querySelector(selector);
const words = { unit: "ms", per: " per call", of: "the service", what: "time" };

const packLayout = {
  // Own time of a method that calls others is a circle of its own within it.
  place: (chart) => {
    const copy = (node) => {
      const children = (node.children || []).map(copy);
      if (children.length && node.data.now > 0) children.push({ of: node, value: node.data.now, children: [] });
      return { of: node, value: children.length ? 0 : node.data.now, children };
    };
    const packed = d3
      .hierarchy(copy(chart.root))
      .sum((one) => one.value)
      .sort((a, b) => b.value - a.value);
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
      const r = one.r * view.scale,
        x = view.left + one.x * view.scale,
        y = view.top + one.y * view.scale;
      if (r < SMALLEST || x + r < 0 || x - r > chart.width || y + r < 0 || y - r > chart.height) continue;
      pen.beginPath();
      pen.arc(x, y, r, 0, 2 * Math.PI);
      if (!one.children) {
        const filling = mix(colour("low"), colour("high"), Math.min(1, one.value / whole / 4 / SELF_SHARE_FULL));
        pen.fillStyle = css(filling);
        pen.fill();
        if (r > 24) labels.push([one, x, y, r, inkOn(filling)]);
      }
      pen.strokeStyle = css(colour("muted"));
      pen.globalAlpha = 0.6;
      pen.stroke();
      pen.globalAlpha = 1;
    }
    for (const [one, x, y, r, ink] of labels) {
      pen.fillStyle = ink;
      const name = one.data.of.data.name;
      const text = fitted(pen, name.length * 6.6 > 2 * r - 8 ? name.split(/[./]/).pop() : name, 2 * r - 8);
      if (text) pen.fillText(text, x, y);
    }
    const circle = chart.circleOf.get(chart.selected);
    if (circle) {
      pen.beginPath();
      pen.arc(
        view.left + circle.x * view.scale,
        view.top + circle.y * view.scale,
        Math.max(circle.r * view.scale, 3),
        0,
        2 * Math.PI,
      );
      pen.strokeStyle = css(colour("focus"));
      pen.lineWidth = 2.5;
      pen.stroke();
    }
  },
  hit: (chart, x, y) => {
    const view = packLayout.view(chart);
    let found = null;
    if (view)
      for (const one of chart.circles) {
        // by depth: the last that holds the point is the innermost
        const dx = (x - view.left) / view.scale - one.x,
          dy = (y - view.top) / view.scale - one.y;
        if (dx * dx + dy * dy <= one.r * one.r) found = one.data.of;
      }
    return found;
  },
};

// ---- the page ---------------------------------------------------------------------------------
const flame = treeChart(find("[data-flame]"), find("[data-flame-told]"), flameLayout, words);
const pack = treeChart(find("[data-pack]"), find("[data-pack-told]"), packLayout, words);
const select = find("[data-service]");
data.services.forEach((service, i) => select.add(new Option(service.name || "(all)", i)));
const show = () => {
  const service = data.services[select.value];
  if (!service) return;
  const root = hierarchyOf(treeOf(service, data.names));
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
find("[data-whole]").addEventListener("click", () => {
  flame.zoom(flame.root);
  pack.zoom(pack.root);
});
let waiting = 0;
window.addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(redraw);
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
document.body.dataset.drawnMs = Math.round(performance.now() - started);
performance.mark("flames-drawn");
document.body.dataset.ready = "yes";
