// What omega.js and triage.js, which are classic scripts of their own, find under one name.
import "./page.js";
import { isServed, runs, versions } from "./lists.js";
import { coarse, config, layout, onThemeChange, theme } from "./theme.js";

window.perfreg = { theme, config, layout, onThemeChange, coarse, lists: { runs, versions, isServed } };
