"""Runners: real programs, their phases, and what becomes of those that fail."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from benchmark_suites import FOLDER, SUITE, needs_java, run_suite, written

from perfreg_assets.benchmarks import programs
from perfreg_assets.benchmarks.abstract_test import AbstractTest, make
from perfreg_assets.benchmarks.phases import LONG_NS, Stability, run_phases
from perfreg_assets.benchmarks.protocol import parse_launch
from perfreg_assets.benchmarks.running import run_suites
from perfreg_assets.benchmarks.suite import read_suite
from perfreg_assets.reasons import Reason, Rejected


def run(name, **options):
    """The result, or the refusal, of one benchmark of the suite, launched as often as it says there."""
    suite = read_suite(SUITE, {key: str(value) for key, value in options.items()})
    chosen = replace(suite, benchmarks=tuple(one for one in suite.benchmarks if name in one.name))
    file = run_suite(chosen)
    return file.results[0] if file.results else file.invalid[0]


def trouble(tmp_path, kind, **options):
    """What becomes of a benchmark that does `kind`."""
    told = {"launches": 1, "warmup_s": 0, "measure_s": 0.01, "iterations_min": 2} | options
    lines = "".join(f'<conf name="{name}" value="{value}"/>' for name, value in told.items())
    shutil.copy(FOLDER / "benchmarks.py", tmp_path)
    text = (
        f'<mttest>{lines}<benchmark name="benchmarks.py:Trouble" runner="python">'
        f'<option name="param_kind" value="{kind}"/></benchmark></mttest>'
    )
    file = run_suite(written(tmp_path, text))
    return file.results[0] if file.results else file.invalid[0]


def codes(result):
    return {one.code for one in result.warnings}


# ---- runners -------------------------------------------------------------------------------------
@needs_java
def test_java_is_compiled_and_measured_in_threads():
    result = run("Sorting")
    assert (result.unit, result.worse, result.area) == ("ops/s", "less", "sort")
    assert sorted({(one.number, one.thread) for one in result.launches}) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(len(one.values) >= 3 and set(one.counts) == {200_000} for one in result.launches)
    launch = [one for one in result.launches if one.number == 0]
    assert result.scores[0] == pytest.approx(sum(np.median(one.values) for one in launch))


@needs_java
def test_java_what_does_not_hold_is_no_result():
    found = run("Sorting", isValidating="true", paramBroken="true")
    assert (found.reason, found.detail) == (Reason.VALIDATION_FAILED, "sorted: expected true, got false")
    checked = run("Sorting", isValidating="true", launches=1)
    assert Reason.VALIDATING in codes(checked)
    assert not checked.is_adequate


@needs_java
@pytest.mark.parametrize(("option", "word"), [({"paramNone": "1"}, "paramNone"), ({"paramSize": "x"}, "expected int")])
def test_java_a_parameter_that_there_is_not(option, word):
    found = run("Sorting", **option)
    assert found.reason is Reason.BENCHMARK_FAILED
    assert word in found.detail


@needs_java
def test_java_that_does_not_compile_says_why(tmp_path):
    (tmp_path / "A.java").write_text("class A extends AbstractTest {")
    text = '<mttest><benchmark name="A"/></mttest>'
    file = run_suite(written(tmp_path, text))
    assert file.invalid[0].reason is Reason.COMPILATION_FAILED
    assert "A.java:1" in file.invalid[0].detail


def test_java_without_a_jdk_is_a_reason(monkeypatch):
    monkeypatch.setattr(programs.shutil, "which", lambda _: None)
    assert run("Sorting").reason is Reason.COMPILER_MISSING


def test_python_a_thread_is_a_process():
    result = run("Digest", threads=2, launches=1)
    assert {one.thread for one in result.launches} == {0, 1}
    assert result.name.startswith("benchmarks.py:Digest(paramGoldenfile=digest.txt, paramSize=100000, threads=2)")


def test_python_golden_files_are_compared_where_asked_for():
    assert Reason.VALIDATING in codes(run("Digest", isValidating="true", launches=1))
    found = run("Digest", isValidating="true", launches=1, paramSize=512)
    assert found.reason is Reason.VALIDATION_FAILED
    assert "SHA-256: expected" in found.detail


def test_a_command_is_any_program():
    result = run("awk loop")
    assert result.scores == pytest.approx([1000 / 250002 * 1e9] * 2)
    assert result.launches[0].counts == (1000,) * 5
    assert Reason.ITERATION_SHORT in codes(result)


def test_a_command_may_print_google_benchmarks_json(tmp_path):
    content = {"context": {"num_cpus": 2}, "benchmarks": [{"name": "BM_A", "real_time": 5.0, "time_unit": "us"}]}
    (tmp_path / "out.json").write_text(json.dumps(content))
    text = '[[benchmark]]\nname = "x"\nrunner = "command"\ncommand = ["sh", "-c", "cat out.json"]\nlaunches = 3'
    file = run_suite(written(tmp_path, text, "suite.toml"))
    (result,) = file.results
    assert (result.name, result.scores.tolist()) == ("BM_A real_time", [5000.0] * 3)


def test_variants_take_turns(tmp_path):
    log = tmp_path / "log"
    (tmp_path / "loop.sh").write_text(f'echo "$0 $*" >> {log}\n' + (FOLDER / "loop.sh").read_text())
    text = '[[benchmark]]\nname = "x"\nrunner = "command"\ncommand = ["sh", "loop.sh"]\nlaunches = 4'
    path = written(tmp_path, text, "suite.toml")
    suites = [(name, read_suite(path, {"paramArm": name})) for name in ("a", "b")]
    found = run_suites(suites, progress=lambda _: None)
    arms = [line.rpartition("paramArm=")[2] for line in log.read_text().splitlines()]
    assert arms == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert set(found) == {"a", "b"}
    assert found["a"][0].sha256 != found["b"][0].sha256


# ---- what fails ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "reason", "word"),
    [
        ("die", Reason.BENCHMARK_FAILED, "exit status 7"),
        ("junk", Reason.BENCHMARK_FAILED, "what is this"),
        ("raise", Reason.BENCHMARK_FAILED, "RuntimeError: no luck"),
        ("nothing", Reason.RESULT_INVALID, "count is 0"),
    ],
)
def test_a_program_that_fails_has_no_result_and_says_why(tmp_path, kind, reason, word):
    found = trouble(tmp_path, kind)
    assert found.reason is reason
    assert word in found.detail


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "START_S", 1.0)
    found = trouble(tmp_path, "hang", threads=2)
    assert found.reason is Reason.BENCHMARK_TIMEOUT


@pytest.mark.parametrize("into", ["", " >&2"], ids=["stdout", "stderr"])
def test_a_program_that_writes_without_end_is_ended_before_it_fills_the_disk(tmp_path, monkeypatch, into):
    monkeypatch.setattr(programs, "START_S", 6.0)
    monkeypatch.setattr(programs, "OUTPUT_BYTES_MAX", 1 << 20)
    (tmp_path / "chatty.sh").write_text(f"while :; do head -c 1000000 /dev/zero{into}; sleep 0.1; done\n")
    text = (
        '[conf]\nwarmup_s = 0\nmeasure_s = 0\n[[benchmark]]\nname = "x"\nrunner = "command"\n'
        'command = ["sh", "chatty.sh"]'
    )
    (found,) = run_suite(written(tmp_path, text, "suite.toml")).invalid
    assert (found.reason, found.detail) == (Reason.BENCHMARK_FAILED, "it wrote more than 1 MiB")


def test_what_a_benchmark_opened_it_closes_whatever_happened(tmp_path, monkeypatch):
    marker = tmp_path / "marker"
    monkeypatch.setenv("BENCHMARK_DONE_MARKER", str(marker))
    trouble(tmp_path, "raise")
    assert marker.exists()


def test_one_that_fails_stops_no_other(tmp_path):
    shutil.copy(FOLDER / "loop.sh", tmp_path)
    text = (
        '[conf]\nlaunches = 1\n[[benchmark]]\nname = "bad"\nrunner = "command"\ncommand = ["no-such-program"]\n'
        '[[benchmark]]\nname = "good"\nrunner = "command"\ncommand = ["sh", "loop.sh"]'
    )
    file = run_suite(written(tmp_path, text, "suite.toml"))
    assert [one.benchmark for one in file.results] == ["good"]
    assert "cannot be started" in file.invalid[0].detail


@pytest.mark.parametrize(
    ("output", "word"),
    [
        ('{"context": {}, "benchmarks": [{"real_time": 5.0}]}', "built otherwise (no 'name')"),
        ('{"context": {}, "benchmarks": []}', "has no result, or only what others are summed up to"),
        (
            '{"context": {}, "benchmarks": [{"name": "BM_A_mean", "run_type": "aggregate", "real_time": 5.0}]}',
            "has no result, or only what others are summed up to",
        ),
        ("[" * 100_000, "is no JSON"),
        ('{"phase": "measure", "thread": -1, "count": 1, "elapsed_ns": 1}', "not as expected"),
    ],
    ids=["no name", "empty", "aggregates only", "deep", "thread"],
)
def test_one_that_prints_something_else_says_so_and_stops_no_other(tmp_path, output, word):
    shutil.copy(FOLDER / "loop.sh", tmp_path)
    (tmp_path / "output").write_text(output)
    text = (
        '[conf]\nlaunches = 2\n[[benchmark]]\nname = "bad"\nrunner = "command"\n'
        'command = ["sh", "-c", "cat output"]\n'
        '[[benchmark]]\nname = "good"\nrunner = "command"\ncommand = ["sh", "loop.sh"]'
    )
    file = run_suite(written(tmp_path, text, "suite.toml"))
    assert [one.benchmark for one in file.results] == ["good"]
    (bad,) = file.invalid
    assert (bad.name, bad.reason) == ("bad throughput", Reason.BENCHMARK_FAILED)
    assert word in bad.detail


def test_a_class_outside_the_suites_folder_is_refused(tmp_path):
    text = '[[benchmark]]\nname = "../x.py:A"\nrunner = "python"'
    file = run_suite(written(tmp_path, text, "suite.toml"))
    assert file.invalid[0].reason is Reason.SUITE_PATH


@pytest.mark.parametrize(
    ("line", "reason", "word"),
    [
        ('{"phase": "measure", "thread": 0, "count": 1, "elapsed_ns": 0}', Reason.RESULT_INVALID, "elapsed_ns is 0"),
        ('{"phase": "measure", "thread": 0, "count": 1.5, "elapsed_ns": 1}', Reason.BENCHMARK_FAILED, "count is 1.5"),
        ('{"phase": "measure", "thread": 0, "count": 1}', Reason.BENCHMARK_FAILED, "elapsed_ns is None"),
        ('{"phase": "rest"}', Reason.BENCHMARK_FAILED, "not as expected"),
        ('{"phase": "measure", "thread": -1, "count": 1, "elapsed_ns": 1}', Reason.BENCHMARK_FAILED, "not as expected"),
        (
            f'{{"phase": "measure", "thread": {2**31}, "count": 1, "elapsed_ns": 1}}',
            Reason.BENCHMARK_FAILED,
            "not as expected",
        ),
        ("[1]", Reason.BENCHMARK_FAILED, "not as expected"),
        ("", Reason.BENCHMARK_FAILED, "no measured iteration"),
        ('{"phase": "warmup", "thread": 0}', Reason.BENCHMARK_FAILED, "no measured iteration"),
    ],
)
def test_lines_that_do_not_follow_the_protocol(line, reason, word):
    with pytest.raises(Rejected) as caught:
        parse_launch(line)
    assert caught.value.reason is reason
    assert word in caught.value.detail


# ---- phases --------------------------------------------------------------------------------------
class Clock:
    """A clock that iterations move on."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now

    def spend(self, ns):
        self.now += ns
        return 1


def phases(durations, *, warmup_s=1.0, measure_s=2.0, iterations_min=5, conclude=0):
    """Runs with iterations of these durations (ns, the last one repeats); (warm, measured, concluding ones)."""
    clock, left = Clock(), list(durations)
    calls, told = [], []

    def iteration():
        calls.append(1)
        return clock.spend(left.pop(0) if len(left) > 1 else left[0])

    def all_have_measured():
        return len(calls) >= told[0] + conclude

    warm, measured = run_phases(
        iteration, warmup_s=warmup_s, measure_s=measure_s, iterations_min=iterations_min, clock=clock,
        has_measured=lambda: told.append(len(calls)), all_have_measured=all_have_measured,
    )  # fmt: skip
    return warm, measured, len(calls) - len(warm) - len(measured)


def test_phases_last_as_long_as_they_should_at_least():
    warm, measured, rest = phases([10_000_000])
    assert len(warm) == 100
    assert len(measured) == 200
    assert rest == 0


def test_few_long_iterations_are_measured_as_often_as_asked_for():
    warm, measured, _ = phases([3_000_000_000], iterations_min=7)
    assert len(measured) == 7
    assert len(warm) == 2  # two in a row that agree


def test_warm_up_goes_on_until_it_is_stable_and_ends_after_eight_seconds_more():
    falling = [int(30e6 * 0.99**n) + 1_000_000 for n in range(2000)]
    warm, _, _ = phases(falling)
    assert sum(one.elapsed_ns for one in warm) > 1e9
    alternating = [150_000_000, 260_000_000] * 200
    warm, _, _ = phases(alternating)
    assert 9e9 <= sum(one.elapsed_ns for one in warm) < 9.3e9


def test_without_warm_up_everything_is_measured():
    warm, measured, _ = phases([10_000_000], warmup_s=0)
    assert warm == []
    assert measured[0].begin_ns == 0


def test_a_thread_goes_on_until_all_have_measured_and_measures_nothing_meanwhile():
    _, measured, rest = phases([10_000_000], conclude=17)
    assert (len(measured), rest) == (200, 17)


def stable_slowly(durations):
    """After which of the durations they are stable, the obvious way; None for never."""
    for n in range(1, len(durations) + 1):
        seen = durations[:n]
        if seen[-1] > LONG_NS:
            if n > 1 and abs(seen[-1] / seen[-2] - 1) <= 0.04:
                return n
            continue
        quick = slow = float(seen[0])
        agreed = 1
        for one in seen[1:]:
            quick, slow = quick + 0.1 * (one - quick), slow + 0.005 * (one - slow)
            agreed = agreed + 1 if abs(quick / slow - 1) <= 0.04 else 0
        if agreed >= 40:
            return n
    return None


@pytest.mark.parametrize("seed", range(6))
def test_stability_is_jetpacks_rule(seed):
    random = np.random.default_rng(seed)
    fall = 1 + random.uniform(0, 3) * np.exp(-np.arange(300) / random.uniform(5, 60))
    durations = [int(one) for one in 1e6 * fall * random.lognormal(0, 0.02, 300)]
    stability = Stability()
    found = next((place for place, one in enumerate(durations, 1) if stability.add(one)), None)
    assert found == stable_slowly(durations)


# ---- tests in Python -----------------------------------------------------------------------------
class Base(AbstractTest):
    paramInherited: int = 1


class Own(Base):
    _paramHidden: bool = False
    paramRatio = 0.5
    paramText: str = "a"


def test_fields_are_set_and_converted_inherited_and_hidden_ones_too():
    params = {"paramInherited": "7", "paramHidden": "true", "paramRatio": "2.5", "paramText": "x"}
    test = make(Own, {"is_validating": "true"}, params)
    assert (test.paramInherited, test._paramHidden, test.paramRatio, test.paramText) == (7, True, 2.5, "x")
    assert test.is_validating


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"paramX": "1"}, "has no paramX"),
        ({"paramInherited": "x"}, "expected a number"),
        ({"paramHidden": "1"}, "true"),
    ],
)
def test_fields_that_there_are_not_and_values_that_do_not_fit(params, word):
    with pytest.raises(ValueError, match=word):
        make(Own, {}, params)


def test_the_worker_is_a_program_of_its_own(tmp_path):
    command = [sys.executable, "-m", "perfreg_assets.benchmarks.python_worker", f"{FOLDER}/benchmarks.py:None_",
               "threads=1", "warmup_s=0", "measure_s=0", "iterations_min=1"]  # fmt: skip
    output = programs.launch(command, timeout_s=60, folder=tmp_path)
    with pytest.raises(Rejected, match="has no class None_"):
        parse_launch(output)
