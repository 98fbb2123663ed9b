"""Macros at any ω answer for one detector: the one in force unless another, or all, are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import duckdb
import numpy as np
import pytest

from perfreg_assets.warehouse import benchmarks, distances, measurements, runs, verdicts
from perfreg_assets.warehouse.connection import Writer

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CALLS = [
    "verdicts_at(0.5{})",
    "axis_verdicts_at(0.5{})",
    "version_verdicts_at(0.5{})",
    "verdict_flips(1.5, 0.5{})",
    "false_alarm_rates_at(0.5{})",
    "benchmark_verdicts_at(0.5{})",
]


@pytest.fixture
def writer(memory: duckdb.DuckDBPyConnection) -> Iterator[Writer]:
    """A run and a benchmark judged by two detectors, `iqr` in force; what a test writes is rolled back."""
    memory.execute("BEGIN TRANSACTION")
    writer = Writer(memory)
    runs.upsert(
        writer,
        [
            runs.RunRow(
                run_id="a", folder_name="a", content_hash="a", app="app", version_name="1", config_hash="c",
                started_at=NOON,
            )
        ],
    )  # fmt: skip
    measured = {"parameters_hash": "p", "state": "scored", "distance": 3.0, "q1": 1.0, "q3": 2.0}
    distances.upsert(
        writer,
        [
            distances.DistanceRow(run_id="a", series=series, detector=detector, **measured)
            for series in ("cpu_app", "*")
            for detector in ("default", "iqr")
        ],
    )
    _judge_benchmark(writer)
    verdicts.make_current(writer, omega=0.5, detector="iqr")
    yield writer
    memory.execute("ROLLBACK")


def _detectors(writer: Writer, call: str, argument: str = "") -> set[str]:
    return {name for (name,) in writer.rows(f"SELECT detector FROM marts.{call.format(argument)}")}


def _judge_benchmark(writer: Writer) -> None:
    ids = {"benchmark_run_id": "b", "result_name": "sort"}
    run = benchmarks.BenchmarkRunRow(
        benchmark_run_id="b", partition_key="b", app="app", version_name="1", device="d", variant="", runner="jmh",
        suite_hash=None, source_name="b.json", source_sha256="b", environment={}, started_at=NOON,
    )  # fmt: skip
    score = measurements.MeasurementRow(
        subject_kind="benchmark_run", subject_id="b", metric="sort", app="app",
        version_name="1", unit="us", value=1.0, worse="more",
    )  # fmt: skip
    result = benchmarks.ResultRow(
        **ids, benchmark="sort", params={}, area="sorting", quantity="time", is_primary=True, is_adequate=True,
        launch_scores=np.array([1.0]), launch_count=1, measured_iteration_count=1,
    )  # fmt: skip
    benchmarks.add(writer, [benchmarks.Measured(run, (score,), (result,), (), ())])
    judged = benchmarks.JudgedRow(benchmark_run_id="b", input_hash="h", code_version="1")
    scored = {"state": "scored", "state_reason": None, "distance": 3.0, "q1": 1.0, "q3": 2.0}
    benchmarks.replace_distances(
        writer,
        [judged],
        [benchmarks.BenchmarkDistanceRow(**ids, detector=detector, **scored) for detector in ("default", "iqr")],
    )


@pytest.mark.parametrize("call", CALLS)
def test_a_macro_answers_for_the_detector_asked_for(writer: Writer, call: str) -> None:
    assert _detectors(writer, call) == {"iqr"}
    assert _detectors(writer, call, ", detector := NULL") == {"iqr"}
    assert _detectors(writer, call, ", detector := 'default'") == {"default"}
    assert _detectors(writer, call, ", 'default'") == {"default"}
    assert _detectors(writer, call, ", detector := 'all'") == {"default", "iqr"}
    verdicts.make_current(writer, detector="default")
    assert _detectors(writer, call) == {"default"}


@pytest.mark.parametrize("call", CALLS)
def test_a_detector_that_is_none_is_an_error(writer: Writer, call: str) -> None:
    with pytest.raises(duckdb.Error, match=r"no detector 'iqqr': one of marts\.detectors, or 'all'"):
        _detectors(writer, call, ", detector := 'iqqr'")


@pytest.mark.parametrize("view", ["verdicts", "axis_verdicts", "version_verdicts", "false_alarm_rates"])
def test_views_keep_the_rows_of_all_detectors(writer: Writer, view: str) -> None:
    verdicts.evaluate(writer, 0.5, "default")
    assert _detectors(writer, view) == {"default", "iqr"}


def test_benchmarks_have_the_verdict_in_force(writer: Writer) -> None:
    assert _detectors(writer, "benchmark_verdicts") == {"iqr"}


def test_without_an_omega_benchmarks_are_judged_at_the_one_in_force(writer: Writer) -> None:
    for omega in (0.5, 9.0):
        verdicts.make_current(writer, omega=omega)
        asked = "SELECT omega, state, explanation FROM marts.benchmark_verdicts_at({})"
        assert writer.rows(asked.format("NULL")) == writer.rows(asked.format(omega))
        assert writer.rows(asked.format("NULL"))[0][0] == omega


def test_flips_of_the_verdicts_that_were_given_name_the_omega_of_each(writer: Writer) -> None:
    for omega in (0.5, 1.5):
        verdicts.evaluate(writer, omega, "iqr")
    flips = "SELECT series, omega_a, omega_b, state_a, state_b FROM marts.verdict_flips({}) ORDER BY ALL"
    assert writer.rows(flips.format("NULL, 0.5")) == [
        (series, 1.5, 0.5, "normal", "anomalous") for series in ("*", "cpu_app")
    ]
    assert writer.rows(flips.format("NULL, 9")) == [
        (series, 0.5, 9.0, "anomalous", "normal") for series in ("*", "cpu_app")
    ]
