// The index: filters, order and page of the list stand in the address (so that it can be sent on); heat maps and trends.
"use strict";
(() => {
  const form = document.querySelector("[data-filters]");
  if (!form) { document.body.dataset.ready = "yes"; return; }
  const facts = JSON.parse(document.getElementById("index-data").textContent);
  const { theme, config, layout, onThemeChange, lists, compareButton } = window.perfreg;
  const PAGE = window.PAGE_SIZE ?? 100, TYPING_MS = 200;   // a smaller page is for tests
  const FIELDS = ["app", "version", "axis", "series", "q"];
  const label = Object.fromEntries(facts.series.map(([name, long]) => [name, long]));
  const short = Object.fromEntries(facts.series.map(([name, , words]) => [name, words]));
  const table = document.querySelector("[data-runs]");
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children.filter((child) => child !== null));
    return element;
  };
  const name = (text) => make("bdi", {}, text ?? "–");
  const multiple = (ratio) => ratio < 1.995 ? ratio.toFixed(2) : ratio < 9.95 ? ratio.toFixed(1) : ratio.toLocaleString("en", { maximumFractionDigits: 0 });
  const stateLabel = (state) => (facts.states[state] ?? [state])[0];
  const stateSymbol = (state) => (facts.states[state] ?? [state, "○"])[1];
  const address = (values) => `#${Object.entries(values).filter(([, value]) => value).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`;
  const problem = document.querySelector("[data-problem]");
  const told = (error) => { problem.textContent = `The list could not be loaded: ${error.message}`; problem.hidden = false; };

  // ---- the list of runs ----
  let order = { sort: "started", ascending: false }, page = 1, asked = 0;
  function wanted() {
    const found = Object.fromEntries(FIELDS.map((field) => [field, form.elements[field].value.trim()]));
    return { app: found.app, version: found.version, axis: found.axis, series: found.series, part: found.q, anomalous: form.elements.anomalous.checked, open: form.elements.open.checked, ...order, offset: (page - 1) * PAGE, limit: PAGE };
  }
  async function show() {
    const mine = ++asked;
    const query = wanted();
    table.setAttribute("aria-busy", "true");
    try {
      const { total, rows } = await lists.runs(facts, query);
      if (mine !== asked) return;   // another one was asked for meanwhile
      table.tBodies[0].replaceChildren(...rows.map(row));
      problem.hidden = true;
      const all = facts.blocks.reduce((sum, [count]) => sum + count, 0);
      const isWhole = total === all || !Object.values({ ...query, sort: "", ascending: "", offset: 0, limit: 0 }).some(Boolean);
      document.querySelector("[data-count]").textContent = isWhole ? `${total.toLocaleString("en")} runs` : `${total.toLocaleString("en")} of ${all.toLocaleString("en")} runs`;
      document.querySelector("[data-none]").hidden = total > 0;
      const last = Math.max(1, Math.ceil(total / PAGE));
      const [back, on] = document.querySelectorAll("[data-step]");
      back.disabled = page <= 1;
      on.disabled = page >= last;
      document.querySelector("[data-pager]").hidden = last === 1 && page === 1;
      document.querySelector("[data-where]").textContent = total ? `${(query.offset + 1).toLocaleString("en")}–${Math.min(total, query.offset + PAGE).toLocaleString("en")} of ${total.toLocaleString("en")}` : "";
    } catch (error) {
      if (mine === asked) told(error);
    } finally {
      if (mine === asked) table.removeAttribute("aria-busy");
    }
    for (const head of table.querySelectorAll("th[data-sort]")) {
      const isBy = head.dataset.sort === order.sort;
      if (isBy) head.setAttribute("aria-sort", order.ascending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    for (const section of document.querySelectorAll("[data-app]")) {
      section.hidden = Boolean(query.app) && section.dataset.app !== query.app;
      if (query.app === section.dataset.app) section.querySelector("details").open = true;
    }
  }
  function row(run) {
    const axes = new Map(run.axes.map((one) => { const at = one.lastIndexOf("."); return [one.slice(0, at), one.slice(at + 1)]; }));
    const notes = [run.review ? facts.reviews[run.review] ?? run.review : "", run.problems ? `${run.problems} functional problem${run.problems === 1 ? "" : "s"}` : ""];
    const line = make("tr", {},
      make("td", {}, make("a", { href: `runs/${run.page}.html` }, name(run.id)), " ", compareButton("run", run.id, run.app, run.started)),
      make("td", {}, name(run.app ?? facts.unknown)),
      make("td", {}, name(run.version ?? facts.unknown)),
      make("td", {}, badge(run.state)),
      ...facts.axes.map(([axis, words]) => axisCell(words, axes.get(axis))),
      make("td", {}, run.flagged.map((series) => short[series] ?? series).join(", ")),
      make("td", { className: "num" }, run.ratio === null ? "" : `${multiple(run.ratio)}×`),
      make("td", {}, run.started === null ? "–" : `${new Date(run.started * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`),
      make("td", {}, notes.filter(Boolean).join("; ")));
    line.dataset.run = run.id;
    return line;
  }
  function badge(state) {
    const symbol = make("span", {}, stateSymbol(state));
    symbol.setAttribute("aria-hidden", "true");
    return make("span", { className: `badge ${state}` }, symbol, ` ${stateLabel(state)}`);
  }
  function axisCell(words, state) {
    if (!state) return make("td", { className: "ax" });
    const sign = make("i", { title: `${words}: ${stateLabel(state).toLowerCase()}` }, stateSymbol(state));
    sign.setAttribute("role", "img");
    return make("td", { className: `ax ${state}` }, sign);
  }

  // ---- the address ----
  function toAddress() {
    const found = Object.fromEntries(FIELDS.map((field) => [field, form.elements[field].value.trim()]));
    const isUsual = order.sort === "started" && !order.ascending;
    const hash = address({ ...found, anomalous: form.elements.anomalous.checked ? "1" : "", open: form.elements.open.checked ? "1" : "", sort: isUsual ? "" : order.sort, order: isUsual ? "" : order.ascending ? "up" : "down", page: page > 1 ? String(page) : "" });
    history.replaceState(null, "", hash === "#" ? location.pathname + location.search : hash);
  }
  function fromAddress() {
    const values = new Map();
    for (const part of location.hash.slice(1).split("&")) {
      const at = part.indexOf("=");
      if (at < 0) continue;
      try { values.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1))); } catch { /* a damaged address filters nothing */ }
    }
    if (!values.size && location.hash) return null;   // an anchor, not a filter
    for (const field of FIELDS) form.elements[field].value = values.get(field) || "";
    for (const field of ["app", "axis", "series"]) if (form.elements[field].selectedIndex < 0) form.elements[field].selectedIndex = 0;
    form.elements.anomalous.checked = values.get("anomalous") === "1";
    form.elements.open.checked = values.get("open") === "1";
    const sort = values.get("sort");
    order = table.querySelector(`th[data-sort="${CSS.escape(sort ?? "")}"]`) ? { sort, ascending: values.get("order") === "up" } : { sort: "started", ascending: false };
    page = Math.max(1, Math.floor(Number(values.get("page"))) || 1);
    return show();
  }
  let typing = 0;
  form.addEventListener("input", (event) => {
    page = 1;
    toAddress();
    clearTimeout(typing);
    if (event.target.type === "search") typing = setTimeout(show, TYPING_MS);
    else show();
  });
  form.addEventListener("reset", () => setTimeout(() => { page = 1; toAddress(); show(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const head of table.querySelectorAll("th[data-sort]")) {
    head.querySelector("button").addEventListener("click", () => {
      const isText = ["run", "app", "version"].includes(head.dataset.sort);
      order = { sort: head.dataset.sort, ascending: order.sort === head.dataset.sort ? !order.ascending : isText };
      page = 1;
      toAddress();
      show();
    });
  }
  for (const button of document.querySelectorAll("[data-step]")) {
    button.addEventListener("click", async () => {
      page += Number(button.dataset.step);
      toAddress();
      await show();
      document.getElementById("runs").scrollIntoView({ block: "start" });
    });
  }
  window.addEventListener("hashchange", () => {
    fromAddress();
    if (location.hash.includes("=")) document.getElementById("runs").scrollIntoView({ block: "start" });
  });
  const suggestions = document.getElementById("versions");
  form.elements.version.addEventListener("focus", async () => {
    const apps = Object.entries(facts.apps).filter(([app]) => !form.elements.app.value || app === form.elements.app.value);
    if (apps.length > 20) return;   // too many to load for a suggestion
    const found = (await Promise.all(apps.map(([, app]) => lists.versions(app, 50)))).flat();
    suggestions.replaceChildren(...[...new Set(found.sort((a, b) => b.last - a.last).map((version) => version.name))].map((version) => make("option", { value: version })));
  });

  // ---- heat maps: the versions of an app that ran last ----
  const FIRST_VERSIONS = 12, TREND_VERSIONS = 60;
  const step = (ratio) => ratio === null ? "none" : ratio <= 1 ? `b${Math.min(4, Math.floor((1 - ratio) * 5))}` : `a${Math.min(4, Math.floor((ratio - 1) / 0.25))}`;
  const drawn = new Map();   // section → {shown, versions, singles}
  const begun = new Set();
  async function fill(section, shown) {
    begun.add(section);
    const app = facts.apps[section.dataset.app];
    const versions = await lists.versions(app, Math.max(shown, TREND_VERSIONS));
    const state = { singles: false, units: false, ...drawn.get(section), shown, versions };
    drawn.set(section, state);
    const some = versions.slice(0, shown);
    const has = new Set(some.flatMap((version) => Object.keys(version.cells)));
    const series = facts.series.filter(([key]) => has.has(key));
    const place = section.querySelector("[data-heat]");
    place.replaceChildren(...(series.length ? [heat(section.dataset.app, some, series)] : []));
    section.querySelector("[data-unjudged]").hidden = series.length > 0;
    for (const part of section.querySelectorAll("[data-judged]")) part.hidden = series.length === 0;
    const total = app.blocks.reduce((sum, [count]) => sum + count, 0);
    const more = section.querySelector("[data-more]");
    more.hidden = shown >= total;
    more.textContent = `Earlier versions (${some.length} of ${total.toLocaleString("en")} shown)`;
    trendsOf(section, state, facts.series.filter(([key]) => versions.some((version) => key in version.levels)));
  }
  function heat(app, versions, series) {
    const axes = [];
    for (const [, , , axis] of series) (axes.at(-1)?.[0] === axis ? axes.at(-1)[1] += 1 : axes.push([axis, 1]));
    const groups = make("tr", { className: "groups" }, make("td"), make("td"), ...axes.map(([axis, width]) => make("th", { scope: "colgroup", colSpan: width }, make("span", {}, axis))));
    const heads = make("tr", {}, make("th", { scope: "col" }, make("span", { className: "visually-hidden" }, "Version")), make("th", { scope: "col" }, "Runs"),
      ...series.map(([key, , words]) => make("th", { scope: "col", title: key }, words)));
    return make("table", { className: "heat" }, make("thead", {}, groups, heads), make("tbody", {}, ...versions.map((version) => make("tr", {},
      make("th", { scope: "row", title: version.told ?? "" }, make("a", { href: version.page }, name(version.name)), " ", version.state ? badge(version.state) : null, " ", compareButton("version", version.name, app, version.first)),
      make("td", { className: "runs" }, make("a", { href: address({ app, version: version.name }) }, String(version.runs))),
      ...series.map(([key]) => cell(app, version, key))))));
  }
  function cell(app, version, key) {
    const found = version.cells[key];
    if (!found) return make("td", { className: "none" }, make("small", {}, "–"));
    const [ratio, anomalous, judged, lacking, state] = found;
    if (!judged) return make("td", { className: step(ratio) }, make("small", {}, state ? stateLabel(state) : "–"));
    const link = make("a", { href: address({ app, version: version.name, series: anomalous ? key : "" }) }, ratio === null ? "–" : `${multiple(ratio)}×`,
      make("small", {}, anomalous ? `▲ ${anomalous} of ${judged}` : `none of ${judged}`), lacking ? make("small", {}, `◌ missing in ${lacking}`) : null);
    return make("td", { className: step(ratio) }, link);
  }

  // ---- trends: Plotly is fetched only when they come near the screen ----
  const escapeText = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  let plotly = null;
  const load = () => (plotly ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = "assets/plotly-cartesian.min.js";
    script.onload = done;
    script.onerror = () => failed(new Error("assets/plotly-cartesian.min.js is missing beside this page"));
    document.head.append(script);
  }));
  const charts = new Map();   // element → {section, series}
  function trendsOf(section, state, series) {
    const place = section.querySelector("[data-trends]");
    for (const [element, chart] of charts) if (chart.section === section) { watcher.unobserve(element); charts.delete(element); }
    place.replaceChildren(...series.map(([key]) => {
      const chart = make("div", { className: "trend" });
      chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", `${label[key]}: ${state.units ? (state.singles ? "mean of each run" : "level of each version") : (state.singles ? "distance of each run" : "distance of each version's worst run")}, with the range of ${state.units ? "what it was compared with" : "what is normal"}`);
      charts.set(chart, { section, series: key });
      return make("div", {}, make("h3", {}, label[key]), chart);
    }));
    for (const [what, pressed] of [["singles", state.singles], ["units", state.units]]) {
      const button = section.querySelector(`[data-${what}]`);
      button.hidden = series.length === 0;
      button.setAttribute("aria-pressed", String(pressed));
    }
    for (const [element, chart] of charts) if (chart.section === section) watcher.observe(element);
  }
  // On the scale that decides, normal is from 0 to the limit, 1; in units, what the runs were compared with is the band.
  const KINDS = { a: "bad", j: "judged", u: "unjudged" };
  function points(section, key) {
    const { versions, singles, units } = drawn.get(section);
    const order = versions.filter((version) => key in version.levels).sort((a, b) => a.first - b.first || (a.name < b.name ? -1 : 1));
    const found = { names: order.map((version) => version.name), low: [], high: [], x: [], y: [], text: [], kind: [], target: [], axis: "" };
    order.forEach((version, i) => {
      const [median, low, high, each, axis, ratios, marks] = version.levels[key];
      const [worst, anomalous, judged, , state] = version.cells[key] ?? [null, 0, 0, 0, null];
      found.axis = units ? axis : "× limit";
      found.low.push(units ? low : judged ? 0 : null);
      found.high.push(units ? high : judged ? 1 : null);
      if (!singles) {
        found.x.push(i); found.y.push(units ? median : worst ?? 0); found.kind.push(anomalous ? "bad" : judged ? "judged" : "unjudged");
        found.target.push(address({ app: section.dataset.app, version: version.name }));
        found.text.push(`${escapeText(version.name)} · ${version.runs} run${version.runs === 1 ? "" : "s"}${anomalous ? `, ${anomalous} anomalous` : judged ? "" : `, not judged${state ? `: ${escapeText(stateLabel(state))}` : ""}`}`);
      } else {
        (units ? each : ratios).forEach((value, place) => {
          const kind = KINDS[marks[place]];
          if (units ? value === null : value === null && kind !== "unjudged") return;
          found.x.push(i - 0.4 + (0.8 * (place + 0.5)) / each.length); found.y.push(value ?? 0); found.kind.push(kind);
          found.target.push(address({ app: section.dataset.app, version: version.name, q: version.ids[place] }));
          found.text.push(`${escapeText(version.name)} · ${escapeText(version.ids[place])}${kind === "bad" ? ", anomalous" : kind === "unjudged" ? ", not judged" : ""}`);
        });
      }
    });
    return { ...found, singles, units };
  }
  function draw(element) {
    const { section, series } = charts.get(element);
    const p = points(section, series);
    element.targets = p.target;
    const t = theme();
    const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false, fixedrange: true };
    const known = [...p.y, ...p.low, ...p.high].filter((v) => v !== null);
    const top = Math.max(...known), bottom = p.units ? Math.min(...known) : 0, margin = 0.08 * (top - bottom || Math.abs(top) || 1);
    const many = Math.max(1, Math.ceil(p.names.length / 6));
    const ticks = p.names.map((_, i) => i).filter((i) => i % many === 0);
    return Plotly.react(element, [
      // A bar per version, not an area: neighbouring versions may have quite different histories.
      { type: "bar", x: p.names.map((_, i) => i), base: p.low, y: p.high.map((v, i) => (v === null ? null : v - p.low[i])), width: 1, marker: { color: t.band, line: { width: 0 } }, hoverinfo: "skip" },
      {
        x: p.x, y: p.y, text: p.text, mode: p.singles || p.kind.includes("unjudged") ? "markers" : "lines+markers", line: { color: t.run, width: 1 }, opacity: 1,
        marker: {
          size: p.kind.map((kind) => (kind === "bad" ? 9 : kind === "unjudged" ? 6 : p.singles ? 3 : 4)), color: p.kind.map((kind) => (kind === "bad" ? t.alert : t.run)),
          symbol: p.kind.map((kind) => (kind === "bad" ? "triangle-up" : kind === "unjudged" ? "circle-open" : "circle")),
        },
        hovertemplate: p.kind.map((kind) => `%{text}<br>${p.units ? `${p.singles ? "mean" : "median of means"} %{y:,.4~r} ${p.axis}` : kind === "unjudged" ? "" : `distance %{y:.2f}${p.axis}`}<extra></extra>`),
      },
    ], {
      ...layout(t), margin: { l: 48, r: 8, t: 8, b: 26 }, hovermode: "closest", dragmode: false, bargap: 0,
      xaxis: { ...axis, showgrid: false, tickvals: ticks, ticktext: ticks.map((i) => escapeText(p.names[i]).slice(0, 14)), tickangle: 0, range: [-0.6, p.names.length - 0.4] },
      yaxis: { ...axis, nticks: 5, range: [bottom - margin, top + margin], title: { text: p.axis, standoff: 8, font: { size: 11 } } },
    }, config);
  }
  let looked = null;
  const hasLooked = new Promise((done) => { looked = done; });
  const watcher = new IntersectionObserver(async (entries) => {
    const near = entries.filter((entry) => entry.isIntersecting && charts.has(entry.target)).map((entry) => entry.target);
    for (const element of near) watcher.unobserve(element);
    try {
      if (near.length) await load();
      for (const element of near) {
        if (!charts.has(element)) continue;
        await draw(element);
        element.dataset.drawn = "yes";
        element.on("plotly_click", (event) => { location.hash = element.targets[event.points[0].pointIndex].slice(1); });
      }
    } catch (error) { told(error); }
    looked();
  }, { rootMargin: "150px" });
  onThemeChange(async () => { for (const element of charts.keys()) if (element.dataset.drawn) await draw(element); });

  const sections = [...document.querySelectorAll("[data-app]")];
  for (const section of sections) {
    const details = section.querySelector("details");
    details.addEventListener("toggle", () => { if (details.open && !begun.has(section)) fill(section, FIRST_VERSIONS).catch(told); });
    section.querySelector("[data-more]").addEventListener("click", () => fill(section, drawn.get(section).shown * 3).catch(told));
    for (const what of ["singles", "units"]) {
      section.querySelector(`[data-${what}]`).addEventListener("click", () => {
        drawn.get(section)[what] = !drawn.get(section)[what];
        fill(section, drawn.get(section).shown).catch(told);
      });
    }
  }
  (async () => {
    const open = sections.filter((section) => section.querySelector("details").open);
    await Promise.all([fromAddress() ?? show(), ...open.map((section) => fill(section, FIRST_VERSIONS).catch(told))]);
    if (charts.size) await hasLooked;
    document.body.dataset.ready = "yes";
    performance.mark("charts-drawn");
  })();
})();
