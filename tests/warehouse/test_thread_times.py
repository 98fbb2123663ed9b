"""Thread times come back to the nanosecond, whoever stored, replaced, joined or moved them."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.bundled import sql_dir
from perfreg_assets.methods.thread_times import REST, RUNNING, ThreadTimes
from perfreg_assets.warehouse import joining, migrations, runs, thread_times
from perfreg_assets.warehouse.connection import Warehouse, Writer
from perfreg_assets.warehouse.tidying import tidy

NAUGHTY = [
    "'; DROP TABLE core.runs; --",
    "line\nbreak",
    "nul\x00byte",
    "👩‍👩‍👧‍👦 ﷽",
    "<script>",
    " ",
    "x" * 10_000,
    REST,
]


def times_of(seed: int, entities: int = 5, seconds: int = 7) -> ThreadTimes:
    random = np.random.default_rng(seed)
    return ThreadTimes(
        start_ns=1_000_000_007 * seed,
        process=tuple(NAUGHTY[(seed + k) % len(NAUGHTY)] for k in range(entities)),
        thread=tuple(f"t{k}" for k in range(entities)),
        state=tuple(RUNNING if k % 2 == 0 else f"uninterruptible:f{k}" for k in range(entities)),
        is_app=np.arange(entities) % 3 == 0,
        seconds=random.integers(0, 9_000_000_000, size=(entities, seconds)) / 1e9,
        recorded=(RUNNING, "uninterruptible"),
    )


def same(one: ThreadTimes, other: ThreadTimes) -> bool:
    lists = (one.start_ns, one.process, one.thread, one.state, one.recorded, one.is_app.tolist(), one.seconds.tolist())
    return lists == (
        other.start_ns, other.process, other.thread, other.state, other.recorded, other.is_app.tolist(),
        other.seconds.tolist(),
    )  # fmt: skip


def store(writer: Writer, number: int, times: ThreadTimes) -> None:
    run_id = f"run-{number}"
    row = runs.RunRow(
        run_id=run_id, folder_name="f", content_hash="h", app="app", version_name="1", config_hash="c",
        started_at=datetime(2026, 3, 5, tzinfo=UTC), step_count=0, path=(),
    )  # fmt: skip
    runs.upsert(writer, [row])
    thread_times.upsert(writer, [thread_times.described(run_id, times, code_version="1")])


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(0, 30))
def test_nothing_is_lost_by_the_form_they_are_stored_in(seed: int, entities: int, seconds: int) -> None:
    times = times_of(seed, entities, seconds)
    found = thread_times.described("run", times, code_version="1")
    assert same(thread_times.times_of(found.row, found.rows), times)
    assert (found.row.entity_count, found.row.second_count) == (entities, seconds)


def test_another_time_name_or_place_is_another_hash() -> None:
    def hash_of(**changes: object) -> str | None:
        times = times_of(3)
        return thread_times.described("r", ThreadTimes(**{**vars(times), **changes}), code_version="1").row.values_hash

    plain = times_of(3)
    seconds = plain.seconds.copy()
    seconds[1, 1] += 1e-9
    changes: list[dict[str, object]] = [
        {"start_ns": plain.start_ns + 1},
        {"process": ("a", *plain.process[1:])},
        {"thread": ("a", *plain.thread[1:])},
        {"state": ("runnable", *plain.state[1:])},
        {"is_app": ~plain.is_app},
        {"seconds": seconds},
        {"seconds": plain.seconds.reshape(5, 7)[:, :6]},
    ]
    assert hash_of() == hash_of()
    assert len({hash_of(), *(hash_of(**one) for one in changes)}) == 1 + len(changes)


def test_what_is_stored_comes_back_also_when_it_replaced_something(warehouse: Warehouse) -> None:
    known = {number: times_of(number, seconds=number + 1) for number in range(4)}
    with warehouse.writing() as writer:
        for number, times in known.items():
            store(writer, number, times)
        known[2] = times_of(77, entities=0)
        known[3] = times_of(99)
        store(writer, 2, known[2])
        store(writer, 3, known[3])
        thread_times.upsert(writer, [thread_times.missing("run-1", "series_missing", "no", code_version="1")])
        del known[1]
    with warehouse.reading() as reader:
        found = thread_times.load(reader, ["run-0", "run-1", "run-2", "run-3", "nobody"])
        assert set(found) == {"run-0", "run-2", "run-3"}
        assert all(same(found[f"run-{number}"], times) for number, times in known.items())
        rows = thread_times.find(reader, ["run-1", "nobody"])
        assert {run_id: (row.is_missing, row.reason_code, row.reason) for run_id, row in rows.items()} == {
            "run-1": (True, "series_missing", "no")
        }
        assert thread_times.figures(reader, ["run-0", "run-1", "run-2", "run-3"]) == {
            "runs": 3, "missing": 1, "entities": 10,
        }  # fmt: skip
        assert thread_times.load(reader, []) == {}


def test_the_mart_tells_the_same(warehouse: Warehouse) -> None:
    times = times_of(5)
    with warehouse.writing() as writer:
        store(writer, 5, times)
    with warehouse.reading() as reader:
        rows = reader.rows(
            "SELECT thread, process, thread_state, is_app, start_ns, total_s, times_s FROM marts.thread_times"
        )
    told = {thread: rest for thread, *rest in rows}
    for k, thread in enumerate(times.thread):
        process, state, is_app, start_ns, total_s, times_s = told[thread]
        assert (process, state, is_app, start_ns) == (
            times.process[k], times.state[k], bool(times.is_app[k]), times.start_ns,
        )  # fmt: skip
        assert times_s == times.seconds[k].tolist()
        assert total_s == pytest.approx(times.seconds[k].sum())


def test_small_files_become_few_and_nothing_changes(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "SMALL_FILES", 100)
    for number in range(6):
        with warehouse.writing() as writer:
            store(writer, number, times_of(number))
    count = "SELECT count(DISTINCT values_file) FROM core.thread_times"
    with warehouse.reading() as reader:
        assert reader.value(count) == 6
    assert tidy(warehouse).joined == 6
    with warehouse.reading() as reader:
        assert reader.value(count) == 1
        found = thread_times.load(reader, [f"run-{number}" for number in range(6)])
    assert all(same(found[f"run-{number}"], times_of(number)) for number in range(6))


def test_runs_of_an_older_release_have_no_thread_times_and_keep_their_files(tmp_path: Path) -> None:
    shutil.copytree(sql_dir() / "migrations", tmp_path / "migrations")
    for path in (tmp_path / "migrations").glob("*.sql"):
        if path.name >= "0007":
            path.unlink()
    connection = duckdb.connect()
    migrations.apply_all(connection, migrations.migration_files(tmp_path / "migrations"))
    connection.execute(
        "INSERT INTO core.value_files VALUES ('abc', 'series', 'app', '2026-01', 3, 99, now(), NULL);"
        "INSERT INTO core.runs (run_id, folder_name, content_hash, app, version_name, started_at, config_hash, "
        "is_quarantined, registered_at) "
        "SELECT unnest(['a', 'b']), 'f', 'h', 'app', '1', now(), 'c', false, now();"
        "INSERT INTO core.traces (run_id, is_complete, is_trace_gone, code_version, checked_at) "
        "VALUES ('a', true, NULL, '1', now()), ('b', true, true, '1', now());"
    )
    assert migrations.migrate(connection)
    files = connection.execute("SELECT values_file, kind, row_count FROM core.value_files").fetchall()
    assert files == [("abc", "series", 3)]
    states = connection.execute(
        "SELECT run_id, has_thread_times, reason_code FROM marts.thread_time_states ORDER BY run_id"
    ).fetchall()
    assert states == [("a", False, "not_checked"), ("b", False, "trace_file_missing")]
