"""ω of the whole history by one SQL pass, and what a write costs until readers see it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
from measuring import Row, medians, under

from perfreg_assets.warehouse import series, settings_table, verdicts
from perfreg_assets.warehouse.connection import Warehouse, Writer

SERIES = ("*", "cpu_app", "cpu_total", "rss_app")  # three series and the run itself
PROMISED_S = 0.2

_RUNS = """
INSERT INTO core.runs (run_id, folder_name, content_hash, partition_key, app, version_name, config_hash, started_at,
    functional_problem_count, is_quarantined, registered_at, run_no)
SELECT 'run-' || i, 'run-' || i, md5('run-' || i), 'app' || i % 10 || '@1.' || i // 1000, 'app' || i % 10,
    '1.' || i // 1000, 'config', TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_minutes(i), 0, false, now(), i + 1
FROM range(?) AS numbers(i)
"""
_DISTANCES = """
INSERT INTO core.distances (distance_id, run_id, series, detector, parameters_hash, is_latest, state, distance, q1, q3,
    history_distances, history_size, evidence_text, input_hash, measured_at, run_no)
SELECT i, 'run-' || i // $count, $series[i % $count + 1], 'default', '0a1b2c3d4e5f60718293a4b5c6d7e8f9', true, 'scored',
    (hash(i) % 100000) / 25000.0, -0.6745, 0.6745, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 12,
    'mean ' || i || ', history 12', md5('input' || i), now(), i // $count + 1
FROM range($runs * $count) AS numbers(i)
"""


def _filled(folder: Path, runs: int) -> Warehouse:
    warehouse = Warehouse(folder / "perfreg.duckdb", lock_timeout_s=10)
    with warehouse.writing() as writer:
        writer.execute(_RUNS, [runs])
        writer.execute(_DISTANCES, {"count": len(SERIES), "series": list(SERIES), "runs": runs})
    return warehouse


def _evaluate(writer: Writer, omegas: Iterator[int]) -> None:
    verdicts.evaluate(writer, next(omegas) / 1000, "default")  # another ω each time: every verdict is new


def _reevaluate(warehouse: Warehouse, omegas: Iterator[int]) -> None:
    with warehouse.writing() as writer:
        verdicts.make_current(writer, omega=next(omegas) / 1000)


def _read(warehouse: Warehouse) -> None:
    with warehouse.reading() as reader:
        settings_table.current(reader)


def _write(warehouse: Warehouse, numbers: Iterator[int], values: np.ndarray) -> None:
    with warehouse.writing() as writer:
        series.upsert(
            writer,
            [
                series.SeriesRow(
                    run_id=f"run-{next(numbers)}", series=f"s{i}", unit="cores", interval_s=1.0, start_ns=0,
                    values=values, is_missing=False,
                )
                for i in range(12)
            ],
        )  # fmt: skip


def rows(quick: bool) -> Iterator[Row]:
    runs = 10_000 if quick else 100_000
    rounds = 3 if quick else 7
    size = f"{runs:,} runs x 3 series and the run level"
    with tempfile.TemporaryDirectory(prefix="perfreg-benchmark-") as folder:
        warehouse = _filled(Path(folder), runs)
        omegas = count(1)
        with warehouse.writing() as writer:
            (pass_s,) = medians(partial(_evaluate, writer, omegas), rounds=rounds)
            (select_s,) = medians(
                partial(writer.rows, "SELECT count(*) FROM marts.verdicts_at(0.7) WHERE is_anomalous"), rounds=rounds
            )
        yield under(
            "warehouse",
            f"evaluate, {size}, stored",
            pass_s,
            PROMISED_S,
            reference="without storing",
            reference_s=select_s,
        )
        (whole_s,) = medians(partial(_reevaluate, warehouse, omegas), rounds=rounds)
        yield Row("warehouse", f"make_current with lock, commit and publishing, {_size(warehouse)}", whole_s)
        (read_s,) = medians(partial(_read, warehouse), rounds=rounds)
        yield Row("warehouse", "open the published file and read one row", read_s)
    with tempfile.TemporaryDirectory(prefix="perfreg-benchmark-") as folder:
        warehouse = Warehouse(Path(folder) / "perfreg.duckdb", lock_timeout_s=10)
        values = np.random.default_rng(0).normal(size=1800)
        (write_s,) = medians(partial(_write, warehouse, count(), values), rounds=rounds)
        yield Row("warehouse", "write and publish 12 series of 1800 samples", write_s)


def _size(warehouse: Warehouse) -> str:
    return f"{warehouse.path.stat().st_size / 1e6:.0f} MB"
