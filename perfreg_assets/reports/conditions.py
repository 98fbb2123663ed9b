"""How queries of pages name runs to marts that join verdicts, which a list of ids does not reach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.run_conditions import grouped, of

FEW = 2
"""So many runs are asked for one by one where a list of ids does not reach what a mart joins."""


def in_turns(run_ids: Sequence[str]) -> Iterator[list[str]]:
    """Runs to ask a mart for that joins verdicts: few of them one by one, more together, which then looks at all."""
    ids = list(run_ids)
    yield from ([run_id] for run_id in ids) if len(ids) <= FEW else [ids]


def of_marts_runs(reader: Reader, run_ids: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The conditions under which `marts.runs` tells of these runs, each with what is to be bound.

    A list of ids does not reach what the mart joins, so that the verdicts of all runs there are would be looked at for
    a few; the app that they are of does.
    """
    if len(run_ids) <= FEW:
        yield from ((of(reader, ids), []) for ids in in_turns(run_ids))
        return
    for group in grouped(run_ids):
        apps: dict[str | None, list[str]] = defaultdict(list)
        for run_id, app in reader.rows(f"SELECT run_id, app FROM core.runs WHERE {of(reader, group)}"):
            apps[app].append(run_id)
        for app, ids in apps.items():
            of_app, bound = ("app IS NULL", []) if app is None else ("app = ?", [app])
            yield f"{of(reader, ids)} AND {of_app}", bound
