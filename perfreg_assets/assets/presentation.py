"""Metadata that Dagster's UI shows: of an asset its columns with their comments, beside a materialisation states, a
picture, a link."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any
from urllib.parse import quote

import dagster as dg

from perfreg_assets.assets.markdown_image import SVG, markdown_image
from perfreg_assets.collection.registry import Registration
from perfreg_assets.reports import wording
from perfreg_assets.reports.links import run_page, version_page
from perfreg_assets.reports.pictures import picture_of_worst
from perfreg_assets.reports.templating import limit_multiple
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.dictionary import columns_of_release
from perfreg_assets.warehouse.histories import Member
from perfreg_assets.warehouse.runs import RunRow
from perfreg_assets.warehouse.version_verdicts import WHOLE

PICTURED_PARTITIONS = 20  # each is kept in Dagster's storage for good: a backfill of the whole history does without


def version_table(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, dg.MetadataValue]:
    """The verdict on a partition's version: its state and sentence, and each axis in a Markdown table; empty if there
    is none.

    Args:
        verdicts: rows of `warehouse.version_verdicts.of_versions` of one version, as a whole first.
    """
    if not verdicts:
        return {}
    lines = [_row(["Axis", "Verdict", "Runs judged", "Why"]), _row(["---"] * 4)]
    for row in verdicts:
        name = "version" if row["axis"] == WHOLE else wording.axis_label(row["axis"])
        judged = f"{row['judged_count']} of {row['run_count']}"
        lines.append(_row([name, _state(row["state"]), judged, row["explanation"]]))
    return {
        "version_state": dg.MetadataValue.text(verdicts[0]["state"]),
        "version": dg.MetadataValue.md("\n".join(lines)),
    }


TABLED_RUNS = 50  # of a partition: metadata is kept for every materialisation


def axis_table(whole: Mapping[str, str], axes: Iterable[Mapping[str, Any]]) -> dict[str, dg.MetadataValue]:
    """The latest runs of a partition × axes as a Markdown table; empty if no run has a verdict.

    Args:
        whole: run_id → state of its verdict, oldest run first.
        axes: rows of `warehouse.verdicts.axis_states` of these runs.
    """
    if not whole:
        return {}
    states = {(row["run_id"], row["axis"]): row for row in axes}
    columns = sorted({axis for _, axis in states}, key=wording.axis_place)
    lines = [_row(["Run", "Verdict", *map(wording.axis_label, columns)]), _row(["---"] * (2 + len(columns)))]
    for run_id in list(whole)[-TABLED_RUNS:]:
        lines.append(_row([run_id, _state(whole[run_id]), *(_axis(states.get((run_id, axis))) for axis in columns)]))
    if len(whole) > TABLED_RUNS:
        lines.append(f"\n{len(whole) - TABLED_RUNS} earlier runs are in `marts.axis_verdicts`.")
    return {"axes": dg.MetadataValue.md("\n".join(lines))}


LISTED_HISTORY = 24
"""Runs of a partition's history that are named: two histories of the default size."""


def history_table(history: Sequence[Member], settings: Settings) -> dict[str, dg.MetadataValue | int]:
    """What a partition was compared with: its history's versions and runs, with links to their partitions in Dagster
    and to their pages. The partition graph does not have this dependency: it differs from run to run.

    Args:
        history: the latest run first.
    """
    versions: dict[str, list[Member]] = {}
    for one in history[:LISTED_HISTORY]:
        versions.setdefault(one.partition_key, []).append(one)
    lines = [_line(["Version", "Report", "Runs, by how many of this version's runs used"]), _line(["---"] * 3)]
    for key, runs in versions.items():
        page = _link("page", f"{settings.reports_address}/{version_page(runs[0].app, runs[0].version_name)}")
        named = (
            f"{_link(one.run_id, f'{settings.reports_address}/{run_page(one.run_id)}')} {one.used_by}×" for one in runs
        )
        lines.append(_line([_link(key, partition_address("verdicts", key)), page, ", ".join(named)]))
    if len(history) > LISTED_HISTORY:
        lines.append(f"\n{len(history) - LISTED_HISTORY} earlier runs are in `marts.history_sets`.")
    return {
        "history_versions": len({one.partition_key for one in history}),
        "history_runs": len(history),
        **({"history": dg.MetadataValue.md("\n".join(lines))} if history else {}),
    }


def partition_address(asset: str, key: str) -> str:
    """Where Dagster's UI shows a partition of an asset, on the UI's own server."""
    return f"/assets/{asset}?view=partitions&partition={quote(key, safe='')}"


def _link(name: str, address: str) -> str:
    return f"[{_plain(name)}]({address.translate(_NO_END)})"


_NO_END = str.maketrans({"(": "%28", ")": "%29", " ": "%20", "|": "%7C"})


def _axis(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["state"] == "anomalous" and row["excess_ratio"] is not None:
        return f"{_state(row['state'])} ({row['series']} {limit_multiple(row['excess_ratio'])}× the limit)"
    return f"{_state(row['state'])} ({row['series']})" if row["state"] == "series_missing" else _state(row["state"])


def _state(state: str) -> str:
    return f"{wording.STATE_SYMBOLS[state]} {wording.STATE_LABELS[state]}"


def _row(cells: Iterable[str]) -> str:
    """Names come from runs and apps: none ends its cell or becomes a link."""
    return _line(map(_plain, cells))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(name: str) -> str:
    return name.replace("\n", " ").translate(_NO_MARKUP)


_NO_MARKUP = str.maketrans({sign: f"\\{sign}" for sign in "\\|[]<>*`_"})


def pictures(
    reader: Reader, run_ids: dict[str, list[str]], settings: Settings
) -> dict[str, dict[str, dg.MetadataValue]]:
    """By partition a picture of its worst series, where the partitions are few.

    One step of a job asks for it, the last that knows of windows.
    """
    few = len(run_ids) <= PICTURED_PARTITIONS
    return {key: picture(reader, ids, settings) if few else {} for key, ids in run_ids.items()}


REFUSED = "quarantined_folders"
"""Metadata: a row per folder that was refused just now."""


def refused(outcomes: Sequence[Registration]) -> dict[str, dg.MetadataValue]:
    """Which folders were quarantined and why; empty where none was."""
    if not outcomes:
        return {}
    rows = [
        {"folder": str(one.folder), "reason_code": one.rejected.reason.code, "reason": str(one.rejected)}
        for one in outcomes
        if one.rejected is not None
    ]
    return {REFUSED: dg.MetadataValue.table([dg.TableRecord(row) for row in rows])}


def of_runs(rows: Sequence[RunRow]) -> dict[str, int | float]:
    """Figures of a partition's runs."""
    return {
        "dagster/partition_row_count": len(rows),
        "runs": len(rows),
        "steps": sum(row.step_count or 0 for row in rows),
        **_per_run("steps_per_run", [row.step_count for row in rows]),
        **_per_run("explored_states_per_run", [row.explored_state_count for row in rows]),
        "functional_problems": sum(row.functional_problem_count or 0 for row in rows),
        "trace_bytes": sum(row.trace_bytes or 0 for row in rows),
    }


def _per_run(name: str, counts: Sequence[int | None]) -> dict[str, float]:
    """The mean of the runs of which it is known, so that it compares over versions with few and many runs."""
    known = [count for count in counts if count is not None]
    return {name: fmean(known)} if known else {}


def of_mart(name: str) -> dict[str, Any]:
    """Metadata of an asset whose rows a mart shows: its name, and its columns with the comments data teams see too."""
    columns = [
        dg.TableColumn(name=column.name, type=column.type, description=column.comment)
        for column in columns_of_release()[name]
    ]
    return {"dagster/table_name": f"marts.{name}", "dagster/column_schema": dg.TableSchema(columns=columns)}


def picture(reader: Reader, run_ids: list[str], settings: Settings) -> dict[str, dg.MetadataValue]:
    """The worst judged series of some runs as a Markdown preview, and a link to its page; empty if none was judged."""
    worst = picture_of_worst(reader, run_ids)
    if worst is None:
        return {}
    return {
        "preview": dg.MetadataValue.md(
            f"**{worst.caption}**\n\n{markdown_image(worst.svg.encode(), worst.caption, SVG)}"
        ),
        "report": dg.MetadataValue.url(f"{settings.reports_address}/{run_page(worst.run_id)}"),
    }
