"""Commands that read the warehouse: verdicts, SQL, the dictionary, exports."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.catalogue import axis_of
from perfreg_assets.cli.answer import FINER_GRID, answer, counted
from perfreg_assets.cli.formats import FORMATS
from perfreg_assets.cli.given import ANY_TEXT, PATTERN
from perfreg_assets.cli.markup import axes_told
from perfreg_assets.cli.omega import OMEGA
from perfreg_assets.cli.root import command
from perfreg_assets.detection import detector_names
from perfreg_assets.how_many import how_many
from perfreg_assets.reasons import Reason
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.warehouse.connection import Reader

SOME_ANOMALOUS = 3
NOTHING_JUDGED = 4
VERDICT_COLUMNS = (
    *("run_id", "version_name", "axis", "series", "state", "distance", "threshold", "excess_ratio", "explanation"),
)


_REASONS_TOLD = 3
_NAMED = 5
VERSION_COLUMNS = (
    *("app", "version_name", "axis", "state", "run_count", "judged_count", "score", "threshold", "explanation"),
)


@command("verdicts", example="perfreg verdicts --app com.rig.notes --app-version 1.5.0 --format json")
@click.option("--app", type=PATTERN, help="Only this application id.")
@click.option("--app-version", type=PATTERN, help="Only this version name.")
@click.option("--omega", type=OMEGA, help="At this ω instead of the current one; nothing is stored.")
@click.option("--detector", type=click.Choice(detector_names()), help="Instead of the current one.")
@click.option(
    "--by",
    type=click.Choice(["run", "version"]),
    default="run",
    show_default=True,
    help="A row per run, or per version.",
)
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv", *FORMATS]), default="table", show_default=True
)
@click.option(
    "--pictures",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --by version --format markdown: put a picture of each anomalous version's worst series there.",
)
def verdicts(
    settings: Settings,
    app: str | None,
    app_version: str | None,
    omega: float | None,
    detector: str | None,
    by: str,
    form: str,
    pictures: Path | None,
) -> None:
    """Shows verdicts; as a table the versions first, their runs combined. Exit status: 0 something was judged and
    nothing is anomalous, 3 something shown is, 4 nothing could be judged, other: an error. It is of all that is shown:
    of one version with --app-version. How many runs (and versions, where the status goes by them) are in which state is
    said on stderr, and which versions were not judged though earlier ones were."""
    from perfreg_assets.catalogue import judged_names
    from perfreg_assets.cli.normal_worth import worth_told
    from perfreg_assets.cli.version_formats import VERSION_FORMATS, Shown, drift_told
    from perfreg_assets.cli.version_pictures import write_pictures
    from perfreg_assets.warehouse import drifts, runs, settings_table, version_verdicts
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_selection

    if pictures is not None and (by, form, omega, detector) != ("version", "markdown", None, None):
        raise ValueError(
            "--pictures shows the verdicts in force in a comment: "
            "give --by version --format markdown, and neither --omega nor --detector"
        )
    with Warehouse.of(settings).reading_caught_up() as reader:
        app, app_version = require_selection(reader, app, app_version)
        chosen: dict[str, Any] = {"app": app, "version_name": app_version, "omega": omega, "detector": detector}
        rows, versions = _verdict_rows(reader, **chosen), version_verdicts.listing(reader, **chosen)
        counting = [row for row in rows if row["is_counted"]]
        nameless = runs.nameless_count(reader)
        given = runs.versions_given(reader, [row["app"] for row in versions])
        drawn = {} if pictures is None else write_pictures(reader, pictures, versions, counting)
        grown = {}
        if (by, form, omega, detector) == ("version", "markdown", None, None):  # causes are of the verdicts in force
            grown = _grown(reader, versions)
        slow, worth = [], []
        if form == "table" or (by == "version" and form in FORMATS):  # the others do not show it, and it reads all runs
            judged = judged_names(settings_table.in_force(reader, settings).judged_series)
            slow = drifts.worth_telling(reader, {row["app"] for row in versions}, judged)
            worth = worth_told(reader, versions)
    if form in FORMATS and by == "version":
        shown = Shown(versions, counting, drawn, settings.reports_url, slow, grown, worth)
        sys.stdout.write(terminal.printable(VERSION_FORMATS[form](shown)))
    elif form in FORMATS:
        sys.stdout.write(terminal.printable(FORMATS[form](counting, versions)))
    elif by == "version" or form == "table":
        of_versions = [_by_its_side(row, "score") for row in versions] if form == "table" else versions
        terminal.show(of_versions, VERSION_COLUMNS if form == "table" or not versions else list(versions[0]), form)
    if by == "run" and form not in FORMATS:
        told = [_as_line(row) for row in rows] if form == "table" else rows
        terminal.show(told, VERDICT_COLUMNS if form == "table" or not rows else list(rows[0]), form)
    if form == "table":
        for one in slow:
            terminal.say(f"slow change, no alarm by itself: {drift_told(one)}")
        for sentence in worth:
            terminal.say(sentence)
    _note_states(rows, versions, by)
    _note_left_out(rows)
    _note_unjudged(versions, given)
    deciding = versions if by == "version" else [*counting, *versions]
    if any(row["is_anomalous"] for row in deciding):
        sys.exit(SOME_ANOMALOUS)
    if all(row["is_anomalous"] is None for row in deciding):
        terminal.note(_nothing_judged(versions, nameless))
        sys.exit(NOTHING_JUDGED)


def _note_states(rows: Sequence[Mapping[str, Any]], versions: Sequence[Mapping[str, Any]], by: str) -> None:
    """How many are in which state, on stderr; and what the exit status goes by where the rows do not show it."""
    from perfreg_assets.warehouse.version_verdicts import WHOLE

    of_runs = counted(row["state"] for row in rows if row["series"] == RUN_LEVEL) or "no runs"
    of_versions = counted(row["state"] for row in versions if row["axis"] == WHOLE) or "none"
    terminal.note(f"versions: {of_versions}; their runs: {of_runs}" if by == "version" else of_runs)
    together = sorted({row["version_name"] for row in versions if row["is_anomalous"]})
    if by == "run" and together and not any(row["is_anomalous"] for row in rows if row["is_counted"]):
        who = "no run that counts" if any(row["is_anomalous"] for row in rows) else "no run"
        terminal.note(f"{who} is anomalous by itself, but together those of {', '.join(together)} are: --by version")


def _note_left_out(rows: Sequence[Mapping[str, Any]]) -> None:
    """Anomalous runs that the status does not go by."""
    count = len({row["run_id"] for row in rows if row["is_anomalous"] and not row["is_counted"]})
    if count:
        who = "1 anomalous run is" if count == 1 else f"{count} anomalous runs are"
        terminal.note(f"{who} excluded, or rejected in a review, and left out of the status")


def _note_unjudged(
    versions: Sequence[Mapping[str, Any]], given: Mapping[str, Mapping[str, tuple[datetime, datetime]]]
) -> None:
    """Versions after the last of their app that was judged: the exit status says nothing of them, and somebody who
    waits for a build may take it for the build's. Those at an app's beginning have no history to be judged by. Versions
    of refused folders stand last whatever their place is: they are named if they were given after it, and called newer
    never, as in one batch nothing tells which came first.

    Args:
        given: see `warehouse.runs.versions_given`.
    """
    from perfreg_assets.warehouse.version_verdicts import WHOLE

    named: list[str] = []
    has_place: list[bool] = []
    for app, moments in given.items():
        own = [row for row in versions if row["app"] == app and row["axis"] == WHOLE]
        judged = [number for number, row in enumerate(own) if row["is_anomalous"] is not None]
        if judged:
            first, _ = moments[own[judged[-1]]["version_name"]]
            after = [row["version_name"] for row in own[judged[-1] + 1 :]]
            is_refused = {row["version_name"]: row["state"] == "quarantined" for row in own}
            told = [name for name in after if not (is_refused[name] and moments[name][1] < first)]
            named += [f"{app} {name}" for name in told]
            has_place += [not is_refused[name] for name in told]
    if named:
        before = f"versions before {'it' if len(named) == 1 else 'them'}" if all(has_place) else "other versions"
        terminal.note(
            f"not judged: {terminal.listed(named[-_REASONS_TOLD:], len(named))}; the status is that of {before}, "
            "--app-version asks about one alone"
        )


def _nothing_judged(versions: Sequence[Mapping[str, Any]], nameless: int) -> str:
    """What the status stands for, with the reasons of the latest versions.

    Args:
        nameless: how many folders were refused before their version was known.
    """
    from perfreg_assets.warehouse.version_verdicts import WHOLE

    of_apps = len({row["app"] for row in versions}) > 1
    why = [
        f"{row['app'] + ' ' if of_apps else ''}{row['version_name']}: {row['explanation']}"
        for row in versions
        if row["axis"] == WHOLE
    ]
    more = f" (and {len(why) - _REASONS_TOLD} versions more)" if len(why) > _REASONS_TOLD else ""
    refused = f'no folder was taken in, {nameless} refused: perfreg sql "FROM marts.data_quality" says why'
    none = refused if nameless else "there are no runs: perfreg import or perfreg ingest takes some in"
    return f"nothing could be judged; {' '.join(why[-_REASONS_TOLD:]) or none}{more}"


def _grown(reader: Reader, versions: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """(app, version) → what grew in several of its runs, a line each."""
    from perfreg_assets.reports.loading_causes import told_version_causes

    names: dict[str, set[str]] = {}
    for row in versions:
        names.setdefault(row["app"], set()).add(row["version_name"])
    return {
        (app, version): lines
        for app, wanted in names.items()
        for version, lines in told_version_causes(reader, app, wanted).items()
    }


def _verdict_rows(reader: Reader, **chosen: Any) -> list[dict[str, Any]]:
    """Rows of marts.verdicts, chosen as by `warehouse.verdicts.listing`, with `axis`, the one of a series, `axes`, all
    of the run with their states ('*'), and `is_counted`: the run is neither excluded nor rejected in a review."""
    from perfreg_assets.warehouse import runs
    from perfreg_assets.warehouse import verdicts as table

    rows = table.listing(reader, **chosen)
    run_ids = {row["run_id"] for row in rows}
    counted_runs = runs.counted(reader, run_ids)
    axes: dict[str, dict[str, str]] = {}
    for one in rows[:1]:  # all rows are of one detector and ω
        for found in table.axis_states(reader, run_ids, one["omega"], one["detector"]):
            axes.setdefault(found["run_id"], {})[found["axis"]] = found["state"]
    return [
        {
            **row,
            "axis": None if row["series"] == RUN_LEVEL else axis_of(row["series"]),
            "axes": axes.get(row["run_id"], {}) if row["series"] == RUN_LEVEL else None,
            "is_counted": row["run_id"] in counted_runs,
        }
        for row in rows
    ]


def _as_line(row: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict on a run as a table shows it."""
    state = row["state"] if row["is_counted"] else f"{row['state']} (left out)"
    return {**_by_its_side(row, "distance"), "axis": row["axis"] or axes_told(row["axes"]), "state": state}


def _by_its_side(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The row with what its state goes by beside the threshold: of an improved one that is how much less load there
    is, and not how much more.

    Args:
        name: the column, distance or score.
    """
    less, threshold = row["improvement"], row["threshold"]
    if row["state"] != "improved" or less is None:
        return dict(row)
    return {**row, name: less, "excess_ratio": less / threshold if threshold and threshold > 0 else None}


def show_verdicts(settings: Settings, run_ids: Collection[str]) -> None:
    """What to do next in a sentence; then a line for each version of some runs, and for each of them: what the verdict
    is, on which axis and why."""
    from perfreg_assets.cli.normal_worth import worth_told
    from perfreg_assets.warehouse import runs, version_verdicts
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse.of(settings).reading_caught_up() as reader:
        rows = _verdict_rows(reader, series=RUN_LEVEL, run_ids=run_ids)
        excluded = sorted(runs.excluded(reader, run_ids))
        ahead = runs.dated_in_future(reader, run_ids)
        of_runs = {(row["app"], row["version_name"]) for row in rows}
        versions = [
            row
            for app in sorted({app for app, _ in of_runs})
            for row in version_verdicts.listing(reader, app=app, versions=[name for one, name in of_runs if one == app])
            if row["axis"] == version_verdicts.WHOLE
        ]
        worth = worth_told(reader, versions)
        short = _too_short(reader, rows)
    if excluded:  # they stay so when they are given again, corrected or not
        terminal.note(
            f"excluded, and in no history: {terminal.listed(excluded[:_NAMED], len(excluded))}; "
            "`perfreg include RUN_ID` lets a run count"
        )
    tell_ahead(ahead)
    if short:
        terminal.note(short)
    terminal.say()
    terminal.say(answer([row for row in rows if row["is_counted"]], versions))
    terminal.say()
    lines = [_by_its_side(row, "score") for row in versions]
    terminal.table(lines, ("version_name", "state", "run_count", "judged_count", "score", "explanation"))
    terminal.say()
    shown = [{**row, "axes": axes_told(row["axes"])} for row in rows]
    terminal.table(shown, ("run_id", "version_name", "state", "axes", "explanation"))
    for sentence in worth:
        terminal.say()
        terminal.say(sentence)


def _too_short(reader: Reader, rows: Sequence[Mapping[str, Any]]) -> str | None:
    """What is said of runs whose judged series are too short: none of it stands in a verdict that only waits for a
    history, and no history would help."""
    from perfreg_assets.warehouse import findings

    lacking = [row["run_id"] for row in rows if "series_missing" in (row["axes"] or {}).values()]
    found = findings.of_series(reader, lacking, Reason.SERIES_TOO_SHORT)
    if not found:
        return None
    of_runs, named = {one.run_id for one in found}, sorted({one.series or "" for one in found})
    first = min(found, key=lambda one: one.run_id)
    return (
        f"too short to be judged by {', '.join(named)}: {how_many(len(of_runs), 'run')}, the first {first.run_id}: "
        f"{first.detail} {FINER_GRID}"
    )


def tell_ahead(found: Sequence[tuple[str, datetime]]) -> None:
    """Says of runs or files of benchmark results that they are dated in the future, and what to do.

    Args:
        found: name and start, the latest first.
    """
    if found:
        named = terminal.listed([name for name, _ in found[:_NAMED]], len(found))
        terminal.note(
            f"dated in the future ({found[0][1]:%Y-%m-%d %H:%M} UTC), and until then later than all others: {named}; "
            f"{Reason.DATED_AHEAD.sentence}"
        )


@command(
    "sql", example='perfreg sql "SELECT run_id, series, state FROM marts.verdicts WHERE is_current"', begins_anew=True
)
@click.argument("query", type=ANY_TEXT, required=False)
@click.option(
    "--file", "-f", "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Instead of QUERY: a file that holds it, - for standard input.",
)  # fmt: skip
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def sql(settings: Settings, query: str | None, file: Path | None, form: str) -> None:
    """Runs a query on the published warehouse, read-only; the tables people query are in schema marts."""
    if (query is None) is (file is None):
        raise ValueError("give either a query or --file")
    if file is not None:
        query = _query_in(file)
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.queries import run_query

    with Warehouse.of(settings).reading_caught_up() as reader:
        rows, columns = run_query(reader, query or "")
    terminal.show(rows, columns, form)


def _query_in(file: Path) -> str:
    raw = sys.stdin.buffer.read() if file == Path("-") else file.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is no text in UTF-8: {error.reason} at byte {error.start}; save it as such"
        ) from error


@command("dictionary", example="perfreg dictionary > dictionary.md")
def dictionary(settings: Settings) -> None:
    """Prints the data dictionary of the marts as Markdown."""
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.dictionary import markdown

    with Warehouse.of(settings).reading_caught_up() as reader:
        click.echo(markdown(reader), nl=False)
