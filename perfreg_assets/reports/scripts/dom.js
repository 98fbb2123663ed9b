// Small helpers around elements.
export const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null));
  return element;
};

// Names come from apps and testers, in any script and direction.
export const name = (text) => make("bdi", {}, text ?? "–");

export const embedded = (id) => JSON.parse(document.getElementById(id).textContent);

// Plotly reads a few tags in its texts; names from an app are never markup.
export const escapeText = (text) =>
  String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// What tests and benchmarks wait for.
export function ready(mark = "charts-drawn") {
  if (document.body.dataset.ready) return;
  document.body.dataset.ready = "yes";
  performance.mark(mark);
}
