"""Files of results of four tools, with the traps of each."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets.benchmarks.result_file import read_result_file
from perfreg_assets.reasons import Reason, Rejected

DATA = Path(__file__).parents[1] / "data" / "benchmark-results"


def read(name):
    return read_result_file(DATA / f"{name}.json.gz")


def written(tmp_path, content, name="results.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def by_name(found):
    return {one.name: one for one in found.results}


def codes(result):
    return {one.code for one in result.warnings}


# ---- JMH -----------------------------------------------------------------------------------------
def jmh(mode="thrpt", unit="ops/s", raw=((1.0, 2.0), (3.0, 4.0)), **more):
    metric = {"score": 2.5, "scoreError": "NaN", "scoreUnit": unit, "rawData": [list(fork) for fork in raw]}
    return {"jmhVersion": "1.37", "benchmark": "org.x.Sorting.merge", "mode": mode, "threads": 1,
            "primaryMetric": metric, "secondaryMetrics": {}, **more}  # fmt: skip


def test_jmh_a_fork_is_a_launch_and_params_tell_benchmarks_apart():
    found = read("jmh_jcasbin_a")
    assert (found.tool, len(found.results), found.invalid) == ("jmh", 86, ())
    assert found.environment["jdkVersion"] == "17.0.8"
    params = "dataScale=small, modelType=basic, useCache=false"
    one = by_name(found)[f"org.casbin.jcasbin.main.benchmark.BenchmarkEnforce.enforce({params}) thrpt"]
    assert (one.area, one.unit, one.worse, one.is_primary) == ("BenchmarkEnforce", "ops/s", "less", True)
    assert one.scores == pytest.approx([1313017.7563884])  # the file says ops/ms


def test_jmh_an_error_that_is_no_number_and_no_params_are_nothing_special(tmp_path):
    (one,) = read_result_file(written(tmp_path, [jmh()])).results
    assert one.name == "org.x.Sorting.merge thrpt"
    assert one.scores.tolist() == [1.5, 3.5]


@pytest.mark.parametrize(
    ("unit", "worse", "told", "value"),
    [("ops/min", "less", "ops/s", 1 / 60), ("us/op", "more", "ns", 1000.0), ("s/op", "more", "ns", 1e9)],
)
def test_jmh_units_become_one_per_kind(tmp_path, unit, worse, told, value):
    (one,) = read_result_file(written(tmp_path, [jmh("avgt", unit, ((1.0,),))])).results
    assert (one.worse, one.unit) == (worse, told)
    assert one.scores == pytest.approx([value])


def test_jmh_samples_are_histograms_whose_medians_are_taken(tmp_path):
    entry = jmh("sample", "us/op")
    del entry["primaryMetric"]["rawData"]
    entry["primaryMetric"]["rawDataHistogram"] = [[[[1.0, 1], [2.0, 5], [90.0, 1]], [[4.0, 3]]]]
    (one,) = read_result_file(written(tmp_path, [entry])).results
    assert one.launches[0].values.tolist() == [2000.0, 4000.0]


def test_jmh_threads_and_what_profilers_add(tmp_path):
    second = {"score": 1, "scoreUnit": "B/op", "rawData": [[64.0], [64.0]]}
    found = by_name(read_result_file(written(tmp_path, [jmh(threads=4, secondaryMetrics={"·gc.alloc": second})])))
    assert set(found) == {"org.x.Sorting.merge(threads=4) thrpt", "org.x.Sorting.merge(threads=4) ·gc.alloc"}
    assert not found["org.x.Sorting.merge(threads=4) ·gc.alloc"].is_primary


@pytest.mark.parametrize(
    ("metric", "unit", "worse"),
    [
        ("gc.alloc.rate.norm", "B/op", "more"),
        ("L1-dcache-load-misses", "#/op", "more"),
        ("gc.alloc.rate", "MB/sec", "either"),
        ("gc.churn.G1_Eden_Space", "MB/sec", "either"),
        ("gc.count", "counts", "either"),
        ("gc.time", "ms", "either"),
        ("mempool.Metaspace.used", "KB", "either"),
        ("events", "#", "either"),
    ],
)
def test_jmh_what_a_profiler_tells_has_a_direction_where_it_is_per_operation(tmp_path, metric, unit, worse):
    """A build that does more operations a second allocates and collects more in it."""
    second = {"score": 1, "scoreUnit": unit, "rawData": [[64.0] * 5] * 3}
    (one,) = [
        one
        for one in read_result_file(written(tmp_path, [jmh(secondaryMetrics={metric: second})])).results
        if not one.is_primary
    ]
    assert (one.unit, one.worse) == (unit, worse)
    assert (Reason.NO_DIRECTION in codes(one)) == (worse == "either") == (not one.is_adequate)


def test_jmh_one_benchmark_under_different_machines_is_several(tmp_path):
    """Interpreted and compiled they were averaged, and nobody told."""
    second = {"score": 1, "scoreUnit": "B/op", "rawData": [[64.0]]}
    both = [
        jmh(jvmArgs=["-Xint", "-Xmx1g"], secondaryMetrics={"gc": second}), jmh(jvmArgs=[], raw=((9.0,), (9.0,))),
        jmh(jvmArgs=[], raw=((9.0,),)), jmh(benchmark="org.x.Sorting.heap", jvmArgs=["-Xint"]),
    ]  # fmt: skip
    found = by_name(read_result_file(written(tmp_path, both)))
    assert {name: one.scores.tolist() for name, one in found.items()} == {
        "org.x.Sorting.merge(jvmArgs=-Xint -Xmx1g) thrpt": [1.5, 3.5],
        "org.x.Sorting.merge(jvmArgs=-Xint -Xmx1g) gc": [64.0],
        "org.x.Sorting.merge(jvmArgs=) thrpt": [9.0, 9.0, 9.0],
        "org.x.Sorting.heap thrpt": [1.5, 3.5],
    }


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        ({"jdkVersion": "17", "jvm": "/17/java"}, {"jdkVersion": "21", "jvm": "/21/java"},
         ["jdkVersion=17", "jdkVersion=21"]),
        ({"jvm": "/fast/java"}, {"jvm": "/slow/java"}, ["jvm=/fast/java", "jvm=/slow/java"]),
        ({"vmName": "A", "jvmArgs": ["-x"]}, {"vmName": "B", "jvmArgs": ["-x"]}, ["vmName=A", "vmName=B"]),
        ({"mode": "thrpt", "jvmArgs": ["-x"]}, {"mode": "avgt", "jvmArgs": ["-y"]}, [""]),
        ({"params": {"n": "1"}, "jvmArgs": "-x"}, {"params": {"n": "2"}, "jvmArgs": "-y"}, ["n=1", "n=2"]),
        ({"params": {"n": "1"}, "jvmArgs": "-x"}, {"params": {"n": "1"}, "jvmArgs": "-y"},
         ["jvmArgs=-x, n=1", "jvmArgs=-y, n=1"]),
    ],
)  # fmt: skip
def test_jmh_machines_are_told_by_as_little_as_tells_them_apart(tmp_path, one, other, names):
    found = read_result_file(written(tmp_path, [jmh(**one), jmh(**other)])).results
    told = {", ".join(f"{name}={result.params[name]}" for name in sorted(result.params)) for result in found}
    assert (sorted(told), len(found)) == (names, 2)


# ---- Google Benchmark ------------------------------------------------------------------------------
def test_google_benchmark_aggregates_are_left_out_and_repetitions_are_iterations():
    found = by_name(read("google_benchmark_test3_run0"))
    assert set(found) == {"BM_Two real_time", "BM_Two cpu_time", "medium real_time", "medium cpu_time"}
    assert [one.values.tolist() for one in found["BM_Two real_time"].launches] == [[9.0, 8.0]]
    assert not found["BM_Two cpu_time"].is_primary


def test_google_benchmark_time_units_are_converted():
    found = by_name(read("google_benchmark_test2_run"))
    assert found["BM_Hi real_time"].score == pytest.approx(42e6)
    assert found["BM_Zero/4 real_time"].score == pytest.approx(40)
    assert found["BM_Zero/4 real_time"].area == "BM_Zero"


def test_google_benchmark_old_aggregates_errors_and_scaling(tmp_path):
    content = {
        "context": {
            "date": "2026-01-02T03:04:05+01:00",
            "host_name": "ci",
            "num_cpus": 4,
            "cpu_scaling_enabled": True,
            "library_build_type": "debug",
        },
        "benchmarks": [
            {"name": "BM_A", "real_time": 5.0, "cpu_time": 5.0, "time_unit": "us"},
            {"name": "BM_A_mean", "real_time": 5.0, "cpu_time": 5.0, "time_unit": "us"},
            {"name": "BM_B", "run_type": "iteration", "error_occurred": True, "error_message": "no file"},
        ],
    }
    found = read_result_file(written(tmp_path, content))
    assert {one.benchmark for one in found.results} == {"BM_A"}
    assert {Reason.CLOCKS_UNLOCKED, Reason.CONDITIONS_POOR} <= codes(found.results[0])
    assert {(one.reason, one.detail) for one in found.invalid} == {(Reason.RESULT_INVALID, "no file")}
    assert (found.device, found.started_at) == ("ci / 4 cores", datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC))


def old_google_benchmark(*names, **without_time):
    """As older releases write it, without `run_type`."""
    rows = [{"name": name, "real_time": 5.0, "cpu_time": 5.0, "time_unit": "ns"} for name in names]
    return {"context": {}, "benchmarks": [*rows, *({"name": name, **told} for name, told in without_time.items())]}


@pytest.mark.parametrize("name", ["BM_reduce_max", "BM_min", "BM_vector_mean", "std_RMS", "BM_x/8_median"])
def test_google_benchmark_a_name_with_the_ending_of_an_aggregate_is_a_benchmark(tmp_path, name):
    """Without `run_type` it was left out and nobody told."""
    found = read_result_file(written(tmp_path, old_google_benchmark(name, "BM_other")))
    assert {one.benchmark for one in found.results} == {name, "BM_other"}


@pytest.mark.parametrize(
    "content",
    [
        old_google_benchmark("BM_A", "BM_A", "BM_A_mean", "BM_A_median", "BM_A_stddev", "BM_A_max"),
        old_google_benchmark("BM_A", BM_A_BigO={"big_o": "N", "cpu_coefficient": 1.0}, BM_A_RMS={"rms": 0.1}),
        old_google_benchmark("BM_A", "BM_B_mean", "BM_B_median", "BM_B_stddev"),  # repetitions of B are not reported
        old_google_benchmark("BM_A", "BM_B_mean", "BM_B_stddev"),
    ],
)
def test_google_benchmark_aggregates_are_known_by_what_they_are_of(tmp_path, content):
    assert {one.benchmark for one in read_result_file(written(tmp_path, content)).results} == {"BM_A"}


def test_google_benchmark_a_date_without_zone_is_no_moment():
    assert read("google_benchmark_test1_run1").started_at is None


# ---- pyperf --------------------------------------------------------------------------------------
def test_pyperf_a_run_is_a_launch_and_calibration_is_none():
    found = read("pyperf_mult_list_py36")
    assert [len(one.scores) for one in found.results] == [20, 20, 20]  # of 21 runs each, the first calibrates
    assert all(one.unit == "ns" and one.worse == "more" for one in found.results)
    assert found.device == "apu / Intel(R) Core(TM) i7-6820HQ CPU @ 2.70GHz"
    assert found.started_at == datetime(2020, 10, 13, 10, 12, 20, 476957)  # whose zone nothing tells


def test_pyperf_one_benchmark_is_named_by_the_file():
    (one,) = read("pyperf_telco").results
    assert (one.name, len(one.scores)) == ("telco time", 40)


# ---- Jetpack -------------------------------------------------------------------------------------
def jetpack(name="startup", context=None, **more):
    build = {"fingerprint": "google/x", "model": "Pixel 6", "version": {"sdk": 33}, **(context or {})}
    one = {"name": name, "className": "com.x.Start", "params": {}, "metrics": {"timeNs": {"runs": [5.0, 6.0]}}, **more}
    return {"context": {"build": build, "cpuLocked": True}, "benchmarks": [one]}


def test_jetpack_a_file_is_one_launch():
    found = read("jetpack_startup_2025-07_disabled")
    (one,) = found.results
    assert (found.device, one.area, one.unit, one.worse) == ("Pixel 4a / API 33", "StartupBenchmark", "ns", "more")
    assert (len(one.scores), len(one.iterations)) == (1, 35)
    assert one.score == pytest.approx(507_556_717)


def test_jetpack_frames_are_a_launch_per_iteration_with_two_percentiles():
    found = read("jetpack_click_2024-12_disabled")
    p99 = by_name(found)["sh.measure.benchmark.ComposeClickBenchmark.clickWithSnapshot frameDurationCpuMs P99"]
    raw = json.loads(gzip.decompress((DATA / "jetpack_click_2024-12_disabled.json.gz").read_bytes()))
    runs = raw["benchmarks"][0]["sampledMetrics"]["frameDurationCpuMs"]["runs"]
    assert p99.scores == pytest.approx([np.percentile(run, 99) * 1e6 for run in runs])
    # Early frames have an overrun below 0, which has no ratio: said, and not taken for an error of the others.
    assert [one.name.rpartition(" ")[2] for one in found.invalid] == ["P50", "P99"]
    memory = by_name(found)["sh.measure.benchmark.ComposeClickBenchmark.clickWithSnapshot memoryHeapSizeMaxKb"]
    assert (memory.unit, memory.worse, memory.is_primary) == ("bytes", "more", False)


def test_jetpack_no_startup_file_drifts_as_if_it_were_not_warm():
    names = [path.name.removesuffix(".json.gz") for path in DATA.glob("jetpack_startup_*")]
    assert len(names) == 8
    assert not [name for name in names if Reason.NOT_WARM in codes(read(name).results[0])]


def test_jetpack_what_the_library_does_not_like_is_said_and_not_part_of_the_name(tmp_path):
    content = jetpack("EMULATOR_DEBUGGABLE_LOW-BATTERY_cold_start", thermalThrottleSleepSeconds=90)
    (one,) = read_result_file(written(tmp_path, content)).results
    assert one.benchmark == "com.x.Start.cold_start"
    assert {Reason.EMULATOR, Reason.DEBUGGABLE, Reason.CONDITIONS_POOR, Reason.THROTTLED} <= codes(one)
    assert not one.is_adequate


def test_jetpack_an_emulator_and_unlocked_clocks_are_seen(tmp_path):
    content = jetpack(context={"fingerprint": "google/sdk_gphone64_arm64/emu64a:13"})
    content["context"]["cpuLocked"] = False
    (one,) = read_result_file(written(tmp_path, content)).results
    assert {Reason.EMULATOR, Reason.CLOCKS_UNLOCKED} <= codes(one)


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize("value", ["NaN", "-1.5", "0", "Infinity"])
def test_a_score_that_is_none_is_no_result_and_the_others_stay(tmp_path, value):
    good = json.dumps(jmh(benchmark="org.x.Sorting.heap"))
    bad = json.dumps(jmh()).replace("3.0", value)
    found = read_result_file(written(tmp_path, f"[{bad}, {good}]"))
    assert [one.benchmark for one in found.results] == ["org.x.Sorting.heap"]
    (invalid,) = found.invalid
    assert (invalid.reason, invalid.name) == (Reason.RESULT_INVALID, "org.x.Sorting.merge thrpt")
    assert "iteration 1 of launch 2" in invalid.detail


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", Reason.BENCHMARK_FILE_UNREADABLE),
        ('[{"benchmark": ', Reason.BENCHMARK_FILE_UNREADABLE),
        ("[" * 100_000, Reason.BENCHMARK_FILE_UNREADABLE),
        ("[]", Reason.BENCHMARK_FORMAT_UNKNOWN),
        ("3", Reason.BENCHMARK_FORMAT_UNKNOWN),
        ('{"benchmarks": []}', Reason.BENCHMARK_FORMAT_UNKNOWN),
        (json.dumps([jmh(raw=(("x",),))]), Reason.BENCHMARK_FORMAT_UNKNOWN),
        ('[{"benchmark": "a", "primaryMetric": 3}]', Reason.BENCHMARK_FORMAT_UNKNOWN),
        (json.dumps([jmh(benchmark="\ud800x")]), Reason.BENCHMARK_FILE_UNREADABLE),
        (json.dumps([jmh(params={"x": "\udfff"})]), Reason.BENCHMARK_FILE_UNREADABLE),
        (json.dumps([jmh(benchmark=None)]), Reason.BENCHMARK_FORMAT_UNKNOWN),
        (json.dumps([jmh(benchmark="")]), Reason.BENCHMARK_FORMAT_UNKNOWN),
        (json.dumps([jmh(mode=None)]), Reason.BENCHMARK_FORMAT_UNKNOWN),
        (json.dumps(jetpack(name=None)), Reason.BENCHMARK_FORMAT_UNKNOWN),
        (json.dumps(jetpack(className=3)), Reason.BENCHMARK_FORMAT_UNKNOWN),
        ('{"context": {}, "benchmarks": [{"name": null, "real_time": 1}]}', Reason.BENCHMARK_FORMAT_UNKNOWN),
        ('{"version": "1", "benchmarks": [{"metadata": {"name": 7}, "runs": []}]}', Reason.BENCHMARK_FORMAT_UNKNOWN),
        ('{"context": {"host_name": ["h"]}, "benchmarks": []}', Reason.BENCHMARK_FORMAT_UNKNOWN),
        ('{"context": {"host_name": 5, "num_cpus": 4}, "benchmarks": []}', Reason.BENCHMARK_FORMAT_UNKNOWN),
        (
            '{"version": "1", "metadata": {"hostname": {}, "cpu_model_name": ["x"]}, "benchmarks": []}',
            Reason.BENCHMARK_FORMAT_UNKNOWN,
        ),
        (json.dumps(jetpack(thermalThrottleSleepSeconds=10**400)), Reason.BENCHMARK_FORMAT_UNKNOWN),
        (json.dumps([jmh(threads=float("inf"))]), Reason.BENCHMARK_FORMAT_UNKNOWN),
        (json.dumps(jetpack(context={"model": 5})), Reason.BENCHMARK_FORMAT_UNKNOWN),
        (json.dumps(jetpack(context={"model": ["Pixel"], "version": {}})), Reason.BENCHMARK_FORMAT_UNKNOWN),
    ],
)
def test_what_is_no_file_of_results_is_refused_by_name(tmp_path, content, reason):
    path = written(tmp_path, content)
    with pytest.raises(Rejected) as caught:
        read_result_file(path)
    assert caught.value.reason is reason
    assert str(path) in str(caught.value)


def test_a_name_beyond_the_basic_plane_is_read_though_json_spells_it_in_two_halves(tmp_path):
    path = tmp_path / os.fsdecode(b"r\xff.json")
    path.write_text(json.dumps([jmh(benchmark="a.😀.b")]))
    found = read_result_file(path)
    assert found.source == "r?.json"
    assert [one.benchmark for one in found.results] == ["a.😀.b"]


def test_bytes_that_are_no_text_and_a_cut_archive_are_refused(tmp_path):
    path = tmp_path / "results.json"
    whole = gzip.compress(json.dumps([jmh()]).encode())
    for content in (b"\xff\x00\x80", whole[:-12], b"\x1f\x8bnonsense"):
        path.write_bytes(content)
        with pytest.raises(Rejected) as caught:
            read_result_file(path)
        assert caught.value.reason is Reason.BENCHMARK_FILE_UNREADABLE


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_windows_shells_write_is_read(tmp_path, encoding):
    path = tmp_path / "results.json"
    path.write_bytes(json.dumps([jmh()]).encode(encoding))
    assert len(read_result_file(path).results) == 1


def test_the_same_benchmark_twice_in_a_file_is_two_launches(tmp_path):
    (one,) = read_result_file(written(tmp_path, [jmh(raw=((1.0,),)), jmh(raw=((5.0,),))])).results
    assert one.scores.tolist() == [1.0, 5.0]


@pytest.mark.parametrize("host", [{}, {"host_name": None}, {"host_name": ""}])
def test_a_file_without_a_device_tells_none(tmp_path, host):
    content = {"context": {"num_cpus": 4, **host}, "benchmarks": [{"name": "A", "real_time": 1.0}]}
    assert read_result_file(written(tmp_path, content)).device is None
    assert read_result_file(written(tmp_path, jetpack(context={"model": None}))).device is None
