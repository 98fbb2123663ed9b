// What the index shows stands in its address, so that a view can be sent on and comes back: `#app=…&state=…`. A query
// (`?app=…`) is taken, too, for links that are written by hand or by other tools.
export const FIELDS = ["app", "version", "device", "state", "axis", "reason", "series", "q"];
export const FLAGS = ["anomalous", "open"];
const VIEW = ["each", "units", "levels"]; // of the trends: run by run, in units, of which scenario and configuration
const KNOWN = new Set([...FIELDS, ...FLAGS, ...VIEW, "sort", "order", "page", "rows"]);
export const ROWS = 100; // a page of the list
const MOST_ROWS = 1000;
const MOST_PAGES = 1_000_000; // what the endpoint counts up to, at the most rows
const ASCENDING = new Set(["asc", "up"]);

export const hashOf = (values) => {
  const parts = Object.entries(values).filter(([, value]) => value);
  return `#${parts.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`;
};

const whole = (text, least, most, usual) => {
  const number = Math.floor(Number(text));
  return number >= least ? Math.min(number, most) : usual;
};

function read(text) {
  const values = new Map();
  for (const part of text.slice(1).split("&")) {
    const at = part.indexOf("=");
    if (at < 0 || !KNOWN.has(part.slice(0, at))) continue;
    try {
      values.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1)));
    } catch {
      /* a damaged address filters nothing */
    }
  }
  return values;
}

// What the address asks for; null where it is an anchor, not a view. `sorts`: columns that there are.
export function fromAddress(sorts) {
  const query = location.search.replaceAll("+", "%20"); // forms and most tools write a blank like that
  const values = new Map([...read(query), ...read(location.hash)]);
  if (!values.size && location.hash.length > 1 && !location.hash.includes("=")) return null;
  const sort = values.get("sort") || "started";
  const ascending = ASCENDING.has(values.get("order"));
  return {
    fields: Object.fromEntries(FIELDS.map((field) => [field, values.get(field) || ""])),
    flags: Object.fromEntries(FLAGS.map((flag) => [flag, values.get(flag) === "1"])),
    order: sorts.includes(sort) ? { sort, ascending } : { sort: "started", ascending: false },
    page: whole(values.get("page"), 1, MOST_PAGES, 1),
    rows: whole(values.get("rows"), 1, MOST_ROWS, ROWS),
    singles: values.get("each") === "1",
    units: values.get("units") === "1",
    setup: values.get("levels") || "",
  };
}

export function toAddress({ fields, flags, order, page, rows, singles, units, setup }) {
  const isUsual = order.sort === "started" && !order.ascending;
  const hash = hashOf({
    ...fields,
    ...Object.fromEntries(FLAGS.map((flag) => [flag, flags[flag] ? "1" : ""])),
    sort: isUsual ? "" : order.sort,
    order: isUsual ? "" : order.ascending ? "up" : "down",
    page: page > 1 ? String(page) : "",
    rows: rows === ROWS ? "" : String(rows),
    each: singles ? "1" : "",
    units: units ? "1" : "",
    levels: units ? setup : "",
  });
  history.replaceState(null, "", hash === "#" ? location.pathname : location.pathname + hash);
}
