"""What runs take on disk adds up to what is there."""

from __future__ import annotations

import duckdb
import pytest

from perfreg_assets.warehouse import traces
from perfreg_assets.warehouse.connection import Reader, Warehouse


def _by_kind(reader: Reader) -> dict[str, float]:
    return dict(reader.rows("SELECT kind, sum(stored_bytes) FROM marts.storage GROUP BY kind"))


def test_the_shares_of_all_runs_are_the_files_of_the_data_folder(sample: Warehouse) -> None:
    with sample.reading() as reader:
        found = _by_kind(reader)
        names = reader.rows("SELECT values_file FROM core.value_files WHERE dropped_at IS NULL")
        files = {
            path.parent.name.removeprefix("file="): path.stat().st_size
            for path in sample.path.with_suffix(".data").rglob("*.parquet")
        }
        kinds = dict(
            reader.rows("SELECT kind, sum(file_bytes) FROM core.value_files WHERE dropped_at IS NULL GROUP BY kind")
        )
    assert sum(kinds.values()) == sum(size for name, size in files.items() if (name,) in names)
    assert found["series"] == pytest.approx(kinds["series"], rel=1e-9)
    assert found["threads"] == pytest.approx(kinds["thread_times"], rel=1e-9)
    assert found["slices"] == pytest.approx(kinds["slice_uses"], rel=1e-9)
    assert found["causes"] == pytest.approx(kinds["cause_stacks"], rel=1e-9)
    assert found["energy"] == pytest.approx(kinds["energy_steps"] + kinds["method_energies"], rel=1e-9)
    assert found["path"] == pytest.approx(kinds["paths"], rel=1e-9)
    assert found["model"] == pytest.approx(kinds["profiles"] + kinds["barycenters"], rel=1e-9)


def test_traces_and_attachments_have_the_size_of_their_files(sample: Warehouse) -> None:
    with sample.reading() as reader:
        found = _by_kind(reader)
        trace_bytes = reader.value("SELECT sum(trace_bytes) FROM core.runs WHERE NOT is_quarantined")
        attached = reader.value("SELECT sum(bytes) FROM core.attachments")
    assert (found["trace"], found["attachment"]) == (trace_bytes, attached)


def test_a_trace_that_is_gone_takes_nothing(sample_copy: Warehouse) -> None:
    with sample_copy.writing() as writer:
        assert writer.rows("SELECT 1 FROM marts.storage WHERE run_id = 'notes-0000' AND kind = 'trace'")
        traces.note_gone(writer, ["notes-0000"], is_gone=True)
        assert not writer.rows("SELECT 1 FROM marts.storage WHERE run_id = 'notes-0000' AND kind = 'trace'")
        assert writer.rows("SELECT 1 FROM marts.storage WHERE run_id = 'notes-0000' AND kind = 'series'")


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo"])
def test_days_are_days_of_utc_whoever_reads(sample_copy: Warehouse, zone: str) -> None:
    with sample_copy.writing() as writer:
        writer.execute("UPDATE core.runs SET registered_at = TIMESTAMPTZ '2026-12-24 12:00:00Z'")
        writer.execute(
            "UPDATE core.runs SET registered_at = TIMESTAMPTZ '2026-12-24 23:59:00Z' WHERE run_id = 'notes-0000'"
        )
    with duckdb.connect() as plain:
        plain.execute(f"SET TimeZone = '{zone}'")
        plain.execute(f"ATTACH '{sample_copy.published}' AS perfreg (READ_ONLY)")
        plain.execute("USE perfreg")
        days = plain.execute("SELECT DISTINCT day::VARCHAR FROM marts.storage_growth WHERE kind = 'trace'").fetchall()
    assert days == [("2026-12-24",)]


def test_growth_sums_up_days(sample_copy: Warehouse) -> None:
    with sample_copy.writing() as writer:
        writer.execute(
            "UPDATE core.runs SET registered_at = TIMESTAMPTZ '2026-12-24 23:59:00Z' WHERE run_id = 'notes-0000'"
        )
        days = writer.dicts("SELECT * FROM marts.storage_growth WHERE kind = 'trace' ORDER BY day")
        first, *_, last = days
        assert (str(last["day"]), last["run_count"], last["run_bytes"]) == ("2026-12-24", 1, 691_529)
        assert first["total_bytes"] == first["stored_bytes"]
        assert last["total_bytes"] == sum(day["stored_bytes"] for day in days) == _by_kind(writer)["trace"]
