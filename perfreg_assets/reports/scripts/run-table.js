// The list of runs as a table: one page of it, with what each run's notes say.
import { make, name } from "./dom.js";
import { count, multiple, words } from "./format.js";
import { reviewed, tellReviewed } from "./reviewed.js";

const moment = (seconds) =>
  seconds === null ? "–" : `${new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;

export function runTable(table, facts, compareButton) {
  const { label, symbol, badge } = words(facts);
  const short = Object.fromEntries(facts.series.map(([key, , word]) => [key, word]));

  function axisCell(word, state) {
    if (!state) return make("td", { className: "ax" });
    const sign = make("i", { title: `${word}: ${label(state).toLowerCase()}` }, symbol(state));
    sign.setAttribute("role", "img");
    return make("td", { className: `ax ${state}` }, sign);
  }
  function notes(run) {
    const cell = make("td", { className: "notes" }, reviewed());
    if (run.problems) cell.append(`${run.problems} functional problem${run.problems === 1 ? "" : "s"}`);
    if (run.reason) {
      // Why it was not taken in or not judged, with what to do.
      const code = make("code", {}, run.reason);
      cell.append(run.problems ? "; " : "", code, make("small", {}, facts.reasons[run.reason] ?? ""));
    }
    tellReviewed(cell, run.review ? (facts.reviews[run.review] ?? run.review) : "");
    return cell;
  }
  function row(run) {
    const axes = new Map(
      run.axes.map((one) => {
        const at = one.lastIndexOf(".");
        return [one.slice(0, at), one.slice(at + 1)];
      }),
    );
    const link = make("a", { href: `runs/${run.page}.html` }, name(run.id));
    const line = make(
      "tr",
      {},
      make("td", {}, link, " ", compareButton("run", run.id, run.app, run.started)),
      make("td", {}, name(run.app ?? facts.unknown)),
      make("td", {}, name(run.version ?? facts.unknown)),
      make("td", {}, badge(run.state)),
      ...facts.axes.map(([axis, word]) => axisCell(word, axes.get(axis))),
      make("td", {}, run.flagged.map((series) => short[series] ?? series).join(", ")),
      make("td", { className: "num" }, run.ratio === null ? "" : `${multiple(run.ratio)}×`),
      make("td", {}, moment(run.started)),
      notes(run),
    );
    line.dataset.run = run.id;
    return line;
  }

  // One page of what fits.
  function show({ total, rows }, { all, isWhole, offset, limit }) {
    const held = table.contains(document.activeElement) && document.activeElement.closest("[data-run]")?.dataset.run;
    table.tBodies[0].replaceChildren(...rows.map(row));
    // Whoever goes through the list by keys stays where they were.
    if (held) table.querySelector(`[data-run="${CSS.escape(held)}"] a`)?.focus({ preventScroll: true });
    document.querySelector("[data-count]").textContent = isWhole
      ? `${count(total)} ${total === 1 ? "run" : "runs"}`
      : `${count(total)} of ${count(all)} runs`;
    document.querySelector("[data-none]").hidden = total > 0;
    const page = offset / limit + 1;
    const last = Math.max(1, Math.ceil(total / limit));
    const [back, on] = document.querySelectorAll("[data-step]");
    back.disabled = page <= 1;
    on.disabled = page >= last;
    document.querySelector("[data-pager]").hidden = last === 1 && page === 1;
    const until = Math.min(total, offset + limit);
    document.querySelector("[data-where]").textContent = total
      ? `${count(offset + 1)}–${count(until)} of ${count(total)}`
      : "";
  }
  function mark(order) {
    for (const head of table.querySelectorAll("th[data-sort]")) {
      if (head.dataset.sort === order.sort)
        head.setAttribute("aria-sort", order.ascending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
  }
  return { show, mark };
}
