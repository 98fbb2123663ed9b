// What a person says of an alarm, by key or button: where `perfreg serve` takes it, in its dialog (review.js); else the
// command for it, to copy.
import { byKeys } from "./keys.js";
import { isServed } from "./lists.js";
import { tellReviewed } from "./reviewed.js";

const list = document.querySelector("[data-runs]");
const said = document.querySelector("[data-said]");
let keyed = null;
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
  desk = reviewing(said, (run, status, { listed }) => {
    const row = list && keyed.rows().find((one) => one.dataset.run === run);
    if (row) tellReviewed(row.querySelector(".notes"), listed);
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
    part.replaceChildren(
      ...Object.entries(state.words).flatMap(([status, word]) => [
        choice(part.dataset.triage, status, word, `${word}: ${part.dataset.triage}`),
        " ",
      ]),
    );
  }
  for (const part of document.querySelectorAll("[data-key-told]"))
    part.textContent = "Asks for name and note, and says before what it changes:";
  desk.follow(state);
  document.body.dataset.reviews = "yes";
}

// Asks where reviews are taken, else gives the command to copy.
function sayOf(status, key) {
  if (!list) {
    const command = document.querySelector(`[data-command="${key}"]`);
    if (desk) document.querySelector(`.triage [data-key="${key}"]`)?.click();
    else if (command) tell(command.textContent, command.closest("div").querySelector("dd").textContent);
    return;
  }
  const row = keyed.row();
  if (row && desk) desk.ask(row.dataset.run, status);
  else if (row) tell(`perfreg review ${quoted(row.dataset.run)} --status ${status} --note why`, facts.effects[status]);
  else {
    said.textContent = "Choose a run first: j and k go through the list.";
    said.hidden = false;
  }
}
function listen() {
  if (location.protocol !== "file:") begin();
  keyed = byKeys({
    list,
    desk: () => desk,
    ignored: ["[data-chart]", "canvas"],
    say(status, key, event) {
      if (!list && !event.target.closest(".triage")) return false;
      sayOf(status, key);
      return true;
    },
  });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    const command = button.closest("dt").querySelector("[data-command]");
    button.addEventListener("click", () => sayOf(command.dataset.status, command.dataset.command));
  }
}
if (said) listen();
