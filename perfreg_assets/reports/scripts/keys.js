// Single keys on pages that take reviews: j and k go through a list, c, r and a say what a run is, u undoes, ? tells them.
const dialog = document.querySelector("[data-keys]");
const areOn = () => !dialog || dialog.querySelector("[data-keys-on]").checked;
const STATUSES = { c: "confirmed", r: "rejected", a: "accepted" };

// `list`: the table whose rows are gone through, or null. `desk()`: what takes reviews (review.js), or nothing.
// `say(status, key, event)`: whether the key was for it. `ignored`: where keys are not single ones, besides fields.
export function byKeys({ list, desk, say, ignored = [] }) {
  const elsewhere = ["input", "select", "textarea", ...ignored].join(", ");
  const rows = () => [...list.tBodies[0].rows];
  const current = () => document.activeElement?.closest("tbody tr") ?? null;
  const row = () => rows().find((one) => one === current());
  function step(by) {
    const all = rows();
    const at = all.indexOf(current());
    const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
    next?.querySelector("a").focus();
  }
  function does(event) {
    if (event.key === "?" && dialog) {
      dialog.showModal();
      return true;
    }
    if (!areOn()) return false;
    if (list && (event.key === "j" || event.key === "k")) {
      step(event.key === "j" ? 1 : -1);
      return true;
    }
    if (event.key === "u" && desk()) {
      desk().undo();
      return true;
    }
    return Object.hasOwn(STATUSES, event.key) && say(STATUSES[event.key], event.key, event);
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog?.open || desk()?.isAsking()) return;
    if (!event.target.closest(elsewhere) && does(event)) event.preventDefault();
  });
  const opener = document.querySelector("[data-keys-button]");
  if (opener) {
    opener.hidden = false;
    opener.addEventListener("click", () => dialog.showModal());
  }
  return { rows, row };
}
