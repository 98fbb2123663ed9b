"""Verdicts on runs as systems of continuous integration show them: a comment, annotations, JUnit's XML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perfreg_assets.cli.markup import (
    BAD,
    Case,
    annotation,
    axes_told,
    cell,
    counted,
    is_judged,
    junit,
    sentence,
    sign,
)
from perfreg_assets.run import RUN_LEVEL

Rows = Sequence[Mapping[str, Any]]


def verdicts_markdown(rows: Rows, versions: Rows) -> str:
    """A comment for a pull request: what came of it in a sentence, and a table of the runs; above them versions of
    which these say nothing."""
    runs, together, called = _runs(rows), _together(rows, versions), version_names(rows, versions)
    lines = [f"### perfreg: {_summary(runs, [(cell(called(row)), row['state']) for row, _ in together])}", ""]
    if runs or together:
        lines += ["| | run | version | state | axes | why |", "|--|--|--|--|--|--|"]
        lines += [
            f"| {sign(row['state'])} | {_TOGETHER} | {cell(called(row))} | {row['state']} "
            f"| {cell(axes_told(axes))} | {cell(row['explanation'])} |"
            for row, axes in together
        ]
        lines += [
            f"| {sign(row['state'])} | {cell(row['run_id'])} | {cell(called(row))} "
            f"| {row['state']} | {cell(axes_told(row['axes']))} | {cell(row['explanation'])} |"
            for row in worst_first(runs)
        ]
    return "\n".join(lines) + "\n"


def verdicts_github(rows: Rows, versions: Rows) -> str:
    """GitHub's workflow commands: an error per anomalous run, and per version that only its runs together show; a
    warning for what could not be judged."""
    runs, together, called = _runs(rows), _together(rows, versions), version_names(rows, versions)
    lines = annotated([(called(row), row) for row, _ in together])
    lines += annotated([(f"{row['run_id']} of {called(row)}", row) for row in runs])
    told = _summary(runs, [(called(row), row["state"]) for row, _ in together])
    lines.append(annotation("notice" if runs else "warning", "perfreg", told))
    return "\n".join(lines) + "\n"


def verdicts_junit(rows: Rows, versions: Rows) -> str:
    """A test suite per version, a test case per run and series: anomalous ones fail, those not judged are skipped. One
    more for a version of which its runs say nothing."""
    suites: dict[tuple[str, str], list[Case]] = {}
    for row, _ in _together(rows, versions):
        app, version_name = str(row["app"]), str(row["version_name"])
        case = Case(f"{app}.{version_name}", _TOGETHER, row["state"], sentence(row))
        suites.setdefault((app, version_name), []).append(case)
    for row in rows:
        app, version_name = str(row["app"]), str(row["version_name"])
        series = "the whole run" if row["series"] == RUN_LEVEL else row["series"]
        suites.setdefault((app, version_name), []).append(
            Case(f"{app}.{version_name}.{row['run_id']}", series, row["state"], sentence(row))
        )
    return junit((f"{app} {version_name}", cases) for (app, version_name), cases in suites.items())


FORMATS: dict[str, Callable[[Rows, Rows], str]] = {
    "markdown": verdicts_markdown,
    "github": verdicts_github,
    "junit": verdicts_junit,
}
"""By name: what `perfreg verdicts --format` writes of its runs, and of their versions where these decide the status."""

_TOGETHER = "its runs together"


def worst_first(rows: Rows) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: row["state"] not in BAD)


def version_names(*shown: Rows) -> Callable[[Mapping[str, Any]], str]:
    """What a row's version is called: by its name, and by its app's too where several are shown, as their versions may
    be called alike."""
    has_several = len({row["app"] for rows in shown for row in rows}) > 1

    def called(row: Mapping[str, Any]) -> str:
        return f"{row['version_name']} of {row['app']}" if has_several else str(row["version_name"])

    return called


def annotated(named: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """An error for each anomalous one, a warning for each that could not be judged, by what each is called."""
    return [
        annotation("error" if row["state"] in BAD else "warning", f"perfreg: {name} is {row['state']}", sentence(row))
        for name, row in named
        if row["state"] in BAD or not is_judged(row["state"])
    ]


def _runs(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["series"] == RUN_LEVEL]


def _together(rows: Rows, versions: Rows) -> list[tuple[Mapping[str, Any], dict[str, str]]]:
    """What the runs do not say, though the exit status stands for it: versions that are anomalous though none of their
    runs is, and versions without a run to show. Of each a row, of the whole where that is so, and its axes."""
    there = {(row["app"], row["version_name"]) for row in rows}
    alone = {(row["app"], row["version_name"]) for row in rows if row["state"] in BAD}
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in versions:
        found.setdefault((row["app"], row["version_name"]), []).append(row)
    told = []
    for name, (whole, *axes) in found.items():
        bad = [row for row in (whole, *axes) if row["state"] in BAD]
        if name not in alone and (bad or name not in there):
            told.append(((bad or [whole])[0], {row["axis"]: row["state"] for row in axes}))
    return told


def _summary(runs: Rows, together: Sequence[tuple[str, str]]) -> str:
    """`together`: name and state."""
    told = counted([row["state"] for row in runs], "run")
    return f"{told}, but together: {', '.join(f'{name} is {state}' for name, state in together)}" if together else told
