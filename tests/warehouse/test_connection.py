"""Writing, publishing and reading: who waits, who sees what, and what is said when it does not work."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import filelock
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import migrations, settings_table
from perfreg_assets.warehouse.backup import backup
from perfreg_assets.warehouse.connection import BLOCK_BYTES, Reader, Warehouse
from perfreg_assets.warehouse.queries import run_query
from tests.warehouse.forbidden import FORBIDDEN
from tests.warehouse.noted import note, notes

NEWEST_STORAGE_OF_1_5 = 68

HOLD_LOCK = """
import sys, time
from pathlib import Path
from perfreg_assets.warehouse.connection import BLOCK_BYTES, Warehouse
with Warehouse(Path(sys.argv[1]), lock_timeout_s=5).writing():
    print("writing", flush=True)
    sys.stdin.read()
"""
HOLD_FILE = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
print("open", flush=True)
sys.stdin.read()
"""


def _in_other_process(code: str, path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip()
    return process


def test_what_a_block_writes_is_published(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    assert notes(warehouse) == ["one"]
    assert warehouse.published.name == "perfreg.read.duckdb"


def test_nothing_of_a_block_that_fails_stays_or_is_published(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    published = warehouse.published.stat()

    def fail() -> None:
        with warehouse.writing() as writer:
            writer.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'note', 'two')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert warehouse.published.stat().st_mtime_ns == published.st_mtime_ns
    note(warehouse, "three")
    assert notes(warehouse) == ["one", "three"]


def test_a_reader_keeps_its_state_and_the_next_one_sees_the_new(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    with warehouse.reading() as earlier:
        note(warehouse, "two")
        # DuckDB shares one database per path within a process: a plain second connection would see the old state.
        assert notes(warehouse) == ["one", "two"]
        assert earlier.value("SELECT count(*) FROM core.settings WHERE name = 'note'") == 1


def test_readers_read_while_a_writer_writes(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    holder = _in_other_process(HOLD_LOCK, warehouse.path)
    try:
        assert notes(warehouse) == ["one"]
        with duckdb.connect(str(warehouse.published), read_only=True) as stranger:
            assert stranger.execute("SELECT count(*) FROM marts.runs").fetchall() == [(0,)]
    finally:
        holder.communicate()


def test_a_second_writer_waits_for_the_first(warehouse: Warehouse) -> None:
    order: list[str] = []
    first_is_in = threading.Event()

    def first() -> None:
        with warehouse.writing():
            first_is_in.set()
            time.sleep(0.3)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    assert first_is_in.wait(10)
    with warehouse.writing():
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_waiting_in_vain_names_the_holder(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    holder = _in_other_process(HOLD_LOCK, warehouse.path)
    impatient = Warehouse(warehouse.path, lock_timeout_s=0.2)
    try:
        with pytest.raises(Rejected) as caught, impatient.writing():
            pass
    finally:
        holder.communicate()
    assert caught.value.reason is Reason.WAREHOUSE_LOCKED
    assert f"process {holder.pid}" in str(caught.value)
    assert "waited 0.2 s" in str(caught.value)
    assert "\n" not in str(caught.value)
    note(warehouse, "two")


def test_a_file_that_this_process_has_open_otherwise_is_in_use_and_not_unreadable(warehouse):
    with duckdb.connect(str(warehouse.path)):
        with pytest.raises(Rejected) as caught, Warehouse(warehouse.path, lock_timeout_s=0.2).writing():
            pass
        assert caught.value.reason is Reason.WAREHOUSE_LOCKED
        assert str(warehouse.published) in str(caught.value)
    note(warehouse, "afterwards")
    assert notes(warehouse) == ["afterwards"]


def test_a_killed_holder_leaves_no_lock(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    holder = _in_other_process(HOLD_LOCK, warehouse.path)
    holder.kill()
    holder.communicate()
    note(warehouse, "two")
    assert notes(warehouse) == ["one", "two"]


def test_a_program_that_has_the_written_file_open_is_pointed_to_the_published_one(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    holder = _in_other_process(HOLD_FILE, warehouse.path)
    try:
        with (
            pytest.raises(Rejected, match=r"perfreg\.read\.duckdb") as caught,
            Warehouse(warehouse.path, lock_timeout_s=0.2).writing(),
        ):
            pass
        assert caught.value.reason is Reason.WAREHOUSE_LOCKED
    finally:
        holder.communicate()


def test_reading_before_the_first_write_says_what_to_do(new_warehouse: Warehouse) -> None:
    with pytest.raises(Rejected, match="perfreg ingest") as caught, new_warehouse.reading():
        pass
    assert caught.value.reason is Reason.WAREHOUSE_MISSING


@pytest.mark.parametrize("read", [lambda kept: kept.reading_caught_up(), lambda kept: kept.reading()])
def test_a_warehouse_without_its_copy_for_readers_is_no_empty_one(warehouse: Warehouse, tmp_path: Path, read) -> None:
    note(warehouse, "one")
    warehouse.published.unlink()
    with pytest.raises(Rejected, match="doctor --fix") as caught, read(warehouse):
        pass
    assert caught.value.reason is Reason.WAREHOUSE_UNPUBLISHED
    with pytest.raises(Rejected, match="doctor --fix"):
        backup(warehouse, tmp_path / "kept.tar")
    assert not (tmp_path / "kept.tar").exists()


def cut_short(path: Path) -> None:
    """As DuckDB opens it still: the catalogue is at the begin, what is missing are rows."""
    os.truncate(path, path.stat().st_size // 2)


def read_all(reader: Reader) -> None:
    for (table,) in reader.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'core'"):
        reader.rows(f"SELECT hash(one) FROM core.{table} AS one")


def test_a_file_that_is_cut_short_is_refused_once_what_is_missing_is_read(sample_copy: Warehouse) -> None:
    for path in (sample_copy.path, sample_copy.published):
        cut_short(path)
    for entered, path in ((sample_copy.writing, sample_copy.path), (sample_copy.reading, sample_copy.published)):
        with pytest.raises(Rejected, match="restore a backup") as caught, entered() as reader:
            read_all(reader)
        assert caught.value.reason is Reason.WAREHOUSE_UNREADABLE
        assert caught.value.detail.startswith(f"{path} (")


def test_a_query_that_people_type_tells_a_damaged_file_from_a_query_that_is_wrong(sample_copy: Warehouse) -> None:
    whole = sample_copy.published.read_bytes()
    tables = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'core' AND estimated_size > 0"
    with sample_copy.reading() as reader:
        queries = [f"SELECT max(hash(one)) FROM core.{table} AS one" for (table,) in reader.rows(tables)]
    half = len(whole) // 2
    for damaged in (whole[:half], whole[:half] + bytes(half)):
        sample_copy.published.write_bytes(damaged)
        reasons = set()
        for query in queries:
            try:
                with sample_copy.reading() as reader:
                    run_query(reader, query)
            except Rejected as refused:
                reasons.add(refused.reason)
        assert reasons == {Reason.WAREHOUSE_UNREADABLE}
    sample_copy.published.write_bytes(whole)
    with pytest.raises(ValueError, match="the query was refused"), sample_copy.reading() as reader:
        run_query(reader, "FROM read_csv('nowhere.csv')")


def test_what_is_wrong_with_a_file_of_values_is_not_told_of_the_warehouse(sample: Warehouse) -> None:
    with pytest.raises(duckdb.IOException), sample.reading():
        raise duckdb.IOException(f"Could not read {sample.data.root}/x.parquet")


def test_a_database_takes_the_place_of_nothing_that_is_no_file(new_warehouse: Warehouse) -> None:
    """The devices of root, one of whose is /dev/null, were replaced by it."""
    new_warehouse.path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(new_warehouse.path)
    with pytest.raises(Rejected, match="no regular file") as caught, new_warehouse.writing():
        pass
    assert caught.value.reason is Reason.WAREHOUSE_UNREADABLE
    assert new_warehouse.path.is_fifo()


def test_a_file_that_is_no_database_is_refused(new_warehouse: Warehouse) -> None:
    new_warehouse.path.write_bytes(b"<html>" * 1000)
    with pytest.raises(Rejected) as caught, new_warehouse.writing():
        pass
    assert caught.value.reason is Reason.WAREHOUSE_UNREADABLE
    new_warehouse.published.write_bytes(b"<html>" * 1000)
    with pytest.raises(Rejected) as caught, new_warehouse.reading():
        pass
    assert caught.value.reason is Reason.WAREHOUSE_UNREADABLE


def test_a_file_that_the_system_does_not_open_is_no_damaged_one(new_warehouse: Warehouse) -> None:
    """Who may not read it, or stands in a folder that is gone, was told to restore a backup."""
    with new_warehouse.writing():
        pass
    program = f"""
import os, pathlib
from perfreg_assets.reasons import Rejected
from perfreg_assets.warehouse.connection import Warehouse
here = Warehouse(pathlib.Path({str(new_warehouse.path)!r}), lock_timeout_s=1)
gone = pathlib.Path({str(new_warehouse.path.parent)!r}, "gone")
gone.mkdir()
os.chdir(gone)
gone.rmdir()
try:
    with here.writing():
        print("written")
except Rejected as rejected:
    print(rejected.reason.code)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines() == [Reason.WAREHOUSE_NOT_OPENED.code]

    with pytest.raises(Rejected, match="who may read") as caught, new_warehouse.reading():
        raise duckdb.IOException(f'Cannot open file "{new_warehouse.published}": Permission denied')
    assert caught.value.reason is Reason.WAREHOUSE_NOT_OPENED


@pytest.mark.parametrize("name", ["perfreg.duckdb", "perfreg.duckdb.new"])
def test_a_creation_that_was_cut_short_is_begun_again(new_warehouse: Warehouse, name: str) -> None:
    new_warehouse.path.with_name(name).touch()
    note(new_warehouse, "one")
    assert notes(new_warehouse) == ["one"]
    assert not new_warehouse.path.with_name("perfreg.duckdb.new").exists()


def test_clients_of_duckdb_1_5_can_read_both_files(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    note(warehouse, "two")  # reopened: the format stays
    for path in (warehouse.path, warehouse.published):
        magic, version = struct.unpack("<8x4sQ", path.read_bytes()[:20])
        assert magic == b"DUCK"
        assert version <= NEWEST_STORAGE_OF_1_5


@pytest.mark.parametrize("statement", [*FORBIDDEN, "LOAD '/tmp/evil.duckdb_extension'"])
def test_no_sql_reaches_other_files_or_the_network(warehouse: Warehouse, statement: str) -> None:
    note(warehouse, "one")
    with warehouse.reading() as reader, pytest.raises(duckdb.Error):
        reader.rows(statement)

    def write() -> None:
        with warehouse.writing() as writer:
            writer.execute(statement)

    with pytest.raises(duckdb.Error):
        write()


def test_readers_cannot_write(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    with warehouse.reading() as reader, pytest.raises(duckdb.Error, match="read-only"):
        reader.rows("DELETE FROM core.settings")


def test_times_are_in_utc(warehouse: Warehouse) -> None:
    note(warehouse, "one")
    with warehouse.reading() as reader:
        assert reader.value("SELECT current_setting('TimeZone')") == "UTC"
    with warehouse.writing() as writer:
        assert writer.value("SELECT current_setting('TimeZone')") == "UTC"


def test_names_with_quotes_and_spaces_are_fine(tmp_path: Path) -> None:
    folder = tmp_path / "it's; a [folder]*"
    warehouse = Warehouse(folder / "per'f reg.duckdb", lock_timeout_s=1)
    note(warehouse, "one")
    assert notes(warehouse) == ["one"]
    leftover = warehouse.published.with_name(warehouse.published.name + ".part-1")
    leftover.write_bytes(b"half")
    note(warehouse, "two")
    assert not leftover.exists()


def test_a_new_warehouse_has_the_settings_of_the_release(new_warehouse: Warehouse) -> None:
    with new_warehouse.writing() as writer:
        current = settings_table.current(writer)
    assert set(current) >= {"detector", "omega", "localisation"}


@pytest.fixture
def of_an_earlier_release(tmp_path: Path) -> Warehouse:
    files = migrations.migration_files(sql_dir() / "migrations")
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5)
    with duckdb.connect(str(warehouse.path)) as connection:
        migrations.apply_all(connection, {1: files[1]})
    shutil.copyfile(warehouse.path, warehouse.published)
    return warehouse


def test_who_reads_first_after_an_update_brings_the_warehouse_up_to_it(of_an_earlier_release: Warehouse) -> None:
    with of_an_earlier_release.reading_caught_up() as reader:
        assert reader.rows("FROM marts.runs") == []
    assert not of_an_earlier_release.catch_up()


def test_marts_of_an_earlier_release_are_made_anew(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5)
    with warehouse.writing() as writer:
        writer.execute("UPDATE core.mart_files SET sha256 = 'of an earlier release' WHERE name = 'runs.sql'")
    assert warehouse.catch_up()
    assert not warehouse.catch_up()


def test_a_published_file_alone_is_read_as_it_is(of_an_earlier_release: Warehouse) -> None:
    of_an_earlier_release.path.unlink()
    with of_an_earlier_release.reading_caught_up() as reader:
        assert reader.value("SELECT max(version) FROM core.schema_version") == 1
    assert not of_an_earlier_release.path.exists(), "an empty warehouse would be published over what there is"


def test_who_reads_does_not_wait_for_who_writes(of_an_earlier_release: Warehouse) -> None:
    with filelock.FileLock(f"{of_an_earlier_release.path}.lock"), of_an_earlier_release.reading_caught_up() as reader:
        assert reader.value("SELECT max(version) FROM core.schema_version") == 1


def test_a_new_warehouse_has_small_blocks(warehouse: Warehouse) -> None:
    for path in (warehouse.path, warehouse.published):
        with duckdb.connect(str(path), read_only=True) as connection:
            assert connection.execute("SELECT block_size FROM pragma_database_size()").fetchall() == [(BLOCK_BYTES,)]
