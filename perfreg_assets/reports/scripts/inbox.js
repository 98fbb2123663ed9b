// The inbox by keys, and with the dialog that says what a review changes. Without it there are links and forms.
import { byKeys } from "./keys.js";

const table = document.querySelector("[data-inbox]");
let desk = null;
const { row } = byKeys({
  list: table,
  desk: () => desk,
  say(status) {
    const chosen = table && row();
    if (!desk || !chosen) return false;
    desk.ask(chosen.dataset.run, status);
    return true;
  },
});

function onSaid(run, status, { label }) {
  const told = table && [...table.tBodies[0].rows].find((one) => one.dataset.run === run);
  if (!told) return;
  told.classList.toggle("quiet", status !== "withdrawn");
  const choices = told.querySelector(".choices");
  let said = told.querySelector(".is-said");
  if (!said) {
    said = Object.assign(document.createElement("span"), { className: "is-said" });
    choices.append(said);
  }
  said.textContent = status === "withdrawn" ? "" : label;
  for (const link of choices.querySelectorAll("a")) link.hidden = status !== "withdrawn";
}

async function begin() {
  const { reviewing } = await import("./review.js");
  desk = reviewing(document.querySelector("[data-said]"), onSaid);
  for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;
  document.body.dataset.ready = "yes";
}
begin();
