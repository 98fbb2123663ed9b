// The index: filters, order and page of the list stand in the address; heat maps and trends of each app.
import { FIELDS, FLAGS, ROWS, fromAddress, toAddress } from "./address.js";
import { embedded, make, ready } from "./dom.js";
import { count } from "./format.js";
import { heatMap } from "./heat.js";
import { lazily } from "./lazily.js";
import { asksServer, lookAhead, runs, versions } from "./lists.js";
import "./page.js";
import { loadPlotly } from "./plotly.js";
import { runTable } from "./run-table.js";
import { chosen, hasLevel, setupsOf } from "./setups.js";
import { onThemeChange, theme } from "./theme.js";
import { compareButton } from "./triage.js";
import { trendFigure } from "./trends.js";

const TYPING_MS = 120; // where each letter is a question to the server
const FIRST_VERSIONS = 12;
const TREND_VERSIONS = 60;
const PAPER_WIDTH = 320; // px of a trend, as in the style sheet: nobody tells a page how wide the paper is
const USUAL = {
  order: { sort: "started", ascending: false },
  page: 1,
  rows: ROWS,
  singles: false,
  units: false,
  setup: "",
};
const CHOICES = new Set(["app", "device", "state", "axis", "reason", "series"]);

function start(form) {
  const facts = embedded("index-data");
  const label = Object.fromEntries(facts.series.map(([key, long]) => [key, long]));
  const table = document.querySelector("[data-runs]");
  const list = runTable(table, facts, compareButton);
  const sorts = [...table.querySelectorAll("th[data-sort]")].map((head) => head.dataset.sort);
  const all = facts.blocks.reduce((sum, [size]) => sum + size, 0);
  const sections = [...document.querySelectorAll("[data-app]")];
  const problem = document.querySelector("[data-problem]");
  const told = (error) => {
    problem.textContent = `The list could not be loaded: ${error.message}`;
    problem.hidden = false;
  };
  let view = fromAddress(sorts) ?? { ...USUAL };

  // ---- the list of runs ----
  // Names are spelt as they are, blanks at their ends included, of which what is typed or copied has none; and a field of
  // one line leaves out the line breaks of a name that it shows.
  const spelt = new Map(); // what the field shows → the name
  const shownAs = (text) => text.replaceAll(/[\r\n]/g, "");
  const READ = { version: (text) => spelt.get(text) ?? text.trim(), q: (text) => text.trim() };
  const valueOf = (field) => {
    const { value } = form.elements[field];
    return READ[field]?.(value) ?? value;
  };
  const fields = () => Object.fromEntries(FIELDS.map((field) => [field, valueOf(field)]));
  const flags = () => Object.fromEntries(FLAGS.map((flag) => [flag, form.elements[flag].checked]));
  let asked = 0;
  async function show() {
    const mine = ++asked;
    const { q, ...rest } = fields();
    const wanted = { ...rest, part: q, ...flags() };
    const offset = (view.page - 1) * view.rows;
    table.setAttribute("aria-busy", "true");
    try {
      const found = await runs(facts, { ...wanted, ...view.order, offset, limit: view.rows });
      if (mine !== asked) return; // another one was asked for meanwhile
      const last = Math.max(1, Math.ceil(found.total / view.rows));
      if (view.page > last) {
        view.page = last;
        keep();
        return await show();
      }
      list.show(found, { all, isWhole: !Object.values(wanted).some(Boolean), offset, limit: view.rows });
      problem.hidden = true;
    } catch (error) {
      if (mine === asked) told(error);
    } finally {
      if (mine === asked) table.removeAttribute("aria-busy");
    }
    list.mark(view.order);
    for (const section of sections) {
      section.hidden = Boolean(wanted.app) && section.dataset.app !== wanted.app;
      if (wanted.app === section.dataset.app) section.querySelector("details").open = true;
    }
  }

  // ---- the address ----
  const keep = () => toAddress({ ...view, fields: fields(), flags: flags() });
  // A value that no run has is a choice that nothing matches: without it the filter would be gone, and all runs shown.
  function choose(field, value) {
    const select = form.elements[field];
    select.querySelector("[data-unmatched]")?.remove();
    if ([...select.options].every((option) => option.value !== value)) {
      const option = make("option", { value }, `${value} (none)`);
      option.dataset.unmatched = "";
      select.append(option);
    }
    select.value = value;
  }
  function restore() {
    const asksFor = fromAddress(sorts);
    if (!asksFor) return null;
    view = asksFor;
    for (const field of FIELDS) {
      if (CHOICES.has(field)) choose(field, view.fields[field]);
      else form.elements[field].value = view.fields[field];
    }
    spelt.set(form.elements.version.value, view.fields.version);
    for (const flag of FLAGS) form.elements[flag].checked = view.flags[flag];
    return show();
  }
  let typing = 0;
  form.addEventListener("input", (event) => {
    view.page = 1;
    keep();
    clearTimeout(typing);
    if (event.target.type === "search") typing = setTimeout(show, asksServer(facts) ? TYPING_MS : 0);
    else show();
  });
  form.addEventListener("reset", () =>
    setTimeout(() => {
      view.page = 1;
      keep();
      show();
    }),
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const head of table.querySelectorAll("th[data-sort]")) {
    head.querySelector("button").addEventListener("click", () => {
      const by = head.dataset.sort;
      const isText = ["run", "app", "version"].includes(by);
      view.order = { sort: by, ascending: view.order.sort === by ? !view.order.ascending : isText };
      view.page = 1;
      keep();
      show();
    });
  }
  const toList = () => document.getElementById("runs").scrollIntoView({ block: "start" });
  for (const button of document.querySelectorAll("[data-step]")) {
    button.addEventListener("click", async () => {
      view.page += Number(button.dataset.step);
      keep();
      await show();
      toList();
    });
  }
  window.addEventListener("hashchange", () => {
    const { singles, units, setup } = view;
    restore();
    if (view.singles !== singles || view.units !== units || view.setup !== setup)
      for (const one of drawn.keys()) refill(one);
    if (location.hash.includes("=")) toList();
  });
  const share = document.querySelector("[data-share]");
  share.addEventListener("click", async () => {
    keep();
    const said = document.querySelector("[data-said]");
    said.replaceChildren("The address of this view: ", make("code", { textContent: location.href }));
    said.hidden = false;
    try {
      await navigator.clipboard.writeText(location.href);
      said.append(" Copied.");
    } catch {
      said.append(" Copy it from here."); // not allowed here: one click selects it
    }
  });
  const suggestions = document.getElementById("versions");
  form.elements.version.addEventListener("focus", async () => {
    const app = form.elements.app.value;
    const apps = Object.entries(facts.apps).filter(([own]) => !app || own === app);
    if (apps.length > 20) return; // too many to load for a suggestion
    const found = (await Promise.all(apps.map(([, own]) => versions(own, 50)))).flat();
    const names = new Set(found.sort((a, b) => b.last - a.last).map((version) => version.name));
    for (const name of names) if (name === shownAs(name) || !spelt.has(shownAs(name))) spelt.set(shownAs(name), name);
    suggestions.replaceChildren(...[...names].map((version) => make("option", { value: version })));
  });

  // ---- heat maps: the versions of an app that ran last ----
  const drawn = new Map(); // section → {shown, versions}
  const begun = new Set();
  async function fill(section, shown) {
    begun.add(section);
    const app = facts.apps[section.dataset.app];
    const found = await versions(app, Math.max(shown, TREND_VERSIONS));
    const setup = offerSetups(section, found);
    drawn.set(section, { shown, versions: found, setup });
    const some = found.slice(0, shown);
    const has = new Set(some.flatMap((version) => Object.keys(version.cells)));
    const series = facts.series.filter(([key]) => has.has(key));
    const heat = series.length ? [heatMap(section.dataset.app, some, series, facts, compareButton)] : [];
    section.querySelector("[data-heat]").replaceChildren(...heat);
    section.querySelector("[data-unjudged]").hidden = series.length > 0;
    for (const part of section.querySelectorAll("[data-judged]")) part.hidden = series.length === 0;
    const total = app.blocks.reduce((sum, [size]) => sum + size, 0);
    const more = section.querySelector("[data-more]");
    more.hidden = shown >= total;
    more.textContent = `Earlier versions (${some.length} of ${count(total)} shown)`;
    trendsOf(
      section,
      facts.series.filter(([key]) => found.some((version) => hasLevel(version, key, view.units ? setup : null))),
    );
  }
  const refill = (section) => fill(section, drawn.get(section).shown).catch(told);

  // ---- trends ----
  const charts = new Map(); // element → {section, series}
  let plotly = null;
  let printing = false;
  function trendsOf(section, series) {
    for (const [element, chart] of charts) {
      if (chart.section !== section) continue;
      watcher.unobserve(element);
      charts.delete(element);
    }
    const of = view.singles ? "each run" : view.units ? "each version" : "each version's worst run";
    const what = view.units ? (view.singles ? "mean" : "level") : "distance";
    const range = view.units ? "what it was compared with" : "what is normal";
    const cells = series.map(([key]) => {
      const chart = make("div", { className: "trend" });
      chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", `${label[key]}: ${what} of ${of}, with the range of ${range}`);
      charts.set(chart, { section, series: key });
      return make("div", {}, make("h3", {}, label[key]), chart);
    });
    section.querySelector("[data-trends]").replaceChildren(...cells);
    const key = section.querySelector("[data-trend-key]");
    const apart = view.units ? "" : ", at 0 because it has no distance";
    key.textContent = `Grey: ${range}. ▲ anomalous, ● judged and not anomalous, ○ not judged${apart}.`;
    key.hidden = series.length === 0;
    for (const toggle of ["singles", "units"]) {
      const button = section.querySelector(`[data-${toggle}]`);
      button.hidden = series.length === 0;
      button.setAttribute("aria-pressed", String(view[toggle]));
    }
    for (const [element, chart] of charts) if (chart.section === section) watcher.observe(element);
  }
  // Levels are of runs of one scenario and configuration: which, is said, and chosen where there are several.
  function offerSetups(section, found) {
    const setups = setupsOf(found);
    const key = chosen(setups, view.setup);
    const many = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
    const options = setups.map((one) =>
      make("option", { value: one.key }, `${one.words}: ${many(one.runs, "run")} in ${many(one.versions, "version")}`),
    );
    const select = section.querySelector("[data-setup]");
    select.replaceChildren(...options);
    select.value = key ?? "";
    select.closest("label").hidden = !view.units || !setups.length;
    return key;
  }
  async function draw(element) {
    if (!charts.has(element)) return;
    const { section, series } = charts.get(element);
    plotly ??= await loadPlotly("");
    const first = !element.targets;
    const shown = { ...drawn.get(section), singles: view.singles, units: view.units };
    const { traces, look, config, targets } = trendFigure(section.dataset.app, series, shown, facts, theme());
    element.targets = targets;
    if (printing) look.width = PAPER_WIDTH;
    await plotly.react(element, traces, look, config);
    if (first) {
      element.on("plotly_click", (event) => {
        location.hash = element.targets[event.points[0].pointIndex].slice(1);
      });
    }
  }
  let looked = null;
  const hasLooked = new Promise((done) => {
    looked = done;
  });
  const watcher = lazily(draw, {
    margin: "150px",
    onIdle: () => looked(),
    onError: (error) => {
      told(error);
      looked();
    },
  });
  // At once, as long as nothing is waited for: the page is laid out for paper right after.
  window.addEventListener("beforeprint", () => {
    printing = true;
    if (plotly) for (const element of charts.keys()) draw(element);
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    for (const element of charts.keys()) if (element.targets) draw(element);
  });
  onThemeChange(async () => {
    for (const element of charts.keys()) if (element.dataset.drawn) await draw(element);
  });

  for (const section of sections) {
    const details = section.querySelector("details");
    details.addEventListener("toggle", () => {
      if (details.open && !begun.has(section)) fill(section, FIRST_VERSIONS).catch(told);
    });
    section
      .querySelector("[data-more]")
      .addEventListener("click", () => fill(section, drawn.get(section).shown * 3).catch(told));
    section.querySelector("[data-setup]").addEventListener("change", (event) => {
      view.setup = event.target.value;
      keep();
      refill(section);
    });
    for (const toggle of ["singles", "units"]) {
      section.querySelector(`[data-${toggle}]`).addEventListener("click", () => {
        view[toggle] = !view[toggle];
        keep();
        for (const one of drawn.keys()) refill(one);
      });
    }
  }
  (async () => {
    const open = sections.filter((section) => section.querySelector("details").open);
    await Promise.all([restore() ?? show(), ...open.map((section) => fill(section, FIRST_VERSIONS).catch(told))]);
    performance.mark("list-drawn");
    if (location.search) keep(); // a query becomes what every change makes of it
    if (charts.size) await hasLooked;
    ready();
    await lookAhead(facts, view.order).catch(told);
    document.body.dataset.loaded = "yes";
  })();
}

const form = document.querySelector("[data-filters]");
if (form) start(form);
else ready();
