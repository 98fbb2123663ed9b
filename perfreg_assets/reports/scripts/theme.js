// Colours of the style sheet for charts, and what all charts have in common.
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = window.matchMedia("(prefers-color-scheme: dark)");
export const coarse = window.matchMedia("(pointer: coarse)").matches;
export const onThemeChange = (act) => dark.addEventListener("change", act);

export const theme = () => ({
  text: css("--text"),
  muted: css("--muted"),
  line: css("--line"),
  surface: css("--surface"),
  page: css("--page"),
  run: css("--run"),
  history: css("--history"),
  band: css("--band"),
  alert: css("--alert"),
  alertRgb: css("--alert-rgb"),
  font: css("--font"),
  screens: ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"].map(css),
});

export const config = {
  displaylogo: false,
  responsive: true,
  displayModeBar: false,
  doubleClick: "reset",
  showTips: false,
  scrollZoom: false,
  plotlyServerURL: "",
};

export const layout = (t) => ({
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  autosize: true,
  showlegend: false,
  font: { family: t.font, size: 12, color: t.muted },
  hoverlabel: { bgcolor: t.surface, bordercolor: t.line, font: { family: t.font, size: 12, color: t.text } },
  dragmode: coarse ? false : "zoom",
});
