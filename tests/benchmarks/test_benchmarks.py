"""The benchmarks' own machinery. Speed itself is not tested: machines are noisy, the table is what is read."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfreg_assets.automation import progress


@pytest.fixture
def bench(monkeypatch):
    """Imports a module of this folder as the command does."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module


def test_every_topic_gives_rows(bench):
    names = bench("run").topics()
    assert {"dtw", "path_similarity", "matrix_profile", "startup"} <= set(names)
    for name in names:
        assert callable(bench(f"topic_{name}").rows)


def test_the_table_tells_ratios_and_a_missed_target_is_an_exit_status(bench, monkeypatch, capsys, tmp_path):
    run, measuring = bench("run"), bench("measuring")
    rows = [
        measuring.at_least("a", "kept", 0.002, "other", 0.04, times=15),
        measuring.at_least("a", "not kept", 1.5, "other", 3.0, times=15),
        measuring.under("b", "limit", 0.1, 0.2),
        measuring.Row("b", "only told", 0.1),
    ]
    monkeypatch.setattr(run, "collect", lambda names, quick: rows)
    assert run.main(["dtw", "--json", str(tmp_path / "rows.json")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[2:6]] == ["met", "MISSED", "met", "ms"]
    assert "20.0 x" in lines[2]
    assert "2 ms" in lines[2]
    assert "1.50 s" in lines[3]
    assert len(json.loads((tmp_path / "rows.json").read_text())["rows"]) == 4
    monkeypatch.setattr(run, "collect", lambda names, quick: rows[2:])
    assert run.main([]) == 0


def test_an_unknown_topic_is_named(bench, capsys):
    with pytest.raises(SystemExit):
        bench("run").main(["dwt"])
    assert "no such topic: dwt; there are " in capsys.readouterr().err


def test_functions_are_sampled_in_turns_and_quick_ones_several_times(bench, monkeypatch):
    measuring = bench("measuring")
    clock, calls = [0.0], []
    monkeypatch.setattr(measuring.time, "perf_counter", lambda: clock[0])

    def taking(name, seconds):
        def function():
            calls.append(name)
            clock[0] += seconds

        return function

    found = measuring.medians(taking("slow", 1.0), taking("quick", 0.02), rounds=2)
    assert found == pytest.approx((1.0, 0.02))
    assert "".join(name[0] for name in calls[4:]) == "sqq" * 2


def test_the_header_tells_what_the_ratios_depend_on(bench):
    info = (
        "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.50GHz\n"
        "stepping\t: 7\ncpu MHz\t\t: 2499.998\ncache size\t: 36608 KB\nflags\t\t: fpu sse4_2 avx fma avx2 avx512f\n\n"
        "processor\t: 1\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.50GHz\n"
    )
    facts = bench("run").processor(info)
    assert facts["cpu"] == "Intel(R) Xeon(R) CPU @ 2.50GHz"
    assert facts["family/model/stepping"] == "6/85/7"
    assert (facts["MHz"], facts["cache"]) == ("2499", "36608 KB")
    assert facts["vectors"] == "sse4_2 avx avx2 fma avx512f"
    assert bench("run").processor("")["vectors"] == "unknown"
    assert bench("run").machine()["kernels compiled for"]


def test_a_meter_counts_a_child_whose_parent_was_killed(bench, tmp_path):
    """As a trace engine is: nobody waits for it but whoever adopts it."""
    cost = bench("cost")
    work = f"open({str(tmp_path / 'out')!r}, 'wb').write(bytes(3_000_000)); [i * i for i in range(10_000_000)]"
    parent = (
        "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', sys.argv[1]]).wait(); time.sleep(60)"
    )
    meter, before = cost.Meter(), cost.children_cpu_s()
    with subprocess.Popen([sys.executable, "-c", parent, work], start_new_session=True) as process:
        while cost.children_cpu_s() - before < 0.25:  # the work is under way, some ticks past what is asked for
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    measured = meter.lap()
    assert measured.children_cpu_s >= 0.2
    assert measured.cpu_s >= measured.children_cpu_s
    assert measured.bytes_written >= 3_000_000
    assert measured.peak_bytes > 1_000_000


def test_a_made_up_warehouse_is_built_once_and_nothing_in_it_is_due(bench, tmp_path, monkeypatch, capsys):
    made_up_runs = bench("made_up_runs")
    monkeypatch.setattr(made_up_runs, "APP_COUNT", 4)  # each costs the same, whatever it has runs
    settings = made_up_runs.built(tmp_path / "60", 60)  # (fails by itself where something is due)
    before = settings.warehouse.stat().st_mtime_ns
    assert made_up_runs.built(tmp_path / "60", 60) == settings
    assert settings.warehouse.stat().st_mtime_ns == before
    given = made_up_runs.next_run(tmp_path / "60"), made_up_runs.next_run(tmp_path / "60")
    documents = [json.loads((folder / "run.json").read_text()) for folder in given]
    assert len({document["version_name"] for document in documents}) == 2


def test_the_table_of_scale_has_a_line_per_stage(bench):
    scale, cost = bench("scale"), bench("cost")
    table = scale.as_table({10: {"total": cost.Cost(1.5, 0.5, 2_000_000, 3_000_000)}, 1000: {"total": cost.NOTHING}})
    assert table.splitlines()[1].split() == ["total", "1.50", "2.0", "3", "0.00", "0.0", "0"]


def test_the_stages_of_an_ingest_are_the_steps_that_its_progress_tells(bench):
    plan = progress._Plan(steps=10, of_what="1 version")
    begun = bench("scale_stages")._begun
    assert [begun(plan.next("runs")), begun(plan.next("history_sets"))] == ["runs", "history sets"]
    assert begun("causes: 3 runs") == ""
