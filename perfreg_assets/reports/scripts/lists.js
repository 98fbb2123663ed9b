// Runs and versions by need: from the pieces beside the page; of very many runs from the endpoint of `perfreg serve`, where
// there is one.
const NEWEST_FIRST = { sort: "started", ascending: false };

// Whether there is an endpoint; kept in the page, which several scripts read.
const root = document.documentElement;
export const isServed = () =>
  (location.protocol === "http:" || location.protocol === "https:") && root.dataset.lists !== "files";

// A page opened from a folder may load scripts and nothing else, so a piece is a script that puts its rows onto itself.
const loading = new Map();
function piece(name, digest) {
  if (!loading.has(name)) {
    loading.set(
      name,
      new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = `data/${name}.js?${digest}`;
        script.onload = () => (script.rows ? done(script.rows) : failed(new Error(`data/${name}.js is damaged`)));
        script.onerror = () => {
          loading.delete(name);
          failed(new Error(`data/${name}.js is missing beside this page`));
        };
        document.head.append(script);
      }),
    );
  }
  return loading.get(name);
}
const inOrder = (blocks) =>
  blocks
    .map(([count, newest, digest], number) => ({ number, count, newest: newest ?? -Infinity, digest }))
    .filter((block) => block.count)
    .sort((a, b) => b.newest - a.newest);

function asRun(row) {
  const [
    id,
    page,
    app,
    version,
    started,
    state,
    axes,
    flagged,
    ratio,
    review,
    problems,
    omega,
    lacking,
    device,
    reason,
  ] = row;
  return {
    id,
    page: page || id,
    app,
    version,
    started,
    state,
    axes: axes ? axes.split(" ") : [],
    flagged,
    ratio,
    review,
    problems,
    omega,
    lacking: Boolean(lacking),
    device,
    reason,
  };
}
const KEYS = { started: "started", run: "id", app: "app", version: "version", worst: "ratio", omega: "omega" };
const compare = (key, sign) => (a, b) => {
  const x = a[key];
  const y = b[key];
  if (x !== y) {
    if (x === null) return 1; // unknown ones stand last in either order
    if (y === null) return -1;
    return (x < y ? -1 : 1) * sign;
  }
  return (a.id < b.id ? -1 : a.id > b.id ? 1 : 0) * sign;
};

// ---- from pieces ----
const known = new Map(); // block → its runs
async function load(block) {
  if (!known.has(block.number)) {
    const rows = await piece(`runs-${block.number}`, block.digest);
    known.set(
      block.number,
      Object.entries(rows).map(([id, row]) => asRun([id, ...row])),
    );
  }
  return known.get(block.number);
}
const isAlarm = (run) => run.state === "anomalous";

// One test per filter that is set; none: everything fits.
function tests(q, unknown) {
  const part = q.part?.toLowerCase();
  return [
    q.app && ((run) => (run.app ?? unknown) === q.app),
    q.version && ((run) => run.version === q.version),
    q.device && ((run) => run.device === q.device),
    q.state && ((run) => run.state === q.state),
    q.axis && ((run) => run.axes.includes(q.axis)),
    q.reason && ((run) => run.reason === q.reason),
    q.series && ((run) => run.flagged.includes(q.series)),
    part && ((run) => run.id.toLowerCase().includes(part)),
    q.anomalous && isAlarm,
    q.open && ((run) => isAlarm(run) && !run.review),
    q.above !== undefined && ((run) => run.omega !== null && run.omega > q.above && run.omega <= q.upto),
  ].filter(Boolean);
}

let sorted = { key: "", runs: [] }; // everything in the order asked for last: a filter then only leaves out
async function everything(facts, blocks, q) {
  const key = `${q.sort} ${q.ascending}`;
  if (sorted.key !== key) {
    const loaded = (await Promise.all(blocks.map(load))).flat();
    sorted = { key, runs: loaded.sort(compare(KEYS[q.sort], q.ascending ? 1 : -1)) };
  }
  return sorted.runs;
}

// Up to so many runs everything is loaded ahead, and a filter is answered here at once; of more, a server is asked.
const isSmall = (facts) => facts.blocks.reduce((sum, [count]) => sum + count, 0) <= (facts.ahead ?? 0);
export const asksServer = (facts) => isServed() && !isSmall(facts);

// Loads and orders what the first filter needs, so that it need not wait.
export async function lookAhead(facts, order) {
  if (isSmall(facts)) await everything(facts, inOrder(facts.blocks), order);
}

async function fromPieces(facts, q) {
  const { offset, limit } = q;
  const blocks = inOrder(facts.blocks);
  const all = blocks.reduce((sum, block) => sum + block.count, 0);
  const wanted = tests(q, facts.unknown);
  if (!wanted.length && q.sort === NEWEST_FIRST.sort && !q.ascending) {
    if (offset === 0 && facts.first && (facts.first.length >= limit || facts.first.length === all)) {
      return { total: all, rows: facts.first.slice(0, limit).map(asRun) };
    }
    const order = compare(KEYS.started, -1);
    let found = [];
    for (const block of blocks) {
      // The blocks that ran last first, until no later one can reach the page asked for.
      const last = found[offset + limit - 1];
      if (last && last.started !== null && block.newest < last.started) break;
      found = [...found, ...(await load(block))].sort(order);
    }
    return { total: all, rows: found.slice(offset, offset + limit) };
  }
  const fitting = (await everything(facts, blocks, q)).filter((run) => wanted.every((test) => test(run)));
  return { total: fitting.length, rows: fitting.slice(offset, offset + limit) };
}

// ---- from the endpoint ----
async function fromServer(q) {
  const asked = new URLSearchParams();
  for (const [field, value] of Object.entries(q)) {
    if (value !== undefined && value !== "" && value !== false) asked.set(field, value === true ? "1" : String(value));
  }
  const answer = await fetch(`lists/runs?${asked}`, { headers: { accept: "application/json" } });
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(await answer.text());
  const { total, rows } = await answer.json();
  return { total, rows: rows.map(asRun) };
}

// Runs that fit, in order, one page of them: {total, rows}. `above`/`upto`: of the critical ω.
export async function runs(facts, query) {
  const q = { ...NEWEST_FIRST, offset: 0, limit: 100, ...query };
  if (q.axis && !/.\../.test(q.axis)) return { total: 0, rows: [] }; // no axis with a state, which the endpoint refuses
  if (asksServer(facts)) {
    const found = await fromServer(q);
    if (found) return found;
    root.dataset.lists = "files"; // the pages are behind another web server
  }
  return fromPieces(facts, q);
}

// The versions of an app that ran last, the latest first: [{name, runs, anomalous, first, last, ids, of,
// setups, cells, levels}].
export async function versions(app, count) {
  let found = [];
  for (const block of inOrder(app.blocks)) {
    if (found.length >= count && block.newest < found[count - 1].last) break;
    const rows = await piece(`versions-${app.number}-${block.number}`, block.digest);
    found = [...found, ...Object.entries(rows).map(([name, row]) => ({ name, ...row }))].sort(
      (a, b) => b.last - a.last || (a.name < b.name ? 1 : -1),
    );
  }
  return found.slice(0, count);
}
