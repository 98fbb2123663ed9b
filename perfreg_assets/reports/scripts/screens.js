// The path through the app: a strip of screens under each chart, told by colour, number and name, and the filter by screen.
import { escapeText } from "./dom.js";

const LETTER = 7; // px of a label's letters

// path: `screens` by name, `starts` of each stretch in s, `codes` of each (null where not known), `end`, `actions`.
const nameOf = (path, stretch) => {
  const code = stretch < 0 ? null : path.codes[stretch];
  return code === null ? null : path.screens[code];
};

export const stretches = (path) =>
  path.starts.map((start, i) => ({
    start,
    end: i + 1 < path.starts.length ? path.starts[i + 1] : path.end,
    code: path.codes[i],
  }));

// Stretches [start, end] in which none of the chosen screens is shown, neighbours joined.
export function hiddenStretches(path, chosen) {
  if (!path || !chosen.size) return [];
  const found = [];
  for (const { start, end, code } of stretches(path)) {
    if (code !== null && chosen.has(code)) continue;
    const last = found.at(-1);
    if (last && last[1] === start) last[1] = end;
    else found.push([start, end]);
  }
  return found;
}

export const isOn = (path, chosen, from, to) =>
  !chosen.size ||
  stretches(path).some((one) => one.code !== null && chosen.has(one.code) && one.start < to && one.end > from);

export function stripTrace(path, colours) {
  const own = path.screens.map((_, i) => colours[i % colours.length]);
  const n = Math.max(1, own.length);
  return {
    type: "heatmap",
    x: [...path.starts, path.end],
    y: [0, 1],
    z: [path.codes],
    hoverinfo: "skip",
    zmin: -0.5,
    zmax: n - 0.5,
    colorscale: own.flatMap((colour, i) => [
      [i / n, colour],
      [(i + 1) / n, colour],
    ]),
    showscale: false,
    yaxis: "y2",
    xgap: 1,
    name: "screens",
  };
}

// An unseen line along the strip: what the pointer's moment says about screen and action.
export function hoverTrace(path, x) {
  const text = [];
  let stretch = -1;
  let action = -1;
  for (const t of x) {
    while (stretch + 1 < path.starts.length && path.starts[stretch + 1] <= t) stretch += 1;
    while (action + 1 < path.actions.length && path.actions[action + 1][0] <= t) action += 1;
    const screen = nameOf(path, stretch) ?? "not known";
    text.push(escapeText(action < 0 ? screen : `${screen}, after ${path.actions[action][1]}`));
  }
  return {
    x,
    y: x.map(() => 0.5),
    text,
    mode: "lines",
    yaxis: "y2",
    line: { color: "rgba(0,0,0,0)" },
    name: "screen",
    legendrank: 2,
    hovertemplate: "screen: %{text}<extra></extra>",
  };
}

// Where a stretch has room: its screen's name, else its number in the key. [at, text] each.
export function labels(path, [a, b], width) {
  const perSecond = Math.max(1, width) / (b - a);
  const found = [];
  for (const { start, end, code } of stretches(path)) {
    if (code === null) continue;
    const from = Math.max(start, a);
    const to = Math.min(end, b);
    const room = (to - from) * perSecond - 8;
    const text = [path.screens[code], String(code + 1)].find(
      (one) => one.length * LETTER < room + (one.length < 3 ? 4 : 0),
    );
    if (text !== undefined) found.push([(from + to) / 2, escapeText(text)]);
  }
  return found;
}

// The key above the charts: a button for each screen. Calls back with the chosen codes.
export function screenKey(path, onChange) {
  const place = document.querySelector("[data-screens]");
  if (!place || !path) return;
  place.hidden = false;
  const chosen = new Set();
  const told = place.querySelector("[data-screens-told]");
  const every = place.querySelector("[data-screens-all]");
  const show = () => {
    for (const button of place.querySelectorAll("[data-screen]")) {
      button.setAttribute("aria-pressed", String(chosen.has(Number(button.dataset.screen))));
    }
    every.disabled = chosen.size === 0;
    const shown = stretches(path).filter((one) => chosen.has(one.code));
    const seconds = shown.reduce((sum, one) => sum + one.end - one.start, 0);
    const windows = [...document.querySelectorAll("[data-window]")];
    for (const window of windows) {
      const [from, to] = window.dataset.window.split(",").map(Number);
      window.hidden = !isOn(path, chosen, from, to);
    }
    const left = windows.filter((window) => !window.hidden).length;
    told.textContent = chosen.size
      ? `${seconds.toFixed(0)} s of ${path.end.toFixed(0)} s are on ${[...chosen].map((code) => path.screens[code]).join(", ")}` +
        (windows.length ? `; ${left} of ${windows.length} suspicious windows.` : ".")
      : "";
    onChange(chosen);
  };
  place.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button === every) chosen.clear();
    else {
      const code = Number(button.dataset.screen);
      if (!chosen.delete(code)) chosen.add(code);
    }
    show();
    if (button === every) place.querySelector("[data-screen]").focus();
  });
  every.disabled = true;
}
