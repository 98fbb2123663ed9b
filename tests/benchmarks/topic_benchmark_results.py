"""Results of benchmarks: 1,000 imported, two versions compared in a warehouse of 100,000, 1,000 of one launch a side
compared, and what a runner costs."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
from measuring import Row, medians, under

from perfreg_assets.benchmarks import sides
from perfreg_assets.benchmarks.phases import run_phases
from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.methods.benchmark_comparison import Entry, compare
from perfreg_assets.model import benchmarks as model
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse.connection import Warehouse

RESULTS, STORED = 1_000, 100_000
IMPORT_S, COMPARISON_S, DRAWN_S = 2.0, 0.2, 3.0
ITERATIONS = 3
"""Of one launch, as repetitions of Google Benchmark are."""
ITERATION_S, OVERHEAD_RATIO = 0.2, 0.001
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def jmh_file(folder: Path, version: int, random: np.random.Generator) -> Path:
    """1,000 benchmarks, three forks of five iterations each."""
    entries = []
    for number in range(RESULTS):
        level = 10.0 + number * np.exp(random.normal(0, 0.01))
        raw = (level * np.exp(random.normal(0, 0.02, (3, 5)))).tolist()
        metric = {"score": level, "scoreUnit": "us/op", "rawData": raw}
        entries.append({"jmhVersion": "1.37", "benchmark": f"com.x.Area{number % 20}.test{number}", "mode": "avgt",
                        "primaryMetric": metric})  # fmt: skip
    path = folder / f"v{version}.json"
    path.write_text(json.dumps(entries))
    return path


def _origin(version: int) -> Origin:
    return Origin(app="com.x", version_name=str(version), device="d", started_at=BEGIN + timedelta(days=version))


def _import(warehouse: Warehouse, settings: Settings, path: Path, version: int) -> None:
    """What `perfreg bench import` does, but for the pages."""
    found = [one.measured for one in take_in([path], _origin(version)) if one.measured is not None]
    with warehouse.writing() as writer:
        table.add(writer, found)
    model.measure_due(warehouse, settings, Stopwatch())
    with warehouse.reading() as reader:
        assert len(table.verdicts_of(reader, [one.run.benchmark_run_id for one in found])) == RESULTS


def _compare(warehouse: Warehouse, versions: tuple[str, str]) -> None:
    with warehouse.reading() as reader:
        first, second = sides.of_warehouse(reader, versions, sides.Selection("com.x"), with_inadequate=False)
    assert len(compare(first.entries, second.entries, change_minimum=0.05).tests) == RESULTS


def _rows_of_warehouse(folder: Path, quick: bool) -> Iterator[Row]:
    random = np.random.default_rng(0)
    settings = Settings(warehouse=folder / "perfreg.duckdb")
    warehouse = Warehouse.of(settings)
    versions = (STORED // 10 if quick else STORED) // RESULTS
    stored = [take_in([jmh_file(folder, version, random)], _origin(version))[0].measured for version in range(versions)]
    with warehouse.writing() as writer:
        table.add(writer, [one for one in stored if one is not None])
    model.measure_due(warehouse, settings, Stopwatch())
    samples = []
    for version in range(versions, versions + (2 if quick else 5)):
        path = jmh_file(folder, version, random)
        begin = time.perf_counter()
        _import(warehouse, settings, path, version)
        samples.append(time.perf_counter() - begin)
    case = f"{RESULTS:,} results beside {versions * RESULTS:,}"
    yield under("benchmark results", f"import and verdicts, {case}", float(np.median(samples)), IMPORT_S)
    (seconds,) = medians(partial(_compare, warehouse, ("1", "2")), rounds=3 if quick else 7)
    yield under("benchmark results", f"comparison of two versions, {case}", seconds, COMPARISON_S)


def _rows_of_one_launch() -> Iterator[Row]:
    """Where each side has one launch: iterations are drawn anew, test by test."""
    random = np.random.default_rng(0)
    sides_of = [[_measured_once(number, random) for number in range(RESULTS)] for _ in range(2)]

    def drawn() -> None:
        assert compare(*sides_of, change_minimum=0.05).has_single_launches

    (seconds,) = medians(drawn, rounds=3)
    case = f"comparison of {RESULTS:,} results of one launch, {ITERATIONS} iterations"
    yield under("benchmark results", case, seconds, DRAWN_S)


def _measured_once(number: int, random: np.random.Generator) -> Entry:
    values = 1000 * np.exp(random.normal(0, 0.02, ITERATIONS))
    return Entry(
        key=f"test{number}", area=f"area{number % 20}", unit="ns", worse="more",
        scores=np.array([np.median(values)]), iterations=values,
    )  # fmt: skip


def _rows_of_runner() -> Iterator[Row]:
    """Per iteration, beside one of 200 ms: reading the clock, keeping the numbers, looking whether it is time."""
    count = 20_000
    calls = iter(range(count))

    def many() -> None:
        run_phases(
            lambda: 1 + (next(calls, 0) < 0), warmup_s=0, measure_s=0, iterations_min=count,
            has_measured=lambda: None, all_have_measured=lambda: True,
        )  # fmt: skip

    (seconds,) = medians(many, rounds=5)
    limit = OVERHEAD_RATIO * ITERATION_S
    yield under("benchmark runner", "its part of an iteration", seconds / count, limit)


def rows(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _rows_of_warehouse(Path(folder), quick)
    yield from _rows_of_one_launch()
    yield from _rows_of_runner()
