"""Entries of a comparison, of the results of a version: for `perfreg bench compare` and for the pages alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfreg_assets.catalogue import Worse
from perfreg_assets.methods import adequacy
from perfreg_assets.methods.benchmark_comparison import Entry
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse.benchmark_flags import Flags, texts_of
from perfreg_assets.warehouse.benchmarks import Family
from perfreg_assets.warehouse.connection import Reader


@dataclass(frozen=True)
class OfVersion:
    """A version, or one of its variants."""

    entries: list[Entry]
    flags: Flags


def of_family(reader: Reader, family: Family, version_name: str) -> OfVersion:
    """A version, as measured on the family's device, in its variant, by its runner."""
    place = {"variant": family.variant, "device": family.device, "runner": family.runner}
    rows = table.side(reader, family.app, version_name, **place)
    return of_rows(reader, rows, with_inadequate=False)


def of_rows(
    reader: Reader, rows: Sequence[dict[str, Any]], *, told_by: Sequence[str] = (), with_inadequate: bool
) -> OfVersion:
    """What rows of `benchmarks.side` are of, see `entries`."""
    flags: dict[str, set[str]] = {}
    for row in rows:
        flags.setdefault(key_of(row, told_by), set()).update(texts_of(json.loads(row["jvm_args"] or "null")))
    return OfVersion(entries(reader, rows, told_by=told_by, with_inadequate=with_inadequate), flags)


def entries(
    reader: Reader, rows: Sequence[dict[str, Any]], *, told_by: Sequence[str] = (), with_inadequate: bool
) -> list[Entry]:
    """Entries of rows of `benchmarks.side`; iterations are read where one launch is all that there is.

    Args:
        told_by: what of device, variant and runner their keys have, where there are several.
        with_inadequate: whether results count that a warning keeps out of comparisons.
    """
    parts: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    nothing = {}
    for row in rows:
        if row["launch_scores"] is None:
            nothing[key_of(row, told_by)] = row
            continue
        same = tuple(row[name] for name in ("device", "variant", "runner", "result_name", "unit", "worse"))
        parts.setdefault(same, []).append(row)
    counted = [
        adequacy.counted(of_one, lambda row: with_inadequate or bool(row["is_adequate"])) for of_one in parts.values()
    ]
    doubtful = {row["benchmark_run_id"] for row in rows if row["is_adequate"] is False}
    caveats = table.warnings_of(reader, doubtful)

    def why(some: Iterable[dict[str, Any]]) -> str:
        codes = [caveats.get((row["benchmark_run_id"], row["result_name"]), ()) for row in some]
        return adequacy.why_inadequate(code for own in codes for code in own)

    single: dict[str, list[str]] = {}
    for taken, _ in counted:
        if sum(len(row["launch_scores"]) for row in taken) == 1:
            single.setdefault(taken[0]["benchmark_run_id"], []).append(taken[0]["result_name"])
    values = {
        (run_id, name): own
        for run_id, names in single.items()
        for name, own in table.iterations(reader, run_id, names).items()
    }
    found = []
    for taken, left in counted:
        row = taken[0]
        scores = np.concatenate([one["launch_scores"] for one in taken])
        is_adequate = with_inadequate or all(one["is_adequate"] for one in taken)
        found.append(
            Entry(
                key=key_of(row, told_by),
                area=row["area"],
                unit=row["unit"],
                worse=row["worse"],
                scores=scores,
                iterations=np.array(values.get((row["benchmark_run_id"], row["result_name"]), scores)),
                is_primary=any(one["is_primary"] for one in taken),
                why_left_out=None if is_adequate else why(taken),
                files_left_out=tuple(why([one]) for one in left),
            )
        )
    known = {one.key for one in found}
    return found + [
        without_result(key, row["area"], row["unit"], row["worse"], row["reason"])
        for key, row in nothing.items()
        if key not in known
    ]


def without_result(key: str, area: str, unit: str, worse: Worse, why: str) -> Entry:
    """What stands for a benchmark of which no file of a side has a result."""
    none = np.empty(0)
    return Entry(key=key, area=area, unit=unit, worse=worse, scores=none, iterations=none, why_no_result=why)


def key_of(row: dict[str, Any], told_by: Sequence[str]) -> str:
    """By what a result is paired, see `entries`."""
    return f"{row['result_name']} [{place_of(row, told_by)}]" if told_by else str(row["result_name"])


def place_of(row: dict[str, Any], names: Iterable[str]) -> str:
    """Where a result was measured, by those of device, variant and runner that are named."""
    return ", ".join(row[name] for name in names if row[name])
