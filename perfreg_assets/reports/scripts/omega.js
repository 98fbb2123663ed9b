// The ω page: a run is anomalous exactly below its critical ω, so every verdict at every ω is one comparison.
import { embedded, ready } from "./dom.js";
import { runs } from "./lists.js";
import "./page.js";
import { loadPlotly } from "./plotly.js";
import { config, layout, onThemeChange, theme } from "./theme.js";

function start(sliders, fields) {
  const facts = embedded("omega-data");
  const { omega, measured, counts, steps, expected } = facts;
  const SHOWN = 500,
    MOVING_MS = 150,
    ANY = 1e9; // the critical ω of what is anomalous at every ω
  const anomalous = (run, at) => run.omega > at;
  const state = (run, at) => (anomalous(run, at) ? "▲ anomalous" : run.lacking ? "○ series missing" : "● normal");
  // Anomalous runs at each step stand in the page; between two steps that differ, and beyond the last, they are counted
  // when they are asked for. Until then: undefined.
  const counted = new Map();
  function count(at) {
    const before = Math.floor(at * steps + 1e-9);
    const after = Math.ceil(at * steps - 1e-9);
    return (counts[before] === counts[after] ? counts[before] : undefined) ?? counted.get(at);
  }
  async function learn(at) {
    if (count(at) !== undefined) return;
    const { total } = await runs(facts, { above: at, upto: ANY, sort: "omega", limit: 1 });
    counted.set(at, total);
  }
  const problem = document.querySelector("[data-problem]"),
    cut = document.querySelector("[data-cut]");
  const table = document.querySelector("[data-flip-table]");
  const cell = (row, text, className = "") => {
    const td = row.insertCell();
    td.textContent = text ?? "–";
    td.className = className;
    return td;
  };
  // Where the server takes it, the way to make the second ω the current one: to a page that says before what it changes.
  const making = document.querySelector("[data-make-current]");
  let mayChange = false;
  function offer(at) {
    if (!mayChange) return;
    making.hidden = Math.abs(at - omega) < 1e-9;
    const link = making.querySelector("a");
    link.href = `omega?omega=${at}`;
    link.textContent = `Make ω = ${at} the current one …`;
  }
  if (location.protocol !== "file:") {
    import("./review.js")
      .then(({ upkeep }) => upkeep())
      .then((found) => {
        mayChange = Boolean(found?.may_change);
        if (found && !mayChange) {
          making.textContent = found.why_not;
          making.hidden = false;
        }
        offer(values.b);
      });
  }
  // What is compared: a field takes every ω, a slider stands at the step beside it.
  const values = {};
  function set(key, at) {
    values[key] = at;
    sliders[key].value = at;
    if (fields[key].valueAsNumber !== at) fields[key].value = at;
  }
  function tell() {
    const at = { ...values };
    const found = { a: count(at.a), b: count(at.b) };
    for (const key of ["a", "b"]) {
      document.querySelector(`[data-text="${key}"]`).textContent =
        `${found[key] ?? "…"} of ${measured} runs anomalous${Math.abs(at[key] - omega) < 1e-9 ? " · in force" : ""}`;
    }
    offer(at.b);
    // A run that is anomalous at the larger ω is so at the smaller: all that change, change one way.
    const flips = Math.abs(found.a - found.b);
    if (Number.isNaN(flips)) return 0;
    document.querySelector("[data-flips]").textContent =
      at.a === at.b
        ? "Move a slider to see which verdicts change."
        : flips === 0
          ? "No verdict changes between the two."
          : `${flips} verdict${flips === 1 ? " changes" : "s change"}: ${flips} ${at.b < at.a ? "to anomalous" : "no longer"}.`;
    table.hidden = flips === 0;
    cut.hidden = flips <= SHOWN;
    cut.textContent = `The ${SHOWN} that are anomalous up to the largest ω are shown; perfreg sql "FROM marts.verdict_flips(${at.a}, ${at.b})" has all.`;
    return flips;
  }
  let asked = 0;
  async function list() {
    const mine = ++asked;
    const at = { ...values };
    const body = table.tBodies[0];
    try {
      await Promise.all([learn(at.a), learn(at.b)]);
      if (mine !== asked) return;
      problem.hidden = true;
      if (!tell()) {
        body.replaceChildren();
        return;
      }
      const { rows } = await runs(facts, {
        above: Math.min(at.a, at.b),
        upto: Math.max(at.a, at.b),
        sort: "omega",
        limit: SHOWN,
      });
      if (mine !== asked) return;
      body.replaceChildren();
      for (const run of rows) {
        const row = body.insertRow();
        const link = document.createElement("a");
        link.href = `runs/${run.page}.html`;
        link.textContent = run.id;
        cell(row, "").append(link);
        cell(row, run.app);
        cell(row, run.version);
        cell(row, run.omega >= ANY ? "any" : run.omega.toFixed(2), "num");
        cell(row, state(run, at.a));
        cell(row, state(run, at.b));
        cell(row, facts.reviews[run.review] || "");
      }
      table.dataset.shown = `${at.a} ${at.b}`;
    } catch (error) {
      if (mine === asked) {
        problem.textContent = `The list could not be loaded: ${error.message}`;
        problem.hidden = false;
      }
    }
  }
  const max = Number(sliders.a.max);
  set("a", omega ?? 1.5);
  set("b", omega === 0.5 ? 1.5 : 0.5);
  let moving = 0;
  function change(key, at) {
    set(key, at);
    tell();
    draw();
    clearTimeout(moving);
    moving = setTimeout(list, MOVING_MS);
  }
  for (const key of ["a", "b"]) {
    sliders[key].addEventListener("input", () => change(key, Number(sliders[key].value)));
    fields[key].addEventListener("input", () => {
      if (fields[key].validity.valid) change(key, fields[key].valueAsNumber);
    });
  }

  async function draw() {
    const Plotly = await loadPlotly("");
    const t = theme();
    const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false, fixedrange: true };
    const traces = [
      {
        x: counts.map((_, i) => i / steps),
        y: counts,
        mode: "lines",
        line: { color: t.run, width: 2, shape: "hv" },
        hovertemplate: "ω %{x:.2f}: %{y} anomalous<extra></extra>",
      },
    ];
    const look = {
      ...layout(t),
      dragmode: false,
      hovermode: "closest",
      margin: { l: 48, r: 8, t: 8, b: 40 },
      xaxis: { ...axis, range: [0, max], title: { text: "ω", font: { size: 12 } } },
      yaxis: {
        ...axis,
        rangemode: "tozero",
        ...(counts[0] < 8 ? { dtick: 1 } : {}),
        title: { text: "runs", font: { size: 11 } },
      },
      shapes: ["a", "b"].map((key) => ({
        type: "line",
        x0: values[key],
        x1: values[key],
        yref: "paper",
        y0: 0,
        y1: 1,
        line: { color: t.muted, width: 1, dash: key === "a" ? "solid" : "dash" },
      })),
    };
    if (expected.length) {
      traces.push({
        x: expected.map((e) => e[0]),
        y: expected.map((e) => e[1]),
        mode: "lines+markers",
        line: { color: t.muted, width: 1, dash: "dot" },
        marker: { size: 7 },
        hovertemplate: "ω %{x:g}: %{y:.1f} false alarms to expect<extra></extra>",
      });
    }
    return Plotly.react(document.querySelector("[data-curve]"), traces, look, config);
  }
  Promise.all([list(), draw()]).then(() => ready());
  onThemeChange(draw);
}

const both = (name) =>
  Object.fromEntries(["a", "b"].map((key) => [key, document.querySelector(`[data-${name}="${key}"]`)]));
const sliders = both("omega");
if (sliders.a) start(sliders, both("value"));
else ready();
