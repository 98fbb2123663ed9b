// Heat map of an app: the versions that ran last × series, the worst run of each on the scale that decides.
import { hashOf } from "./address.js";
import { make, name } from "./dom.js";
import { multiple, words } from "./format.js";

const step = (ratio) =>
  ratio === null
    ? "none"
    : ratio <= 1
      ? `b${Math.min(4, Math.floor((1 - ratio) * 5))}`
      : `a${Math.min(4, Math.floor((ratio - 1) / 0.25))}`;

export function heatMap(app, versions, series, facts, compareButton) {
  const { label, badge } = words(facts);
  const axes = [];
  for (const [, , , axis] of series) {
    if (axes.at(-1)?.[0] === axis) axes.at(-1)[1] += 1;
    else axes.push([axis, 1]);
  }
  function cell(version, key) {
    const found = version.cells[key];
    if (!found) return make("td", { className: "none" }, make("small", {}, "–"));
    const [ratio, anomalous, judged, lacking, state] = found;
    if (!judged) return make("td", { className: step(ratio) }, make("small", {}, state ? label(state) : "–"));
    const link = make(
      "a",
      { href: hashOf({ app, version: version.name, series: anomalous ? key : "" }) },
      ratio === null ? "–" : `${multiple(ratio)}×`,
      make("small", {}, anomalous ? `▲ ${anomalous} of ${judged}` : `none of ${judged}`),
      lacking ? make("small", {}, `◌ missing in ${lacking}`) : null,
    );
    return make("td", { className: step(ratio) }, link);
  }
  const line = (version) =>
    make(
      "tr",
      {},
      make(
        "th",
        { scope: "row", title: version.told ?? "" },
        make("a", { href: version.page }, name(version.name)),
        " ",
        version.state ? badge(version.state) : null,
        " ",
        compareButton("version", version.name, app, version.first),
      ),
      make(
        "td",
        { className: "runs" },
        make("a", { href: hashOf({ app, version: version.name }) }, String(version.runs)),
      ),
      ...series.map(([key]) => cell(version, key)),
    );
  const groups = axes.map(([axis, width]) => make("th", { scope: "colgroup", colSpan: width }, make("span", {}, axis)));
  return make(
    "table",
    { className: "heat" },
    make(
      "thead",
      {},
      make("tr", { className: "groups" }, make("td"), make("td"), ...groups),
      make(
        "tr",
        {},
        make("th", { scope: "col" }, make("span", { className: "visually-hidden" }, "Version")),
        make("th", { scope: "col" }, "Runs"),
        ...series.map(([key, , word]) => make("th", { scope: "col", title: key }, word)),
      ),
    ),
    make("tbody", {}, ...versions.map(line)),
  );
}
