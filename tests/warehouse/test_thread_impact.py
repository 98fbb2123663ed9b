"""What `perfreg impact` says of threads: of all seconds on a screen, which share was theirs; by loops as reference."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.methods.thread_times import REST, RUNNING, ThreadTimes
from perfreg_assets.methods.window_causes import Recorded
from perfreg_assets.model.thread_impact import _rows, thread_impact
from perfreg_assets.warehouse import recorded, runs
from perfreg_assets.warehouse.connection import Reader, Warehouse

APP = "com.example.notes"


def _expected(reader: Reader, run_ids: list[str]) -> dict[tuple[str, str], tuple[float, float, list[str]]]:
    """(thread, screen) → (mean share, ms, runs), a second at a time."""
    shares, took_ms, ids, shown = defaultdict(list), defaultdict(float), defaultdict(list), defaultdict(list)
    for run_id, run in recorded.load(reader, run_ids).items():
        times = run.times
        on = defaultdict(lambda: defaultdict(float))
        for entity, (thread, state, is_app) in enumerate(zip(times.thread, times.state, times.is_app, strict=True)):
            for second, screen in enumerate(run.screens):
                if is_app and state == "running":
                    on[str(screen)][thread] += times.seconds[entity, second]
        for screen, threads in on.items():
            shown[screen] += [run_id] * any(threads.values())
            for thread, seconds in threads.items():
                if thread != "*" and seconds > 0:
                    shares[thread, screen].append(seconds / sum(threads.values()))
                    took_ms[thread, screen] += 1000 * seconds
                    ids[thread, screen].append(run_id)
    return {key: (sum(own) / len(shown[key[1]]), took_ms[key], sorted(ids[key])) for key, own in shares.items()}


def test_a_threads_share_is_that_of_the_apps_seconds_on_the_screen(sample: Warehouse) -> None:
    with sample.reading() as reader:
        newest = reader.value(
            "SELECT version_name FROM marts.runs WHERE app = ? ORDER BY started_at DESC LIMIT 1", [APP]
        )
        of_newest = [
            run_id
            for (run_id,) in reader.rows(
                "SELECT runs.run_id FROM marts.runs AS runs JOIN marts.thread_time_states AS states "
                "ON states.run_no = runs.run_no "
                "WHERE runs.app = ? AND runs.version_name = ? AND states.has_thread_times",
                [APP, newest],
            )
        ]
        assert of_newest
        expected = _expected(reader, of_newest)
        rows = thread_impact(reader, APP, None)
    assert expected
    assert {(row["app"], row["version_name"]) for row in rows} == {(APP, newest)}
    told = {(row["method"], row["service"]): row for row in rows}
    assert told.keys() == expected.keys()
    for key, (share, took_ms, ids) in expected.items():
        assert told[key]["self_share"] == pytest.approx(share)
        assert told[key]["self_ms"] == pytest.approx(took_ms)
        assert told[key]["run_ids"] == ids


def test_the_newest_version_is_the_last_one_in_their_order_not_the_one_that_ran_last(sample_copy: Warehouse) -> None:
    with sample_copy.writing() as writer:
        (first, *_, last) = [name for _, _, name in runs.versions_in_order(writer, APP)]
        writer.execute(
            "UPDATE core.runs SET started_at = started_at + INTERVAL 99 DAY WHERE run_no = "
            "(SELECT max(run_no) FROM core.runs WHERE app = ? AND version_name = ?)",
            [APP, first],
        )
        assert runs.versions_in_order(writer, APP)[-1][2] == last
        told = {version for _, version in runs.of_newest_versions(writer, "core.thread_times", APP, None)}
    assert told == {last}


def test_a_run_with_the_screen_and_without_the_thread_counts_as_0() -> None:
    def run(*seconds: list[float]) -> Recorded:
        names = ("main", "rare", REST)
        times = ThreadTimes(0, ("app",) * 3, names, (RUNNING,) * 3, np.ones(3, np.bool_), np.array(seconds))
        return Recorded(times, np.array(["list", "note"]), {})

    of_all = run([0.5, 0.2], [0.25, 0.0], [0.25, 0.0])
    without = run([0.75, 0.0], [0.0, 0.0], [0.25, 0.0])  # nothing of the app ran on the screen note
    rows = _rows([("run-0", of_all), ("run-1", without)])
    told = {(row["service"], row["method"]): (row["self_share"], row["run_ids"]) for row in rows}
    assert told == {
        ("list", "main"): (0.625, ["run-0", "run-1"]),
        ("list", "rare"): (0.125, ["run-0"]),
        ("note", "main"): (1.0, ["run-0"]),
    }


def test_the_command_finds_threads_and_names_the_nearest_app_and_version(sample: Warehouse) -> None:
    def impact(*words: str):
        return CliRunner().invoke(main, ["impact", *words, "--warehouse", str(sample.path)])

    with sample.reading() as reader:
        thread = max(thread_impact(reader, APP, None), key=lambda row: row["self_ms"])["method"]
    rows = json.loads(impact(thread, "--app", APP, "--format", "json").stdout)
    assert {row["kind"] for row in rows} == {"thread"}
    assert all(row["calls"] is None and row["run_count"] == len(row["run_ids"]) for row in rows)
    for words, near in (
        (("x", "--app", "com.example.note"), "did you mean com.example.notes"),
        (("x", "--app", APP, "--app-version", "9"), "the latest are "),
    ):
        refused = impact(*words)
        assert refused.exit_code == 1
        assert near in refused.stderr
