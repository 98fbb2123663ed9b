"""Large values beside the DuckDB file: everybody gets them back to the bit, opens what is needed and nothing else."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import barycenters, discords, joining, paths, runs, series, settings_table, value_files
from perfreg_assets.warehouse.connection import Reader, Warehouse, Writer
from perfreg_assets.warehouse.queries import run_query

MARTS = ("time_series", "series_arrays", "profiles", "barycenters", "run_paths")
RUN_COUNT = 60
START = datetime(2026, 1, 31, 22, tzinfo=UTC)
# What a client that knows nothing of this project does.
OUTSIDER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
for statement in sys.argv[2:]:
    rows = connection.execute(statement).fetchall()
print(rows)
"""
SUMS = (
    "SELECT (SELECT round(sum(value), 6) FROM marts.time_series), (SELECT count(*) FROM marts.run_paths), "
    '(SELECT sum(len("values")) FROM marts.barycenters), (SELECT sum(len(profile)) FROM marts.profiles)'
)


def _outside(path: Path, *statements: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", OUTSIDER, str(path), *statements], cwd="/", capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def _row(run_id: str, name: str, values: np.ndarray | None) -> series.SeriesRow:
    return series.SeriesRow(
        run_id=run_id, series=name, unit="u", interval_s=1.0, start_ns=None if values is None else 0, values=values,
        is_missing=values is None, reason=None if values is not None else "none",
    )  # fmt: skip


def _run(number: int, app: str = "app") -> runs.RunRow:
    return runs.RunRow(
        run_id=f"run-{number:03d}", folder_name="f", content_hash="h", app=app, version_name="1", config_hash="c",
        started_at=START.replace(day=1 + number % 28), step_count=3,
        path=tuple(runs.PathStep(i, 1000 * i, f"state-{number}-{i}", "screen") for i in range(3)),
    )  # fmt: skip


def _values(number: int, name: str) -> np.ndarray:
    return np.random.default_rng([number, len(name)]).normal(size=200 + number)


def _store(writer: Writer, number: int, app: str = "app") -> None:
    run_id = f"run-{number:03d}"
    runs.upsert(writer, [_run(number, app)])
    series.upsert(writer, [_row(run_id, name, _values(number, name)) for name in ("x", "yy", "zzz")])
    center = barycenters.BarycenterRow(
        barycenter_id=f"center-{number}", values=_values(number, "center"), inertia=1, iteration_count=1, backend="b",
        seconds=1,
    )  # fmt: skip
    barycenters.insert_missing(writer, [center], {center.barycenter_id: run_id})
    assigned = barycenters.RunBarycenterRow(run_id=run_id, series="x", barycenter_id=center.barycenter_id)
    barycenters.assign(writer, [run_id], [assigned])
    profile = discords.ProfileRow(
        run_id=run_id, series="x", localisation="l", window_s=1, profile=_values(number, "profile"),
        threshold_low=None, threshold_high=None, parameters_hash="p",
    )  # fmt: skip
    discords.replace_runs(writer, [run_id], [profile], [])


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Runs of one app and month, each in files of its own. Read it only."""
    warehouse = Warehouse(tmp_path_factory.mktemp("many") / "perfreg.duckdb", lock_timeout_s=10)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(joining, "SMALL_BYTES", 0)
        with warehouse.writing() as writer:
            for number in range(RUN_COUNT):
                _store(writer, number)
    return warehouse


def _check_everything(reader: Reader, numbers: range = range(RUN_COUNT)) -> None:
    ids = [f"run-{number:03d}" for number in numbers]
    found = series.find(reader, ids)
    assert len(found) == 3 * len(ids)
    centers = barycenters.find(reader, [f"center-{number}" for number in numbers])
    walked = paths.find(reader, paths.files_of(reader, ids))
    for number, run_id in zip(numbers, ids, strict=True):
        for name in ("x", "yy", "zzz"):
            stored = found[run_id, name].values
            assert stored is not None
            assert stored.tobytes() == _values(number, name).tobytes()
        assert centers[f"center-{number}"].values.tobytes() == _values(number, "center").tobytes()
        assert [step.state_hash for step in walked[run_id]] == [f"state-{number}-{i}" for i in range(3)]
    arrays = reader.rows('SELECT run_id, series, "values" FROM marts.series_arrays ORDER BY ALL')
    assert {(run_id, name): tuple(values) for run_id, name, values in arrays} == {
        (run_id, name): tuple(_values(number, name))
        for number, run_id in zip(numbers, ids, strict=True)
        for name in ("x", "yy", "zzz")
    }
    profiles = reader.rows("SELECT run_id, profile FROM marts.profiles ORDER BY run_id")
    assert [tuple(profile) for _, profile in profiles] == [tuple(_values(number, "profile")) for number in numbers]
    assert reader.rows("SELECT run_id, step, offset_s, state_hash FROM marts.run_paths ORDER BY run_id, step") == [
        (run_id, i, i / 1e6, f"state-{number}-{i}")
        for number, run_id in zip(numbers, ids, strict=True)
        for i in range(3)
    ]


def test_everything_comes_back_to_the_bit_by_the_readers_and_by_the_marts(many: Warehouse) -> None:
    with many.reading() as reader:
        _check_everything(reader)


def test_anybody_with_duckdb_alone_reads_the_marts_from_anywhere(many: Warehouse) -> None:
    with many.reading() as reader:
        expected = reader.rows(SUMS)
    assert _outside(many.published, SUMS).strip() == repr(expected)


def test_the_file_and_its_folder_move_together(many: Warehouse, tmp_path: Path) -> None:
    with many.reading() as reader:
        expected = repr(reader.rows(SUMS))
    first, second = tmp_path / "here", tmp_path / "it's [there]"
    shutil.copytree(many.path.parent, first)
    warehouse = Warehouse(first / "perfreg.duckdb", lock_timeout_s=10)
    with warehouse.writing():
        pass
    first.rename(second)
    moved = Warehouse(second / "perfreg.duckdb", lock_timeout_s=10)
    with moved.reading() as reader:
        assert repr(reader.rows(SUMS)) == expected
    assert str(first) in _outside(moved.published, SUMS)  # looks where it was, and says so
    place = str(second / "perfreg.data").replace("'", "''")
    assert _outside(moved.published, f"SET VARIABLE perfreg_data = '{place}'", SUMS).strip() == expected
    with moved.writing():
        pass
    assert _outside(moved.published, SUMS).strip() == expected


def _scanned(reader: Reader, sql: str) -> tuple[int, int]:
    """(files of the data folder that were opened, row groups in them that were read)."""
    waiting = list(json.loads(reader.rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")[0][1])["operator"])
    scans = []
    while waiting:
        operator = waiting.pop()
        waiting += operator.get("children", [])
        if "Total Files Read" in operator["extra_info"]:
            scans.append((int(operator["extra_info"]["Total Files Read"]), operator["row_groups_scanned"]))
    (scan,) = scans
    return scan


@pytest.mark.parametrize("mart", MARTS)
@pytest.mark.parametrize(("condition", "most"), [("= 'run-007'", 1), ("IN ('run-007', 'run-031')", 2)])
def test_a_condition_on_runs_opens_their_files_only(many: Warehouse, mart: str, condition: str, most: int) -> None:
    with many.reading() as reader:
        files, groups = _scanned(reader, f"SELECT * FROM marts.{mart} WHERE run_id {condition}")
        assert reader.rows(f"SELECT 1 FROM marts.{mart} WHERE run_id {condition} LIMIT 1") == [(1,)]
    assert 1 <= files <= most + 1  # beside them at most the one that DuckDB reads the columns' names from
    assert groups == most


@pytest.mark.parametrize("mart", ["barycenters", "profiles", "series_arrays"])
def test_runs_that_a_query_finds_out_are_read_alone_too(many: Warehouse, mart: str) -> None:
    with many.reading() as reader:
        for count in (10, 55):  # by itself DuckDB names no more than 50
            some = f"(SELECT run_id FROM marts.runs WHERE run_id < 'run-0{count}')"
            _, groups = _scanned(reader, f"SELECT * FROM marts.{mart} WHERE run_id IN {some}")
            assert groups == count


def test_a_reader_of_one_run_reads_no_other_file(many: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[list[str]] = []
    arrow = Reader.arrow

    def noting(self: Reader, sql: str, parameters: object = ()) -> object:
        if isinstance(parameters, dict) and "files" in parameters:
            opened.append(parameters["files"])
        return arrow(self, sql, parameters)

    monkeypatch.setattr(Reader, "arrow", noting)
    with many.reading() as reader:
        series.find(reader, ["run-007"])
        paths.find(reader, paths.files_of(reader, ["run-007"]))
        barycenters.find(reader, ["center-7"])
        runs.find(reader, ["run-007"])
        series.hashes(reader, ["run-007"], ["x"])
        series.figures(reader, ["run-007"])
    assert [len(files) for files in opened] == [1, 1, 1, 1]


def test_a_file_that_is_gone_is_named(many: Warehouse, tmp_path: Path) -> None:
    shutil.copytree(many.path.parent, tmp_path / "w")
    warehouse = Warehouse(tmp_path / "w" / "perfreg.duckdb", lock_timeout_s=10)
    with warehouse.reading() as reader:
        file = reader.value("SELECT values_file FROM core.time_series WHERE run_id = 'run-007' LIMIT 1")
        (path,) = (tmp_path / "w" / "perfreg.data" / "series").rglob(f"file={file}/values.parquet")
        path.unlink()
        assert series.find(reader, ["run-008"])
        with pytest.raises(Rejected, match=file) as caught:
            series.find(reader, ["run-007"])
    assert caught.value.reason is Reason.DATA_MISSING


AWKWARD = ["../../escape", "a/b", "Ω 'quoted' \"app\"", "%7E", "~", "a=b&c", "*?[x]", "x" * 5000, "new\nline", "", "."]


def test_names_of_apps_make_no_trouble_as_folders(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        for number, app in enumerate(AWKWARD):
            _store(writer, number, app)
        _check_everything(writer, range(len(AWKWARD)))
    with warehouse.reading() as reader:
        _check_everything(reader, range(len(AWKWARD)))
        assert reader.value("SELECT count(DISTINCT app) FROM core.value_files") == len(AWKWARD)
    assert not [path for path in warehouse.path.parent.rglob("*.parquet") if "perfreg.data" not in path.parts]
    folders = {path.name for path in (Path(warehouse.data.root) / "series").iterdir()}
    assert len(folders) == len(AWKWARD) + 1


def test_files_lie_by_app_and_month_and_hold_what_their_name_says(many: Warehouse) -> None:
    paths = [path for path in Path(many.data.root).rglob("*.parquet") if "app=~" not in str(path)]
    assert len(paths) == 4 * RUN_COUNT
    for path in paths:
        kind, app, month, file, name = path.relative_to(many.data.root).parts
        assert (app, month, name) == ("app=app", "month=2026-01", "values.parquet")
        assert kind in {one.name for one in value_files.KINDS}
        place = f"{kind}/{app}/{month}".encode()
        assert file == f"file={hashlib.sha256(place + path.read_bytes()).hexdigest()[:32]}"


def test_what_is_stored_again_is_not_written_again(warehouse: Warehouse) -> None:
    for _ in range(2):
        with warehouse.writing() as writer:
            _store(writer, 1)
    paths = [path for path in Path(warehouse.data.root).rglob("*.parquet") if "app=~" not in str(path)]
    assert len(paths) == 4
    with warehouse.reading() as reader:
        assert reader.value("SELECT count(*) FROM core.value_files") == 4


def test_empty_odd_and_missing_series_stay_what_they_are(warehouse: Warehouse) -> None:
    odd = np.array([np.nan, np.inf, -0.0, 5e-324])
    with warehouse.writing() as writer:
        runs.upsert(writer, [_run(1)])
        series.upsert(
            writer, [_row("run-001", "e", np.empty(0)), _row("run-001", "o", odd), _row("run-001", "m", None)]
        )
        found = {name: row for (_, name), row in series.find(writer, ["run-001"]).items()}
        assert found["e"].values is not None
        assert found["e"].values.shape == (0,)
        assert found["o"].values is not None
        assert found["o"].values.tobytes() == odd.tobytes()
        assert found["m"].values is None
        assert series.figures(writer, ["run-001"]) == {"series": 3, "missing_series": 1, "samples": 4}
        assert writer.rows('SELECT series, len("values") FROM marts.series_arrays ORDER BY 1') == [
            ("e", 0), ("m", None), ("o", 4),
        ]  # fmt: skip
        assert writer.rows("SELECT series, reason_code FROM marts.data_quality WHERE scope = 'series' ORDER BY 1") == [
            ("e", "empty"), ("m", "series_missing"), ("o", "not_finite"),
        ]  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{data}/x.parquet'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{data}/x.parquet'",
        "explain (analyze, format json) copy (SELECT 1) TO '{data}/x.parquet'",
        "SELECT 1; COPY (SELECT 1) TO '{data}/x.parquet'",
        "ATTACH '{data}/x.parquet'",
        "EXPORT DATABASE '{data}/x.parquet'",
        "SELECT * FROM read_text('{data}/../perfreg.duckdb.lock')",
        "SELECT * FROM read_text('{data}x')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "SET VARIABLE perfreg_data = '/etc'",
    ],
)
def test_a_query_of_somebody_neither_writes_nor_reads_beside_the_data(many: Warehouse, statement: str) -> None:
    before = sorted(many.path.parent.rglob("*"))
    with many.reading() as reader, pytest.raises(ValueError, match="refused"):
        run_query(reader, statement.format(data=many.data.root))
    assert sorted(many.path.parent.rglob("*")) == before


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM marts.time_series",
        "FROM marts.runs LIMIT 1",
        "WITH a AS (SELECT 1) FROM a",
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "DESCRIBE marts.runs",
        "SHOW TABLES",
        "SUMMARIZE marts.runs",
        "PIVOT marts.series_arrays ON series USING count(*) GROUP BY run_id",
        "VALUES (1)",
    ],
)
def test_every_way_of_reading_is_open(many: Warehouse, statement: str) -> None:
    with many.reading() as reader:
        assert run_query(reader, statement)[1]


def test_a_writer_reaches_nothing_beside_the_data_either(warehouse: Warehouse, tmp_path: Path) -> None:
    for statement in (f"COPY (SELECT 1) TO '{tmp_path}/x.csv'", "SELECT * FROM read_text('/etc/passwd')"):
        with pytest.raises(duckdb.Error, match="disabled by configuration"), warehouse.writing() as writer:
            writer.execute(statement)


def test_files_are_cut_at_a_size_and_runs_are_not_torn(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_files, "_CHUNK_BYTES", 8_000)
    with warehouse.writing() as writer:
        runs.upsert(writer, [_run(number) for number in range(20)])
        series.upsert(
            writer,
            [_row(f"run-{number:03d}", name, _values(number, name)) for number in range(20) for name in ("x", "yy")],
        )
        pairs = writer.rows("SELECT DISTINCT run_id, values_file FROM core.time_series")
        assert len(pairs) == 20
        assert 5 < len({file for _, file in pairs}) < 20
        for (run_id, name), row in series.find(writer, [f"run-{number:03d}" for number in range(20)]).items():
            assert row.values is not None
            assert row.values.tobytes() == _values(int(run_id[-3:]), name).tobytes()


def test_a_write_without_its_data_folder_does_not_point_others_elsewhere(tmp_path: Path) -> None:
    """Whoever opens the file with DuckDB alone reads where it says that values are: there were none."""
    there = Warehouse(tmp_path / "w.duckdb", lock_timeout_s=10, data=str(tmp_path / "disk" / "data"))
    with there.writing() as writer:
        _store(writer, 1)
    plain = "SELECT count(*) FROM marts.time_series"
    with duckdb.connect(str(there.published), read_only=True) as connection:
        before = connection.execute(plain).fetchall()
    elsewhere = Warehouse(there.path, lock_timeout_s=10, data=str(tmp_path / "forgotten"))
    with elsewhere.writing() as writer:
        settings_table.change(writer, "omega", "1.25", "", changed_by="somebody")
    with duckdb.connect(str(there.published), read_only=True) as connection:
        assert connection.execute(plain).fetchall() == before != [(0,)]
    (tmp_path / "disk").rename(tmp_path / "moved")
    moved = Warehouse(there.path, lock_timeout_s=10, data=str(tmp_path / "moved" / "data"))
    with moved.writing():
        pass
    with duckdb.connect(str(there.published), read_only=True) as connection:
        assert connection.execute(plain).fetchall() == before


def test_values_are_written_only_where_the_others_lie(tmp_path: Path) -> None:
    """A disk that is not mounted, a command without PERFREG_DATA: what it wrote would be nowhere for all others."""
    there = Warehouse(tmp_path / "w.duckdb", lock_timeout_s=10, data=str(tmp_path / "disk" / "data"))
    with there.writing() as writer:
        _store(writer, 1)
    elsewhere = Warehouse(there.path, lock_timeout_s=10, data=str(tmp_path / "forgotten"))
    away = (tmp_path / "disk").rename(tmp_path / "away")
    for warehouse in (elsewhere, there):
        refused = pytest.raises(Rejected, match=r"holds none of the .* PERFREG_DATA")
        with refused as caught, warehouse.writing() as writer:
            _store(writer, 2)
        assert caught.value.reason is Reason.DATA_MISSING
        with warehouse.writing() as writer:  # what needs no values goes on
            settings_table.change(writer, "omega", "1.25", "", changed_by="somebody")
    shutil.rmtree(tmp_path / "disk")
    away.rename(tmp_path / "disk")
    with there.writing() as writer:
        _store(writer, 2)
    with there.reading() as reader:
        _check_everything(reader, range(1, 3))
