// Figures and states in words, as the templates have them.
import { make } from "./dom.js";

export const multiple = (ratio) =>
  ratio < 1.995
    ? ratio.toFixed(2)
    : ratio < 9.95
      ? ratio.toFixed(1)
      : ratio.toLocaleString("en", { maximumFractionDigits: 0 });

export const count = (number) => number.toLocaleString("en");

export const words = (facts) => {
  const label = (state) => (facts.states[state] ?? [state])[0];
  const symbol = (state) => (facts.states[state] ?? [state, "○"])[1];
  const badge = (state) => {
    const sign = make("span", {}, symbol(state));
    sign.setAttribute("aria-hidden", "true");
    return make("span", { className: `badge ${state}` }, sign, ` ${label(state)}`);
  };
  return { label, symbol, badge };
};
