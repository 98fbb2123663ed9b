// The page of a version: what every page does, and reviews of its alarms.
import "./page.js";
import "./triage.js";
