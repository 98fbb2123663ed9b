"""What `perfreg compare --format json` gives as a comment, annotations or JUnit's XML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perfreg_assets.cli.markup import Case, annotation, cell, junit, sign
from perfreg_assets.reports.grown_words import GROWN_WORDS

Told = Mapping[str, Any]
_GROWN_SHOWN = 5
_KINDS = {"anomalous": "error", "not_enough_runs": "warning"}


def comparison_markdown(told: Told) -> str:
    """A comment for a pull request: the answer first, then a table of the judged series."""
    lines = [
        f"### perfreg: {cell(_title(told))}",
        "",
        f"{sign(told['verdict'])} {cell(told['explanation'])}",
        "",
        "| series | unit | A | B | difference | 95 % interval | p | would show | state |",
        "|--|--|--:|--:|--:|--:|--:|--:|--|",
    ]
    for row in told["series"]:
        if row["is_judged"]:
            p_value = "–" if row["p_value"] is None else f"{row['p_value']:.2g}"
            lines.append(
                f"| {cell(row['series'])} | {cell(row['unit'])} | {row['mean_a']:.4g} | {row['mean_b']:.4g} "
                f"| {row['difference']:+.4g} | {_interval(row)} | {p_value} | {_would_show(row)} | {row['state']} |"
            )
    for source in told["sources"]:
        words, rows = GROWN_WORDS[source["source"]], told[source["source"]][:_GROWN_SHOWN]
        if rows:
            grown = [f"{cell(row.get('name') or row['thread'])} {row['difference']:+.4f}" for row in rows]
            lines += ["", f"{words.title}, {words.unit}: {', '.join(grown)}"]
        elif source["state"] != "compared":
            lines += ["", f"{words.title}: not compared, {cell(source['reason'])}"]
    return "\n".join(lines) + "\n"


def comparison_github(told: Told) -> str:
    """One annotation: an error when B is worse, a warning without a verdict, a notice otherwise."""
    kind = _KINDS.get(told["verdict"], "notice")
    return annotation(kind, f"perfreg: {_title(told)} is {told['verdict']}", told["explanation"]) + "\n"


def comparison_junit(told: Told) -> str:
    """One test suite, a test case for the whole and one per judged series; without a verdict all are skipped."""
    group = _title(told)
    cases = [Case(group, "the whole comparison", told["verdict"], told["explanation"])]
    for row in told["series"]:
        if row["is_judged"]:
            change = f"{row['mean_a']:.4g} to {row['mean_b']:.4g} {row['unit']}, 95 % interval {_interval(row)}"
            cases.append(Case(group, row["series"], row["state"], change))
    return junit([(group, cases)])


COMPARISON_FORMATS: dict[str, Callable[[Told], str]] = {
    "markdown": comparison_markdown,
    "github": comparison_github,
    "junit": comparison_junit,
}
"""By name: what `perfreg compare --format` writes."""


def _title(told: Told) -> str:
    return f"{told['b']} beside {told['a']}"


def _would_show(row: Mapping[str, Any]) -> str:
    """The difference that eight of ten such comparisons would find."""
    return "–" if row["detectable"] is None else f"{row['detectable']:.4g}"


def _interval(row: Mapping[str, Any]) -> str:
    return "–" if row["low"] is None else f"{row['low']:+.4g} to {row['high']:+.4g}"
