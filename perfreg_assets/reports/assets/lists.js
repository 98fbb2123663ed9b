// Runs and versions by need: from the endpoint of `perfreg serve`, or from the pieces beside the page where there is none.
"use strict";
(() => {
  const NEWEST_FIRST = { sort: "started", ascending: false };
  const taken = new Map();
  // A page opened from a folder may load scripts and nothing else, so a piece is a script that calls this.
  window.perfreg.take = (name, rows) => taken.set(name, rows);
  const loading = new Map();
  function piece(name, digest) {
    if (!loading.has(name)) {
      loading.set(name, new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = `data/${name}.js?${digest}`;
        script.onload = () => (taken.has(name) ? done(taken.get(name)) : failed(new Error(`data/${name}.js is damaged`)));
        script.onerror = () => { loading.delete(name); failed(new Error(`data/${name}.js is missing beside this page`)); };
        document.head.append(script);
      }));
    }
    return loading.get(name);
  }
  const inOrder = (blocks) => blocks.map(([count, newest, digest], number) => ({ number, count, newest: newest ?? -Infinity, digest }))
    .filter((block) => block.count).sort((a, b) => b.newest - a.newest);

  const asRun = ([id, page, app, version, started, state, axes, flagged, ratio, review, problems, omega, lacking]) =>
    ({ id, page: page || id, app, version, started, state, axes: axes ? axes.split(" ") : [], flagged, ratio, review, problems, omega, lacking: Boolean(lacking) });
  const KEYS = { started: "started", run: "id", app: "app", version: "version", worst: "ratio", omega: "omega" };
  const compare = (key, sign) => (a, b) => {
    const x = a[key], y = b[key];
    if (x !== y) {
      if (x === null) return 1;   // unknown ones stand last in either order
      if (y === null) return -1;
      return (x < y ? -1 : 1) * sign;
    }
    return (a.id < b.id ? -1 : a.id > b.id ? 1 : 0) * sign;
  };

  // ---- from pieces ----
  const known = new Map();   // block → its runs
  async function load(block) {
    if (!known.has(block.number)) {
      const rows = await piece(`runs-${block.number}`, block.digest);
      known.set(block.number, Object.entries(rows).map(([id, row]) => asRun([id, ...row])));
    }
    return known.get(block.number);
  }
  const fits = (run, q, unknown) => (!q.app || (run.app ?? unknown) === q.app) && (!q.version || run.version === q.version)
    && (!q.axis || run.axes.includes(q.axis)) && (!q.series || run.flagged.includes(q.series))
    && (!q.part || run.id.toLowerCase().includes(q.part.toLowerCase())) && (!q.anomalous || run.state === "anomalous") && (!q.open || (run.state === "anomalous" && !run.review))
    && (q.above === undefined || (run.omega !== null && run.omega > q.above && run.omega <= q.upto));
  const isPlain = (q) => !q.app && !q.version && !q.axis && !q.series && !q.part && !q.anomalous && !q.open && q.above === undefined;

  async function fromPieces(facts, q) {
    const { offset, limit } = q;
    const order = compare(KEYS[q.sort], q.ascending ? 1 : -1);
    const blocks = inOrder(facts.blocks);
    const all = blocks.reduce((sum, block) => sum + block.count, 0);
    if (isPlain(q) && q.sort === NEWEST_FIRST.sort && !q.ascending) {
      if (offset === 0 && facts.first && (facts.first.length >= limit || facts.first.length === all)) {
        return { total: all, rows: facts.first.slice(0, limit).map(asRun) };
      }
      let found = [];
      for (const block of blocks) {   // the blocks that ran last first, until no later one can reach the page asked for
        const last = found[offset + limit - 1];
        if (last && last.started !== null && block.newest < last.started) break;
        found = [...found, ...await load(block)].sort(order);
      }
      return { total: all, rows: found.slice(offset, offset + limit) };
    }
    const runs = (await Promise.all(blocks.map(load))).flat().filter((run) => fits(run, q, facts.unknown)).sort(order);
    return { total: runs.length, rows: runs.slice(offset, offset + limit) };
  }

  // ---- from the endpoint ----
  async function fromServer(q) {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(q)) {
      if (value !== undefined && value !== "" && value !== false) asked.set(name, value === true ? "1" : String(value));
    }
    const answer = await fetch(`lists/runs?${asked}`, { headers: { accept: "application/json" } });
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(await answer.text());
    const { total, rows } = await answer.json();
    return { total, rows: rows.map(asRun) };
  }

  let served = location.protocol === "http:" || location.protocol === "https:";
  // Runs that fit, in order, one page of them: {total, rows}. `above`/`upto`: of the critical ω.
  async function runs(facts, query) {
    const q = { ...NEWEST_FIRST, offset: 0, limit: 100, ...query };
    if (served) {
      const found = await fromServer(q);
      if (found) return found;
      served = false;   // the pages are behind another web server
    }
    return fromPieces(facts, q);
  }

  // The versions of an app that ran last, the latest first: [{name, runs, anomalous, first, last, ids, cells, levels}].
  async function versions(app, count) {
    let found = [];
    for (const block of inOrder(app.blocks)) {
      if (found.length >= count && block.newest < found[count - 1].last) break;
      const rows = await piece(`versions-${app.number}-${block.number}`, block.digest);
      found = [...found, ...Object.entries(rows).map(([name, row]) => ({ name, ...row }))]
        .sort((a, b) => b.last - a.last || (a.name < b.name ? 1 : -1));
    }
    return found.slice(0, count);
  }
  window.perfreg.lists = { runs, versions, isServed: () => served };
})();
