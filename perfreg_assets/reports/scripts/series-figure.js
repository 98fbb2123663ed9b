// One series of a run as a figure: the run with its history, the path of screens and the profile on one time axis. The
// still picture that stands here before has the same places (still_chart.py).
import { escapeText } from "./dom.js";
import { rankLabels } from "./rank-labels.js";
import { hiddenStretches, hoverTrace, labels, stripTrace } from "./screens.js";
import { layout } from "./theme.js";

export const GAP = 8;
export const AXIS = 44;
export const STRIP = 18;
export const PROFILE = 102;
export const LEFT = 56;
export const RIGHT = 8;
export const TOP = 8;
const DASHES = ["solid", "dot", "dash", "longdash", "dashdot", "longdashdot"];

export const times = (n, dt) => Array.from({ length: n }, (_, i) => i * dt);
const scaled = (values, factor) => values.map((v) => (v === null ? null : v * factor));

// `legendrank` orders the lines of the hover box: the highest stands first.
function bandTraces(s, t) {
  const x = times(s.band.low.length, s.interval);
  const bounds = s.band.low.map((v, i) => [
    v === null ? null : v * s.factor,
    s.band.high[i] === null ? null : s.band.high[i] * s.factor,
  ]);
  return [
    { x, y: scaled(s.band.high, s.factor), mode: "lines", line: { width: 0 }, hoverinfo: "skip" },
    {
      x,
      y: scaled(s.band.low, s.factor),
      mode: "lines",
      line: { width: 0 },
      fill: "tonexty",
      fillcolor: t.band,
      hoverinfo: "skip",
    },
    {
      x,
      y: scaled(s.band.middle, s.factor),
      mode: "lines",
      line: { color: "rgba(0,0,0,0)", width: 1 },
      name: "history",
      legendrank: 3,
      customdata: bounds,
      hovertemplate: `history: %{y:,.4~r} ${s.axis} (10–90 %: %{customdata[0]:,.4~r} to %{customdata[1]:,.4~r})<extra></extra>`,
    },
  ];
}

// A run of the history over the others: its rank stands at its end (rank-labels.js), so that no colour need tell them apart.
function overlayTrace(s, member, data, t) {
  const { values, step } = s.members[member];
  const { run, rank } = data.members[member];
  const x = times(values.length, s.interval * step).map((at) => at + ((step - 1) * s.interval) / 2);
  return {
    x,
    y: scaled(values, s.factor),
    mode: "lines",
    meta: { rank },
    line: { color: t.history, width: 1.1, dash: DASHES[(rank - 1) % DASHES.length] },
    name: `history ${rank}`,
    legendrank: 1,
    hovertemplate: `${rank}, ${escapeText(run)}: %{y:,.4~r} ${s.axis}<extra></extra>`,
  };
}

function seriesTraces(s, data, view, t) {
  const traces = s.band ? bandTraces(s, t) : [];
  for (const member of view.overlays) if (s.members?.[member]) traces.push(overlayTrace(s, member, data, t));
  if (s.barycenter) {
    traces.push({
      x: times(s.barycenter.length, s.interval),
      y: scaled(s.barycenter, s.factor),
      mode: "lines",
      line: { color: t.history, width: 1.5, dash: "dot" },
      name: "barycenter",
      legendrank: 4,
      hovertemplate: `barycenter: %{y:,.4~r} ${s.axis}<extra></extra>`,
    });
  }
  traces.push({
    x: times(s.values.length, s.interval),
    y: scaled(s.values, s.factor),
    mode: "lines",
    line: { color: t.run, width: 2 },
    name: "run",
    legendrank: 5,
    hovertemplate: `<b>this run: %{y:,.4~r} ${s.axis}</b><extra></extra>`,
  });
  return traces;
}

// Where windows were not looked for: slanted lines, so that an empty stretch does not read as a usual one.
function hatch(start, end, span, t) {
  const step = span / 100;
  const lines = [];
  for (let x = start - step; x < end; x += step) {
    const x0 = Math.max(x, start);
    const x1 = Math.min(x + step, end);
    if (x1 > x0) {
      lines.push({
        type: "line",
        xref: "x",
        yref: "paper",
        x0,
        x1,
        y0: (x0 - x) / step,
        y1: (x1 - x) / step,
        layer: "below",
        line: { width: 1, color: t.muted },
        opacity: 0.35,
      });
    }
  }
  return lines;
}

const window = ([x0, x1, confidence, opacity], view, t) => ({
  type: "rect",
  xref: "x",
  yref: "paper",
  x0,
  x1,
  y0: 0,
  y1: 1,
  layer: "below",
  line: { width: 0.7, color: t.alert },
  fillcolor: `rgba(${t.alertRgb}, ${opacity})`,
  label: {
    // Only where the number has room at the present zoom.
    text: ((x1 - x0) / (view.range[1] - view.range[0])) * view.inner > 30 ? confidence.toFixed(2) : "",
    textposition: "top center",
    font: { size: 10, color: t.text },
  },
});

// Of screens that were not chosen: covered.
const cover = ([x0, x1], t) => ({
  type: "rect",
  xref: "x",
  yref: "paper",
  x0,
  x1,
  y0: 0,
  y1: 1,
  layer: "above",
  line: { width: 0 },
  fillcolor: t.page,
  opacity: 0.78,
});

export function labelTrace(path, view) {
  const at = labels(path, view.range, view.inner);
  return { x: at.map(([x]) => x), y: at.map(() => 0.5), text: at.map(([, text]) => text) };
}

// view: {path, span, range, width, height, inner, chosen, overlays, offset}; `offset`: what Perfetto's clock shows at 0 s.
export function figure(s, data, view, t) {
  const { path, span } = view;
  const inner = view.height - TOP - AXIS;
  const strip = path ? STRIP + GAP : 0;
  const profile = s.profile ? PROFILE + GAP : 0;
  const share = (px) => px / inner;
  const traces = seriesTraces(s, data, view, t);
  const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false, tickcolor: t.line };
  const look = {
    ...layout(t),
    margin: { l: LEFT, r: RIGHT, t: TOP, b: AXIS },
    hovermode: "x unified",
    hoversubplots: "axis",
    xaxis: {
      ...axis,
      range: view.range,
      ticksuffix: " s",
      nticks: Math.max(4, Math.round(view.width / 110)),
      showgrid: false,
      ticks: "outside",
      hoverformat: ".6~f",
      unifiedhovertitle: { text: "%{x} s since start" },
      anchor: s.profile ? "y3" : path ? "y2" : "y",
      showspikes: true,
      spikemode: "across",
      spikethickness: 1,
      spikecolor: t.muted,
      spikedash: "solid",
      spikesnap: "cursor",
      title: { text: data.axis_title, standoff: 6, font: { size: 11 } },
    },
    yaxis: {
      ...axis,
      domain: [share(profile + strip), 1],
      fixedrange: true,
      rangemode: s.from_zero ? "tozero" : "normal",
      nticks: 5,
      title: { text: s.axis, standoff: 8, font: { size: 11 } },
    },
    shapes: [
      ...s.unexamined.flatMap(([x0, x1]) => hatch(x0, x1, span, t)),
      ...s.discords.map((one) => window(one, view, t)),
      ...hiddenStretches(path, view.chosen).map((one) => cover(one, t)),
    ],
    annotations: rankLabels(traces, inner - profile - strip, s.from_zero, span / view.inner, t),
  };
  if (path) {
    traces.push(stripTrace(path, t.screens), hoverTrace(path, times(s.values.length, s.interval)), {
      ...labelTrace(path, view),
      mode: "text",
      yaxis: "y2",
      hoverinfo: "skip",
      name: "labels",
      textfont: { size: 10, color: "#fff" },
      cliponaxis: true,
    });
    look.yaxis2 = { domain: [share(profile), share(profile + STRIP)], fixedrange: true, visible: false, range: [0, 1] };
  }
  if (s.profile) {
    const half = s.profile.window / 2; // a window's value stands at its middle
    traces.push({
      x: times(s.profile.values.length, s.interval).map((v) => v + half),
      y: s.profile.values,
      mode: "lines",
      yaxis: "y3",
      line: { color: t.run, width: 1.3 },
      hovertemplate: `${s.profile.title}: %{y:,.3~f}<extra></extra>`,
      name: "profile",
      legendrank: 1,
    });
    look.yaxis3 = {
      ...axis,
      domain: [0, share(PROFILE)],
      fixedrange: true,
      rangemode: "tozero",
      nticks: 3,
      title: { text: s.profile.title, standoff: 8, font: { size: 11 } },
    };
    for (const [level, dash] of [
      [s.profile.low, "dot"],
      [s.profile.high, "dash"],
    ]) {
      if (level === null) continue;
      look.shapes.push({
        type: "line",
        xref: "paper",
        x0: 0,
        x1: 1,
        yref: "y3",
        y0: level,
        y1: level,
        line: { color: t.alert, width: 1, dash },
      });
    }
  }
  return { traces, look };
}
