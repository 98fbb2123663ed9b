"""The commands of the first day: a trace looked at, traces imported, two sides compared, marts taken along."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import socket
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from perfreg_assets.catalogue import SERIES
from perfreg_assets.cli import importing, main
from perfreg_assets.cli.formats import FORMATS
from perfreg_assets.collection import registry
from perfreg_assets.model.sides import RunOfSide, Side
from perfreg_assets.partitions import to_key
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import runs, settings_table
from perfreg_assets.warehouse.connection import Warehouse
from tests.traces.conftest import TraceMaker

sys.path.insert(0, str(Path(__file__).parent / "warehouse"))

import sample_warehouse

DATA = Path(__file__).parent / "data"
SECOND = 10**9
APP = "com.rig.shop"


def run(*arguments, warehouse=None, given=None):
    extra = ["--warehouse", str(warehouse)] if warehouse else []
    return CliRunner().invoke(main, [*map(str, arguments), *extra], input=given)


def write_trace(path, busy_s, *, seconds=4, app=APP, other="com.rig.other"):
    """The app runs for a part of each second, another process for the rest."""
    maker = TraceMaker().process(10, app, {10: "main"}).process(11, other)
    slices = []
    for second in range(1, 1 + seconds):
        begin, end = second * SECOND, second * SECOND + int(busy_s * SECOND)
        slices += [(0, 10, begin, end), (0, 11, end, (second + 1) * SECOND)]
    maker.schedule(slices)
    path.parent.mkdir(parents=True, exist_ok=True)
    return maker.write(path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("firstday") / "perfreg.duckdb"
    sample_warehouse.build(path, runs=24, samples=40)
    return path


@pytest.fixture
def registered_only(monkeypatch):
    """Runs are registered as ingest does, and nothing is computed."""

    def take_in(settings, paths):
        folders = registry.find_run_folders(paths)
        done = registry.register(folders, settings, Warehouse.of(settings), to_key)
        assert [one.rejected for one in done] == [None] * len(folders)
        return {one.run_id for one in done}

    monkeypatch.setattr(importing, "take_in", take_in)


# ---- inspect -------------------------------------------------------------------------------------
def test_inspect_says_what_could_be_judged_and_what_to_record(tmp_path):
    trace = DATA / "android-traces" / "nexus5x_api24_startup_cold.perfetto-trace.gz"
    result = run("inspect", trace, "--format", "json", warehouse=tmp_path / "none.duckdb")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["device"], told["android_sdk"]) == ("bullhead / Android 7.0", 24)
    assert told["app"] == "androidx.benchmark.integration.macrobenchmark.target"
    assert told["is_complete"] is True
    assert told["started_at"] is None  # its clock said 1971
    series = {row["series"]: row for row in told["series"]}
    assert set(series) == {one.name for one in SERIES if one.kind != "scalar"}
    assert (series["cpu_app"]["is_recorded"], series["cpu_app"]["is_judged"]) == (True, True)
    assert series["rss_app"] | {"reason": ""} == {
        "series": "rss_app", "axis": "memory", "unit": "bytes", "is_recorded": False, "is_judged": True,
        "series_count": 0, "sample_count": 0, "mean": None, "reason": "", "record": ["process_stats"],
        "changes_load": None,
    }  # fmt: skip
    assert series["syscalls_app"]["changes_load"]
    assert series["power_cpu_app"]["record"] == []  # a profile is missing, not a source
    assert not (tmp_path / "none.duckdb").exists()


def test_inspect_says_which_series_are_too_short_to_be_judged_and_what_helps(tmp_path):
    """`cpu_app` of a start of 2 s `could be judged` by default; verdicts said `series_missing`."""
    short = write_trace(tmp_path / "a.pftrace", 0.5, seconds=2)
    result = run("inspect", short)
    assert re.search(r"^cpu_app +cpu +\S+ core-seconds/s +too short *$", result.stdout, re.MULTILINE)
    assert (
        "too short to be judged: The session has 2 samples of 1 s, 8 are needed to judge; a smaller interval_s gives "
        "more. `perfreg settings set interval_s 0.25`, or less, has traces read on a finer grid\n" in result.stderr
    )
    told = {row["series"]: row for row in json.loads(run("inspect", short, "--format", "json").stdout)["series"]}
    assert (told["cpu_app"]["sample_count"], told["cpu_app"]["is_recorded"]) == (2, True)
    anew = Warehouse.of(Settings(warehouse=tmp_path / "perfreg.duckdb"))
    with anew.writing() as writer:
        settings_table.change(writer, "interval_s", "0.25")
    finer = run("inspect", short, warehouse=tmp_path / "perfreg.duckdb")
    assert re.search(r"^cpu_app +cpu +\S+ core-seconds/s +yes *$", finer.stdout, re.MULTILINE)
    long = run("inspect", write_trace(tmp_path / "b.pftrace", 0.5, seconds=9))
    assert re.search(r"^cpu_app +cpu +\S+ core-seconds/s +yes *$", long.stdout, re.MULTILINE)
    assert "too short" not in long.stdout + long.stderr


def test_an_app_that_is_not_in_the_trace_is_an_error_that_names_those_that_are(tmp_path):
    trace = write_trace(tmp_path / "a.pftrace", 0.5)
    near = run("inspect", trace, "--app", "com.rig.shpo")
    assert (near.exit_code, near.stderr.count("\n")) == (1, 1)
    assert near.stderr.startswith("perfreg: com.rig.shpo is not in a.pftrace, none of its ")
    assert (
        "has that name (did you mean com.rig.shop or com.rig.other?): No process of the app is in the trace; check"
        in near.stderr
    )
    assert "com.rig.other" in near.stdout  # what the trace does hold is shown all the same
    assert "the trace has none" not in near.stdout  # of its series nothing is known
    far = run("inspect", trace, "--app", "org.far.away", "--format", "json")
    assert (far.exit_code, far.stderr.count("\n")) == (1, 1)
    assert "com.rig.other" in far.stderr
    assert "com.rig.shop" in far.stderr
    told = json.loads(far.stdout)
    assert (told["app"], told["is_app_there"], told["reason_code"]) == ("org.far.away", False, "package_missing")
    assert {(row["reason"], *row["record"]) for row in told["series"]} == {("the app is not in the trace",)}


def test_what_a_trace_without_any_app_lacks_is_said_and_what_it_holds():
    """Of one with power rails alone it said that there is no app to look for, and to name one, which does not help."""
    trace = DATA / "android-traces" / "pixel7a_rails_50mbps_0.perfetto-trace.gz"
    result = run("inspect", trace)
    assert result.exit_code == 0, result.output
    lacks = "neither sched/sched_switch nor process memory; the trace has power_rails: "
    assert f"no: {lacks}" in " ".join(result.stdout.split())
    assert "--app NAME" not in result.stderr
    told = json.loads(run("inspect", trace, "--format", "json").stdout)
    assert (told["app"], told["is_app_there"], told["is_complete"]) == (None, False, False)
    assert (told["reason_code"], told["data_sources"]) == ("source_missing", ["power_rails"])
    assert {(row["reason"], *row["record"]) for row in told["series"]} == {("there is no app to look for",)}


def test_of_a_trace_that_could_be_of_an_app_and_names_none_one_may_be_given(tmp_path):
    trace = write_trace(tmp_path / "a.pftrace", 0.5, app="surfaceflinger", other="zygote64")
    result = run("inspect", trace)
    assert "no: no app to look for" in result.stdout
    assert (
        "no process looks like an app: perfreg inspect TRACE --app NAME looks for one of that name\n" in result.stderr
    )
    told = json.loads(run("inspect", trace, "--format", "json").stdout)
    assert (told["app"], told["reason_code"], told["reason"], told["data_sources"]) == (None, None, None, ["sched"])


def test_a_trace_that_is_none_is_refused_in_one_line():
    refused = run("inspect", DATA / "bad-traces" / "bad_html.pftrace")
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)


# ---- import --------------------------------------------------------------------------------------
def arguments(*more, version="1.5.0"):
    return ("--app", APP, "--app-version", version, "--device", "s1", *more)


def test_import_takes_folders_and_lists_once_and_keeps_what_it_was_told(tmp_path, registered_only):
    warehouse = tmp_path / "perfreg.duckdb"
    first, second = (write_trace(tmp_path / "in" / f"{n}.pftrace", 0.2 + n / 10) for n in (1, 2))
    result = run("import", first, *arguments("--scenario", "cold-start"), warehouse=warehouse)
    assert result.exit_code == 0, result.output
    assert "1 new run, 0 known already, 0 traces refused" in result.stdout
    again = run("import", tmp_path / "in", "-", *arguments("--scenario", "cold-start"), warehouse=warehouse,
                given=f"{second}\n\n")  # fmt: skip
    assert again.exit_code == 0
    assert "1 new run, 1 known already, 0 traces refused" in again.stdout
    third = run("import", tmp_path / "in", *arguments(), warehouse=warehouse)
    assert "0 new runs, 2 known already" in third.stdout
    assert "keep another" not in third.stderr
    changed = (*arguments("--scenario", "warm"), "--time-limit", "9", "--started-at", "2026-01-01T00:00:00Z")
    fourth = run("import", tmp_path / "in", *changed, warehouse=warehouse)
    told = "known runs keep another scenario, time, time limit than given: importing a trace again changes nothing"
    assert (fourth.exit_code, told in fourth.stderr) == (0, True)
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        rows = reader.dicts("SELECT DISTINCT scenario, device, time_limit_s, state FROM marts.runs")
        assert [(row["scenario"], row["device"], row["time_limit_s"]) for row in rows] == [("cold-start", "s1", 4.0)]
        assert reader.value("SELECT count(*) FROM marts.runs") == 2
    assert not list((tmp_path / ".perfreg").glob("import-*"))


def test_import_refuses_each_trace_with_its_reason_and_takes_the_others(tmp_path, registered_only):
    warehouse = tmp_path / "perfreg.duckdb"
    good = write_trace(tmp_path / "good.pftrace", 0.5)
    other = write_trace(tmp_path / "other.pftrace", 0.4, app="com.rig.shops")
    bad = DATA / "bad-traces" / "bad_html.pftrace"
    result = run("import", good, other, bad, *arguments(), warehouse=warehouse)
    assert result.exit_code == 0, result.output
    codes = [line.partition("[")[2].partition("]")[0] for line in result.stderr.splitlines() if "not imported" in line]
    assert codes == ["package_missing", "trace_not_perfetto"]
    assert "did you mean com.rig.shops" in result.stderr
    moved = run("import", good, *arguments(version="1.6.0"), warehouse=warehouse)
    assert moved.exit_code == 1
    assert "duplicate_trace" in moved.stderr


def test_an_import_under_a_mistaken_version_is_corrected_once_its_run_is_excluded(tmp_path, registered_only):
    warehouse = tmp_path / "perfreg.duckdb"
    trace = write_trace(tmp_path / "a.pftrace", 0.5)
    given = arguments("--scenario", "cold-start")
    assert run("import", trace, *given, warehouse=warehouse).exit_code == 0
    right = arguments("--scenario", "cold-start", version="1.6.0")
    moved = run("import", trace, *right, warehouse=warehouse)
    told = moved.stderr.partition("`perfreg ")[2].partition("`")[0]
    assert told.startswith("exclude ")
    _, run_id, *_ = told.split()
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        runs.exclude(writer, run_id, "of another version")
    same = run("import", trace, *given, warehouse=warehouse)
    assert "0 new runs, 1 known already, 0 traces refused\n" in same.stdout
    corrected = run("import", trace, *right, warehouse=warehouse)
    assert corrected.exit_code == 0, corrected.output
    assert "0 new runs, 0 known already, 0 traces refused, 1 corrected\n" in corrected.stdout
    rows = "SELECT run_id, version_name, scenario, is_excluded FROM marts.runs"
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert reader.rows(rows) == [(run_id, "1.6.0", "cold-start", True)]


def test_importing_a_trace_corrects_no_run_that_has_a_run_json(tmp_path, registered_only):
    """It says more of the run than a trace does: its path, its functional problems."""
    warehouse = tmp_path / "perfreg.duckdb"
    trace = write_trace(tmp_path / "a.pftrace", 0.5)
    document = {
        "app": "com.rig.shop", "version_name": "1.5.0", "started_at": "2026-11-20T09:12:00Z", "trace": trace.name,
        "config": {"device": "s1", "strategy": "dfs", "time_limit_s": 4.0, "action_interval_s": 0.1},
        "functional_problems": [],
    }  # fmt: skip
    folder = tmp_path / "runs" / "a"
    folder.mkdir(parents=True)
    shutil.copyfile(trace, folder / trace.name)
    (folder / "run.json").write_text(json.dumps(document))
    (run_id,) = importing.take_in(Settings(warehouse=warehouse), [folder])
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        runs.exclude(writer, run_id, "of another version")
    moved = run("import", trace, *arguments(version="1.6.0"), warehouse=warehouse)
    assert (moved.exit_code, "duplicate_trace" in moved.stderr, "exclude" in moved.stderr) == (1, True, False)


@pytest.mark.parametrize("way", ["argument", "list"])
def test_a_path_that_is_not_there_is_status_1_and_the_others_are_imported(tmp_path, registered_only, way):
    warehouse = tmp_path / "perfreg.duckdb"
    good, gone = write_trace(tmp_path / "good.pftrace", 0.5), tmp_path / "gone"
    named = [good, gone] if way == "argument" else [good, "-"]
    result = run("import", *named, *arguments(), warehouse=warehouse, given=f"{gone}\n" if way == "list" else None)
    assert result.exit_code == 1
    assert "1 new run, 0 known already, 0 traces refused" in result.stdout
    assert f"not imported [no_trace_found] {gone} does not exist" in result.stderr
    *_, last = result.stderr.splitlines()  # below all that is said of those that are there
    assert last.startswith(f"perfreg: {gone} is not there or cannot be read; what else was named is taken in")
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert reader.value("SELECT count(*) FROM marts.runs WHERE state <> 'quarantined'") == 1
    again = run("import", *named, *arguments(), warehouse=warehouse, given=f"{gone}\n" if way == "list" else None)
    assert (again.exit_code, "0 new runs, 1 known already" in again.stdout) == (1, True)


def test_what_a_killed_import_left_is_removed_by_the_next_and_that_of_a_living_one_is_not(tmp_path, registered_only):
    begun = f"import-{socket.gethostname()}-"
    dead, alive = (tmp_path / ".perfreg" / f"{begun}{pid}-x" for pid in (2**22 + 1, os.getppid()))  # beyond pid_max
    for folder in (dead, alive):
        folder.mkdir(parents=True)
    trace = write_trace(tmp_path / "a.pftrace", 0.5)
    assert run("import", trace, *arguments(), warehouse=tmp_path / "perfreg.duckdb").exit_code == 0
    assert (dead.exists(), alive.exists()) == (False, True)


def test_import_without_a_device_asks_for_it(tmp_path, registered_only):
    result = run("import", write_trace(tmp_path / "a.pftrace", 0.5), "--app", APP, "--app-version", "1",
                 warehouse=tmp_path / "perfreg.duckdb")  # fmt: skip
    assert result.exit_code == 1
    assert "device_not_told" in result.stderr
    assert "--device" in result.stderr


def test_import_of_a_macrobenchmark_folder_takes_traces_and_metrics(tmp_path, registered_only):
    warehouse, folder = tmp_path / "perfreg.duckdb", tmp_path / "out"
    for number in range(2):
        write_trace(folder / f"StartupBenchmark_startup_iter00{number}_2026.perfetto-trace", 0.3 + number / 10)
    metric = {"timeToInitialDisplayMs": {"runs": [300.0, 310.0]}}
    build = {"brand": "google", "device": "s1", "fingerprint": "google/s1/s1:13/A/1:user/release-keys", "model": "S1",
             "version": {"sdk": 33}}  # fmt: skip
    results = {
        "context": {"build": build, "cpuLocked": True},
        "benchmarks": [
            {"name": "startup", "className": "com.rig.StartupBenchmark", "params": {}, "metrics": metric,
             "sampledMetrics": {}, "repeatIterations": 2}
        ],
    }  # fmt: skip
    (folder / "com.rig-benchmarkData.json").write_text(json.dumps(results))
    result = run("import", folder, *arguments(), warehouse=warehouse)
    assert result.exit_code == 0, result.output
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert reader.rows("SELECT DISTINCT scenario FROM marts.runs") == [("StartupBenchmark.startup",)]
        (name,) = reader.rows("SELECT metric FROM marts.measurements WHERE subject_kind = 'benchmark_run'")[0]
    assert "timeToInitialDisplayMs" in name
    assert re.search(r"timeToInitialDisplayMs +305 ms ", result.stdout)
    assert "of no test" not in result.stderr
    write_trace(folder / "Other_test_iter000.perfetto-trace", 0.4)
    other = run("import", folder, *arguments(), warehouse=warehouse)
    assert "1 trace, the first Other_test_iter000.perfetto-trace: of no test of the results beside, " in other.stderr
    named = run("import", folder, *arguments(), "--scenario", "other", warehouse=warehouse)
    assert "of no test" not in named.stderr
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    shutil.copy(folder / "com.rig-benchmarkData.json", metrics)
    alone = run("import", metrics, *arguments(version="1.6.0"), warehouse=warehouse)
    assert alone.exit_code == 0
    assert "there are metrics of tests and no traces: no run comes of them" in alone.stderr
    file = run("import", metrics / "com.rig-benchmarkData.json", *arguments(version="1.6.0"), warehouse=warehouse)
    assert (file.exit_code, "holds metrics of tests; give its folder" in file.stderr) == (1, True)


def test_an_empty_list_of_traces_is_an_error_in_one_line(tmp_path):
    result = run("import", "-", *arguments(), warehouse=tmp_path / "perfreg.duckdb", given="\n")
    assert (result.exit_code, "nothing was named on standard input" in result.stderr) == (1, True)


# ---- compare -------------------------------------------------------------------------------------
def test_a_trace_that_is_there_twice_is_one_run_of_its_side(tmp_path):
    """As a copy, and packed otherwise; another one of the same length is its own."""
    for side, level in (("a", 0.2), ("b", 0.6)):
        trace = write_trace(tmp_path / side / "0.pftrace", level)
        shutil.copy(trace, tmp_path / side / "copy.pftrace")
        (tmp_path / side / "packed.pftrace.gz").write_bytes(gzip.compress(trace.read_bytes()))
        write_trace(tmp_path / side / "1.pftrace", level + 0.01)
    result = run("compare", tmp_path / "a", tmp_path / "b", "--app", APP, "--format", "json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["runs_a"], told["runs_b"]) == (4, *2 * [["0.pftrace", "1.pftrace"]])
    assert [one["reason"] for one in told["excluded"]] == 4 * ["it is the same trace as 0.pftrace, which counts once"]
    (tmp_path / "a" / "below").mkdir()  # by its own name
    shutil.copy(tmp_path / "a" / "0.pftrace", tmp_path / "a" / "below" / "0.pftrace")
    again = json.loads(run("compare", tmp_path / "a", tmp_path / "b", "--app", APP, "--format", "json").stdout)
    assert again["runs_a"] == told["runs_a"]


def test_what_would_show_has_its_unit_where_it_is_no_share_of_anything(tmp_path, monkeypatch):
    def side(_settings, name, *_):
        levels = (0.0, 0.0, 0.0) if name == "before" else (0.1, 0.3, 0.2)
        runs = (RunOfSide(f"{name}{one}", {"cpu_app": np.array(2 * [one])}, {"cpu_app": "u"}, None) for one in levels)
        return Side(name, tuple(runs)), APP

    monkeypatch.setattr("perfreg_assets.cli.comparison_sides.side_of", side)
    result = run("compare", "before", "after", warehouse=tmp_path / "none.duckdb")
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("cpu_app"))
    assert re.split(r"  +", line)[7].endswith(" u"), line


def test_a_series_that_is_not_known_all_along_is_told_wherever_the_comparison_is(tmp_path, monkeypatch):
    """The rails of a run began a second late: the comparison was normal, and nothing said that they were not in it."""

    def side(_settings, name, *_):
        rails = {"power_rail_cpu": np.array([np.nan, 80.0]), "power_rail_gpu": np.array([np.nan, 9.0])}
        values = {"cpu_app": np.array([0.1, 0.2]), **(rails if name == "before" else {})}
        runs = (RunOfSide(f"{name}{one}", values, dict.fromkeys(values, "u"), None) for one in range(2))
        return Side(name, tuple(runs)), APP

    monkeypatch.setattr("perfreg_assets.cli.comparison_sides.side_of", side)
    told, page = (tmp_path / name for name in ("none.duckdb", "page.html"))
    result = run("compare", "before", "after", "--format", "json", "--html", page, warehouse=told)
    left_out = "power_rail_cpu, power_rail_gpu of before0, before1 left out: not all samples are known"
    assert result.stderr.splitlines()[0] == f"before: {left_out}"
    rows = json.loads(result.stdout)["series_excluded"]
    assert [(row["side"], row["run"], row["series"]) for row in rows] == [
        ("a", f"before{number}", f"power_rail_{rail}") for number in range(2) for rail in ("cpu", "gpu")
    ]
    assert "before1, power_rail_gpu" in page.read_text()
    assert (
        left_out.replace("_", "\\_") in run("compare", "before", "after", "--format", "markdown", warehouse=told).stdout
    )


def test_a_series_of_one_side_alone_is_told_also_where_nothing_can_be_compared(tmp_path, monkeypatch):
    def side(_settings, name, *_):
        shared = {} if "nothing" in (tmp_path / "shared").read_text() else {"cpu_app": np.array([0.1, 0.2])}
        values = {**shared, ("rss_app" if name == "before" else "heap_app"): np.array([1.0, 2.0])}
        return Side(name, (RunOfSide(name, values, dict.fromkeys(values, "u"), None),)), APP

    monkeypatch.setattr("perfreg_assets.cli.comparison_sides.side_of", side)
    (tmp_path / "shared").write_text("cpu_app")
    result = run("compare", "before", "after", "--format", "json", warehouse=tmp_path / "none.duckdb")
    alone = "no run of the other side has it"
    notes = [f"before: rss_app of before left out: {alone}", f"after: heap_app of after left out: {alone}"]
    assert result.stderr.splitlines() == notes
    assert json.loads(result.stdout)["series_excluded"] == [
        {"side": "a", "run": "before", "series": "rss_app", "reason": alone},
        {"side": "b", "run": "after", "series": "heap_app", "reason": alone},
    ]
    (tmp_path / "shared").write_text("nothing")
    result = run("compare", "before", "after", warehouse=tmp_path / "none.duckdb")
    assert (result.exit_code, result.stderr.splitlines()[:2]) == (1, notes)


def test_runs_that_are_on_both_sides_are_told_and_sides_of_the_same_runs_are_not_normal(tmp_path, filled):
    for number in range(3):
        write_trace(tmp_path / "a" / f"{number}.pftrace", 0.2 + number / 100)
        packed = tmp_path / "b" / f"other-{number}.pftrace.gz"
        packed.parent.mkdir(exist_ok=True)
        packed.write_bytes(gzip.compress((tmp_path / "a" / f"{number}.pftrace").read_bytes()))
    same = run("compare", tmp_path / "a", tmp_path / "b", "--app", APP)
    assert (same.exit_code, "a and " in same.stderr, same.stderr.count("\n")) == (1, True, 1)
    assert "are the same runs: There is nothing to set beside the other" in same.stderr
    stored = run("compare", "1.1.0", "1.1.0", "--app", "com.example.shop", warehouse=filled)
    assert (stored.exit_code, "1.1.0 and 1.1.0 are the same runs" in stored.stderr) == (1, True)
    write_trace(tmp_path / "b" / "own.pftrace", 0.6)
    some = run("compare", tmp_path / "a", tmp_path / "b", "--app", APP)
    assert some.exit_code == 0
    named = ", ".join(f"other-{number}.pftrace.gz" for number in range(3))
    assert f"3 of the runs are on both sides and hide what differs: {named}" in some.stderr


def test_a_version_of_the_very_traces_of_a_folder_is_the_same_runs(tmp_path):
    """By the traces themselves, whatever the files are called or packed as."""
    warehouse, folder = tmp_path / "perfreg.duckdb", tmp_path / "other"
    for number in range(2):
        trace = write_trace(tmp_path / "in" / f"{number}.pftrace", 0.2 + number / 10)
        folder.mkdir(exist_ok=True)
        (folder / f"packed-{number}.pftrace.gz").write_bytes(gzip.compress(trace.read_bytes()))
    taken = run("import", tmp_path / "in", *arguments(), warehouse=warehouse)
    assert taken.exit_code == 0, taken.stderr
    for sides in ((tmp_path / "in", "1.5.0"), ("1.5.0", folder)):
        same = run("compare", *sides, "--app", APP, warehouse=warehouse)
        assert (same.exit_code, same.stderr.count("\n")) == (1, 1)
        assert f"{sides[0]} and {sides[1]} are the same runs: There is nothing to set beside" in same.stderr
    write_trace(folder / "own.pftrace", 0.6)
    some = run("compare", "1.5.0", folder, "--app", APP, warehouse=warehouse)
    assert some.exit_code == 4  # three runs on one side, two on the other
    named = "packed-0.pftrace.gz, packed-1.pftrace.gz"
    assert f"2 of the runs are on both sides and hide what differs: {named}" in some.stderr


def test_an_option_of_compare_that_would_change_nothing_is_an_error(tmp_path, filled):
    for side in "ab":
        write_trace(tmp_path / side / "0.pftrace", 0.2)
    files = run("compare", tmp_path / "a", tmp_path / "b", "--app", APP, "--scenario", "cold-start")
    assert (files.exit_code, "--scenario chooses runs of a version in the warehouse" in files.stderr) == (1, True)
    versions = run("compare", "1.0.0", "1.1.0", "--pattern", "*.pb", warehouse=filled)
    assert (versions.exit_code, "--pattern chooses files of folders" in versions.stderr) == (1, True)


def test_compare_judges_two_folders_of_traces_without_a_warehouse(tmp_path):
    for side, level in (("a", 0.2), ("b", 0.6)):
        for number in range(3):
            write_trace(tmp_path / side / f"{number}.pftrace", level + number / 100)
    page = tmp_path / "new" / "page.html"
    result = run("compare", tmp_path / "a", tmp_path / "b", "--app", APP, "--format", "json", "--html", page,
                 warehouse=tmp_path / "none.duckdb")  # fmt: skip
    assert result.exit_code == 3, result.output
    told = json.loads(result.stdout)
    assert {"a", "b", "verdict", "series"} <= set(told)
    assert (told["a"], told["b"], told["verdict"]) == (str(tmp_path / "a"), str(tmp_path / "b"), "anomalous")
    row = next(one for one in told["series"] if one["series"] == "cpu_app")
    assert {"series", "unit", "mean_a", "mean_b", "difference", "low", "high", "p_value"} <= set(row)
    assert (row["mean_a"], row["mean_b"]) == pytest.approx((0.21, 0.61))
    assert row["low"] < row["difference"] < row["high"]
    grown = told["threads"][0]
    assert (grown["process"], grown["thread"], grown["difference"]) == (APP, "main", pytest.approx(0.4))
    assert grown["low"] < grown["difference"] < grown["high"]
    assert [(one["source"], one["state"]) for one in told["sources"]] == [
        ("threads", "compared"), ("slices", "missing"), ("stacks", "missing"),
    ]  # fmt: skip
    assert (told["slices"], told["stacks"]) == ([], [])
    html = page.read_text("utf-8")
    assert html.count("<svg") == 2  # cpu_app and cpu_total; there is no memory
    assert "http" not in html.replace('http-equiv="', "")
    better = run("compare", tmp_path / "b", tmp_path / "a", "--app", APP, "--format", "markdown")
    assert better.exit_code == 0
    assert "Better in B: cpu_app" in better.stdout.replace("\\", "")
    assert (row["state"], row["mean_state"], row["growth_state"], row["reason"]) == ("anomalous",) * 2 + (None,) * 2
    others = {one["reason"] for one in told["series"] if not one["is_judged"]}
    assert others == {"not in judged_series"}
    table = run("compare", tmp_path / "a", tmp_path / "b", "--app", APP).stdout
    assert "not judged: not in judged_series" in table
    one = run("compare", tmp_path / "a" / "0.pftrace", tmp_path / "b" / "0.pftrace", "--app", APP)
    assert one.exit_code == 4
    assert "needs 3 runs on each side" in one.stdout
    assert "not judged: fewer than 3 runs on a side" in one.stdout


def test_compare_tells_slices_and_call_stacks_of_traces_and_says_what_normal_is_worth(tmp_path):
    """Slices from atrace, call stacks from samples of perf; B draws longer and runs a function more."""
    for side, busy in (("a", 0.1), ("b", 0.3)):
        for number in range(3):
            maker = TraceMaker().process(10, APP, {10: "main"}).clocks()
            slices, ticks = [], []
            for second in range(1, 5):
                begin, end = second * SECOND, second * SECOND + int((0.5 + number / 100) * SECOND)
                slices.append((0, 10, begin, end))
                maker.section(begin, 10, "draw", busy + number / 100)
                ticks += [(begin + k * SECOND // 100, 10, "work") for k in range(round(100 * busy) + number)]
            maker.schedule([*slices, (0, 0, 5 * SECOND, 5 * SECOND + 1000)]).samples(ticks, period_ns=SECOND // 100)
            path = tmp_path / side / f"{number}.pftrace"
            path.parent.mkdir(exist_ok=True)
            maker.write(path)
    page = tmp_path / "new" / "page.html"
    result = run("compare", tmp_path / "a", tmp_path / "b", "--app", APP, "--format", "json", "--html", page,
                 warehouse=tmp_path / "none.duckdb")  # fmt: skip
    told = json.loads(result.stdout)
    assert {one["source"]: one["state"] for one in told["sources"]} == dict.fromkeys(
        ("threads", "slices", "stacks"), "compared"
    )
    (drawn,) = told["slices"]
    assert (drawn["name"], drawn["difference"]) == ("draw", pytest.approx(0.2, abs=0.01))
    assert drawn["low"] < drawn["difference"] < drawn["high"]
    (worked,) = told["stacks"]
    assert (worked["name"], worked["path"], worked["difference"]) == ("work", ["work"], pytest.approx(0.2, abs=0.03))
    assert {"draw", "work"} <= set(page.read_text("utf-8").replace("<", ">").split(">"))
    assert told["verdict"] == "normal"  # the cores were as busy
    load = next(one for one in told["series"] if one["series"] == "cpu_app")
    assert load["detectable"] > 0
    assert f"a change of cpu_app by {load['detectable'] / load['mean_a']:.0%}" in told["explanation"]
    table = run("compare", tmp_path / "a", tmp_path / "b", "--app", APP)
    assert "would show" in table.stdout
    assert {"draw", "work"} <= set(table.stdout.split())
    comment = run("compare", tmp_path / "a", tmp_path / "b", "--app", APP, "--format", "markdown").stdout
    assert "Slices that take more in B" in comment


def test_compare_takes_run_folders_with_their_app_and_time(tmp_path, registered_only):
    for side, level in (("a", 0.2), ("b", 0.5)):
        trace = write_trace(tmp_path / f"{side}.pftrace", level)
        assert (
            run("import", trace, *arguments("--out", tmp_path / side), warehouse=tmp_path / "w.duckdb").exit_code == 0
        )
        trace.unlink()
    result = run("compare", tmp_path / "a", tmp_path / "b", "--format", "csv")
    assert result.exit_code == 4, result.output
    rows = {row["series"]: row for row in csv.DictReader(io.StringIO(result.stdout))}
    assert float(rows["cpu_app"]["difference"]) == pytest.approx(0.3)
    assert (rows["cpu_app"]["basis"], rows["cpu_app"]["p_value"]) == ("within_run", "")


def test_compare_sets_versions_and_runs_of_the_warehouse_beside_each_other(filled):
    with Warehouse(filled, lock_timeout_s=5).reading() as reader:
        app = sample_warehouse.APPS[0]
        query = "SELECT DISTINCT version_name FROM marts.runs WHERE app = ? AND version_name IS NOT NULL ORDER BY 1"
        versions = [name for (name,) in reader.rows(query, [app])][:2]
        run_id = reader.value("SELECT min(run_id) FROM marts.time_series WHERE app = ?", [app])
    result = run("compare", *versions, "--app", app, "--format", "json", warehouse=filled)
    assert result.exit_code in (0, 3)
    told = json.loads(result.stdout)
    assert len(told["runs_a"]) >= 3
    states = {one["source"]: (one["state"], one["runs_a"]) for one in told["sources"]}
    assert states["threads"][0] == states["slices"][0] == "compared"
    assert 0 < states["slices"][1] <= len(told["runs_a"])  # as they are stored: no trace is there to be opened
    assert states["stacks"] == ("missing", 0)
    assert {one["series"] for one in told["series"] if one["is_judged"]} == set(sample_warehouse.DEFAULT_SERIES)
    assert run("compare", run_id, versions[1], "--app", app, warehouse=filled).exit_code == 4
    unknown = run("compare", versions[0], f"{versions[1]}x", "--app", app, warehouse=filled)
    assert unknown.exit_code == 1
    assert f"did you mean {versions[1]}" in unknown.stderr
    assert "Traceback" not in unknown.output


def test_compare_says_what_is_left_out_and_when_nothing_is_left(tmp_path):
    whole = write_trace(tmp_path / "a" / "0.pftrace", 0.5)
    shutil.copy(DATA / "bad-traces" / "bad_html.pftrace", tmp_path / "a" / "1.pftrace")
    shutil.copy(DATA / "bad-traces" / "bad_html.pftrace", tmp_path / "bad.pftrace")
    other = write_trace(tmp_path / "b" / "0.pftrace", 0.4)
    result = run("compare", tmp_path / "a", other, "--app", APP, "--format", "json")
    assert [row["run"] for row in json.loads(result.stdout)["excluded"]] == ["1.pftrace"]
    nothing = run("compare", whole, tmp_path / "bad.pftrace", "--app", APP)
    assert nothing.exit_code == 1
    assert "no run of" in nothing.stderr.splitlines()[-1]


def test_a_scenario_that_was_never_run_is_told_with_the_nearest(filled, tmp_path):
    number = "(SELECT max(run_no) + 1 FROM core.runs) AS run_no"
    like = f"SELECT * REPLACE ('s' AS run_id, 'cold-start' AS scenario, '7.0' AS version_name, {number})"
    copy = tmp_path / "perfreg.duckdb"
    shutil.copy(filled, copy)
    with Warehouse(copy, lock_timeout_s=5).writing() as writer:
        writer.execute(f"INSERT INTO core.runs BY NAME {like} FROM core.runs WHERE app = 'com.example.shop' LIMIT 1")
    for version, told in (
        ("7.0", "scenario 'cold-strat' of version 7.0 (did you mean cold-start?): There is no run of this scenario"),
        ("1.0.0", "scenario 'cold-strat' of version 1.0.0 (its runs have none): There is no run of this scenario"),
    ):
        result = run("compare", version, "1.1.0", "--app", "com.example.shop", "--scenario", "cold-strat",
                     warehouse=copy)  # fmt: skip
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        assert told in result.stderr
    other = run("compare", "7.0", "1.1.0", "--app", "com.example.shop", "--scenario", "x", warehouse=copy)
    assert "scenario 'x' of version 7.0 (it has cold-start)" in other.stderr


def test_what_is_neither_file_nor_run_nor_version_is_told_as_that(filled, tmp_path):
    nothing = run("compare", "before/", "after/", warehouse=tmp_path / "none.duckdb")
    assert (nothing.exit_code, nothing.stderr.count("\n")) == (1, 1)
    assert "before/ is neither a file nor a folder, and runs and versions cannot be looked up: " in nothing.stderr
    misspelt = run("compare", "befor", "1.1.0", "--app", "com.example.shop", warehouse=filled)
    assert misspelt.exit_code == 1
    assert "befor is neither a file nor a folder, nor a run; version 'befor' of com.example.shop" in misspelt.stderr


def test_inspect_knows_the_power_profiles_of_the_installation_and_its_hint_can_be_run_as_printed():
    trace = DATA / "android-traces" / "pixel7pro_60s_sched_rss_cpufreq_rails.perfetto-trace.gz"
    told = json.loads(run("inspect", trace, "--format", "json").stdout)
    power = {row["series"]: row for row in told["series"] if row["series"] in ("power_cpu_app", "power_cpu_total")}
    assert len(power) == 2
    assert all(row["is_recorded"] and row["reason"] is None for row in power.values())
    assert (
        f"import it: perfreg import {trace} --app {told['app']} --app-version VERSION\n" in run("inspect", trace).stderr
    )


def test_inspect_goes_by_the_power_profiles_that_were_added(tmp_path):
    """It advised to add one, and said the same again once that was done."""
    place = tmp_path / "perfreg.duckdb"
    foreign = DATA / "power-profiles" / "power_profile_pixel3a.xml"
    assert run("profiles", "add", foreign, "--device", "cheetah", warehouse=place).exit_code == 0
    trace = DATA / "android-traces" / "pixel7pro_60s_sched_rss_cpufreq_rails.perfetto-trace.gz"
    told = json.loads(run("inspect", trace, "--format", "json", warehouse=place).stdout)
    (power,) = (row for row in told["series"] if row["series"] == "power_cpu_app")
    assert not power["is_recorded"]
    assert power["reason"].startswith("power_profile_pixel3a.xml has ")


def test_inspect_of_what_is_not_there_says_so(tmp_path):
    gone = run("inspect", tmp_path / "gone.pftrace")
    assert (gone.exit_code, gone.stderr.count("\n")) == (1, 1)
    assert f"{tmp_path / 'gone.pftrace'} does not exist: There is no such trace; check its name" in gone.stderr
    folder = run("inspect", tmp_path)
    assert (folder.exit_code, "is a folder, where one trace is meant" in folder.stderr) == (1, True)


# ---- verdicts and export -------------------------------------------------------------------------
@pytest.mark.parametrize("form", FORMATS)
def test_verdicts_keep_their_exit_status_in_every_format(filled, form):
    plain = run("verdicts", warehouse=filled)
    result = run("verdicts", "--format", form, warehouse=filled)
    assert result.exit_code == plain.exit_code == 3
    assert "anomalous" in result.stdout


def test_parquet_files_hold_the_marts_and_their_lists_in_long_form(filled, tmp_path):
    folder = tmp_path / "marts"
    chosen = ["--mart", "runs", "--mart", "verdicts", "--mart", "series_arrays"]
    result = run("export", "parquet", folder, *chosen, warehouse=filled)
    assert result.exit_code == 0, result.output
    assert {path.name for path in folder.iterdir()} == {
        "runs.parquet", "runs.load_sources.parquet", "verdicts.parquet", "verdicts.missing_series.parquet",
        "series_arrays.parquet", "series_arrays.values.parquet",
    }  # fmt: skip
    reader = duckdb.connect()
    with Warehouse(filled, lock_timeout_s=5).reading() as own:
        for query in (
            "SELECT count(*), count(DISTINCT run_id), min(started_at)::VARCHAR FROM {runs}",
            "SELECT state, count(*) FROM {verdicts} GROUP BY ALL ORDER BY 1",
        ):
            theirs = query.format(runs=f"'{folder}/runs.parquet'", verdicts=f"'{folder}/verdicts.parquet'")
            reader.execute("SET TimeZone = 'UTC'")
            assert reader.execute(theirs).fetchall() == own.rows(
                query.format(runs="marts.runs", verdicts="marts.verdicts")
            )
        long = reader.execute(
            f"SELECT sum(value), max(position) FROM '{folder}/series_arrays.values.parquet' WHERE NOT isnan(value)"
        ).fetchone()
        same = own.rows(
            "SELECT sum(one), max(len(values)) FROM marts.series_arrays, unnest(values) AS given(one) "
            "WHERE NOT isnan(one)"
        )
    assert long == pytest.approx(same[0])


def test_an_unknown_mart_is_an_error_with_the_nearest_and_the_old_export_goes_on(filled, tmp_path):
    result = run("export", "parquet", tmp_path / "x", "--mart", "verdict", warehouse=filled)
    assert result.exit_code == 1
    assert "verdicts" in result.stderr
    assert not (tmp_path / "x").exists()
    assert run("export", f"{tmp_path}/otava/", warehouse=filled).exit_code == 0
    assert (tmp_path / "otava" / "otava.yaml").is_file()
