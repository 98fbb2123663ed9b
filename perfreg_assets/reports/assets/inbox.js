// The inbox by keys: j and k go through the alarms, c, r and a say what one is, u undoes. Without it there are links and forms.
import { reviewing } from "./review.js";

const table = document.querySelector("[data-inbox]");
const keys = document.querySelector("[data-keys]");
const isOn = () => !keys || keys.querySelector("[data-keys-on]").checked;
const desk = reviewing(document.querySelector("[data-said]"), (run, status, label) => {
  const row = table && [...table.tBodies[0].rows].find((one) => one.dataset.run === run);
  if (!row) return;
  row.classList.toggle("quiet", status !== "withdrawn");
  const choices = row.querySelector(".choices");
  let told = row.querySelector(".is-said");
  if (!told) {
    told = Object.assign(document.createElement("span"), { className: "is-said" });
    choices.append(told);
  }
  told.textContent = status === "withdrawn" ? "" : label;
  for (const link of choices.querySelectorAll("a")) link.hidden = status !== "withdrawn";
});

const rows = () => [...table.tBodies[0].rows];
const current = () => document.activeElement?.closest("[data-inbox] tbody tr");
function step(by) {
  const all = rows();
  const at = all.indexOf(current());
  all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))]?.querySelector("a").focus();
}
const STATUS = { c: "confirmed", r: "rejected", a: "accepted" };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keys?.open || desk.isAsking()) return;
  if (event.target.closest("input, select, textarea")) return;
  if (event.key === "?" && keys) {
    event.preventDefault();
    keys.showModal();
    return;
  }
  if (!isOn()) return;
  if (event.key === "u") {
    event.preventDefault();
    desk.undo();
  } else if (table && (event.key === "j" || event.key === "k")) {
    event.preventDefault();
    step(event.key === "j" ? 1 : -1);
  } else if (table && STATUS[event.key] && current()) {
    event.preventDefault();
    desk.ask(current().dataset.run, STATUS[event.key]);
  }
});
for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;
document.querySelector("[data-keys-button]")?.addEventListener("click", () => keys.showModal());
document.body.dataset.ready = "yes";
