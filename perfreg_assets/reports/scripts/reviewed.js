// What a person said of a run: the first of the notes in its row; what else stands there follows behind a semicolon.
import { make } from "./dom.js";

export const reviewed = () => make("span", { className: "reviewed" });

export function tellReviewed(notes, label) {
  const said = notes.querySelector(".reviewed");
  said.textContent = label && said.nextSibling ? `${label}; ` : label;
}
