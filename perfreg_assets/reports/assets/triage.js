// What a person says of an alarm: the command for it, by key or button, to copy. The pages themselves change nothing.
"use strict";
(() => {
  const list = document.querySelector("[data-runs]");
  const said = document.querySelector("[data-said]");
  if (!said) return;
  const keys = document.querySelector("[data-keys]");
  const isOn = () => !keys || keys.querySelector("[data-keys-on]").checked;
  const facts = list && JSON.parse(document.getElementById("index-data").textContent);
  const quoted = (text) => /^[A-Za-z0-9._-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;

  async function tell(command, effect) {
    const shown = Object.assign(document.createElement("code"), { textContent: command });
    said.replaceChildren(shown, ` ${effect}`);
    said.hidden = false;
    try {
      await navigator.clipboard.writeText(command);
      said.append(" Copied.");
    } catch { /* not allowed here: it stands there, and one click selects it */
      said.append(" Copy it from here.");
    }
  }

  const rows = () => [...list.tBodies[0].rows];
  const current = () => document.activeElement?.closest("[data-runs] tbody tr");
  function step(by) {
    const all = rows(), at = all.indexOf(current());
    const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
    next?.querySelector("a").focus();
  }
  function sayOf(key) {
    if (!list) {
      const command = document.querySelector(`[data-command="${key}"]`);
      if (command) tell(command.textContent, command.closest("div").querySelector("dd").textContent);
      return;
    }
    const status = Object.keys(facts.effects).find((one) => one[0] === key), row = current();
    if (row) tell(`perfreg review ${quoted(row.dataset.run)} --status ${status} --note why`, facts.effects[status]);
    else { said.textContent = "Choose a run first: j and k go through the list."; said.hidden = false; }
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys?.open) return;
    if (event.target.closest("input, select, textarea, [data-chart], canvas")) return;
    if (event.key === "?" && keys) { event.preventDefault(); keys.showModal(); return; }
    if (!isOn()) return;
    if (list && (event.key === "j" || event.key === "k")) { event.preventDefault(); step(event.key === "j" ? 1 : -1); }
    else if (["c", "r", "a"].includes(event.key) && (list || event.target.closest(".triage"))) { event.preventDefault(); sayOf(event.key); }
  });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => sayOf(button.closest("dt").querySelector("[data-command]").dataset.command));
  }
  const opener = document.querySelector("[data-keys-button]");
  if (opener) { opener.hidden = false; opener.addEventListener("click", () => keys.showModal()); }
})();
