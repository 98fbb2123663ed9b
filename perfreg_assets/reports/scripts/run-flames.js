// Differential flame graphs of suspicious windows: what slices, call stacks and allocations took now and usually.
import { embedded } from "./dom.js";
import { treeChart, flameLayout, hierarchyOf, readColours, treeOf } from "./trees.js";

export function drawFlames() {
  const { names, flames } = embedded("flame-data");
  readColours();
  const charts = [...document.querySelectorAll("[data-flame]")].map((canvas) => {
    const flame = flames[canvas.dataset.flame];
    const output = document.getElementById(canvas.getAttribute("aria-describedby"));
    const made = treeChart(canvas, output, flameLayout, { unit: flame.unit, per: "", of: "all", what: flame.what });
    // Nothing is laid out or drawn where nothing is shown: a window that is folded up has no width yet.
    const draw = () => {
      if (!canvas.clientWidth) return;
      if (made.root) made.draw();
      else made.show(hierarchyOf(treeOf(flame, names)));
      if (document.body.dataset.flames !== "drawn") performance.mark("flames-drawn");
      document.body.dataset.flames = "drawn";
    };
    canvas.closest("details").addEventListener("toggle", draw);
    canvas.parentElement
      .querySelector("[data-whole]")
      .addEventListener("click", () => made.root && made.zoom(made.root));
    draw();
    return draw;
  });
  const redraw = () => charts.forEach((draw) => draw());
  let waiting = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(redraw);
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    redraw();
  });
}
