"""Files and folders of results: whose they are, each stored once, one that is refused stops no other."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.bundled import sql_dir
from perfreg_assets.model import benchmarks as model
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse import migrations

DATA = Path(__file__).parents[1] / "data" / "benchmark-results"
ORIGIN = Origin(app="com.x", version_name="1")


def store(warehouse, taken):
    with warehouse.writing() as writer:
        table.correct_starts(writer, [one.measured for one in taken if one.measured is not None])
        return table.add(writer, [one.measured for one in taken if one.measured is not None])


def folder(tmp_path, document, *files):
    path = tmp_path / "bench"
    path.mkdir()
    text = document if isinstance(document, str) else json.dumps(document)
    (path / "benchmark.json").write_text(text)
    for name in files or ("pyperf_telco",):
        shutil.copy(DATA / f"{name}.json.gz", path)
    return path


def test_the_same_file_twice_is_one_and_under_another_version_another(warehouse, tmp_path):
    file = DATA / "pyperf_telco.json.gz"
    copy = tmp_path / "copied.json.gz"
    shutil.copy(file, copy)
    (run_id,) = store(warehouse, take_in([file, copy], ORIGIN))
    assert store(warehouse, take_in([copy], ORIGIN)) == []
    assert store(warehouse, take_in([copy], Origin(app="com.x", version_name="2"))) != [run_id]
    with warehouse.reading() as reader:
        counts = reader.rows(
            "SELECT (SELECT count(*) FROM core.benchmark_results), (SELECT count(*) FROM core.measurements), "
            "(SELECT count(*) FROM core.benchmark_launches)"
        )
    assert counts == [(2, 2, 80)]


def test_a_folder_says_whose_results_lie_in_it_and_options_go_before(tmp_path):
    document = {"app": "com.y", "version_name": "2.0", "variant": "64", "device": "rack 3",
                "started_at": "2026-03-04T05:06:07+01:00", "area": "money"}  # fmt: skip
    path = folder(tmp_path, document)
    (one,) = take_in([path], Origin(version_name="3.0"))
    run = one.measured.run
    assert (run.app, run.version_name, run.variant, run.device) == ("com.y", "3.0", "64", "rack 3")
    assert run.started_at == datetime(2026, 3, 4, 4, 6, 7, tzinfo=UTC)
    assert {row.area for row in one.measured.results} == {"money"}
    assert run.partition_key == "com.y@3.0"


def test_folders_of_folders_and_chosen_files(tmp_path):
    path = folder(tmp_path, {"app": "a", "version_name": "1", "results": ["pyperf_telco.json.gz"]},
                  "pyperf_telco", "jmh_ojalgo")  # fmt: skip
    assert [one.path.name for one in take_in([tmp_path], Origin())] == ["pyperf_telco.json.gz"]
    (path / "benchmark.json").unlink()
    assert [one.path.name for one in take_in([tmp_path], ORIGIN)] == ["jmh_ojalgo.json.gz", "pyperf_telco.json.gz"]


def test_a_moment_that_nobody_tells_is_that_of_the_file_and_said(tmp_path):
    (one,) = take_in([DATA / "jmh_ojalgo.json.gz"], ORIGIN)
    assert one.measured.run.environment["started_at_is"] == "the time of the file"
    assert one.measured.run.device == "unknown"
    (told,) = take_in([DATA / "pyperf_telco.json.gz"], replace(ORIGIN, started_at=datetime(2026, 3, 4, tzinfo=UTC)))
    assert "started_at_is" not in told.measured.run.environment


def test_a_time_without_its_zone_is_taken_as_utc_and_said():
    """pyperf writes datetime.now(): machines keep the order of their results, whatever zone they are in."""
    (one,) = take_in([DATA / "pyperf_telco.json.gz"], ORIGIN)
    assert one.measured.run.started_at == datetime(2016, 10, 21, 3, 14, 19, 670631, tzinfo=UTC)
    assert one.measured.run.environment["started_at_is"] == "the machine's own, taken as UTC"


def pyperf_file(path, date):
    run = {"values": [1.0, 2.0], "metadata": {"date": date.isoformat()}}
    path.write_text(json.dumps({"version": "1.0", "benchmarks": [{"metadata": {"name": "q"}, "runs": [run]}]}))
    return path


def test_results_that_are_dated_in_the_future_are_named_until_they_are_given_again(warehouse, settings, tmp_path):
    """Until then no other is later. Of a time without its zone nobody knows before 14 hours are over."""
    now = datetime.now(UTC)
    near, local, far = (
        pyperf_file(tmp_path / f"{name}.json", date)
        for name, date in (
            ("near", now + timedelta(minutes=5)),
            ("local", (now + timedelta(hours=13)).replace(tzinfo=None)),
            ("far", now + timedelta(hours=100)),
        )
    )
    (_, _, run_id) = ids = store(warehouse, take_in([near, local, far], ORIGIN))
    found = "SELECT run_id, run_no, scope, version_name, is_blocking, detail FROM marts.data_quality"
    with warehouse.reading() as reader:
        assert [name for name, _ in table.dated_in_future(reader)] == ["far.json", "near.json"]
        assert [name for name, _ in table.dated_in_future(reader, ids[:2])] == ["near.json"]
        ((*told, detail),) = reader.rows(found)
    assert told == [run_id, None, "benchmark", "1", False]
    assert detail.startswith("It is said to have begun 100 hours after it was taken in")
    later = pyperf_file(tmp_path / "later.json", now + timedelta(hours=100, minutes=1))
    store(warehouse, take_in([later], ORIGIN))
    model.measure_due(warehouse, settings, Stopwatch())
    assert store(warehouse, take_in([far, later], replace(ORIGIN, started_at=now))) == []
    with warehouse.reading() as reader:
        assert [name for name, _ in table.dated_in_future(reader)] == ["near.json"]
        assert reader.rows(found) == []
        assert reader.rows("SELECT environment ->> '$.started_at_is' FROM marts.benchmark_runs ORDER BY ALL") == [
            ("the machine's own, taken as UTC",), (None,), (None,), (None,)
        ]  # fmt: skip
    assert set(model.measure_due(warehouse, settings, Stopwatch())) >= {run_id}, "its place among the others is another"
    store(warehouse, take_in([far], ORIGIN))  # who says nothing of it changes nothing
    with warehouse.reading() as reader:
        assert [name for name, _ in table.dated_in_future(reader)] == ["near.json"]


@pytest.mark.parametrize("changed_at", [260_000_000_000, -63_000_000_000])
def test_a_file_whose_time_is_in_no_year_has_that_of_the_import(monkeypatch, changed_at):
    """Most file systems have no such times; tmpfs has."""
    real = Path.stat

    def stat(path, **given):
        found = real(path, **given)
        return os.stat_result((*found[:8], changed_at, 0)) if path.name == "jmh_ojalgo.json.gz" else found

    monkeypatch.setattr(Path, "stat", stat)
    before = datetime.now(UTC)
    (one,) = take_in([DATA / "jmh_ojalgo.json.gz"], ORIGIN)
    assert one.measured.run.environment["started_at_is"] == "the time of the import"
    assert before <= one.measured.run.started_at <= datetime.now(UTC)


def test_what_is_no_result_stands_beside_the_others_with_its_reason():
    (one,) = take_in([DATA / "jetpack_click_2024-12_disabled.json.gz"], ORIGIN)
    missing = [row for row in one.measured.scores if row.value is None]
    assert len(missing) == 2
    assert all("0 or below" in row.reason for row in missing)
    assert {row.metric for row in missing}.isdisjoint({row.result_name for row in one.measured.results})


def test_one_that_is_refused_stops_no_other(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    other = google_benchmark(tmp_path / "no-text.json", host_name=["h"])
    taken = take_in([bad, tmp_path / "none.json", other, DATA / "pyperf_telco.json.gz"], ORIGIN)
    assert [one.measured is None for one in taken] == [True, True, True, False]
    assert {one.rejected.reason for one in taken[:2]} == {Reason.BENCHMARK_FILE_UNREADABLE}
    assert f'{other}: host_name is ["h"], which is no name' in str(taken[2].rejected)


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ("{", "benchmark.json"),
        ("[]", "expected an object"),
        ('{"app": "a", "version_name": "1", "app": "b"}', "key 'app' stands there more than once"),
        ({"version_name": "1"}, "app"),
        ({"app": "", "version_name": "1"}, "app"),
        ({"app": "a", "version_name": 3}, "version_name: expected text"),
        ({"app": "a", "version_name": "1", "started_at": "yesterday"}, "'yesterday' is no time"),
        ({"app": "a", "version_name": "1", "started_at": "2026-01-01T00:00:00"}, "no time zone"),
        ({"app": "a", "version_name": "1", "started_at": "9999-12-31T23:59:59-14:00"}, "none of the years 1 to 9999"),
        ({"app": "a", "version_name": "1", "results": ["../secret.json"]}, "leaves the folder"),
        ({"app": "a", "version_name": "1", "schema_version": 9}, "schema_version 9"),
    ],
)
def test_a_benchmark_json_that_is_unusable_is_refused_with_the_place(tmp_path, document, word):
    (one,) = take_in([folder(tmp_path, document)], Origin())
    assert one.measured is None
    assert one.rejected.reason is Reason.BENCHMARK_JSON_INVALID
    assert word in str(one.rejected)


def test_whose_they_are_must_be_said():
    (one,) = take_in([DATA / "pyperf_telco.json.gz"], Origin(app="a"))
    assert one.rejected.reason is Reason.BENCHMARK_ORIGIN_MISSING


def test_a_folder_without_results_is_refused(tmp_path):
    (one,) = take_in([tmp_path], ORIGIN)
    assert one.rejected.reason is Reason.BENCHMARK_FILE_UNREADABLE


def stored(warehouse):
    """What is known of the results, as rows of three tables."""
    with warehouse.reading() as reader:
        return [
            reader.rows(f"SELECT {columns} FROM core.{table} ORDER BY ALL")
            for table, columns in (
                ("measurements", "subject_id, metric, unit, worse"),
                ("benchmark_results", "benchmark_run_id, result_name, is_adequate"),
                ("benchmark_warnings", "benchmark_run_id, result_name, warning_code, detail"),
            )
        ]


def test_what_jmh_does_not_tell_per_operation_has_no_direction_in_files_taken_in_before_either(warehouse, tmp_path):
    """As the release before stored them, mended by the migration, they are as they are taken in now."""

    def metric(unit):
        return {"score": 64, "scoreUnit": unit, "rawData": [[64.0 + place for place in range(5)]] * 3}

    units = {"gc.alloc.rate": "MB/sec", "gc.count": "counts", "gc.time": "ms", "gc.alloc.rate.norm": "B/op"}
    one = {"benchmark": "org.x.Sorting.merge", "mode": "avgt", "primaryMetric": metric("us/op"),
           "secondaryMetrics": {name: metric(unit) for name, unit in units.items()}}  # fmt: skip
    file = tmp_path / "jmh.json"
    file.write_text(json.dumps([one, {**one, "benchmark": "org.x.Io.read", "primaryMetric": metric("ops/ms")}]))
    store(warehouse, take_in([file, DATA / "pyperf_telco.json.gz"], ORIGIN))
    now = stored(warehouse)
    assert [row[3] for row in now[0]].count("either") == 6
    with warehouse.writing() as writer:
        of_them = "result_name IN (SELECT metric FROM core.measurements WHERE worse = 'either')"
        writer.execute(f"UPDATE core.benchmark_results SET is_adequate = true WHERE {of_them}")
        writer.execute("DELETE FROM core.benchmark_warnings WHERE warning_code = 'no_direction'")
        writer.execute("UPDATE core.measurements SET worse = 'more' WHERE worse = 'either'")
    assert stored(warehouse) != now
    mending = migrations.migration_files(sql_dir() / "migrations")[32]
    for _ in range(2):
        with warehouse.writing() as writer:
            writer.execute(mending.text)
        assert stored(warehouse) == now


def google_benchmark(path, **context):
    one = {"name": "A", "run_type": "iteration", "real_time": 5.0, "cpu_time": 5.0, "time_unit": "ns"}
    path.write_text(json.dumps({"context": {"host_name": "h", **context}, "benchmarks": [one]}))
    return path


@pytest.mark.parametrize("date", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_date_that_is_in_no_year_by_utc_is_not_told_and_spoils_nothing(warehouse, settings, tmp_path, date):
    written = {"args": ["--x"], "date": date}
    pyperf = {
        "version": "1.0",
        "benchmarks": [{"metadata": {"name": "q"}, "runs": [{"values": [1, 2], "metadata": written}]}],
    }
    (tmp_path / "pyperf.json").write_text(json.dumps(pyperf))
    files = [google_benchmark(tmp_path / "gb.json", date=date), tmp_path / "pyperf.json"]
    taken = take_in(files, ORIGIN)
    assert [one.measured.run.environment["started_at_is"] for one in taken] == ["the time of the file"] * 2
    (run_id, other) = store(warehouse, taken)
    assert set(model.measure_due(warehouse, settings, Stopwatch())) == {run_id, other}
    with warehouse.reading() as reader:
        assert reader.rows("SELECT year(started_at) > 2000 FROM marts.benchmark_runs") == [(True,)] * 2


def test_a_date_with_another_zone_is_stored_as_the_moment_that_it_is(warehouse, tmp_path):
    (one,) = take_in([google_benchmark(tmp_path / "gb.json", date="9999-12-31T23:59:59+01:00")], ORIGIN)
    assert one.measured.run.started_at.isoformat() == "9999-12-31T22:59:59+00:00"


def test_names_that_are_too_long_stay_apart_and_stop_no_other_file(warehouse, tmp_path):
    """Of Google Benchmark real and CPU time, of JMH two further metrics, alike in their first 500 characters."""
    google = google_benchmark(tmp_path / "gb.json")
    google.write_text(google.read_text().replace('"A"', f'"{"A" * 600}"'))

    def metric(unit):
        return {"score": 5, "scoreUnit": unit, "rawData": [[5.0, 5.1]]}

    one = {"benchmark": "org.x.Sorting.merge", "mode": "avgt", "params": {"payload": "x" * 480},
           "primaryMetric": metric("us/op"),
           "secondaryMetrics": {"gc.alloc.rate": metric("MB/sec"), "gc.count": metric("counts")}}  # fmt: skip
    (tmp_path / "jmh.json").write_text(json.dumps([one]))
    taken = take_in([google, tmp_path / "jmh.json", DATA / "pyperf_telco.json.gz"], ORIGIN)
    assert len(store(warehouse, taken)) == 3
    with warehouse.reading() as reader:
        rows = reader.rows('SELECT metric, reason FROM core.measurements WHERE "value" IS NULL')
    names = [name for name, _ in rows]
    assert len(names) == len(set(names)) == 5
    assert all(len(name) <= 500 and reason.startswith("its name has ") for name, reason in rows)
    endings = ("cpu_time", "gc.alloc.rate", "gc.count", "real_time", "avgt")
    assert sorted(name.rpartition(" ")[2] for name in names) == sorted(endings)
    assert {name[:4] for name in names} == {"AAAA", "org."}


def test_long_names_that_differ_in_the_middle_stay_apart_too(tmp_path):
    rows = [{"name": "A" * 600 + end + "B" * 600, "real_time": 1.0, "time_unit": "ns"} for end in "xy"]
    path = tmp_path / "gb.json"
    path.write_text(json.dumps({"context": {}, "benchmarks": rows}))
    (one,) = take_in([path], ORIGIN)
    assert len({row.metric for row in one.measured.scores}) == 2
