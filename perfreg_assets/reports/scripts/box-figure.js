// The box plot of the history's distances, with this run's.
import { layout } from "./theme.js";

export function boxFigure(s, t) {
  const b = s.box;
  const alarm = s.state === "anomalous";
  const axis = { gridcolor: t.line, linecolor: t.line, zeroline: false };
  const traces = [
    {
      type: "box",
      x: ["history"],
      q1: [b.q1],
      median: [b.median],
      q3: [b.q3],
      lowerfence: [b.low],
      upperfence: [b.high],
      fillcolor: t.band,
      line: { color: t.history, width: 1.2 },
      width: 0.5,
      hoverinfo: "skip",
      name: "",
    },
    {
      x: b.history.map(() => "history"),
      y: b.history,
      mode: "markers",
      marker: { color: t.history, size: 4, opacity: 0.7 },
      hovertemplate: "history run: %{y:,.4~r}<extra></extra>",
    },
    {
      x: ["history"],
      y: [b.distance],
      mode: "markers",
      marker: { color: alarm ? t.alert : t.run, size: 11, symbol: "diamond" },
      hovertemplate: "this run: %{y:,.4~r}<extra></extra>",
    },
  ];
  const look = {
    ...layout(t),
    margin: { l: 48, r: 8, t: 24, b: 20 },
    hovermode: "closest",
    dragmode: false,
    title: { text: b.title, font: { size: 11, color: t.muted }, x: 0.02, y: 0.985, yanchor: "top" },
    xaxis: { visible: false, fixedrange: true },
    yaxis: { ...axis, fixedrange: true, rangemode: "tozero", nticks: 5 },
    shapes: [],
    annotations: [],
  };
  if (b.limit !== null) {
    look.shapes.push({
      type: "line",
      xref: "paper",
      x0: 0,
      x1: 1,
      y0: b.limit,
      y1: b.limit,
      line: { color: t.alert, width: 1, dash: "dash" },
    });
    look.annotations.push({
      xref: "paper",
      x: 1,
      y: b.limit,
      xanchor: "right",
      yanchor: "bottom",
      text: b.limit_name,
      showarrow: false,
      bgcolor: t.page,
      font: { size: 10, color: t.muted },
    });
  }
  return { traces, look };
}
