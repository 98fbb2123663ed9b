"""What grew in suspicious windows, from the marts, for run pages and messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from perfreg_assets.reports.causes_table import main_cause
from perfreg_assets.reports.causes_wording import cause_phrase
from perfreg_assets.reports.data import Cause, Explained, Stack
from perfreg_assets.warehouse import causes as table
from perfreg_assets.warehouse import states
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.run_conditions import grouped, of

_WINDOWS = """
SELECT run_id, series, window_index, is_whole_run, start_s, end_s, start_ns, end_ns, confidence, state, state_reason,
       disturbance
FROM marts.cause_windows WHERE {of} ORDER BY run_id, series, confidence DESC NULLS LAST, start_ns
"""
_GROWN = """
SELECT is_cause, run_id, series, window_index, rank, kind, scope, process, thread, name, value, history_median, growth,
       growth_share, z, is_new, matched_count, history_count, source
FROM marts.grown WHERE {of} ORDER BY run_id, series, window_index, rank
"""


def load_explained(
    reader: Reader, run_ids: Sequence[str], *, with_stacks: bool = True
) -> dict[tuple[str, str], tuple[Explained, ...]]:
    """(run_id, series) → its suspicious windows with what grew in them, the surest first."""
    looked_at = sorted(states.explained(reader, run_ids))  # most runs have no windows, and these marts cost
    windows = [row for ids in grouped(reader, looked_at) for row in reader.dicts(_WINDOWS.format(of=of(reader, ids)))]
    explained = sorted({row["run_id"] for row in windows})
    if not explained:
        return {}
    causes: dict[tuple[Any, ...], list[Cause]] = defaultdict(list)
    others: dict[tuple[Any, ...], list[Cause]] = defaultdict(list)
    for ids in grouped(reader, explained):
        for row in reader.dicts(_GROWN.format(of=of(reader, ids))):
            kind = causes if row.pop("is_cause") else others
            kind[row.pop("run_id"), row.pop("series"), row.pop("window_index")].append(Cause(**row))
    stacks = table.stacks(reader, explained) if with_stacks else {}
    found: dict[tuple[str, str], list[Explained]] = defaultdict(list)
    for row in windows:
        key = (row.pop("run_id"), row.pop("series"))
        place = (*key, row.pop("window_index"))
        told = tuple(Stack(**{**one, "stack": tuple(one["stack"])}) for one in stacks.get(place, ()))
        own, beside = (tuple(kind.get(place, ())) for kind in (causes, others))
        found[key].append(Explained(**row, causes=own, also_grew=beside, stacks=told))
    return {key: tuple(windows) for key, windows in found.items()}


MOST_TOLD = 3
"""Causes of a version that a message names."""


def told_causes(reader: Reader, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """run_id → what a message says of its causes: those of its series, and what else disturbed it."""
    found: dict[str, list[str]] = {run_id: [] for run_id in run_ids}
    for (run_id, series), windows in sorted(load_explained(reader, run_ids, with_stacks=False).items()):
        if (cause := main_cause(windows)) is not None:
            found[run_id].append(f"{series}: {cause}")
        if (disturbed := next((one.disturbance for one in windows if one.disturbance), None)) is not None:
            found[run_id].append(f"disturbed run: {disturbed}")
    return {run_id: tuple(dict.fromkeys(lines)) for run_id, lines in found.items()}


def told_version_causes(reader: Reader, app: str, version_names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """version → what grew in three of its runs or more, as lines of a message; of every version asked for."""
    return {
        version: tuple(map(_told_of_version, rows[:MOST_TOLD]))
        for version, rows in table.of_versions(reader, app, version_names).items()
    }


def _told_of_version(row: Mapping[str, Any]) -> str:
    phrase = cause_phrase(
        row["kind"],
        row["process"],
        row["thread"],
        row["name"],
        row["growth_median"],
        row["growth_share_median"],
        row["after_median"],
        row["source"],
    )
    return f"in {row['run_count']} runs of {row['version_name']}, {row['series']}: {phrase}"
