// The pages' scripts: modules without globals but the browser's and the two bundled libraries'.
import js from "@eslint/js";

const browser = Object.fromEntries(
  [
    ...["window", "document", "location", "history", "navigator", "performance", "console", "CSS", "Option"],
    ...["fetch", "setTimeout", "clearTimeout", "requestAnimationFrame", "cancelAnimationFrame", "getComputedStyle"],
    ...["IntersectionObserver", "URLSearchParams", "URL", "FormData", "sessionStorage"],
  ].map((name) => [name, "readonly"]),
);
const rules = {
  ...js.configs.recommended.rules,
  "no-var": "error",
  "prefer-const": "error",
  eqeqeq: "error",
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-shadow": ["error", { builtinGlobals: false }],
  "no-restricted-properties": ["error", { property: "innerHTML", message: "Names from apps are never markup." }],
};

export default [
  {
    files: ["perfreg_assets/reports/scripts/*.js", "perfreg_assets/reports/assets/review.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: { ...browser, d3: "readonly" } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules,
  },
  { ignores: ["node_modules", ".venv", "**/*.min.js", "perfreg_assets/_bundled", "tests/soak/site"] },
];
