"""The suite that comes with the package: what its tests compute is worked out a second time, and all of it runs."""

from __future__ import annotations

import json
import math
import re
from collections import Counter

import numpy as np
import pytest
from benchmark_suite_reference import (
    ARENSTORF,
    arenstorf,
    energy_after,
    expected,
    lorenz,
    minimax,
    names,
    oscillator,
    primes,
)
from benchmark_suites import needs_java, run_suite
from click.testing import CliRunner

from perfreg_assets.benchmarks import shipped
from perfreg_assets.benchmarks.suite import read_suite
from perfreg_assets.cli import main
from perfreg_assets.reasons import Reason, Rejected

AREAS = {
    "sort": 5, "math": 6, "runge_kutta": 3, "game_ai": 4, "vision": 5, "compression": 4, "crypto": 5, "physics": 4,
    "jni": 4,
}  # fmt: skip
GOLDEN = dict(line.rsplit(": ", 1) for line in (shipped.FOLDER / "golden.txt").read_text("utf-8").splitlines())
SHORT = {"launches": 1, "warmup_s": 0, "measure_s": 0, "iterations_min": 1, "paramReps": 1, "isValidating": "true"}


def key(one):
    """Under which a benchmark stands in golden.txt."""
    params = {name: text for name, text in one.options.params.items() if name not in ("paramReps", "paramGoldenfile")}
    return " ".join([one.name, *(f"{name}={text}" for name, text in sorted(params.items()))])


# ---- what it holds -------------------------------------------------------------------------------
def test_there_are_forty_tests_of_nine_areas_in_about_a_hundred_lines():
    benchmarks = read_suite(shipped.SUITE).benchmarks
    assert Counter(area for area, _ in {(one.area, one.name) for one in benchmarks}) == AREAS
    assert {one.name for one in benchmarks} == names()
    assert 95 <= len(benchmarks) <= 110
    assert min(Counter(one.area for one in benchmarks).values()) >= 5
    assert sorted(map(key, benchmarks)) == sorted(GOLDEN)
    sources = {path.stem for path in shipped.FOLDER.rglob("*.java")}
    assert names() <= sources


def test_toml_says_what_xml_says():
    assert read_suite(shipped.SUITE.with_suffix(".toml")).benchmarks == read_suite(shipped.SUITE).benchmarks


# ---- golden values -------------------------------------------------------------------------------
@pytest.mark.parametrize("line", GOLDEN)
def test_golden_values_come_out_by_another_way(line):
    name, *params = line.split()
    assert expected(name, dict(one.split("=", 1) for one in params)) == int(GOLDEN[line])


def test_published_values():
    assert energy_after(0) == pytest.approx(-0.169075164, abs=5e-10)  # Computer Language Benchmarks Game, n-body
    assert energy_after(1000) == pytest.approx(-0.169087605, abs=5e-10)
    assert minimax(3, 3, False) == 549_946  # positions of tic-tac-toe's whole tree, which is a draw
    assert minimax(4, 3, True) == 1
    assert GOLDEN["Primes paramBelow=1000000 paramType=bit"] == str(primes(1_000_000, "bit"))


def test_simulations_go_where_the_equations_do():
    x, v = oscillator(10_000, "double")
    t = 10_000 * 0.0009765625
    assert (x, v) == pytest.approx((math.cos(t), -math.sin(t)), abs=1e-11)
    single = oscillator(10_000, "float")
    assert [float(one) for one in single] == pytest.approx((math.cos(t), -math.sin(t)), abs=1e-3)
    state, _ = arenstorf(1e-9)
    assert state[:2] == pytest.approx(ARENSTORF[:2], abs=0.02)  # the orbit is closed
    assert np.all(np.abs(lorenz(10_000, "double")) < 50)


# ---- it runs -------------------------------------------------------------------------------------
def one_line_per_test(folder):
    """A copy of the suite in which each test is there once: its other lines are the same code with other parameters."""
    copied, met = shipped.copy_to(folder), set()
    kept = []
    for line in copied.read_text("utf-8").splitlines():
        name = re.search(r'<benchmark name="(\w+)"', line)
        if name is None or name[1] not in met:
            kept.append(line)
        met |= {name[1]} if name else set()
    copied.write_text("\n".join(kept), "utf-8")
    return copied


@needs_java
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["a line", "whole"])
def test_every_test_of_the_suite_runs_twice_in_a_short_form_and_is_compared(tmp_path, monkeypatch, is_whole):
    """A launch per line and variant."""
    if not is_whole:
        monkeypatch.setattr(shipped, "SUITE", one_line_per_test(tmp_path / "suite"))
    benchmarks = read_suite(shipped.SUITE).benchmarks
    assert {one.name for one in benchmarks} == names()
    assert (len(benchmarks) == len(GOLDEN)) is is_whole
    path = tmp_path / "p.duckdb"
    options = [part for name, value in SHORT.items() for part in ("--option", f"{name}={value}")]
    own = ["--app", "a", "--app-version", "1", "--warehouse", str(path)]
    arms = ["--variant", "a", "--variant", "b:java_options=-XX:+UseSerialGC"]
    run = CliRunner().invoke(main, ["bench", "run", *own, *options, *arms, "--format", "json"])
    assert run.exit_code == 4, run.output  # checks were on: nothing is judged
    rows = json.loads(run.stdout)
    assert Counter(row["state"] for row in rows) == {"inadequate": 2 * len(benchmarks)}, run.stderr
    assert all("validating" in row["warnings"] for row in rows)
    compared = ["bench", "compare", "a", "b", *own, "--format", "json"]
    nothing = CliRunner().invoke(main, compared)
    assert nothing.exit_code == 1
    assert "nothing can be compared" in nothing.stderr
    told = json.loads(CliRunner().invoke(main, [*compared, "--include-inadequate"]).stdout)
    lines = Counter(one.area for one in benchmarks)
    assert {one["area"]: one["pairs"] for one in told["areas"]} == lines
    assert told["over_tests"]["pairs"] == len(benchmarks)
    logs = [math.log(one["ratio"]) for one in told["areas"]]
    assert told["overall"]["ratio"] == pytest.approx(math.exp(sum(logs) / len(logs)))


@needs_java
def test_what_is_not_as_in_the_golden_file_is_told(tmp_path):
    copied = shipped.copy_to(tmp_path / "suite")
    golden = copied.with_name("golden.txt")
    golden.write_text(golden.read_text().replace("JniCrc32 paramSize=64: ", "JniCrc32 paramSize=64: 9"))
    for size, reason, word in ((64, Reason.VALIDATION_FAILED, "JniCrc32 paramSize=64: expected 9"),
                               (65, Reason.BENCHMARK_FAILED, "has no line for JniCrc32 paramSize=65")):  # fmt: skip
        text = f'<mttest><benchmark name="JniCrc32"><option name="paramSize" value="{size}"/></benchmark></mttest>'
        copied.write_text(text)
        options = {name: str(value) for name, value in SHORT.items()} | {"paramGoldenfile": "golden.txt"}
        (found,) = run_suite(read_suite(copied, options)).invalid
        assert found.reason is reason
        assert word in found.detail


def test_a_copy_goes_into_a_new_folder_only(tmp_path):
    result = CliRunner().invoke(main, ["bench", "suite", str(tmp_path / "mine")])
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(tmp_path / "mine" / "suite.xml")
    assert len(read_suite(tmp_path / "mine" / "suite.xml").benchmarks) == len(GOLDEN)
    with pytest.raises(Rejected) as caught:
        shipped.copy_to(tmp_path / "mine")
    assert caught.value.reason is Reason.SUITE_PATH
