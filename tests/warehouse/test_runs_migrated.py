"""What a warehouse of the first release says of its runs after the second migration."""

from __future__ import annotations

import duckdb

from perfreg_assets.bundled import sql_dir
from perfreg_assets.run import PathStep
from perfreg_assets.warehouse import runs
from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.migrations import apply_all, migrate, migration_files

STEP = "{'step': %d, 'ts_ns': %d, 'state_hash': '%s', 'screen': 's', 'action': NULL}"


def test_runs_of_the_first_release_keep_their_paths_and_get_their_states_counted() -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    apply_all(connection, {1: migration_files(sql_dir() / "migrations")[1]})
    path = ", ".join(STEP % (i, 10 + i, name) for i, name in enumerate("aba"))
    connection.execute(
        "INSERT INTO core.runs BY NAME SELECT 'old' AS run_id, 'f' AS folder_name, 'h' AS content_hash, 'app' AS app, "
        f"'1' AS version_name, 'c' AS config_hash, now() AS started_at, [{path}] AS path, false AS is_quarantined, "
        "now() AS registered_at UNION ALL BY NAME SELECT 'bad' AS run_id, 'f' AS folder_name, 'h' AS content_hash, "
        "true AS is_quarantined, 'key_missing' AS reason_code, now() AS registered_at"
    )
    apply_all(connection, dict(list(migration_files(sql_dir() / "migrations").items())[:2]))
    (before,) = connection.execute("SELECT md5(path::VARCHAR) FROM core.runs WHERE run_id = 'old'").fetchone() or ()
    assert migrate(connection)
    found = runs.find(Writer(connection), ["old", "bad"])
    assert found["old"].path == tuple(PathStep(i, 10 + i, name, "s") for i, name in enumerate("aba"))
    assert found["old"].explored_state_count == 2
    # What freshness took for the hash as long as none was stored: nothing becomes stale.
    assert found["old"].path_hash == before
    assert (found["bad"].explored_state_count, found["bad"].path) == (None, None)


def test_a_scenario_that_was_among_the_kept_keys_becomes_the_runs_scenario() -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    apply_all(connection, dict(list(migration_files(sql_dir() / "migrations").items())[:17]))
    for run_id, extra in (("a", '{"scenario": "cold-start"}'), ("b", '{"scenario": 3}'), ("c", "{}"), ("d", None)):
        connection.execute(
            "INSERT INTO core.runs BY NAME SELECT ? AS run_id, 'f' AS folder_name, 'h' AS content_hash, 'app' AS app, "
            "'1' AS version_name, 'c' AS config_hash, now() AS started_at, ?::JSON AS extra, false AS is_quarantined, "
            "now() AS registered_at",
            [run_id, extra],
        )
    assert migrate(connection)
    found = runs.find(Writer(connection), "abcd")
    assert {run_id: row.scenario for run_id, row in found.items()} == {
        "a": "cold-start",
        "b": None,
        "c": None,
        "d": None,
    }
