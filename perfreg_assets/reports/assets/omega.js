// The ω page: a run is anomalous exactly below its critical ω, so every verdict at every ω is one comparison.
"use strict";
(() => {
  const { omega, rows, rates } = JSON.parse(document.getElementById("omega-data").textContent);
  const { theme, config, layout, onThemeChange } = window.perfreg;
  const inputs = { a: document.querySelector('[data-omega="a"]'), b: document.querySelector('[data-omega="b"]') };
  if (!inputs.a) { document.body.dataset.ready = "yes"; return; }
  const REVIEWS = { confirmed: "Confirmed regression", rejected: "False alarm", accepted: "Accepted as the new normal" };
  const anomalous = (row, at) => row[4] !== null && row[4] > at;
  const state = (row, at) => anomalous(row, at) ? "▲ anomalous" : row[6] ? "○ series missing" : "● normal";
  const count = (at) => rows.reduce((sum, row) => sum + anomalous(row, at), 0);
  const cell = (row, text, className = "") => {
    const td = row.insertCell();
    td.textContent = text ?? "–";
    td.className = className;
    return td;
  };
  function update() {
    const at = { a: Number(inputs.a.value), b: Number(inputs.b.value) };
    for (const key of ["a", "b"]) {
      document.querySelector(`[data-out="${key}"]`).textContent = at[key].toFixed(2);
      document.querySelector(`[data-text="${key}"]`).textContent = `${count(at[key])} of ${rows.length} runs anomalous${Math.abs(at[key] - omega) < 1e-9 ? " · in force" : ""}`;
    }
    const flips = rows.filter((row) => anomalous(row, at.a) !== anomalous(row, at.b));
    document.querySelector("[data-flips]").textContent = at.a === at.b ? "Move a slider to see which verdicts change."
      : flips.length === 0 ? "No verdict changes between the two."
      : `${flips.length} verdict${flips.length === 1 ? " changes" : "s change"}: ${[[at.b, "to anomalous"], [at.a, "no longer"]].map(([w, words]) => [flips.filter((r) => anomalous(r, w)).length, words]).filter(([n]) => n).map((part) => part.join(" ")).join(", ")}.`;
    const table = document.querySelector("[data-flip-table]");
    table.hidden = flips.length === 0;
    const body = table.tBodies[0];
    body.replaceChildren();
    for (const flip of flips.slice(0, 500)) {
      const row = body.insertRow();
      const link = document.createElement("a");
      link.href = `runs/${flip[1]}.html`;
      link.textContent = flip[0];
      cell(row, "").append(link);
      cell(row, flip[2]); cell(row, flip[3]);
      cell(row, flip[4] >= 1e9 ? "any" : flip[4].toFixed(2), "num");
      cell(row, state(flip, at.a));
      cell(row, state(flip, at.b));
      cell(row, REVIEWS[flip[5]] || "");
    }
  }
  const max = Number(inputs.a.max);
  inputs.a.value = omega ?? 1.5;
  inputs.b.value = omega === 0.5 ? 1.5 : 0.5;
  for (const input of Object.values(inputs)) input.addEventListener("input", () => { update(); draw(); });

  function draw() {
    const t = theme();
    const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false, fixedrange: true };
    const x = Array.from({ length: 201 }, (_, i) => (i * max) / 200);
    const traces = [{ x, y: x.map(count), mode: "lines", line: { color: t.run, width: 2, shape: "hv" }, hovertemplate: "ω %{x:.2f}: %{y} anomalous<extra></extra>" }];
    const look = {
      ...layout(t), dragmode: false, hovermode: "closest", margin: { l: 48, r: 72, t: 8, b: 40 },
      xaxis: { ...axis, range: [0, max], title: { text: "ω", font: { size: 12 } } },
      yaxis: { ...axis, rangemode: "tozero", ...(count(0) < 8 ? { dtick: 1 } : {}), title: { text: "runs", font: { size: 11 } } },
      shapes: ["a", "b"].map((key) => ({ type: "line", x0: Number(inputs[key].value), x1: Number(inputs[key].value), yref: "paper", y0: 0, y1: 1, line: { color: t.muted, width: 1, dash: key === "a" ? "solid" : "dash" } })),
    };
    if (rates.length) {
      traces.push({ x: rates.map((r) => r[0]), y: rates.map((r) => r[1] * 100), yaxis: "y2", mode: "lines+markers", line: { color: t.alert, width: 1, dash: "dot" }, marker: { size: 7 }, hovertemplate: "ω %{x:g}: %{y:.1f} % false alarms<extra></extra>" });
      look.yaxis2 = { ...axis, overlaying: "y", side: "right", rangemode: "tozero", showgrid: false, tickmode: "auto", nticks: 5, ticksuffix: " %", title: { text: "false-alarm rate", standoff: 10, font: { size: 11 } } };
    }
    return Plotly.react(document.querySelector("[data-curve]"), traces, look, config);
  }
  update();
  draw().then(() => { document.body.dataset.ready = "yes"; performance.mark("charts-drawn"); });
  onThemeChange(draw);
})();
