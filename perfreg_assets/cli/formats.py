"""Verdicts on runs as systems of continuous integration show them: a comment, annotations, JUnit's XML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perfreg_assets.cli.markup import BAD, NOT_JUDGED, Case, annotation, axes_told, cell, counted, junit, sentence, sign
from perfreg_assets.run import RUN_LEVEL

Rows = Sequence[Mapping[str, Any]]


def verdicts_markdown(rows: Rows) -> str:
    """A comment for a pull request: what came of it in a sentence, and a table of the runs."""
    runs = _runs(rows)
    lines = [f"### perfreg: {_summary(runs)}", ""]
    if runs:
        lines += ["| | run | version | state | axes | why |", "|--|--|--|--|--|--|"]
        lines += [
            f"| {sign(row['state'])} | {cell(row['run_id'])} | {cell(row['version_name'])} "
            f"| {row['state']} | {cell(axes_told(row['axes']))} | {cell(row['explanation'])} |"
            for row in worst_first(runs)
        ]
    return "\n".join(lines) + "\n"


def verdicts_github(rows: Rows) -> str:
    """GitHub's workflow commands: an error per anomalous run, a warning for runs that could not be judged."""
    runs = _runs(rows)
    lines = annotated([(f"{row['run_id']} of {row['version_name']}", row) for row in runs])
    lines.append(annotation("notice", "perfreg", _summary(runs)))
    return "\n".join(lines) + "\n"


def verdicts_junit(rows: Rows) -> str:
    """A test suite per version, a test case per run and series: anomalous ones fail, those not judged are skipped."""
    suites: dict[tuple[str, str], list[Case]] = {}
    for row in rows:
        app, version_name = str(row["app"]), str(row["version_name"])
        series = "the whole run" if row["series"] == RUN_LEVEL else row["series"]
        suites.setdefault((app, version_name), []).append(
            Case(f"{app}.{version_name}.{row['run_id']}", series, row["state"], sentence(row))
        )
    return junit((f"{app} {version_name}", cases) for (app, version_name), cases in suites.items())


FORMATS: dict[str, Callable[[Rows], str]] = {
    "markdown": verdicts_markdown,
    "github": verdicts_github,
    "junit": verdicts_junit,
}
"""By name: what `perfreg verdicts --format` writes of its rows."""


def worst_first(rows: Rows) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: row["state"] not in BAD)


def annotated(named: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """An error for each anomalous one, a warning for each that could not be judged, by what each is called."""
    kinds = {**dict.fromkeys(BAD, "error"), **dict.fromkeys(NOT_JUDGED, "warning")}
    return [
        annotation(kinds[row["state"]], f"perfreg: {name} is {row['state']}", sentence(row))
        for name, row in named
        if row["state"] in kinds
    ]


def _runs(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["series"] == RUN_LEVEL]


def _summary(runs: Rows) -> str:
    return counted([row["state"] for row in runs], "run")
