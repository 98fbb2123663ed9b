"""A project of made-up runs: rows instead of run folders, a made-up reader instead of the engine, all steps real."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from perfreg_assets.assets.outstanding import Outstanding
from perfreg_assets.methods.thread_times import RUNNING, ThreadTimes
from perfreg_assets.model import averaging, explaining, freshness, inspecting, judging, localising, measuring, selecting
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.partitions import to_key
from perfreg_assets.run import PathStep
from perfreg_assets.settings import Settings
from perfreg_assets.traces.gate import TraceHealth
from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.inspection import Inspection
from perfreg_assets.warehouse import reviews, settings_table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import verdicts as verdict_table
from perfreg_assets.warehouse.connection import Reader, Warehouse, Writer

APP = "com.rig.made"
START = datetime(2026, 1, 1, tzinfo=UTC)
SAMPLES = 40
SERIES = {"cpu_app": "core-seconds/s", "cpu_total": "core-seconds/s", "rss_app": "bytes"}


def row(number: int, *, version: str, **changes: Any) -> run_table.RunRow:
    """The run that started `number` hours after the first."""
    path = tuple(
        PathStep(step=step, ts_ns=step * 4_000_000_000, state_hash=f"h{step % 5}", screen=f"s{step % 3}", action=None)
        for step in range(10)
    )
    run_id = f"made-{number:03d}"
    plain = {
        "run_id": run_id,
        "folder_name": run_id,
        "content_hash": run_id,
        "partition_key": to_key(APP, version),
        "app": APP,
        "version_name": version,
        "device": "d",
        "strategy": "s",
        "time_limit_s": 40.0,
        "action_interval_s": 4.0,
        "config_hash": "c",
        "started_at": START + timedelta(hours=number),
        "exploration_start_ns": 0,
        "exploration_end_ns": SAMPLES * 1_000_000_000,
        "step_count": len(path),
        "path": path,
        "functional_problem_count": 0,
        "functional_problems": [],
        "extra": {},
        "trace_file": "trace",
        "trace_bytes": 1,
        "trace_sha256": run_id,
    }
    return run_table.RunRow(**{**plain, **changes})


RUNS = [
    row(number, version="1" if number < 6 else "2", device_unit="b" if number % 4 == 3 else "a") for number in range(12)
]
REGRESSIONS = {"made-008": ("cpu_app", 1.0), "made-010": ("rss_app", 1.5)}
"""Of some of these runs: (series, what is added to it)."""


def values(run_id: str, series: str, *, extra: float, burst: float = 0.0) -> np.ndarray:
    """Samples that follow from the name; `extra` is what a regression adds from the middle on, `burst` what something
    else adds for a tenth of them."""
    seed = int.from_bytes(hashlib.sha256(f"{run_id} {series}".encode()).digest()[:4])
    generator = np.random.default_rng(seed)
    late = np.arange(SAMPLES) >= SAMPLES // 2
    passing = burst * (np.abs(np.arange(SAMPLES) - 0.6 * SAMPLES) < 0.05 * SAMPLES)
    if series == "rss_app":
        return 100e6 * (1 + 0.01 * generator.normal(size=SAMPLES) + extra * late * np.linspace(0, 1, SAMPLES) + passing)
    return np.abs(0.3 + 0.05 * generator.normal(size=SAMPLES) + extra * late + passing)


def reader_of(
    regressions: dict[str, tuple[str, float]],
    missing: Iterable[tuple[str, str]] = (),
    bursts: Mapping[str, tuple[str, float]] | None = None,
) -> Callable[[run_table.RunRow, Settings], Inspection]:
    """What reads a trace: whole, with three series.

    Args:
        regressions: run → (series, what is added to it).
        missing: (run, series) that the trace lacks.
        bursts: run → (series, what something else adds to it for some seconds).
    """
    lacking = set(missing)

    def inspect(run: run_table.RunRow, settings: Settings) -> Inspection:
        health = TraceHealth(is_complete=True, reason=None, detail="", start_ns=0, end_ns=SAMPLES * 1_000_000_000)
        series = []
        for name, unit in SERIES.items():
            changed, extra = regressions.get(run.run_id, ("", 0.0))
            if (run.run_id, name) in lacking:
                series.append(Series(name, unit, 1.0, 0, None, "the trace does not have it", "series_missing"))
            else:
                disturbed, burst = (bursts or {}).get(run.run_id, ("", 0.0))
                samples = values(
                    run.run_id, name, extra=extra if changed == name else 0.0, burst=burst if disturbed == name else 0.0
                )
                series.append(Series(name, unit, 1.0, 0, samples))
        return Inspection(health, series, [], threads(run.run_id))

    return inspect


def threads(run_id: str) -> ThreadTimes:
    """What two threads of the app and one of another process did: follows from the name."""
    seed = int.from_bytes(hashlib.sha256(f"{run_id} threads".encode()).digest()[:4])
    times = np.random.default_rng(seed).integers(0, 300_000_000, size=(3, SAMPLES)) / 1e9
    return ThreadTimes(
        0, (APP, APP, "system_server"), ("main", "pool-#", "*"), (RUNNING,) * 3, np.array([True, True, False]), times
    )


class Project:
    """Settings, warehouse and the steps, run as Dagster would run them.

    Attributes:
        publish_every_s: as `Warehouse` has it, of all that is written beside the steps; 0: as commands do. To publish
            each write and to open what was published takes half the time of a test.
    """

    publish_every_s = 3600.0

    def __init__(self, folder: Path, inspect: Callable[..., Inspection] | None, **settings: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.settings = Settings(
            warehouse=folder / "perfreg.duckdb", **{"history_minimum": 3, "history_size": 4, **settings}
        )
        self.warehouse = Warehouse(self.settings.warehouse, lock_timeout_s=30, publish_every_s=self.publish_every_s)
        self.inspect = inspect
        self.read: Any = None

    def arrive(self, *rows: run_table.RunRow) -> None:
        with self.warehouse.writing() as writer:
            run_table.upsert(writer, rows)

    def review(self, run_id: str, status: str) -> None:
        with self.warehouse.writing() as writer:
            reviews.add(writer, run_id, status)

    def withdraw(self, run_id: str) -> None:
        with self.warehouse.writing() as writer:
            reviews.withdraw(writer, run_id)

    def change(self, name: str, value: str) -> None:
        with self.warehouse.writing() as writer:
            settings_table.change(writer, name, value)
            verdict_table.evaluate_current(writer)

    def steps(self, warehouse: Warehouse | None = None) -> dict[str, Callable[[list[str]], object]]:
        """Asset → its step."""
        house, settings = warehouse or self.warehouse, self.settings
        return {
            "time_series": lambda keys: inspecting.inspect_due(
                house, settings, keys, Stopwatch(), inspect=self.inspect
            ),
            "history_sets": lambda keys: selecting.select_due(house, settings, keys, Stopwatch()),
            "barycenters": lambda keys: averaging.average_due(house, settings, keys, Stopwatch()),
            "distances": lambda keys: measuring.measure_due(house, settings, keys, Stopwatch()),
            "verdicts": lambda keys: judging.judge(house, keys, Stopwatch(), omega=None, detector=None),
            "discords": lambda keys: localising.localise_due(house, settings, keys, Stopwatch()),
            "causes": lambda keys: explaining.explain_due(house, settings, keys, Stopwatch(), read=self.read),
        }

    def due(self, warehouse: Warehouse | None = None) -> list[freshness.Due]:
        """By the slow reference; what remembers what held before must never say otherwise."""
        with (warehouse or self.warehouse).reading() as reader:
            quick = freshness.due_now(reader, self.settings)
            due = freshness.due(reader, self.settings)
        assert quick == due
        return due

    def settle(self) -> None:
        """Works off what is due until nothing is, as a job does: the file stays open from step to step and is published
        at the end, which takes half the time."""
        job = Warehouse(self.settings.warehouse, lock_timeout_s=30, publish_every_s=3600.0)
        steps = self.steps(job)
        for _ in range(40):
            due = Outstanding(tuple(self.due(job)), {})
            if not due.keys:
                job.publish()
                return
            for name in due.assets:
                if name in steps:
                    steps[name](due.keys)
        raise AssertionError(f"still due: {self.due(job)}")

    def rows(self, sql: str) -> list[dict[str, Any]]:
        with self.warehouse.reading() as reader:
            return reader.dicts(sql)

    def snapshot(self) -> dict[str, list[Any]]:
        with self.warehouse.reading() as reader:
            return snapshot(reader)


class Disturbed(Warehouse):
    """A warehouse in which something else happens between a step's reading and its writing."""

    def __init__(self, path: Path, meanwhile: Callable[[], None], *, publish_every_s: float = 0.0) -> None:
        super().__init__(path, lock_timeout_s=30, publish_every_s=publish_every_s)
        self._meanwhile = meanwhile

    @contextmanager
    def writing(self, *, expected_bytes: int = 0) -> Iterator[Writer]:
        self._meanwhile()
        with super().writing(expected_bytes=expected_bytes) as writer:
            yield writer


# Logs of what happened when, figures of seconds, and which runs share a file of values (those that were written
# together): these differ however equal the results are.
_LOGS = {
    *("settings", "reviews", "notifications", "timings", "collections", "evaluations", "evaluation_localisations"),
    *("storage", "storage_growth"),
}
_CURRENT = {
    "verdicts": "is_current",
    "run_verdicts": "is_current",
    "axis_verdicts": "is_current",
    "version_verdicts": "is_current",
    "distances": "is_latest",
    "false_alarm_rates": "is_current_setting",
}
_TIMES = {
    *("registered_at", "evaluated_at", "measured_at", "computed_at", "selected_at", "checked_at", "extracted_at"),
    *("reviewed_at", "imported_at", "reduced_at", "stored_at", "seconds", "engine_seconds"),
}

_NUMBERS = {"run_no", "history_run_no", "distance_id", "distance_no"}
"""In order of registration, or of measuring."""

_OF_MOMENTS = {("benchmark_verdicts", "input_hash")}
"""With the moment of the import in it."""


def snapshot(reader: Reader) -> dict[str, list[tuple[Any, ...]]]:
    """Mart → its rows in order, without times of computation and numbers of arrival: what must be equal however a
    warehouse came about."""
    columns: dict[str, list[str]] = {}
    for name, column in reader.rows(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'marts' ORDER BY ALL"
    ):
        if (name, column) not in _OF_MOMENTS:
            columns.setdefault(name, []).append(column)
    found = {}
    for name in sorted(set(columns) - _LOGS):
        kept = ", ".join(f'"{column}"' for column in columns[name] if column not in _TIMES | _NUMBERS)
        condition = f"WHERE {_CURRENT[name]}" if name in _CURRENT else ""
        found[name] = [tuple(map(repr, row)) for row in reader.rows(f"SELECT {kept} FROM marts.{name} {condition}")]
        found[name].sort()
    return found
