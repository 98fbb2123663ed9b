// What every page does: links follow the address that it was opened at.
const builtFor = document.body.dataset.server || "";
const served = location.protocol === "http:";

// Links to Perfetto name the address that the site was built for; a served page uses its own.
for (const link of document.querySelectorAll("a.perfetto, a.perfetto-remote")) {
  if (served && builtFor) link.href = link.getAttribute("href").replaceAll(builtFor, location.origin);
}
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
