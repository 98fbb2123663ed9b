// The page of a run: its charts, drawn when they come near the screen, share zoom, screens and overlays.
import { boxFigure } from "./box-figure.js";
import { embedded, ready } from "./dom.js";
import { lazily } from "./lazily.js";
import "./page.js";
import { loadPlotly } from "./plotly.js";
import { drawFlames } from "./run-flames.js";
import { screenKey } from "./screens.js";
import { LEFT, RIGHT, figure, labelTrace } from "./series-figure.js";
import { coarse, config, onThemeChange, theme } from "./theme.js";
import "./triage.js";

const data = embedded("run-data");
const charts = document.querySelectorAll("[data-chart], [data-box]");
const span = Math.max(1, ...data.series.map((s) => (s.values ? s.values.length * s.interval : 0)));
const drawn = new Map(); // element → its series
const overlays = new Set(); // of the history's runs, by their place in `members`
let chosen = new Set(); // screens
let range = null; // shared time range, null = whole run
let syncing = false;
let plotly = null;

if (document.getElementById("flame-data")) drawFlames();

const view = (element) => ({
  path: data.path,
  span,
  range: range ?? [0, span],
  width: element.clientWidth,
  height: element.clientHeight,
  inner: element.clientWidth - LEFT - RIGHT,
  chosen,
  overlays,
});

async function draw(element) {
  const s = data.series[Number(element.dataset.chart ?? element.dataset.box)];
  plotly ??= await loadPlotly("../");
  if (element.dataset.box !== undefined) {
    const { traces, look } = boxFigure(s, theme());
    await plotly.react(element, traces, look, config);
    return;
  }
  const { traces, look } = figure(s, data, view(element), theme());
  const first = !drawn.has(element);
  await plotly.react(element, traces, look, config);
  drawn.set(element, s);
  if (!first) return;
  element.on("plotly_relayout", (change) => {
    if (syncing) return;
    if ("xaxis.range[0]" in change) zoom([change["xaxis.range[0]"], change["xaxis.range[1]"]]);
    else if ("xaxis.range" in change) zoom(change["xaxis.range"]);
    else if ("xaxis.autorange" in change) zoom(null);
  });
  element.on("plotly_doubleclick", () => {
    zoom(null);
    return false;
  });
  keys(element, s);
}
const redraw = async () => {
  for (const element of drawn.keys()) await draw(element);
};

// ---- shared zoom ----
async function zoom(to) {
  range = null;
  if (to) {
    const a = Math.max(0, Math.min(to[0], to[1]));
    const b = Math.min(span, Math.max(to[0], to[1]));
    if (b - a > 0) range = [a, b];
  }
  document.body.dataset.zoom = range ? range.map((v) => v.toFixed(3)).join(",") : "";
  for (const button of document.querySelectorAll("[data-reset-zoom]")) button.disabled = !range;
  syncing = true;
  try {
    for (const element of drawn.keys()) {
      const axis = { "xaxis.range": range || [0, span] };
      if (data.path) {
        const { x, y, text } = labelTrace(data.path, view(element));
        const index = element.data.findIndex((trace) => trace.name === "labels");
        await plotly.update(element, { x: [x], y: [y], text: [text] }, axis, [index]);
      } else await plotly.relayout(element, axis);
    }
  } finally {
    syncing = false;
  }
}
for (const button of document.querySelectorAll("[data-reset-zoom]")) {
  button.disabled = true;
  button.addEventListener("click", () => zoom(null));
}
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => {
    const [a, b] = button.dataset.zoom.split(",").map(Number);
    const margin = Math.max(2, (b - a) * 0.5);
    zoom([a - margin, b + margin]);
    const near = button.closest("article") || document; // a screenshot belongs to no series: the first chart then
    near.querySelector("[data-chart]")?.scrollIntoView({ block: "nearest" });
  });
}

// ---- screens, and runs of the history over the chart ----
screenKey(data.path, (codes) => {
  chosen = codes;
  redraw();
});
for (const box of document.querySelectorAll("[data-overlay]")) {
  box.addEventListener("change", () => {
    if (box.checked) overlays.add(Number(box.dataset.overlay));
    else overlays.delete(Number(box.dataset.overlay));
    redraw();
  });
}

// ---- keyboard: arrows read values, + and - zoom, 0 shows the whole run ----
const live = document.createElement("p");
live.className = "visually-hidden";
live.setAttribute("aria-live", "polite");
document.body.append(live);
function keys(element, s) {
  let at = null;
  element.addEventListener("keydown", (event) => {
    const [a, b] = range || [0, span];
    const step = event.shiftKey ? 10 : 1;
    const jump = { ArrowRight: step, ArrowLeft: -step, Home: -Infinity, End: Infinity }[event.key];
    if (jump !== undefined) {
      const last = s.values.length - 1;
      at = Math.min(last, Math.max(0, at === null ? Math.ceil(a / s.interval) : at + jump));
      if (at * s.interval < a || at * s.interval > b) {
        const half = (b - a) / 2;
        if (range) zoom([at * s.interval - half, at * s.interval + half]);
      }
      const run = element.data.findIndex((trace) => trace.name === "run");
      plotly.Fx.hover(element, [{ curveNumber: run, pointNumber: at }], ["xy"]);
      const value = s.values[at];
      live.textContent = `${at * s.interval} s: ${value === null ? "no value" : `${value} ${s.exact}`}`;
    } else if (event.key === "+" || event.key === "-") {
      const centre = at === null ? (a + b) / 2 : at * s.interval;
      const half = ((b - a) / 2) * (event.key === "+" ? 0.5 : 2);
      const from = Math.min(Math.max(0, centre - half), span - 2 * half);
      zoom(half * 2 >= span ? null : [from, from + 2 * half]);
    } else if (event.key === "0") zoom(null);
    else if (event.key === "Escape") plotly.Fx.unhover(element);
    else return;
    event.preventDefault();
  });
  element.addEventListener("blur", () => plotly.Fx.unhover(element));
}

// ---- draw what is near the screen ----
const problem = document.querySelector("[data-problem]");
const watcher = lazily(draw, {
  onIdle: () => ready(),
  onError: (error) => {
    problem.textContent = `The charts stay still: ${error.message}.`;
    problem.hidden = false;
  },
});
for (const element of charts) watcher.observe(element);
if (!charts.length) ready();
for (const tools of document.querySelectorAll("[data-chart-tools]")) {
  tools.hidden = charts.length === 0;
  if (coarse) tools.querySelector(".how")?.remove();
}
onThemeChange(async () => {
  await redraw();
  for (const element of document.querySelectorAll("[data-box][data-drawn]")) await draw(element);
});
