// What a person says of an alarm, by key or button: where `perfreg serve` takes it, in its dialog (review.js); else the
// command for it, to copy.
import { isServed } from "./lists.js";

const list = document.querySelector("[data-runs]");
const said = document.querySelector("[data-said]");
const keys = document.querySelector("[data-keys]");
const isOn = () => !keys || keys.querySelector("[data-keys-on]").checked;
const facts = list && JSON.parse(document.getElementById("index-data").textContent);
const quoted = (text) => (/^[A-Za-z0-9._-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

async function tell(command, effect) {
  const shown = Object.assign(document.createElement("code"), { textContent: command });
  said.replaceChildren(shown, ` ${effect}`);
  said.hidden = false;
  try {
    await navigator.clipboard.writeText(command);
    said.append(" Copied.");
  } catch {
    /* not allowed here: it stands there, and one click selects it */
    said.append(" Copy it from here.");
  }
}

// Two runs, or two versions of an app, beside each other: a click chooses the first, one on another sets them side by side.
let first = null;
const mark = () => {
  for (const button of document.querySelectorAll("[data-compare]")) {
    const isFirst = first && button.dataset.compare === first.key;
    button.setAttribute("aria-pressed", String(Boolean(isFirst)));
  }
};
export function compareButton(kind, name, app, started) {
  const key = JSON.stringify([kind, app, name]);
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    className: "compare",
    textContent: "⇄",
    title: "Compare: choose two",
  });
  button.dataset.compare = key;
  button.setAttribute("aria-label", `Compare ${kind} ${name}`);
  button.setAttribute("aria-pressed", String(first?.key === key));
  button.addEventListener("click", () => {
    const chosen = { kind, name, app, started, key };
    if (first?.key === key) {
      first = null;
      said.hidden = true;
      mark();
      return;
    }
    if (!first || first.kind !== kind || first.app !== app) {
      first = chosen;
      said.textContent = `${name} is chosen: now choose another ${kind} of ${app ?? "the same app"} to set beside it.`;
      said.hidden = false;
      mark();
      return;
    }
    const [a, b] = [first, chosen].sort((x, y) => (x.started ?? 0) - (y.started ?? 0)); // the earlier one is A
    first = null;
    mark();
    const query = new URLSearchParams({ a: a.name, b: b.name, ...(app ? { app } : {}) });
    if (isServed()) location.assign(`compare?${query}`);
    else
      tell(
        [
          "perfreg compare",
          quoted(a.name),
          quoted(b.name),
          ...(app ? ["--app", quoted(app)] : []),
          "--html comparison.html",
        ].join(" "),
        "writes the page of their comparison; perfreg serve shows it at once.",
      );
  });
  return button;
}

// What takes reviews; null as long as nothing does.
let desk = null;
async function begin() {
  const { upkeep, reviewing, choice } = await import("./review.js");
  const state = await upkeep();
  if (!state) return;
  if (!state.may_change) {
    // The commands stay, and work; beside them stands how they become buttons.
    for (const part of document.querySelectorAll("[data-commands], span[data-triage]:not(:empty)"))
      part.append(` ${state.why_not}`);
    return;
  }
  desk = reviewing(said, (run, status, label) => {
    const row = list && rows().find((one) => one.dataset.run === run);
    if (!row) return;
    const notes = row.cells[row.cells.length - 1];
    const others = notes.textContent.split("; ").filter((one) => one.includes("functional problem"));
    notes.textContent = [status === "withdrawn" ? "" : label, ...others].filter(Boolean).join("; ");
  });
  for (const part of document.querySelectorAll("[data-commands]"))
    part.textContent = "What was said last counts, whatever was said before.";
  for (const part of document.querySelectorAll("dt:has([data-status])")) {
    const command = part.querySelector("[data-status]");
    const link = choice(part.closest("[data-triage]").dataset.triage, command.dataset.status, command.dataset.label);
    link.dataset.key = command.dataset.command;
    part.replaceChildren(link);
  }
  for (const part of document.querySelectorAll("span[data-triage]")) {
    const words = { confirmed: "Confirm", rejected: "False alarm", accepted: "Accept" };
    part.replaceChildren(
      ...Object.entries(words).flatMap(([status, word]) => [
        choice(part.dataset.triage, status, word, `${word}: ${part.dataset.triage}`),
        " ",
      ]),
    );
  }
  for (const part of document.querySelectorAll("[data-key-told]"))
    part.textContent = "Asks for name and note, and says before what it changes:";
  document.body.dataset.reviews = "yes";
}

const rows = () => [...list.tBodies[0].rows];
const current = () => document.activeElement?.closest("[data-runs] tbody tr");
function step(by) {
  const all = rows(),
    at = all.indexOf(current());
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  next?.querySelector("a").focus();
}
function sayOf(key) {
  if (desk && list) {
    const status = Object.keys(facts.effects).find((one) => one[0] === key),
      row = current();
    if (row) {
      desk.ask(row.dataset.run, status);
      return;
    }
  }
  if (desk && !list) {
    document.querySelector(`.triage [data-key="${key}"]`)?.click();
    return;
  }
  if (!list) {
    const command = document.querySelector(`[data-command="${key}"]`);
    if (command) tell(command.textContent, command.closest("div").querySelector("dd").textContent);
    return;
  }
  const status = Object.keys(facts.effects).find((one) => one[0] === key),
    row = current();
  if (row) tell(`perfreg review ${quoted(row.dataset.run)} --status ${status} --note why`, facts.effects[status]);
  else {
    said.textContent = "Choose a run first: j and k go through the list.";
    said.hidden = false;
  }
}
function listen() {
  if (location.protocol !== "file:") begin();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys?.open || desk?.isAsking()) return;
    if (event.target.closest("input, select, textarea, [data-chart], canvas")) return;
    if (event.key === "?" && keys) {
      event.preventDefault();
      keys.showModal();
      return;
    }
    if (!isOn()) return;
    if (list && (event.key === "j" || event.key === "k")) {
      event.preventDefault();
      step(event.key === "j" ? 1 : -1);
    } else if (event.key === "u" && desk) {
      event.preventDefault();
      desk.undo();
    } else if (["c", "r", "a"].includes(event.key) && (list || event.target.closest(".triage"))) {
      event.preventDefault();
      sayOf(event.key);
    }
  });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => sayOf(button.closest("dt").querySelector("[data-command]").dataset.command));
  }
  const opener = document.querySelector("[data-keys-button]");
  if (opener) {
    opener.hidden = false;
    opener.addEventListener("click", () => keys.showModal());
  }
}
if (said) listen();
