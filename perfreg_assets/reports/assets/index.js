// The index: filters whose state is the address (so that a filtered list can be sent on), and the trends.
"use strict";
(() => {
  const form = document.querySelector("[data-filters]");
  if (!form) { document.body.dataset.ready = "yes"; return; }
  const axes = [...document.querySelectorAll("[data-axis]")].map((head) => head.dataset.axis);
  const rows = [...document.querySelectorAll("[data-runs] tbody tr")].map((row) => ({
    row, id: row.cells[0].textContent.toLowerCase(), app: row.cells[1].textContent, version: row.cells[2].textContent,
    anomalous: row.cells[3].dataset.v === "anomalous", series: (row.dataset.s || "").split(" "),
    axes: [...row.querySelectorAll(".ax")].map((cell, i) => `${axes[i]}.${cell.classList[1]}`),
  }));
  const FIELDS = ["app", "version", "axis", "series", "q"];

  function state() {
    const found = Object.fromEntries(FIELDS.map((name) => [name, form.elements[name].value]));
    return { ...found, anomalous: form.elements.anomalous.checked };
  }
  function apply() {
    const f = state();
    const part = f.q.trim().toLowerCase();
    let count = 0;
    for (const r of rows) {
      const shown = (!f.app || r.app === f.app) && (!f.version || r.version === f.version) && (!f.axis || r.axes.includes(f.axis)) && (!f.series || r.series.includes(f.series))
        && (!part || r.id.includes(part)) && (!f.anomalous || r.anomalous);
      r.row.hidden = !shown;
      count += shown;
    }
    for (const section of document.querySelectorAll("[data-app]")) section.hidden = Boolean(f.app) && section.dataset.app !== f.app;
    document.querySelector("[data-count]").textContent = count === rows.length ? `${count} runs` : `${count} of ${rows.length} runs`;
    document.querySelector("[data-none]").hidden = count > 0;
  }
  function toAddress() {
    const f = state();
    const parts = FIELDS.filter((name) => f[name]).map((name) => `${name}=${encodeURIComponent(f[name])}`);
    if (f.anomalous) parts.push("anomalous=1");
    history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
  }
  function fromAddress() {
    const values = new Map();
    for (const part of location.hash.slice(1).split("&")) {
      const at = part.indexOf("=");
      if (at < 0) continue;
      try { values.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1))); } catch { /* a damaged address filters nothing */ }
    }
    if (!values.size && location.hash) return;   // an anchor, not a filter
    for (const name of FIELDS) form.elements[name].value = values.get(name) || "";
    for (const name of ["app", "version", "axis", "series"]) if (form.elements[name].selectedIndex < 0) form.elements[name].selectedIndex = 0;
    form.elements.anomalous.checked = values.get("anomalous") === "1";
    apply();
  }
  form.addEventListener("input", () => { apply(); toAddress(); });
  form.addEventListener("reset", () => setTimeout(() => { apply(); toAddress(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", () => {
    fromAddress();
    if (location.hash.includes("=")) document.getElementById("runs").scrollIntoView({ block: "start" });
  });
  fromAddress();

  // ---- trends: Plotly is fetched only when they come near the screen ----
  const { trends } = JSON.parse(document.getElementById("index-data").textContent);
  const { theme, config, layout, onThemeChange } = window.perfreg;
  const escapeText = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  let plotly = null;
  const load = () => (plotly ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = "assets/plotly-cartesian.min.js";
    script.onload = done;
    script.onerror = () => failed(new Error("assets/plotly-cartesian.min.js is missing beside this page"));
    document.head.append(script);
  }));
  const charts = new Map();
  function draw(element, trend) {
    const t = theme();
    const x = trend.levels.map((_, i) => i);
    const starts = x.filter((i) => i === 0 || trend.versions[i] !== trend.versions[i - 1]);
    const bad = new Set(trend.anomalous);
    const text = x.map((i) => `${escapeText(trend.versions[i])} · ${escapeText(trend.runs[i])}`);
    const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false, fixedrange: true };
    const known = [...trend.levels, ...trend.low, ...trend.high].filter((v) => v !== null);
    const top = Math.max(...known), bottom = Math.min(...known), margin = 0.08 * (top - bottom || Math.abs(top) || 1);
    const many = Math.max(1, Math.ceil(starts.length / 6));
    return Plotly.react(element, [
      // A bar per run, not an area: neighbouring runs may have quite different histories.
      { type: "bar", x, base: trend.low, y: trend.high.map((v, i) => (v === null ? null : v - trend.low[i])), width: 1, marker: { color: t.band, line: { width: 0 } }, hoverinfo: "skip" },
      {
        x, y: trend.levels, text, mode: "lines+markers", line: { color: t.run, width: 1 }, opacity: 1,
        marker: { size: x.map((i) => (bad.has(i) ? 9 : 4)), color: x.map((i) => (bad.has(i) ? t.alert : t.run)), symbol: x.map((i) => (bad.has(i) ? "triangle-up" : "circle")) },
        hovertemplate: `%{text}<br>mean %{y:,.4~r} ${trend.axis}<extra></extra>`,
      },
    ], {
      ...layout(t), margin: { l: 48, r: 8, t: 8, b: 26 }, hovermode: "closest", dragmode: false, bargap: 0,
      xaxis: { ...axis, showgrid: false, tickvals: starts.filter((_, i) => i % many === 0), ticktext: starts.filter((_, i) => i % many === 0).map((i) => escapeText(trend.versions[i]).slice(0, 14)), tickangle: 0, range: [-0.6, x.length - 0.4] },
      yaxis: { ...axis, nticks: 5, range: [bottom - margin, top + margin], title: { text: trend.axis, standoff: 8, font: { size: 11 } } },
      shapes: starts.slice(1).map((i) => ({ type: "line", x0: i - 0.5, x1: i - 0.5, yref: "paper", y0: 0, y1: 1, line: { color: t.line, width: 1 }, layer: "below" })),
    }, config);
  }
  const labels = Object.fromEntries([...form.elements.series.options].map((o) => [o.value, o.textContent]));
  for (const place of document.querySelectorAll("[data-trends]")) {
    for (const trend of trends.filter((t) => t.app === place.dataset.trends)) {
      const block = document.createElement("div");
      const heading = document.createElement("h4");
      heading.textContent = labels[trend.series] || trend.series;
      const chart = document.createElement("div");
      chart.className = "trend";
      chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", `${heading.textContent}: mean of each run over versions, with the band of its history`);
      block.append(heading, chart);
      place.append(block);
      charts.set(chart, trend);
    }
  }
  const ready = () => { document.body.dataset.ready = "yes"; performance.mark("charts-drawn"); };
  const watcher = new IntersectionObserver(async (entries) => {
    const near = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
    for (const element of near) watcher.unobserve(element);
    if (near.length) {
      await load();
      for (const element of near) { await draw(element, charts.get(element)); element.dataset.drawn = "yes"; }
      for (const element of near) element.on("plotly_click", (event) => { location.href = `runs/${charts.get(element).runs[event.points[0].pointIndex]}.html`; });
    }
    ready();
  }, { rootMargin: "150px" });
  for (const element of charts.keys()) watcher.observe(element);
  if (!charts.size) ready();
  onThemeChange(async () => { for (const [element, trend] of charts) if (element.dataset.drawn) await draw(element, trend); });
})();
