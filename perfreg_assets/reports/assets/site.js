// What all pages share: theme colours for charts, and links that follow the address the page was opened at.
"use strict";
window.perfreg = (() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const coarse = window.matchMedia("(pointer: coarse)").matches;

  // Links to Perfetto name the address that the site was built for; a served page uses its own.
  const builtFor = document.body.dataset.server || "";
  const served = location.protocol === "http:";
  for (const link of document.querySelectorAll("a.perfetto, a.perfetto-remote")) {
    if (served && builtFor) link.href = link.getAttribute("href").replaceAll(builtFor, location.origin);
  }
  // What is no part of the site and only `perfreg serve` has.
  for (const link of document.querySelectorAll("[data-served]")) {
    if (!served) continue;
    link.href = link.dataset.served;
    link.hidden = false;
  }
  const hint = document.querySelector("[data-perfetto-hint]");
  if (hint && !served) {
    hint.append("Opens once ", Object.assign(document.createElement("code"), { textContent: "perfreg serve" }), " is running.");
    hint.hidden = false;
  }
  if (served && location.port !== "9001") {
    for (const link of document.querySelectorAll("a.perfetto-remote")) {
      link.title = "ui.perfetto.dev reads local traces from port 9001 only: start `perfreg serve --port 9001`";
      link.removeAttribute("href");
      link.setAttribute("aria-disabled", "true");
    }
  }

  const theme = () => ({
    text: css("--text"), muted: css("--muted"), line: css("--line"), surface: css("--surface"), page: css("--page"),
    run: css("--run"), history: css("--history"), band: css("--band"), alert: css("--alert"), alertRgb: css("--alert-rgb"),
    font: css("--font"),
    screens: ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"].map(css),
  });
  const config = {
    displaylogo: false, responsive: true, displayModeBar: false, doubleClick: "reset", showTips: false,
    scrollZoom: false, plotlyServerURL: "",
  };
  const layout = (t) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true, showlegend: false,
    font: { family: t.font, size: 12, color: t.muted },
    hoverlabel: { bgcolor: t.surface, bordercolor: t.line, font: { family: t.font, size: 12, color: t.text } },
    dragmode: coarse ? false : "zoom",
  });
  return { theme, config, layout, onThemeChange: (f) => dark.addEventListener("change", f), coarse };
})();
