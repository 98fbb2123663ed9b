"""Paths of the runs, a row per step, in the data folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa

from perfreg_assets.run import PathStep
from perfreg_assets.warehouse import run_conditions, value_files, values
from perfreg_assets.warehouse.connection import Reader, Writer

_FIELDS = tuple(spec.name for spec in fields(PathStep))


class HasPath(Protocol):
    """A run with what its path is stored by."""

    @property
    def run_id(self) -> str: ...
    @property
    def app(self) -> str | None: ...
    @property
    def started_at(self) -> datetime | None: ...
    @property
    def path(self) -> tuple[PathStep, ...] | None: ...


def store(writer: Writer, runs: Sequence[HasPath]) -> pa.Array:
    """Writes the paths of some runs; for each run the name of its file, NULL where it has no step."""
    steps = [(run.run_id, place, step) for run in runs for place, step in enumerate(run.path or ())]
    columns: dict[str, list[Any]] = {
        "run_id": [run_id for run_id, _, _ in steps],
        "position": [place for _, place, _ in steps],
        **{name: [getattr(step, name) for _, _, step in steps] for name in _FIELDS},
    }
    rows = pa.table({one.name: pa.array(columns[one.name], one.type) for one in value_files.PATHS.columns})
    places = {
        run.run_id: value_files.Place(run.app, f"{run.started_at:%Y-%m}" if run.started_at else None) for run in runs
    }
    stored = values.store(writer, value_files.PATHS, rows, places).to_pylist()
    files = dict(zip(columns["run_id"], stored, strict=True))
    return pa.array([files.get(run.run_id) for run in runs], pa.string())


def find(reader: Reader, files: Mapping[str, str | None]) -> dict[str, tuple[PathStep, ...]]:
    """run_id -> its path, for runs that have a step. `files`: run_id -> its file."""
    found: dict[str, list[PathStep]] = defaultdict(list)
    for run_id, *step in _rows(reader, files, _FIELDS):
        found[run_id].append(PathStep(*step))
    return {run_id: tuple(path) for run_id, path in found.items()}


def states(reader: Reader, run_ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """run_id -> the state at each step, by its hash, for runs that have a step."""
    found: dict[str, list[str]] = defaultdict(list)
    for run_id, state in _rows(reader, files_of(reader, run_ids), ("state_hash",)):
        found[run_id].append(state)
    return {run_id: tuple(path) for run_id, path in found.items()}


def files_of(reader: Reader, run_ids: Iterable[str]) -> dict[str, str | None]:
    """run_id -> file with its path, for registered runs."""
    rows = reader.rows(f"SELECT run_id, values_file FROM core.runs WHERE {run_conditions.of(reader, run_ids)}")
    return {row[0]: row[1] for row in rows}


def _rows(reader: Reader, files: Mapping[str, str | None], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """(run_id, the columns) of each step, in the order of the paths."""
    named = ("values_file", "run_id", "position", *columns)
    found = values.fetch(reader, value_files.PATHS, files.values(), files, named[1:])
    lists: list[list[Any]] = [found.column(name).to_pylist() for name in named]
    # A file may hold an earlier path of a run whose path is in another file by now.
    current = [row for row in zip(*lists, strict=True) if files[row[1]] == row[0]]
    return [(row[1], *row[3:]) for row in sorted(current, key=lambda row: row[1:3])]
