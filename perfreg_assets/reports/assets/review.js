// What `perfreg serve` takes: a review, asked for in a dialog that says before what it will change.
// Pages opened as files never load this: there the commands stand instead.
const site = new URL("..", import.meta.url);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const EVERY_MS = 1000;

// The answer's object; a refusal is an error with the server's sentence.
async function answer(path, options = {}) {
  let response;
  try {
    response = await fetch(new URL(path, site), {
      ...options,
      headers: { accept: "application/json" },
    });
  } catch {
    throw new Error("perfreg serve does not answer: is it still running?");
  }
  if (response.headers.get("content-type")?.startsWith("application/json")) {
    const found = await response.json();
    if (response.ok) return found;
    throw new Error(found.problem);
  }
  throw new Error((await response.text()).trim() || `The server answered ${response.status}.`);
}

// Whether anything can be changed from here, else why not; null from another web server.
export async function upkeep() {
  try {
    return await answer("upkeep");
  } catch {
    return null;
  }
}

function dialogOf() {
  const form = make("form", { method: "dialog", className: "saying" });
  const dialog = make("dialog", { className: "asking" }, form);
  dialog.setAttribute("aria-labelledby", "asking");
  document.body.append(dialog);
  return { dialog, form };
}

// `said`: the element that tells what was said. `onSaid(run, status, facts)`: after it was recorded, with what the server
// said of it: `label`, and `listed`, what lists of runs say of the run from then on.
export function reviewing(said, onSaid = () => {}) {
  const { dialog, form } = dialogOf();
  let watched = 0;
  let last = null;

  async function ask(run, status) {
    let facts;
    try {
      facts = await answer(`review?${new URLSearchParams({ run, status })}`);
    } catch (error) {
      show(run, error.message);
      return;
    }
    const name = make("input", {
      type: "text",
      name: "name",
      maxLength: 200,
      autocomplete: "name",
      value: sessionStorage.getItem("perfreg-name") ?? facts.name,
    });
    const note = make("textarea", { name: "note", rows: 3, maxLength: 2000 });
    const problem = make("p", { className: "said problem", hidden: true });
    problem.setAttribute("role", "alert");
    const send = make("button", { className: "button", textContent: facts.button });
    const leave = make("button", { type: "button", textContent: "Do not" });
    leave.addEventListener("click", () => dialog.close());
    form.replaceChildren(
      make("h2", { id: "asking" }, make("bdi", {}, run), `: ${facts.question}`),
      make("p", {}, facts.meaning),
      make("ul", { className: "told" }, ...facts.effects.map((one) => make("li", {}, one))),
      make("p", { className: "note" }, facts.now ? `In force: ${facts.now}.` : "No review of it is in force."),
      make("label", {}, "Your name", name),
      make("label", {}, "Why", note),
      problem,
      make("p", { className: "actions" }, send, leave),
    );
    form.onsubmit = async (event) => {
      event.preventDefault();
      send.disabled = true;
      problem.hidden = true;
      sessionStorage.setItem("perfreg-name", name.value);
      try {
        const fields = { run, status, seen: facts.seen, name: name.value, note: note.value };
        const { asked } = await answer("review", { method: "POST", body: new URLSearchParams(fields) });
        dialog.close();
        last = { run, status };
        onSaid(run, status, facts);
        tell(run, status, facts.label);
        watch(asked);
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
        send.disabled = false;
      }
    };
    dialog.showModal();
    note.focus();
  }

  function show(run, text) {
    said.replaceChildren(make("bdi", {}, run), `: ${text}`);
    said.hidden = false;
  }

  function tell(run, status, label) {
    show(run, `${label}. `);
    if (status !== "withdrawn") {
      const undo = make("button", { type: "button", textContent: "Undo" });
      undo.addEventListener("click", () => ask(run, "withdrawn"));
      said.append(undo, " ");
    }
    said.append(make("span", { className: "progress" }));
  }

  // Tells how far that is which the change made due, until it is done.
  async function watch(number) {
    watched = number;
    while (watched === number) {
      const state = await upkeep();
      const line = said.querySelector(".progress");
      if (watched !== number || !line) return;
      if (state === null) {
        line.textContent = "Recorded; perfreg serve does not answer: this goes on when it is started again. ";
        await new Promise((later) => setTimeout(later, EVERY_MS));
        continue;
      }
      // One that was started since counts anew, and begins with what the one before had left.
      if (state.done >= Math.min(number, state.asked)) {
        line.textContent = state.problem
          ? `Recorded; not all that it made due could be computed: ${state.problem}`
          : "All that it changed is computed. ";
        if (!state.problem) {
          const again = make("button", { type: "button", textContent: "Load the page again" });
          again.addEventListener("click", () => location.reload());
          line.append(again);
        }
        return;
      }
      line.textContent = `Recorded; what it changes is being computed${state.told ? `: ${state.told}` : " …"}`;
      await new Promise((later) => setTimeout(later, EVERY_MS));
    }
  }

  // What somebody said before this page was opened, as long as it is being computed.
  function follow(state) {
    if (state.done >= state.asked) return;
    said.replaceChildren(make("span", { className: "progress" }));
    said.hidden = false;
    for (let part = said.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    watch(state.asked);
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-review]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    ask(link.dataset.review, link.dataset.status);
  });
  const undo = () => (last && last.status !== "withdrawn" ? ask(last.run, "withdrawn") : undefined);
  return { ask, undo, follow, isAsking: () => dialog.open };
}

// A link that asks; without this script it leads to the page with the form. `told`: its name where many say the same.
export function choice(run, status, label, told = label) {
  const link = make("a", {
    className: "choice",
    href: new URL(`review?${new URLSearchParams({ run, status })}`, site).href,
    textContent: label,
  });
  link.setAttribute("aria-label", told);
  link.dataset.review = run;
  link.dataset.status = status;
  return link;
}
