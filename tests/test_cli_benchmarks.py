"""`perfreg bench`: options, formats, exit statuses and one-line errors."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.reasons import Reason

DATA = Path(__file__).parent / "data" / "benchmark-results"
STARTUPS = [(day, arm) for day in ("2024-02", "2024-07", "2024-09") for arm in ("disabled", "enabled")]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    """Six versions of a startup benchmark, as it was recorded."""
    path = tmp_path_factory.mktemp("bench") / "perfreg.duckdb"
    for number, (day, arm) in enumerate(STARTUPS, 1):
        origin = ("--app", "sh.measure", "--app-version", f"{number}.0", "--started-at", f"{day}-01T00:00:0{number}Z")
        result = run("import", DATA / f"jetpack_startup_{day}_{arm}.json.gz", *origin, warehouse=path)
        assert result.exit_code in (0, 4), result.output
    return path


def run(*arguments, warehouse=None):
    extra = ["--warehouse", str(warehouse)] if warehouse else []
    return CliRunner().invoke(main, ["bench", *map(str, arguments), *extra])


def test_a_version_that_starts_more_slowly_is_told_with_status_3(warehouse):
    origin = ("--app", "sh.measure", "--app-version", "7.0", "--started-at", "2025-07-09T00:00:00Z")
    file = DATA / "jetpack_startup_2025-07_enabled.json.gz"
    result = run("import", file, *origin, "--format", "json", warehouse=warehouse)
    assert result.exit_code == 3, result.output
    (row,) = json.loads(result.stdout)
    assert (row["state"], row["history_size"], row["warnings"]) == ("anomalous", 6, ["few_launches", "slowing"])
    assert row["score_change_ratio"] == pytest.approx(0.36, abs=0.01)
    again = run("import", file, *origin, warehouse=warehouse)
    assert again.exit_code == 3
    assert "0 of 1 files are new" in again.stderr
    # `bench run` measured for minutes before: these seconds are of what came after.
    assert re.search(r"written; taking them in took \d+\.\d s$", again.stderr, re.MULTILINE)
    assert "535 ms" in again.stdout


def test_results_that_are_dated_in_the_future_are_named_with_what_to_do(tmp_path):
    file, origin = DATA / "pyperf_telco.json.gz", ("--app", "a", "--app-version", "1")
    ahead = run("import", file, *origin, "--started-at", "2126-11-20T09:00:00Z", warehouse=tmp_path / "p.duckdb")
    assert (
        "dated in the future (2126-11-20 09:00 UTC), and until then later than all others: pyperf_telco.json.gz; "
        f"{Reason.DATED_AHEAD.sentence}\n"
    ) in ahead.stderr
    again = run("import", file, *origin, "--started-at", "2026-11-20T09:00:00Z", warehouse=tmp_path / "p.duckdb")
    assert "0 of 1 files are new, the start of 1 is corrected" in again.stderr
    assert "dated in the future" not in again.stderr


def test_a_quicker_build_is_no_regression_for_what_its_profiler_tells_per_second(tmp_path):
    def file(version, speed):
        def metric(unit, level):
            forks = [[level * (1 + 0.002 * ((fork + place + version) % 4)) for place in range(5)] for fork in range(3)]
            return {"score": level, "scoreUnit": unit, "rawData": forks}

        profiled = {
            "·gc.alloc.rate": metric("MB/sec", speed * 0.024), "·gc.alloc.rate.norm": metric("B/op", 24.0),
            "·gc.count": metric("counts", speed / 1000),
        }  # fmt: skip
        result = {"jmhVersion": "1.37", "benchmark": "com.x.Foo.bar", "mode": "thrpt",
                  "primaryMetric": metric("ops/ms", speed), "secondaryMetrics": profiled}  # fmt: skip
        path = tmp_path / f"{version}.json"
        path.write_text(json.dumps([result]))
        return path

    for version, speed in enumerate([10_000.0] * 6 + [13_000.0], 1):
        at = f"2026-01-0{version}T00:00:00Z"
        origin = ("--app", "a", "--app-version", version, "--device", "d", "--started-at", at)
        result = run("import", file(version, speed), *origin, "--format", "json", warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 0, result.output
    assert {row["metric"]: row["state"] for row in json.loads(result.stdout)} == {
        "thrpt": "improved", "·gc.alloc.rate": "inadequate", "·gc.alloc.rate.norm": "normal", "·gc.count": "inadequate",
    }  # fmt: skip
    (told,) = [row for row in json.loads(result.stdout) if row["metric"] == "·gc.count"]
    assert (told["warnings"], told["score"]) == (["no_direction"], pytest.approx(13, rel=0.01))


def test_without_a_history_nothing_is_judged(tmp_path):
    origin = ("--app", "a", "--app-version", "1")
    result = run("import", DATA / "jmh_ojalgo.json.gz", *origin, warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 4
    assert result.stderr.endswith(
        "28 not_enough_history\n"
        "nothing could be judged; Only 0 comparable earlier results of other versions, 5 are needed.\n"
    )


def test_files_of_which_none_can_be_read_are_an_error(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("no json")
    result = run("import", bad, "--app", "a", "--app-version", "1", warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 1
    assert result.stderr.startswith("perfreg: benchmark_file_unreadable")
    assert not (tmp_path / "p.duckdb").exists()
    unnamed = run("import", DATA / "jmh_ojalgo.json.gz", warehouse=tmp_path / "p.duckdb")
    assert unnamed.exit_code == 1
    assert "--app" in unnamed.stderr


def test_comparing_files_by_the_contract(tmp_path):
    a, b = (DATA / f"pyperf_mult_list_py3{minor}.json.gz" for minor in (6, 8))
    result = run("compare", a, b, "--format", "json", warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert {"areas", "overall", "excluded"} <= set(told)
    (area,) = told["areas"]
    assert {"area", "ratio", "low", "high", "pairs"} <= set(area)
    assert (area["area"], area["pairs"], told["excluded"]) == ("pyperf", 3, [])
    overall = told["overall"]
    assert (overall["ratio"], overall["low"], overall["high"]) == pytest.approx((0.9164, 0.9104, 0.9224), abs=5e-5)
    back = run("compare", b, a, "--format", "json", warehouse=tmp_path / "p.duckdb")
    assert back.exit_code == 3
    assert json.loads(back.stdout)["overall"]["ratio"] == pytest.approx(1 / overall["ratio"])
    table = run("compare", a, b, warehouse=tmp_path / "p.duckdb")
    assert "0.9104 to 0.9224" in table.stdout
    csv = run("compare", a, b, "--format", "csv", warehouse=tmp_path / "p.duckdb")
    assert len(csv.stdout.splitlines()) == 4


def test_files_that_are_not_there_are_said_to_be_none(warehouse):
    result = run("compare", "a.json", "b.json", warehouse=warehouse)
    assert result.exit_code == 1
    assert result.stderr.startswith("perfreg: a.json and b.json are no files; ")
    assert len(result.stderr.splitlines()) == 1


def test_where_there_is_no_warehouse_either_files_that_are_not_there_are_named(tmp_path):
    """It was told that a warehouse is missing, which two files do not need."""
    result = run("compare", "a.json", "b.json", warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 1
    assert result.stderr.startswith("perfreg: a.json and b.json are no files, and versions cannot be looked up: ")
    assert "p.read.duckdb does not exist" in result.stderr


def test_of_a_file_and_a_name_that_is_none_the_latter_is_named_with_what_to_give(tmp_path):
    result = run("compare", str(DATA / "jmh_ojalgo.json.gz"), "b.json", warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 1
    told = "b.json is neither a file nor a folder; give two of them, or import both and give their versions"
    assert told in result.stderr


def test_folders_are_compared_by_the_files_that_an_import_would_take(tmp_path):
    for name, minor in (("before", 6), ("after", 8)):
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(DATA / f"pyperf_mult_list_py3{minor}.json.gz", folder)
        document = {"app": "a", "version_name": name, "area": "lists"}
        (folder / "benchmark.json").write_text(json.dumps(document))
    arguments = (tmp_path / "before", tmp_path / "after", "--format", "json")
    result = run("compare", *arguments, warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 0, result.output
    (area,) = json.loads(result.stdout)["areas"]
    assert (area["area"], area["pairs"], area["ratio"]) == ("lists", 3, pytest.approx(0.9164, abs=5e-5))


def test_a_file_that_is_there_twice_on_a_side_counts_once(tmp_path):
    plain = gzip.decompress((DATA / "pyperf_mult_list_py36.json.gz").read_bytes())
    for name, files in (("once", ["a"]), ("twice", ["a", "b"])):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / f"{file}.json").write_bytes(plain)
    (tmp_path / "twice" / "packed.json.gz").write_bytes(gzip.compress(plain))
    other = DATA / "pyperf_mult_list_py38.json.gz"
    once, twice = (run("compare", tmp_path / name, other, "--format", "json") for name in ("once", "twice"))
    assert once.exit_code == 0, once.output
    assert json.loads(twice.stdout) == json.loads(once.stdout)
    mixed = run("compare", tmp_path / "once", tmp_path / "twice")
    assert f"{tmp_path / 'twice' / 'a.json'} is on both sides and hides what differs" in mixed.stderr
    side = tmp_path / "twice"
    assert twice.stderr.splitlines()[:2] == [
        f"{side / name} is left out: it is the same file as {side / 'a.json'}, which counts once"
        for name in ("b.json", "packed.json.gz")
    ]


def test_files_of_a_version_under_other_flags_are_named_when_they_come_to_count_as_launches_of_one_benchmark(tmp_path):
    def file(name, flags, benchmark="com.x.Foo.bar"):
        metric = {"score": 2.0, "scoreUnit": "ns/op", "rawData": [[2.0, 2.1, 2.0], [2.1, 2.0, len(name) + 2.0]]}
        one = {"benchmark": benchmark, "mode": "avgt", "jvmArgs": flags, "primaryMetric": metric}
        (tmp_path / name).write_text(json.dumps([one]))
        return tmp_path / name

    def said(name, *arguments, version="1.0", **content):
        origin = ("--app", "com.x", "--app-version", version, *arguments)
        result = run("import", file(name, **content), *origin, warehouse=tmp_path / "p.duckdb")
        assert result.exit_code == 4, result.output
        return [line for line in result.stderr.splitlines() if "flags" in line]

    assert said("a.json", flags=["-Xmx1g"]) == []
    assert said("again.json", flags=["-Xmx1g"]) == []
    assert said("another.json", flags=["-Xint"], benchmark="com.x.Foo.other") == []
    assert said("next.json", flags=["-Xint"], version="2.0") == []
    assert said("variant.json", "--variant", "int", flags=["-Xint"]) == []
    assert said("slow.json", flags=["-Xint"]) == [
        "slow.json has benchmarks of a.json under other flags of the virtual machine; both count as launches of one "
        "version, --variant keeps them apart"
    ]


def test_sides_that_ran_under_other_flags_of_the_virtual_machine_are_told_as_files_and_as_versions(tmp_path):
    """What was compared as 1.4 beside 1.5 was -Xint beside -Xmx1g, and nothing said so."""

    def file(side, name, flags, *benchmarks):
        metric = {"score": 2.0, "scoreUnit": "ns/op", "rawData": [[2.0, 2.1, 2.0], [2.1, 2.0, ord(side) + len(name)]]}
        told = {} if flags is None else {"jvmArgs": flags}
        results = [{"benchmark": one, "mode": "avgt", **told, "primaryMetric": metric} for one in benchmarks]
        (tmp_path / side).mkdir(exist_ok=True)
        (tmp_path / side / name).write_text(json.dumps(results))

    file("a", "same.json", ["-Xmx1g"], "com.x.Foo.same")
    file("a", "other.json", ["-Xmx1g", "-Xss2m"], "com.x.Foo.one", "com.x.Foo.two")
    file("a", "mixed.json", [], "com.x.Foo.three")
    file("a", "untold.json", None, "com.x.Foo.four")
    file("b", "same.json", ["-Xmx1g"], "com.x.Foo.same", "com.x.Foo.four")
    file("b", "other.json", ["-Xint"], "com.x.Foo.one", "com.x.Foo.two", "com.x.Foo.three")
    file("b", "again.json", [], "com.x.Foo.three")
    said = [
        "2 benchmarks ran under other flags of the virtual machine: A -Xmx1g -Xss2m, B -Xint",
        "1 benchmark ran under other flags of the virtual machine: A none, B -Xint and none",
    ]
    warehouse = tmp_path / "p.duckdb"
    for side, version in (("a", "1.4"), ("b", "1.5")):
        taken = run("import", tmp_path / side, "--app", "com.x", "--app-version", version, warehouse=warehouse)
        assert taken.exit_code == 4, taken.output
    for sides in ((tmp_path / "a", tmp_path / "b"), ("1.4", "1.5")):
        found = run("compare", *sides, "--format", "json", warehouse=warehouse)
        assert [line for line in found.stderr.splitlines() if "flags" in line] == said, found.stderr


def test_what_is_left_out_of_a_comparison_is_said_whatever_the_format(tmp_path):
    whole = DATA / "pyperf_mult_list_py36.json.gz"
    part = json.loads(gzip.decompress((DATA / "pyperf_mult_list_py38.json.gz").read_bytes()))
    (_, *part["benchmarks"]) = part["benchmarks"]
    (tmp_path / "part.json").write_text(json.dumps(part))
    table, csv, told = (
        run("compare", whole, tmp_path / "part.json", "--format", form) for form in ("table", "csv", "json")
    )
    (excluded,) = json.loads(told.stdout)["excluded"]
    assert excluded["benchmark"] not in csv.stdout
    assert len(csv.stdout.splitlines()) == 1 + len(part["benchmarks"])
    for result in (table, csv):
        assert f"1 left out: {excluded['reason']}" in result.stderr


@pytest.mark.parametrize("broken", ["first", "second"])
@pytest.mark.parametrize("of", ["files", "versions"])
def test_a_benchmark_without_a_result_is_no_benchmark_that_the_other_side_lacks(tmp_path, broken, of):
    def file(side):
        values = {"whole": 100.0, "broken": 0.0 if side == broken else 100.0}
        told = [
            {"jmhVersion": "1.37", "benchmark": f"com.x.Foo.{name}", "mode": "avgt",
             "primaryMetric": {"score": value, "scoreUnit": "us/op", "rawData": [[value] * 9] * 3}}
            for name, value in values.items()
        ]  # fmt: skip
        (tmp_path / f"{side}.json").write_text(json.dumps(told))
        return tmp_path / f"{side}.json"

    sides = {"first": file("first"), "second": file("second")}
    path = tmp_path / "p.duckdb"
    if of == "versions":
        for side, given in sides.items():
            run("import", given, "--app", "com.x", "--app-version", side, warehouse=path)
    names = sides.values() if of == "files" else sides
    told = run("compare", *names, "--format", "json", "--include-inadequate", warehouse=path)
    (one,) = json.loads(told.stdout)["excluded"]
    assert one["benchmark"] == "com.x.Foo.broken avgt"
    assert one["reason"].startswith(f"no result on the {broken} side: iteration 1 of launch 1 is 0: A score, ")


def test_comparing_versions_and_what_one_launch_says(warehouse):
    result = run("compare", "1.0", "2.0", "--format", "json", warehouse=warehouse)
    assert result.exit_code == 3
    told = json.loads(result.stdout)
    assert told["overall"]["ratio"] == pytest.approx(1.0911, abs=5e-5)
    assert told["overall"]["basis"] == "iterations"
    assert "one launch" in result.stderr
    same = run("compare", "1.0", "1.0", warehouse=warehouse)
    assert same.exit_code == 0
    assert "1.0 is on both sides: that nothing differs says nothing" in same.stderr


def test_comparing_variants_of_a_version(tmp_path):
    path = tmp_path / "p.duckdb"
    for minor, variant in ((6, "32"), (8, "64")):
        file = DATA / f"pyperf_mult_list_py3{minor}.json.gz"
        run("import", file, "--app", "a", "--app-version", "1", "--variant", variant, warehouse=path)
    result = run("compare", "32", "64", "--app-version", "1", "--format", "json", warehouse=path)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["overall"]["ratio"] == pytest.approx(0.9164, abs=5e-5)


def test_a_single_measurement_tells_no_noise(tmp_path):
    a, b = (DATA / f"google_benchmark_test1_run{number}.json.gz" for number in (1, 2))
    result = run("compare", a, b, warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 4
    assert "measure more than once" in result.stderr


def test_a_ratio_far_from_1_is_told_in_digits_that_say_something(tmp_path):
    """A second beside a nanosecond was 0.0000, and a change of -100.00%."""
    a, b = (DATA / f"google_benchmark_test1_run{number}.json.gz" for number in (1, 2))
    lines = run("compare", a, b, warehouse=tmp_path / "p.duckdb").stdout.splitlines()
    cells = [re.split(r"\s{2,}", line.strip()) for line in lines]
    (test,) = [row for row in cells if row[:2] == ["BM_DifferentTimeUnit", "BM_DifferentTimeUnit real_time"]]
    (mean,) = [row for row in cells if row[:2] == ["BM_DifferentTimeUnit", "1"]]
    assert (test[4], mean[2], mean[3]) == ("1.00e-09", "1.00e-09", "÷ 1e+09")
    (up,) = [row for row in cells if row[:2] == ["BM_100xSlower", "1"]]
    assert (up[2], up[3]) == ("100.0", "× 100")
    (small,) = [row for row in cells if row[:2] == ["BM_10PercentFaster", "1"]]
    assert (small[2], small[3]) == ("0.9000", "-10.00%")


def test_the_status_is_that_of_what_the_table_says(tmp_path):
    """Eighteen tests that are each too noisy to tell, a tenth slower, in three areas; one in an area of its own is as
    much faster as they are slower: of areas nothing differs, of tests something does."""
    noise = [(0.84, 1.0, 1.19), (0.82, 1.01, 1.2), (0.86, 0.99, 1.17)]
    slow = {f"x.Area{number % 3}.t{number}": [1.1 * one for one in noise[number % 3]] for number in range(18)}
    before = {name: noise[(place + 1) % 3] for place, name in enumerate(slow)} | {"x.Z.t": (1.0, 1.001, 0.999)}
    after = slow | {"x.Z.t": [0.75, 0.751, 0.749]}

    def side(name, values):
        results = [
            {
                "benchmark": test,
                "mode": "avgt",
                "primaryMetric": {"scoreUnit": "ms/op", "rawData": [[v] for v in forks]},
            }
            for test, forks in values.items()
        ]
        (tmp_path / name).write_text(json.dumps(results))
        return tmp_path / name

    files = (side("a.json", before), side("b.json", after))
    told = run("compare", *files, "--format", "json", warehouse=tmp_path / "p.duckdb")
    document = json.loads(told.stdout)
    means = (*document["areas"], document["overall"], document["over_tests"])
    assert [one["verdict"] for one in means] == [*["no change"] * 3, "faster", "no change", "slower"]
    assert (told.exit_code, document["is_slower"]) == (3, True)


def test_launches_that_are_equal_tell_no_noise_however_often_it_was_measured(tmp_path):
    """Of five fifties the logarithms' mean is another than theirs in its last digit: that was taken for noise."""

    def side(name, **values):
        results = [
            {"jmhVersion": "1.37", "benchmark": f"a.B.{test}", "mode": "avgt", "threads": 1, "forks": 5,
             "warmupIterations": 1, "measurementIterations": 10, "secondaryMetrics": {},
             "primaryMetric": {"score": value, "scoreUnit": "ns/op", "rawData": [[value] * 10] * 5}}
            for test, value in values.items()
        ]  # fmt: skip
        (tmp_path / name).write_text(json.dumps(results))
        return tmp_path / name

    a, b = side("a.json", x=100, y=200, z=50), side("b.json", x=110, y=200, z=50)
    result = run("compare", a, b, "--format", "json", warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 4, result.output
    assert "the launches of a side are equal to the last digit" in result.stderr
    told = json.loads(result.stdout)
    assert {one["verdict"] for one in (*told["tests"], told["overall"])} == {"unknown"}


def test_a_test_whose_noise_nothing_tells_makes_no_mean_slower(tmp_path):
    def side(name, *tests):
        results = [
            {"benchmark": f"a.B.t{number}", "mode": "avgt",
             "primaryMetric": {"scoreUnit": "ms/op", "rawData": [[value] for value in values]}}
            for number, values in enumerate(tests)
        ]  # fmt: skip
        (tmp_path / name).write_text(json.dumps(results))
        return tmp_path / name

    a, b = side("a.json", [10, 10, 10], [10, 10.01, 9.99]), side("b.json", [12, 12, 12], [10.005, 9.995, 10])
    result = run("compare", a, b, "--format", "json", warehouse=tmp_path / "p.duckdb")
    told = json.loads(result.stdout)
    assert [one["verdict"] for one in told["tests"]] == ["unknown", "no change"]
    for mean in (*told["areas"], told["overall"], told["over_tests"]):
        assert (mean["verdict"], mean["low"], mean["high"]) == ("unknown", None, None)
    assert (result.exit_code, told["is_slower"]) == (0, False)
    assert "nothing tells the noise of 1 benchmark, nor that of the means with such a one" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("1.0", "9.0"), "no version '9.0'"),
        (("1.0", "2.0", "--app", "sh.measur"), "'sh.measure'"),
        (("32", "64", "--app-version", "1.0"), "no variant '32'"),
        (("1.0", "2.0", "--device", "x"), "'Pixel 4a / API 33'"),
        (("1.0", str(DATA / "jmh_ojalgo.json.gz")), "1.0 is neither a file nor a folder"),
    ],
)
def test_what_there_is_not_is_an_error_with_what_there_is(warehouse, arguments, word):
    result = run("compare", *arguments, warehouse=warehouse)
    assert result.exit_code == 1
    assert word in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_nothing_on_both_sides_is_status_1(tmp_path):
    files = (DATA / "jmh_ojalgo.json.gz", DATA / "pyperf_telco.json.gz")
    result = run("compare", *files, warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 1
    assert "nothing can be compared" in result.stderr


def test_a_review_of_a_benchmark_is_one(tmp_path):
    path = tmp_path / "p.duckdb"
    file = DATA / "pyperf_telco.json.gz"
    rows = run("import", file, "--app", "a", "--app-version", "1", "--format", "json", warehouse=path)
    run_id = json.loads(rows.stdout)[0]["benchmark_run_id"]
    told = CliRunner().invoke(main, ["review", run_id, "--status", "rejected", "--warehouse", str(path)])
    assert told.exit_code == 0, told.output
    queried = CliRunner().invoke(
        main, ["sql", "SELECT review_status FROM marts.benchmark_runs", "--format", "csv", "--warehouse", str(path)]
    )
    assert queried.stdout.split() == ["review_status", "rejected"]
    told = CliRunner().invoke(main, ["review", run_id, "--withdraw", "--warehouse", str(path)])
    assert told.exit_code == 0, told.output
    query = "SELECT coalesce(review_status, 'nobody') AS said FROM marts.benchmark_runs"
    queried = CliRunner().invoke(main, ["sql", query, "--format", "csv", "--warehouse", str(path)])
    assert queried.stdout.split() == ["said", "nobody"]


SUITE = Path(__file__).parent / "data" / "benchmark-suite" / "suite.xml"
RUN = ("--app", "a", "--only", "math")


def test_a_suite_is_run_and_judged_like_imported_results(tmp_path):
    path = tmp_path / "p.duckdb"
    for version in range(1, 7):
        result = run("run", SUITE, *RUN, "--app-version", version, "--option", "adequacy_ms=0", warehouse=path)
        assert result.exit_code == (0 if version == 6 else 4), result.output
    assert "normal" in result.stdout
    assert "4 M ops/s" in result.stdout
    per_ms = run("run", SUITE, *RUN, "--app-version", "7", "--option", "unit=ms", warehouse=path)
    assert "4,000 ops/ms" in per_ms.stdout
    assert "iteration_short" in per_ms.stdout


def test_of_a_benchmark_that_failed_it_is_told_which_it_is(tmp_path):
    """Only its result's name told so: area, benchmark, parameters and metric were NULL."""
    suite, foreign = tmp_path / "suite.toml", tmp_path / "google.json"
    suite.write_text(
        '[conf]\nlaunches = 1\n[[benchmark]]\nname = "bad"\narea = "disk"\nrunner = "command"\n'
        'command = ["no-such-program"]\nparamSize = 3'
    )
    failed = {"name": "disk/BM_B", "run_type": "iteration", "error_occurred": True, "error_message": "no file"}
    foreign.write_text(
        json.dumps({"context": {"num_cpus": 4, "library_build_type": "release"}, "benchmarks": [failed]})
    )
    path, origin = tmp_path / "p.duckdb", ("--app", "a", "--app-version", "1")
    told = run("run", suite, *origin, "--format", "json", warehouse=path)
    (row,) = json.loads(told.stdout)
    names = {"area": "disk", "benchmark": "bad", "params": '{"paramSize":"3"}', "metric": "throughput"}
    assert {name: row[name] for name in names} == names, told.output
    run("import", foreign, *origin, "--area", "own", warehouse=path)
    query = "SELECT area, benchmark, params::VARCHAR AS params, metric FROM marts.benchmark_results ORDER BY ALL"
    queried = CliRunner().invoke(main, ["sql", query, "--format", "json", "--warehouse", str(path)])
    assert json.loads(queried.stdout) == [
        names,
        *(
            {"area": "own", "benchmark": "disk/BM_B", "params": "{}", "metric": one}
            for one in ("cpu_time", "real_time")
        ),
    ]


def test_of_a_benchmark_whose_name_is_too_long_it_is_told_what_it_is_of(tmp_path):
    """Only the short end of its name told so: area, benchmark and metric were NULL."""
    foreign, path = tmp_path / "google.json", tmp_path / "p.duckdb"
    long = {"name": f"disk/{'b' * 600}", "run_type": "iteration", "error_occurred": True, "error_message": "no file"}
    foreign.write_text(json.dumps({"context": {"num_cpus": 4, "library_build_type": "release"}, "benchmarks": [long]}))
    run("import", foreign, "--app", "a", "--app-version", "1", "--area", "c" * 600, warehouse=path)
    query = "SELECT area, benchmark, params IS NULL AS is_unknown, metric FROM marts.benchmark_results ORDER BY metric"
    queried = CliRunner().invoke(main, ["sql", query, "--format", "json", "--warehouse", str(path)])
    rows = json.loads(queried.stdout)
    assert [row["metric"] for row in rows] == ["cpu_time", "real_time"]
    assert {row["is_unknown"] for row in rows} == {True}  # "{}" would say that it has none
    for row in rows:
        assert (row["area"][:9], row["benchmark"][:9]) == ("c" * 9, "disk/bbbb")
        assert max(len(row["area"]), len(row["benchmark"])) <= 500


def test_variants_of_a_suite_are_compared(tmp_path):
    path = tmp_path / "p.duckdb"
    extra = ("--option", "adequacy_ms=0", "--variant", "a", "--variant", "b:launches=3")
    both = run("run", SUITE, *RUN, "--app-version", "1", *extra, warehouse=path).stdout.splitlines()
    assert both[0].split()[0] == "variant"
    assert {line.split()[0] for line in both[1:3]} == {"a", "b"}
    result = run("compare", "a", "b", "--app-version", "1", "--format", "json", warehouse=path)
    (one,) = json.loads(result.stdout)["tests"]
    assert (one["launches_a"], one["launches_b"], one["ratio"]) == (2, 3, pytest.approx(1))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--only", "nothing"), "its areas are sort, crypto, math"),
        (("--option", "launches"), "is no NAME=VALUE"),
        (("--option", "launch=1"), "did you mean launches"),
        (("--variant", "x:launches=0"), "1 to 1000"),
        (("--variant", "x", "--variant", "x:launches=1"), "--variant x is given twice"),
    ],
)
def test_what_a_suite_has_not_is_an_error(tmp_path, arguments, word):
    result = run("run", SUITE, "--app", "a", "--app-version", "1", *arguments, warehouse=tmp_path / "p.duckdb")
    assert result.exit_code == 1
    assert word in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_help_is_text_without_the_sources_indentation():
    words = run("run", "--help").stdout.partition("Example:")[0].partition("\n\n")[2]
    assert all("  " not in line.strip() for line in words.splitlines())
    assert not any(line.startswith("   ") for line in words.splitlines())


def test_benchmarks_with_too_few_iterations_for_a_verdict_are_told_and_their_mean_is_judged(tmp_path):
    for name, factor in (("a", 1.0), ("b", 30.0)):
        raw = [[factor, 1.01 * factor, 1.02 * factor, 1.03 * factor, 1.04 * factor]]
        results = [
            {
                "benchmark": f"com.rig.B{number}", "mode": "avgt", "forks": 1, "threads": 1,
                "primaryMetric": {"score": raw[0][2], "scoreUnit": "ms/op", "rawData": raw}, "secondaryMetrics": {},
            }
            for number in range(20)
        ]  # fmt: skip
        (tmp_path / f"{name}.json").write_text(json.dumps(results), "utf-8")
    result = run("compare", tmp_path / "a.json", tmp_path / "b.json", "--include-inadequate", "--format", "json")
    assert {one["verdict"] for one in json.loads(result.stdout)["tests"]} == {"unknown"}
    assert "20 benchmarks with too few iterations for a verdict: 6 on each side would do" in result.stderr
    # All of them on the same side is no accident.
    assert (json.loads(result.stdout)["overall"]["verdict"], result.exit_code) == ("slower", 3)
