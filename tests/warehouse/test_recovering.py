"""The warehouse file is lost or swapped while its published copy is good: nothing less is ever published."""

from __future__ import annotations

import logging
import shutil

import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Warehouse

RUN = """
INSERT INTO core.runs (
    run_id, folder_name, content_hash, trace_file, is_quarantined, reason_code, reason, registered_at, run_no
)
SELECT $1, $1, '', 't', true, 'trace_corrupt', 'a packet', now(), coalesce(max(run_no), 0) + 1 FROM core.runs
"""


@pytest.fixture
def warehouse(tmp_path):
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5)
    add(warehouse, "one", "two")
    return warehouse


def add(warehouse, *run_ids):
    with warehouse.writing() as writer:
        for run_id in run_ids:
            writer.execute(RUN, [run_id])


def runs(warehouse):
    with warehouse.reading() as reader:
        return [run_id for (run_id,) in reader.rows("SELECT run_id FROM core.runs ORDER BY run_id")]


def remove(path):
    path.unlink()


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("lose", [remove, empty])
def test_a_lost_file_is_brought_back_from_its_published_copy(warehouse, lose, caplog):
    lose(warehouse.path)
    with caplog.at_level(logging.WARNING):
        add(warehouse, "three")
    assert runs(warehouse) == ["one", "three", "two"]
    (told,) = caplog.messages
    assert "perfreg.duckdb was gone or empty: brought back from perfreg.read.duckdb, 2 runs as published" in told


def test_a_file_that_is_taken_away_while_it_is_written_to_is_brought_back_as_published(warehouse, caplog):
    with warehouse.writing() as writer, caplog.at_level(logging.WARNING):
        writer.execute(RUN, ["three"])
        warehouse.path.unlink()
    assert runs(warehouse) == ["one", "two"]
    assert "brought back from perfreg.read.duckdb, 2 runs as published" in caplog.text
    add(warehouse, "three")
    assert runs(warehouse) == ["one", "three", "two"]


def test_another_file_put_in_the_place_of_one_that_is_written_to_is_not_published(warehouse, tmp_path):
    other = Warehouse(tmp_path / "other.duckdb", lock_timeout_s=5)
    add(other, "four")

    def replaced_meanwhile():
        with warehouse.writing() as writer:
            writer.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'note', 'x')")
            other.path.replace(warehouse.path)

    with pytest.raises(Rejected) as caught:
        replaced_meanwhile()
    assert caught.value.reason is Reason.WAREHOUSE_FEWER_RUNS
    assert runs(warehouse) == ["one", "two"]


def test_a_log_of_the_lost_file_is_put_aside(warehouse):
    warehouse.path.unlink()
    log = warehouse.path.with_name("perfreg.duckdb.wal")
    log.write_bytes(b"of another file")
    add(warehouse, "three")
    assert runs(warehouse) == ["one", "three", "two"]
    assert log.with_name("perfreg.duckdb.wal.lost").read_bytes() == b"of another file"


def test_nothing_is_created_where_the_copy_is_damaged_too(warehouse):
    warehouse.path.unlink()
    warehouse.published.write_bytes(b"no warehouse" * 999)
    with pytest.raises(Rejected) as caught:
        add(warehouse, "three")
    assert caught.value.reason is Reason.WAREHOUSE_LOST
    assert not warehouse.path.exists()
    assert warehouse.published.read_bytes() == b"no warehouse" * 999


def test_fewer_runs_than_are_published_are_never_published(warehouse, tmp_path):
    other = Warehouse(tmp_path / "other" / "perfreg.duckdb", lock_timeout_s=5)
    add(other, "another")
    shutil.copyfile(other.path, warehouse.path)
    with pytest.raises(Rejected) as caught, warehouse.writing() as writer:
        writer.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'note', 'x')")
    assert caught.value.reason is Reason.WAREHOUSE_FEWER_RUNS
    assert "1 run," in str(caught.value)
    assert "has 2" in str(caught.value)
    assert runs(warehouse) == ["one", "two"]


def refused(run_id):
    """The row of a folder that says this id and was refused."""
    return run_table.RunRow(
        run_id=run_id, folder_name=run_id, content_hash=run_id, is_quarantined=True, reason_code="key_missing",
        reason="app is missing",
    )  # fmt: skip


def test_a_refused_folder_that_states_an_id_is_no_run_that_may_not_go(warehouse):
    """Dismissed, it left a warehouse that nobody could publish any more."""
    with warehouse.writing() as writer:
        run_table.upsert(writer, [refused("stated")])
    with warehouse.writing() as writer:
        run_table.dismiss(writer, ["stated"])
    add(warehouse, "three")
    assert runs(warehouse) == ["one", "three", "two"]


def test_a_run_whose_trace_was_damaged_may_become_a_refused_folder(warehouse):
    with warehouse.writing() as writer:
        run_table.upsert(writer, [refused("two")])
    with warehouse.writing() as writer:
        run_table.dismiss(writer, ["two"])
    assert runs(warehouse) == ["one"]


def test_moved_away_it_is_brought_back_and_the_other_way_round(warehouse, tmp_path):
    other = Warehouse(tmp_path / "other" / "perfreg.duckdb", lock_timeout_s=5)
    add(other, "another")
    shutil.copyfile(other.path, warehouse.path)
    kept = warehouse.path.rename(tmp_path / "kept.duckdb")
    add(warehouse, "three")
    assert runs(warehouse) == ["one", "three", "two"]
    shutil.copyfile(kept, warehouse.path)
    warehouse.published.unlink()
    add(warehouse, "three")
    assert runs(warehouse) == ["another", "three"]


def test_a_damaged_published_copy_is_replaced(warehouse):
    warehouse.published.write_bytes(b"no warehouse" * 999)
    add(warehouse, "three")
    assert runs(warehouse) == ["one", "three", "two"]
