"""The list of all runs in blocks of equal size: a run stays in the block that was the last when it came."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from perfreg_assets.reports import shards
from perfreg_assets.reports.data import ListedRun
from perfreg_assets.reports.links import page_name
from perfreg_assets.reports.loading_lists import OMEGA_STEPS, load_listed
from perfreg_assets.reports.site_state import SiteState
from perfreg_assets.settings import OMEGA_LARGEST
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Reader

BLOCK_SIZE = 1000
FIRST_ROWS = 100
"""Rows that the index itself holds: the first page of the list."""

Row = list[Any]


def packed(run: ListedRun) -> Row:
    """A run as the scripts read it: page (0: named like the run), app, version, start (s since 1970), state, state of
    each axis (`cpu.normal memory.anomalous`), anomalous series, largest ratio, review, number of functional problems,
    critical ω, whether it lacks a series of its history, device, reason why it is not judged."""
    page = page_name(run.run_id)
    return [
        0 if page == run.run_id else page,
        run.app,
        run.version_name,
        None if run.started_at is None else round(run.started_at.timestamp()),
        run.state,
        " ".join(f"{axis}.{state}" for axis, state in sorted(run.axes.items())),
        list(run.flagged),
        None if run.ratio is None else float(f"{run.ratio:.4g}"),
        run.review,
        run.problems,
        run.critical_omega,
        int(run.is_lacking),
        run.device,
        run.reason_code,
    ]


def update(
    reader: Reader, out_dir: Path, state: SiteState, changed: Collection[str], lost: Collection[str] = ()
) -> None:
    """Puts the changed runs' rows into their blocks, takes out those that are gone; writes the blocks it touched.

    Args:
        lost: names of blocks whose files are gone.
    """
    blocks = state.head.blocks
    listed = load_listed(reader, sorted(changed))
    wanted: dict[int, dict[str, Row | None]] = defaultdict(dict)
    for run_id in changed:
        entry = state.get(run_id)
        if run_id in listed:
            if entry.block < 0:
                entry = replace(entry, block=_free_block(blocks))
                blocks[entry.block]["count"] += 1
                state.put(run_id, entry)
            wanted[entry.block][run_id] = packed(listed[run_id])
        elif entry.block >= 0:
            wanted[entry.block][run_id] = None
            state.put(run_id, replace(entry, block=-1))
    for number in range(len(blocks)):
        if name_of(number) in lost:
            wanted[number].update({})
    members: dict[int, list[str]] = {}
    for number, rows in wanted.items():
        known = shards.read(out_dir, name_of(number), blocks[number]["digest"])
        if known is None:  # new, or damaged
            members = members or _members(state)
            others = [run_id for run_id in members.get(number, ()) if run_id not in rows]
            known = {run_id: packed(one) for run_id, one in load_listed(reader, others).items()}
        merged = {run_id: row for run_id, row in {**known, **rows}.items() if row is not None}
        digest = shards.save(out_dir, name_of(number), merged, blocks[number]["digest"])
        blocks[number] = {"digest": digest, **facts(merged.values())}


def first_rows(reader: Reader, out_dir: Path, state: SiteState, changed: Collection[str]) -> list[Row]:
    """The first page of the list: `[run_id, *row]` of the runs that started last, the latest first.

    Args:
        changed: runs whose rows may be others than at the last build.
    """
    ids = run_table.newest(reader, FIRST_ROWS)
    rows = {run_id: row for run_id, row in state.head.first.items() if run_id not in changed}
    missing = [run_id for run_id in ids if run_id not in rows]
    for number in {state.get(run_id).block for run_id in missing} - {-1}:
        rows |= shards.read(out_dir, name_of(number), state.head.blocks[number]["digest"]) or {}
    missing = [run_id for run_id in ids if run_id not in rows]
    rows |= {run_id: packed(one) for run_id, one in load_listed(reader, missing).items()}
    state.head.first = {run_id: rows[run_id] for run_id in ids}
    return [[run_id, *row] for run_id, row in state.head.first.items()]


def names(blocks: Sequence[Any]) -> set[str]:
    """Of all blocks."""
    return {name_of(number) for number in range(len(blocks))}


def name_of(block: int) -> str:
    return f"runs-{block}"


def _members(state: SiteState) -> dict[int, list[str]]:
    """Number of a block → the runs that stand in it."""
    found: dict[int, list[str]] = defaultdict(list)
    for run_id, entry in state.items():
        found[entry.block].append(run_id)
    return found


def _free_block(blocks: list[dict[str, Any]]) -> int:
    if not blocks or blocks[-1]["count"] >= BLOCK_SIZE:
        blocks.append({"digest": "", "count": 0})
    return len(blocks) - 1


def facts(rows: Iterable[Row]) -> dict[str, Any]:
    """What index and ω page say of a block: `states`, `devices` and `reasons` count, `open` counts anomalous ones that
    nobody reviewed, `omegas` those that are anomalous at so many steps of ω from 0, `axes` as in the rows, and which
    apps and series there are."""
    rows = list(rows)
    starts = [row[3] for row in rows if row[3] is not None]
    return {
        "count": len(rows),
        "newest": max(starts, default=None),
        "states": dict(sorted(Counter(row[4] for row in rows).items())),
        "open": sum(row[4] == "anomalous" and row[8] is None for row in rows),
        "omegas": dict(sorted(Counter(_steps(row[10]) for row in rows if row[10] is not None).items())),
        "axes": sorted({axis for row in rows for axis in row[5].split()}),
        "apps": sorted({row[1] for row in rows if row[1] is not None}),
        "nameless": any(row[1] is None for row in rows),
        "series": sorted({name for row in rows for name in row[6]}),
        "devices": dict(sorted(Counter(row[12] for row in rows if row[12] is not None).items())),
        "reasons": dict(sorted(Counter(row[13] for row in rows if row[13] is not None).items())),
    }


def _steps(critical_omega: float) -> str:
    """At how many steps of ω a run is anomalous: those below its critical ω. A text, as it is read back from a file."""
    steps = math.ceil(critical_omega * OMEGA_STEPS)
    # The product may have been rounded to a step beside it.
    if (steps - 1) / OMEGA_STEPS >= critical_omega:
        steps -= 1
    elif steps / OMEGA_STEPS < critical_omega:
        steps += 1
    return str(max(0, min(OMEGA_STEPS * OMEGA_LARGEST + 1, steps)))


def anomalous_at(blocks: Sequence[Mapping[str, Any]]) -> tuple[list[int], int]:
    """(how many runs are anomalous at each step of ω up to the largest, how many have a distance)."""
    found = counts_of(blocks, "omegas")
    measured = sum(found.values())
    below = accumulate(found.get(str(step), 0) for step in range(OMEGA_STEPS * OMEGA_LARGEST + 1))
    return [measured - passed for passed in below], measured


def counts_of(blocks: Sequence[Mapping[str, Any]], name: str) -> dict[str, int]:
    """What the blocks count under a name, together, in order."""
    found: Counter[str] = Counter()
    for block in blocks:
        found.update(block.get(name, {}))
    return dict(sorted(found.items()))


def all_of(blocks: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Everything that the blocks list under a name, in order."""
    return sorted({one for block in blocks for one in block.get(name, ())})
