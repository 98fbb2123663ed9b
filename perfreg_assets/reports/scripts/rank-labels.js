// The ranks of runs laid over a chart, each at the end of its line; where ends are near each other, one above the other.
const APART = 12; // px, of texts of 10 px

const isNear = (a, b, perPixel) => Math.abs(a.x - b.x) < APART * perPixel;

// `height`: of the plot, in px; `perPixel`: seconds, of the whole run.
export function rankLabels(traces, height, fromZero, perPixel, t) {
  const labels = [];
  for (const { x, y, meta } of traces) {
    const last = meta?.rank ? y.findLastIndex((v) => v !== null) : -1;
    if (last >= 0) labels.push({ x: x[last], y: y[last], rank: meta.rank });
  }
  if (!labels.length) return [];
  const known = traces.flatMap((trace) => trace.y).filter((v) => v !== null);
  const low = Math.min(...(fromZero ? [0] : []), ...known);
  const pixels = height / (Math.max(...known) - low || 1);
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((label, i) => {
    const below = labels.slice(0, i).filter((other) => isNear(label, other, perPixel));
    label.at = Math.max((label.y - low) * pixels, ...below.map((other) => other.at + APART));
  });
  // Nothing above the plot: then all of them lower.
  [...labels].reverse().forEach((label, i) => {
    const above = labels.slice(labels.length - i).filter((other) => isNear(label, other, perPixel));
    label.at = Math.min(label.at, height - APART, ...above.map((other) => other.at - APART));
  });
  return labels.map(({ x, y, rank, at }) => ({
    x,
    y,
    yshift: at - (y - low) * pixels,
    text: String(rank),
    showarrow: false,
    xanchor: "right",
    yanchor: "bottom",
    borderpad: 0,
    font: { size: 10, color: t.text },
  }));
}
