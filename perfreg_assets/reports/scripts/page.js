// What every page does: links follow the address that it was opened at.
const builtFor = document.body.dataset.server || "";
const served = location.protocol === "http:";

// Links to Perfetto name the address that the site was built for; a served page uses its own.
for (const link of document.querySelectorAll("a.perfetto, a.perfetto-remote")) {
  if (served && builtFor) link.href = link.getAttribute("href").replaceAll(builtFor, location.origin);
}
// Verdicts of another ω or detector are shown until the page is written anew, which takes a while where there are many.
async function sayWhatIsInForce({ writtenOmega: omega, writtenDetector: detector }) {
  const answer = await fetch("/in-force");
  if (!answer.ok) return; // another server than perfreg's has these files
  const now = await answer.json();
  if (now.omega === Number(omega) && now.detector === detector) return;
  const told = Object.assign(document.createElement("p"), {
    className: "detail",
    textContent:
      `Out of date, written again: these verdicts are of detector ${detector} at ω ${Number(omega)}; ` +
      `in force are those of ${now.detector} at ω ${now.omega}.`,
  });
  told.setAttribute("role", "status");
  document.getElementById("main").prepend(told);
}
if (served && document.body.dataset.writtenOmega) sayWhatIsInForce(document.body.dataset);

// What is no part of the site and only `perfreg serve` has.
for (const link of document.querySelectorAll("[data-served]")) {
  if (!served) continue;
  link.href = link.dataset.served;
  link.hidden = false;
}
const hint = document.querySelector("[data-perfetto-hint]");
if (hint && !served) {
  hint.append(
    "Opens once ",
    Object.assign(document.createElement("code"), { textContent: "perfreg serve" }),
    " is running.",
  );
  hint.hidden = false;
}
if (served && location.port !== "9001") {
  for (const link of document.querySelectorAll("a.perfetto-remote")) {
    link.title = "ui.perfetto.dev reads local traces from port 9001 only: start `perfreg serve --port 9001`";
    link.removeAttribute("href");
    link.setAttribute("aria-disabled", "true");
  }
}
