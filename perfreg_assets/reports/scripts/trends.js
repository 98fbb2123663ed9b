// Trends of an app's series over its versions. On the scale that decides, normal is from 0 to the limit, 1; in units, of
// runs of one scenario and configuration, what they were compared with is the band. What was not judged is hollow and says
// why.
import { hashOf } from "./address.js";
import { escapeText } from "./dom.js";
import { words } from "./format.js";
import { hasLevel, placeOf } from "./setups.js";
import { config, layout } from "./theme.js";

const KINDS = { a: "bad", j: "judged", u: "unjudged" };
const TICK_SIGNS = 14; // of a name below a chart
const SYMBOLS = { bad: "triangle-up", judged: "circle", unjudged: "circle-open" };

// Of a version's runs, or those of one setup: [runs, anomalous, judged, why none of the version's is].
function counts(version, key, place) {
  const [, anomalous, judged, , state] = version.cells[key] ?? [null, 0, 0, 0, null];
  if (place === null) return [version.runs, anomalous, judged, state];
  const marks = [...version.levels[key][4]].filter((_, i) => version.of[i] === place);
  const bad = marks.filter((mark) => mark === "a").length;
  return [version.setups[place][2], bad, marks.filter((mark) => mark !== "u").length, judged ? null : state];
}

// view: {versions, singles, units, setup}; the last is of levels in units.
function points(app, key, view, label) {
  const { versions, singles, units } = view;
  const placed = (version) => (units ? placeOf(version, view.setup) : null);
  const order = versions
    .filter((version) => hasLevel(version, key, units ? view.setup : null))
    .sort((a, b) => a.first - b.first || (a.name < b.name ? -1 : 1));
  const names = order.map((version) => version.name);
  const found = { names, low: [], high: [], x: [], y: [], text: [], kind: [], target: [], axis: "" };
  const add = (x, y, kind, target, text) => {
    found.x.push(x);
    found.y.push(y);
    found.kind.push(kind);
    found.target.push(hashOf({ app, ...target }));
    found.text.push(text);
  };
  order.forEach((version, i) => {
    const place = placed(version);
    const [levels, each, axis, ratios, marks] = version.levels[key];
    const [median, low, high] = units ? levels[place] : [];
    const worst = version.cells[key]?.[0] ?? null;
    const [count, anomalous, judged, state] = counts(version, key, place);
    const unjudged = `, not judged${state ? `: ${escapeText(label(state))}` : ""}`;
    const own = escapeText(version.name);
    found.axis = units ? axis : "× limit";
    found.low.push(units ? low : judged ? 0 : null);
    found.high.push(units ? high : judged ? 1 : null);
    if (!singles) {
      const kind = anomalous ? "bad" : judged ? "judged" : "unjudged";
      const runs = `${count} run${count === 1 ? "" : "s"}`;
      const told = anomalous ? `, ${anomalous} anomalous` : judged ? "" : unjudged;
      add(i, units ? median : (worst ?? 0), kind, { version: version.name }, `${own} · ${runs}${told}`);
      return;
    }
    (units ? each : ratios).forEach((value, run) => {
      const kind = KINDS[marks[run]];
      if (value === null && (units || kind !== "unjudged")) return;
      if (units && version.of[run] !== place) return;
      const x = i - 0.4 + (0.8 * (run + 0.5)) / each.length;
      const told = kind === "bad" ? ", anomalous" : kind === "unjudged" ? unjudged : "";
      const target = { version: version.name, q: version.ids[run] };
      add(x, value ?? 0, kind, target, `${own} · ${escapeText(version.ids[run])}${told}`);
    });
  });
  return { ...found, singles, units };
}

export function trendFigure(app, key, view, facts, t) {
  const p = points(app, key, view, words(facts).label);
  const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false, fixedrange: true };
  const known = [...p.y, ...p.low, ...p.high].filter((v) => v !== null);
  const top = p.units ? Math.max(...known) : Math.max(1, ...known); // the limit is there though nothing was judged
  const bottom = p.units ? Math.min(...known) : 0;
  const margin = 0.08 * (top - bottom || Math.abs(top) || 1);
  const many = Math.max(1, Math.ceil(p.names.length / 6));
  const ticks = p.names.map((_, i) => i).filter((i) => i % many === 0);
  const amount = (kind) => {
    if (p.units) return `${p.singles ? "mean" : "median of means"} %{y:,.4~r} ${p.axis}`;
    return kind === "unjudged" ? "" : `distance %{y:.2f}${p.axis}`;
  };
  const traces = [
    {
      // A bar per version, not an area: neighbouring versions may have quite different histories.
      type: "bar",
      x: p.names.map((_, i) => i),
      base: p.low,
      y: p.high.map((v, i) => (v === null ? null : v - p.low[i])),
      width: 1,
      marker: { color: t.band, line: { width: 0 } },
      hoverinfo: "skip",
    },
    {
      x: p.x,
      y: p.y,
      text: p.text,
      mode: p.singles || p.kind.includes("unjudged") ? "markers" : "lines+markers",
      line: { color: t.run, width: 1 },
      opacity: 1,
      marker: {
        size: p.kind.map((kind) => (kind === "bad" ? 9 : kind === "unjudged" ? 6 : p.singles ? 3 : 4)),
        color: p.kind.map((kind) => (kind === "bad" ? t.alert : t.run)),
        symbol: p.kind.map((kind) => SYMBOLS[kind]),
        opacity: 1, // sizes that differ would be taken for bubbles, which are seen through
        line: { width: 0 },
      },
      hovertemplate: p.kind.map((kind) => `%{text}<br>${amount(kind)}<extra></extra>`),
    },
  ];
  const look = {
    ...layout(t),
    margin: { l: 48, r: 8, t: 8, b: 26 },
    hovermode: "closest",
    dragmode: false,
    bargap: 0,
    xaxis: {
      ...axis,
      showgrid: false,
      tickvals: ticks,
      ticktext: ticks.map((i) => escapeText([...p.names[i]].slice(0, TICK_SIGNS).join(""))),
      tickangle: 0,
      range: [-0.6, p.names.length - 0.4],
    },
    yaxis: {
      ...axis,
      nticks: 5,
      range: [bottom - margin, top + margin],
      title: { text: p.axis, standoff: 8, font: { size: 11 } },
    },
  };
  return { traces, look, config, targets: p.target };
}
