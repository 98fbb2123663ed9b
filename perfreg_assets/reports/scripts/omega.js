// The ω page: a run is anomalous exactly below its critical ω, so every verdict at every ω is one comparison.
import { embedded, ready } from "./dom.js";
import { runs } from "./lists.js";
import "./page.js";
import { loadPlotly } from "./plotly.js";
import { config, layout, onThemeChange, theme } from "./theme.js";

function start(inputs) {
  const facts = embedded("omega-data");
  const { omega, measured, counts, steps, expected } = facts;
  const SHOWN = 500,
    MOVING_MS = 150;
  const anomalous = (run, at) => run.omega > at;
  const state = (run, at) => (anomalous(run, at) ? "▲ anomalous" : run.lacking ? "○ series missing" : "● normal");
  const count = (at) => counts[Math.round(at * steps)];
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
    link.textContent = `Make ω = ${at.toFixed(2)} the current one …`;
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
        offer(values().b);
      });
  }
  const values = () => ({ a: Number(inputs.a.value), b: Number(inputs.b.value) });
  function update() {
    const at = values();
    for (const key of ["a", "b"]) {
      document.querySelector(`[data-out="${key}"]`).textContent = at[key].toFixed(2);
      document.querySelector(`[data-text="${key}"]`).textContent =
        `${count(at[key])} of ${measured} runs anomalous${Math.abs(at[key] - omega) < 1e-9 ? " · in force" : ""}`;
    }
    // A run that is anomalous at the larger ω is so at the smaller: all that change, change one way.
    const flips = Math.abs(count(at.a) - count(at.b));
    document.querySelector("[data-flips]").textContent =
      at.a === at.b
        ? "Move a slider to see which verdicts change."
        : flips === 0
          ? "No verdict changes between the two."
          : `${flips} verdict${flips === 1 ? " changes" : "s change"}: ${flips} ${at.b < at.a ? "to anomalous" : "no longer"}.`;
    offer(at.b);
    table.hidden = flips === 0;
    cut.hidden = flips <= SHOWN;
    cut.textContent = `The ${SHOWN} that are anomalous up to the largest ω are shown; perfreg sql "FROM marts.verdict_flips(${at.a}, ${at.b})" has all.`;
    return flips;
  }
  let asked = 0;
  async function list(flips) {
    const mine = ++asked;
    const at = values();
    const body = table.tBodies[0];
    if (!flips) {
      body.replaceChildren();
      return;
    }
    try {
      const { rows } = await runs(facts, {
        above: Math.min(at.a, at.b),
        upto: Math.max(at.a, at.b),
        sort: "omega",
        limit: SHOWN,
      });
      if (mine !== asked) return;
      problem.hidden = true;
      body.replaceChildren();
      for (const run of rows) {
        const row = body.insertRow();
        const link = document.createElement("a");
        link.href = `runs/${run.page}.html`;
        link.textContent = run.id;
        cell(row, "").append(link);
        cell(row, run.app);
        cell(row, run.version);
        cell(row, run.omega >= 1e9 ? "any" : run.omega.toFixed(2), "num");
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
  const max = Number(inputs.a.max);
  inputs.a.value = omega ?? 1.5;
  inputs.b.value = omega === 0.5 ? 1.5 : 0.5;
  let moving = 0;
  for (const input of Object.values(inputs)) {
    input.addEventListener("input", () => {
      const flips = update();
      draw();
      clearTimeout(moving);
      moving = setTimeout(() => list(flips), MOVING_MS);
    });
  }

  async function draw() {
    const Plotly = await loadPlotly("");
    const t = theme();
    const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false, fixedrange: true };
    const x = Array.from({ length: 201 }, (_, i) => (i * max) / 200);
    const traces = [
      {
        x,
        y: x.map(count),
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
        ...(count(0) < 8 ? { dtick: 1 } : {}),
        title: { text: "runs", font: { size: 11 } },
      },
      shapes: ["a", "b"].map((key) => ({
        type: "line",
        x0: Number(inputs[key].value),
        x1: Number(inputs[key].value),
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
  Promise.all([list(update()), draw()]).then(() => ready());
  onThemeChange(draw);
}

const sliders = {
  a: document.querySelector('[data-omega="a"]'),
  b: document.querySelector('[data-omega="b"]'),
};
if (sliders.a) start(sliders);
else ready();
