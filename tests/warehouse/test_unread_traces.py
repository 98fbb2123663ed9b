"""Traces that could not be read, and profiles that a release before this one registered by name alone."""

from __future__ import annotations

import duckdb

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse import attachments, migrations, unread_traces
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.rows import insert, to_arrow
from tests.warehouse.registered import register


def test_profiles_of_an_earlier_release_are_known_by_name(new_warehouse: Warehouse) -> None:
    files = migrations.migration_files(sql_dir() / "migrations")
    (own,) = (number for number, file in files.items() if file.name.endswith("unread_traces.sql"))
    names = ["a.trace", "b.TRACE", "perf.data", "trace.txt", "x.html"]
    with duckdb.connect(str(new_warehouse.path)) as connection:
        migrations.apply_all(connection, {number: file for number, file in files.items() if number < own})
        for name in names:
            kind = "log" if name.endswith("txt") else "other"
            connection.execute("INSERT INTO core.attachments VALUES ('r', ?, ?, 1, 'h', NULL)", [name, kind])
        connection.execute(
            "INSERT INTO core.runs (run_id, folder_name, content_hash, is_quarantined, reason_code, registered_at) "
            "VALUES ('r', 'f', 'h', true, 'key_missing', now())"
        )
    with new_warehouse.writing() as writer:
        found = {one.file_name: one.kind for one in attachments.of_runs(writer, ["r"])["r"]}
    assert found == {
        "a.trace": "method_trace",
        "b.TRACE": "method_trace",
        "perf.data": "call_stacks",
        "trace.txt": "log",
        "x.html": "other",
    }


def test_rows_of_some_runs_or_of_all(new_warehouse: Warehouse) -> None:
    rows = [
        unread_traces.UnreadRow(run_id=run, member_id=member, file_name="t", file_state="gone", reason="why")
        for run, member in (("a", "a"), ("a", "b"), ("c", "b"))
    ]
    with new_warehouse.writing() as writer:
        register(writer, "a", "c")
        insert(writer, unread_traces.UNREAD, to_arrow(rows, unread_traces.UnreadRow))
        assert unread_traces.find(writer) == rows
        assert unread_traces.find(writer, ["c", "d"]) == rows[2:]
        assert unread_traces.find(writer, []) == []
