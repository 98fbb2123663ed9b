"""The benchmarks' own machinery. Speed itself is not tested: machines are noisy, the table is what is read."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest


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
