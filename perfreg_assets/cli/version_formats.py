"""Verdicts on versions, each above its runs, as systems of continuous integration show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perfreg_assets.cli.formats import annotated, version_names, worst_first
from perfreg_assets.cli.markup import BAD, Case, annotation, axes_told, cell, counted, junit, link, sentence, sign
from perfreg_assets.reports.links import run_page, version_page
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.warehouse.version_verdicts import WHOLE

Row = Mapping[str, Any]
Named = tuple[str, str]
"""An app and the name of one of its versions."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of some versions.

    Attributes:
        versions: rows of marts.version_verdicts, those of a version together.
        runs: rows of marts.verdicts, of which only those of whole runs are shown, with `axes`.
        pictures: of a version the picture's address and what it shows.
        reports_url: where others see the pages; None: nowhere that is known.
        drifts: rows of marts.drifts: slow changes, which are told and decide nothing.
        grown: of a version what grew in several of its runs, a line each.
        worth: of an app what its normal verdicts would have found, a sentence each.
    """

    versions: Sequence[Row]
    runs: Sequence[Row]
    pictures: Mapping[Named, tuple[str, str]] = field(default_factory=dict)
    reports_url: str | None = None
    drifts: Sequence[Row] = ()
    grown: Mapping[Named, Sequence[str]] = field(default_factory=dict)
    worth: Sequence[str] = ()

    @property
    def whole(self) -> list[Row]:
        return worst_first([row for row in self.versions if row["axis"] == WHOLE])

    def axes_of(self, whole: Row) -> dict[str, str]:
        return {
            row["axis"]: row["state"] for row in self.versions if named(row) == named(whole) and row["axis"] != WHOLE
        }

    def runs_of(self, whole: Row) -> list[Row]:
        return worst_first([row for row in self.runs if named(row) == named(whole) and row["series"] == RUN_LEVEL])

    def page_of(self, whole: Row) -> str | None:
        """A version of which nothing was taken in has no page."""
        return None if whole["state"] == "quarantined" else self.address(version_page(*named(whole)))

    def address(self, page: str) -> str | None:
        return None if self.reports_url is None else f"{self.reports_url.rstrip('/')}/{page}"


def named(row: Row) -> Named:
    return row["app"], row["version_name"]


def drift_told(drift: Row) -> str:
    """A row of marts.drifts in a sentence that says where."""
    return f"{drift['app']} on {drift['device'] or 'a device not named'}: {drift['explanation']}"


def versions_markdown(shown: Shown) -> str:
    """A comment: the answer, what grew in several runs of a version, one table with each version above its runs, and
    the worst series of anomalous ones."""
    lines = [f"### perfreg: {_answer(shown)}", ""]
    if grown := [line for whole in shown.whole for line in shown.grown.get(named(whole), ())]:
        lines += ["What grew:", "", *(f"* {cell(line)}" for line in grown), ""]
    if shown.whole:
        lines += ["| | version and its runs | state | axes | why |", "|--|--|--|--|--|"]
    for whole in shown.whole:
        name = link(f"**{cell(whole['version_name'])}**", shown.page_of(whole))
        lines.append(_table_row(whole, f"{name} of {cell(whole['app'])}", shown.axes_of(whole)))
        for run in shown.runs_of(whole):
            page = shown.address(run_page(run["run_id"]))
            lines.append(_table_row(run, f"↳ {link(cell(run['run_id']), page)}", run["axes"]))
    for whole in shown.whole:
        if picture := shown.pictures.get(named(whole)):
            address, caption = picture
            lines += ["", f"![{cell(caption)}](<{address}>)"]
    if shown.drifts:
        lines += ["", "Slow changes, which raise no alarm by themselves:", ""]
        lines += [f"* {cell(drift_told(one))}" for one in shown.drifts]
    for told in shown.worth:
        lines += ["", f"W{cell(told[1:])}."]
    return "\n".join(lines) + "\n"


def versions_github(shown: Shown) -> str:
    """An error per anomalous version with its axes, and per such axis of one that is not as a whole; a warning per
    version that could not be judged."""
    called = version_names(shown.versions)
    named_rows: list[tuple[str, Row]] = [
        (called(whole), {**whole, "explanation": _with_axes(shown, whole)}) for whole in shown.whole
    ]
    bad = {named(whole) for whole in shown.whole if whole["state"] in BAD}
    named_rows += [
        (f"{row['axis']} of {called(row)}", row)
        for row in shown.versions
        if row["axis"] != WHOLE and row["state"] in BAD and named(row) not in bad
    ]
    lines = annotated(named_rows)
    lines += [annotation("notice", f"{one['app']}: slow change", drift_told(one)) for one in shown.drifts]
    lines.append(annotation("notice", "perfreg", _summary(shown)))
    return "\n".join(lines) + "\n"


def versions_junit(shown: Shown) -> str:
    """A test suite per version, a test case for it as a whole and one per axis; those not judged are skipped."""
    suites: dict[Named, list[Case]] = {}
    for row in shown.versions:
        app, version_name = named(row)
        name = "the version as a whole" if row["axis"] == WHOLE else row["axis"]
        suites.setdefault((app, version_name), []).append(
            Case(f"{app}.{version_name}", name, row["state"], sentence(row))
        )
    return junit((f"{app} {version_name}", cases) for (app, version_name), cases in suites.items())


VERSION_FORMATS: dict[str, Callable[[Shown], str]] = {
    "markdown": versions_markdown,
    "github": versions_github,
    "junit": versions_junit,
}
"""By name, the names of `formats.FORMATS`: what `perfreg verdicts --by version --format` writes."""


def _table_row(row: Row, name: str, axes: Mapping[str, str] | None) -> str:
    return f"| {sign(row['state'])} | {name} | {row['state']} | {cell(axes_told(axes))} | {cell(row['explanation'])} |"


def _answer(shown: Shown) -> str:
    """Of one version its state; of several how many are in which."""
    if len(shown.whole) != 1:
        return _summary(shown)
    whole = shown.whole[0]
    worse = _worse(shown, whole)
    return f"{cell(whole['version_name'])} is {whole['state']}{f' ({worse})' if worse else ''}"


def _worse(shown: Shown, whole: Row) -> str:
    return ", ".join(axis for axis, state in shown.axes_of(whole).items() if state in BAD)


def _with_axes(shown: Shown, whole: Row) -> str:
    worse = _worse(shown, whole)
    return f"{worse}: {sentence(whole)}" if worse else sentence(whole)


def _summary(shown: Shown) -> str:
    return counted([row["state"] for row in shown.whole], "version")
