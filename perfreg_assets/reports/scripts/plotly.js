// The chart library, 1.5 MB: fetched behind the first paint, once a chart comes near the screen. It keeps its own name in
// the page, the only one.
let loading = null;

export function loadPlotly(root) {
  loading ??= new Promise((done, failed) => {
    if (window.Plotly) {
      done(window.Plotly);
      return;
    }
    const script = document.createElement("script");
    script.src = `${root}assets/plotly-cartesian.min.js`;
    script.onload = () => done(window.Plotly);
    script.onerror = () => failed(new Error("assets/plotly-cartesian.min.js is missing beside this page"));
    document.head.append(script);
  });
  return loading;
}
