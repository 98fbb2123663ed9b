// The charts of a run page: one figure per series with the run, its history, the path of screens and the
// profile on one time axis. Charts are drawn when they come near the screen; zoom is shared by all of them.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("run-data").textContent);
  const { theme, config, layout, onThemeChange, coarse } = window.perfreg;
  const GAP = 8, AXIS = 44, STRIP = 18, PROFILE = 102, LEFT = 56, RIGHT = 8, TOP = 8;
  const drawn = new Map();      // element -> series index
  let range = null;             // shared time range, null = whole run
  let syncing = false;
  const span = Math.max(1, ...data.series.map((s) => (s.values ? s.values.length * s.interval : 0)));

  const times = (n, dt) => Array.from({ length: n }, (_, i) => i * dt);
  const scaled = (values, factor) => values.map((v) => (v === null ? null : v * factor));

  // `legendrank` orders the lines of the hover box: the highest stands first.
  function seriesTraces(s, t) {
    const x = times(s.values.length, s.interval);
    const traces = [];
    if (s.band) {
      const bx = times(s.band.low.length, s.interval);
      traces.push(
        { x: bx, y: scaled(s.band.high, s.factor), mode: "lines", line: { width: 0 }, hoverinfo: "skip" },
        { x: bx, y: scaled(s.band.low, s.factor), mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: t.band, hoverinfo: "skip" },
        {
          x: bx, y: scaled(s.band.middle, s.factor), mode: "lines", line: { color: "rgba(0,0,0,0)", width: 1 },
          name: "history", legendrank: 3, customdata: s.band.low.map((v, i) => [v === null ? null : v * s.factor, s.band.high[i] === null ? null : s.band.high[i] * s.factor]),
          hovertemplate: `history: %{y:,.4~r} ${s.axis} (10–90 %: %{customdata[0]:,.4~r} to %{customdata[1]:,.4~r})<extra></extra>`,
        });
    }
    if (s.barycenter) {
      traces.push({
        x: times(s.barycenter.length, s.interval), y: scaled(s.barycenter, s.factor), mode: "lines",
        line: { color: t.history, width: 1.5 }, name: "barycenter", legendrank: 4, hovertemplate: `barycenter: %{y:,.4~r} ${s.axis}<extra></extra>`,
      });
    }
    const exact = s.factor === 1 ? `%{customdata} ${s.exact}` : `%{y:,.6~r} ${s.axis} (%{customdata:,} ${s.exact})`;
    traces.push({
      x, y: scaled(s.values, s.factor), customdata: s.values, mode: "lines", line: { color: t.run, width: 2 },
      name: "run", legendrank: 5, hovertemplate: `<b>this run: ${exact}</b><extra></extra>`,
    });
    return traces;
  }

  function pathTrace(t) {
    const p = data.path;
    const colours = p.screens.map((_, i) => t.screens[i % t.screens.length]);
    const n = Math.max(1, colours.length);
    const scale = colours.flatMap((c, i) => [[i / n, c], [(i + 1) / n, c]]);
    return {
      type: "heatmap", x: [...p.starts, p.end], y: [0, 1], z: [p.codes], hoverinfo: "skip",
      zmin: -0.5, zmax: n - 0.5, colorscale: scale, showscale: false, yaxis: "y2", xgap: 1,
      name: "screens",
    };
  }

  // A stretch's screen; null where the path does not tell.
  function nameOf(stretch) {
    const p = data.path, code = stretch < 0 ? null : p.codes[stretch];
    return code === null ? null : p.screens[code];
  }

  // An unseen line along the strip: what the pointer's moment says about screen and action.
  function pathHover(n, dt) {
    const p = data.path, text = [], x = times(n, dt);
    let stretch = -1, action = -1;
    for (const t of x) {
      while (stretch + 1 < p.starts.length && p.starts[stretch + 1] <= t) stretch += 1;
      while (action + 1 < p.actions.length && p.actions[action + 1][0] <= t) action += 1;
      const screen = nameOf(stretch) ?? "not known";
      text.push(escapeText(action < 0 ? screen : `${screen}, after ${p.actions[action][1]}`));
    }
    return {
      x, y: x.map(() => 0.5), text, mode: "lines", yaxis: "y2", line: { color: "rgba(0,0,0,0)" }, name: "screen", legendrank: 2,
      hovertemplate: "screen: %{text}<extra></extra>",
    };
  }

  // Plotly reads a few tags in its texts; names from an app are never markup.
  function escapeText(text) {
    return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }

  function labels(width) {
    const p = data.path;
    const [a, b] = range || [0, span];
    const perSecond = Math.max(1, width - LEFT - RIGHT) / (b - a);
    const found = [];
    p.starts.forEach((start, i) => {
      const end = i + 1 < p.starts.length ? p.starts[i + 1] : p.end;
      const from = Math.max(start, a), to = Math.min(end, b);
      const name = nameOf(i);
      if (name !== null && (to - from) * perSecond > name.length * 7 + 8) found.push([(from + to) / 2, escapeText(name)]);
    });
    return found;
  }

  // Whether a number fits into a window at the present zoom.
  function fits(x0, x1, width) {
    const [a, b] = range || [0, span];
    return ((x1 - x0) / (b - a)) * (width - LEFT - RIGHT) > 30;
  }

  // Where windows were not looked for: slanted lines, so that an empty stretch does not read as a usual one.
  function hatch(start, end, t) {
    const step = span / 100, lines = [];
    for (let x = start - step; x < end; x += step) {
      const x0 = Math.max(x, start), x1 = Math.min(x + step, end);
      if (x1 > x0) {
        lines.push({
          type: "line", xref: "x", yref: "paper", x0, x1, y0: (x0 - x) / step, y1: (x1 - x) / step, layer: "below",
          line: { width: 1, color: t.muted }, opacity: 0.35,
        });
      }
    }
    return lines;
  }

  function figure(s, t, element) {
    const height = element.clientHeight, width = element.clientWidth;
    const inner = height - TOP - AXIS;
    const strip = data.path ? STRIP + GAP : 0;
    const profile = s.profile ? PROFILE + GAP : 0;
    const share = (px) => px / inner;
    const traces = seriesTraces(s, t);
    const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false, tickcolor: t.line };
    const look = {
      ...layout(t),
      margin: { l: LEFT, r: RIGHT, t: TOP, b: AXIS },
      hovermode: "x unified", hoversubplots: "axis",
      xaxis: {
        ...axis, range: range || [0, span], ticksuffix: " s", nticks: Math.max(4, Math.round(width / 110)), showgrid: false, ticks: "outside",
        hoverformat: ".6~f", unifiedhovertitle: { text: "%{x} s since start" }, anchor: s.profile ? "y3" : data.path ? "y2" : "y",
        showspikes: true, spikemode: "across", spikethickness: 1, spikecolor: t.muted, spikedash: "solid", spikesnap: "cursor",
        title: { text: "time since start", standoff: 6, font: { size: 11 } },
      },
      yaxis: {
        ...axis, domain: [share(profile + strip), 1], fixedrange: true, rangemode: s.axis === "MB" ? "normal" : "tozero", nticks: 5,
        title: { text: s.axis, standoff: 8, font: { size: 11 } },
      },
      shapes: s.unexamined.flatMap(([x0, x1]) => hatch(x0, x1, t)).concat(s.discords.map(([x0, x1, confidence]) => ({
        type: "rect", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1, layer: "below",
        line: { width: 0 }, fillcolor: `rgba(${t.alertRgb}, ${(0.08 + 0.32 * confidence).toFixed(3)})`,
        label: { text: fits(x0, x1, width) ? confidence.toFixed(2) : "", textposition: "top center", font: { size: 10, color: t.text } },
      }))),
    };
    if (data.path) {
      traces.push(pathTrace(t), pathHover(s.values.length, s.interval));
      const at = labels(width);
      traces.push({
        x: at.map((l) => l[0]), y: at.map(() => 0.5), text: at.map((l) => l[1]), mode: "text", yaxis: "y2", hoverinfo: "skip", name: "labels",
        textfont: { size: 10, color: "#fff" }, cliponaxis: true,
      });
      look.yaxis2 = { domain: [share(profile), share(profile + STRIP)], fixedrange: true, visible: false, range: [0, 1] };
    }
    if (s.profile) {
      const half = s.profile.window / 2;   // a window's value stands at its middle
      traces.push({
        x: times(s.profile.values.length, s.interval).map((v) => v + half), y: s.profile.values, mode: "lines", yaxis: "y3",
        line: { color: t.run, width: 1.3 }, hovertemplate: `${s.profile.title}: %{y:,.3~f}<extra></extra>`, name: "profile", legendrank: 1,
      });
      look.yaxis3 = { ...axis, domain: [0, share(PROFILE)], fixedrange: true, rangemode: "tozero", nticks: 3, title: { text: s.profile.title, standoff: 8, font: { size: 11 } } };
      for (const [level, dash] of [[s.profile.low, "dot"], [s.profile.high, "dash"]]) {
        if (level !== null) look.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, yref: "y3", y0: level, y1: level, line: { color: t.alert, width: 1, dash } });
      }
    }
    return { traces, look };
  }

  async function draw(element) {
    const s = data.series[Number(element.dataset.chart)];
    const { traces, look } = figure(s, theme(), element);
    const first = !drawn.has(element);
    await Plotly.react(element, traces, look, config);
    drawn.set(element, s);
    if (!first) return;
    element.on("plotly_relayout", (change) => {
      if (syncing) return;
      if ("xaxis.range[0]" in change) zoom([change["xaxis.range[0]"], change["xaxis.range[1]"]]);
      else if ("xaxis.range" in change) zoom(change["xaxis.range"]);
      else if ("xaxis.autorange" in change) zoom(null);
    });
    element.on("plotly_doubleclick", () => { zoom(null); return false; });
    keys(element, s);
  }

  // ---- shared zoom ----
  async function zoom(to) {
    if (to) {
      const a = Math.max(0, Math.min(to[0], to[1])), b = Math.min(span, Math.max(to[0], to[1]));
      range = b - a > 0 ? [a, b] : null;
    } else range = null;
    document.body.dataset.zoom = range ? range.map((v) => v.toFixed(3)).join(",") : "";
    for (const button of document.querySelectorAll("[data-reset-zoom]")) button.disabled = !range;
    syncing = true;
    try {
      for (const element of drawn.keys()) {
        const update = {};
        if (data.path) {
          const at = labels(element.clientWidth);
          const index = element.data.findIndex((trace) => trace.name === "labels");
          Object.assign(update, { x: [at.map((l) => l[0])], y: [at.map(() => 0.5)], text: [at.map((l) => l[1])] });
          await Plotly.update(element, update, { "xaxis.range": range || [0, span] }, [index]);
        } else await Plotly.relayout(element, { "xaxis.range": range || [0, span] });
      }
    } finally { syncing = false; }
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

  // ---- keyboard: arrows read values, + and - zoom, 0 shows the whole run ----
  const live = document.createElement("p");
  live.className = "visually-hidden";
  live.setAttribute("aria-live", "polite");
  document.body.append(live);
  function keys(element, s) {
    let at = null;
    const run = element.data.findIndex((trace) => trace.name === "run");
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
        Plotly.Fx.hover(element, [{ curveNumber: run, pointNumber: at }], ["xy"]);
        const value = s.values[at];
        live.textContent = `${at * s.interval} s: ${value === null ? "no value" : `${value} ${s.exact}`}`;
      } else if (event.key === "+" || event.key === "-") {
        const centre = at === null ? (a + b) / 2 : at * s.interval;
        const half = ((b - a) / 2) * (event.key === "+" ? 0.5 : 2);
        const from = Math.min(Math.max(0, centre - half), span - 2 * half);
        zoom(half * 2 >= span ? null : [from, from + 2 * half]);
      } else if (event.key === "0") zoom(null);
      else if (event.key === "Escape") Plotly.Fx.unhover(element);
      else return;
      event.preventDefault();
    });
    element.addEventListener("blur", () => Plotly.Fx.unhover(element));
  }

  // ---- box plot of the history's distances, with this run's ----
  function drawBox(element) {
    const s = data.series[Number(element.dataset.box)], b = s.box, t = theme();
    const alarm = s.state === "anomalous";
    const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false };
    const traces = [
      {
        type: "box", x: ["history"], q1: [b.q1], median: [b.median], q3: [b.q3], lowerfence: [b.low], upperfence: [b.high],
        fillcolor: t.band, line: { color: t.history, width: 1.2 }, width: 0.5, hoverinfo: "skip", name: "",
      },
      {
        x: b.history.map(() => "history"), y: b.history, mode: "markers", marker: { color: t.history, size: 4, opacity: 0.7 },
        hovertemplate: "history run: %{y:,.4~r}<extra></extra>",
      },
      {
        x: ["history"], y: [b.distance], mode: "markers", marker: { color: alarm ? t.alert : t.run, size: 11, symbol: "diamond" },
        hovertemplate: "this run: %{y:,.4~r}<extra></extra>",
      },
    ];
    const look = {
      ...layout(t), margin: { l: 48, r: 8, t: 24, b: 20 }, hovermode: "closest", dragmode: false,
      title: { text: b.title, font: { size: 11, color: t.muted }, x: 0.02, y: 0.985, yanchor: "top" },
      xaxis: { visible: false, fixedrange: true }, yaxis: { ...axis, fixedrange: true, rangemode: "tozero", nticks: 5 },
      shapes: [], annotations: [],
    };
    if (b.limit !== null) {
      look.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: b.limit, y1: b.limit, line: { color: t.alert, width: 1, dash: "dash" } });
      look.annotations.push({ xref: "paper", x: 1, y: b.limit, xanchor: "right", yanchor: "bottom", text: b.limit_name, showarrow: false, bgcolor: t.page, font: { size: 10, color: t.muted } });
    }
    return Plotly.react(element, traces, look, config);
  }

  // ---- draw what is near the screen, one chart per task so that the page stays responsive ----
  const queue = [];
  let busy = false;
  async function work() {
    if (busy) return;
    busy = true;
    while (queue.length) {
      const element = queue.shift();
      if (element.dataset.chart !== undefined) await draw(element);
      else await drawBox(element);
      element.dataset.drawn = "yes";
      await new Promise((done) => setTimeout(done));
    }
    busy = false;
    ready();
  }
  function ready() {
    if (document.body.dataset.ready) return;
    document.body.dataset.ready = "yes";
    performance.mark("charts-drawn");
  }
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      queue.push(entry.target);
    }
    work();
  }, { rootMargin: "200px" });
  const charts = document.querySelectorAll("[data-chart], [data-box]");
  for (const element of charts) watcher.observe(element);
  if (!charts.length) ready();
  for (const tools of document.querySelectorAll("[data-chart-tools]")) {
    tools.hidden = charts.length === 0;
    if (coarse) tools.querySelector(".how")?.remove();
  }
  onThemeChange(async () => {
    for (const element of drawn.keys()) await draw(element);
    for (const element of document.querySelectorAll("[data-box][data-drawn]")) await drawBox(element);
  });
})();
