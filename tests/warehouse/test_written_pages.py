"""What is known of what was written to a warehouse's file is enough to make its published copy equal, and nobody else's
writing is taken for known."""

from __future__ import annotations

import filecmp
import itertools
import json
import logging
import os
import shutil
from collections.abc import Callable

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfreg_assets.warehouse import publishing, written_pages
from perfreg_assets.warehouse.connection import Warehouse, Writer
from perfreg_assets.warehouse.written_pages import PAGE_BYTES, Record, whole_pages


@pytest.fixture(autouse=True)
def _nothing_else_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file system that shares blocks, and nothing that mends what is not known."""
    monkeypatch.setattr(publishing, "_clone", lambda source, part: False)
    monkeypatch.setattr(publishing, "_PROBED_BYTES", 0)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes of the written file each publish looked at."""
    counts: list[int] = []
    parts = publishing._parts

    def counting(spans, size):
        found = list(parts(spans, size))
        counts.append(sum(length for _, length in found))
        return iter(found)

    monkeypatch.setattr(publishing, "_parts", counting)
    return counts


@pytest.fixture
def large(warehouse: Warehouse) -> Warehouse:
    """One of 30 MB that was published three times: of its spare is known what was written since."""
    with warehouse.writing() as writer:
        writer.execute("CREATE TABLE core.many AS SELECT n, hash(n) AS value FROM range(3000000) AS numbers(n)")
    for _ in range(2):
        _note(warehouse, "once more")
    assert warehouse.path.stat().st_size > 20 << 20
    return warehouse


def _note(warehouse: Warehouse, text: str) -> None:
    with warehouse.writing() as writer:
        _insert(writer, 1, text)


def _insert(writer: Writer, count: int, text: str) -> None:
    writer.execute("CREATE TABLE IF NOT EXISTS core.noted (value VARCHAR, note VARCHAR)")
    writer.execute("INSERT INTO core.noted SELECT ?, repeat(md5(n::VARCHAR), 5) FROM range(?) AS t(n)", [text, count])


def _are_equal(warehouse: Warehouse) -> bool:
    return filecmp.cmp(warehouse.path, warehouse.published, shallow=False)


def test_one_more_row_in_a_large_warehouse_compares_what_was_written_and_no_more(large, compared) -> None:
    for i in range(4):
        _note(large, str(i))
        assert _are_equal(large)
    assert max(compared) < 2 << 20 < large.path.stat().st_size // 10


ACTS: dict[str, Callable[[Writer, int], object]] = {
    "insert": lambda writer, n: _insert(writer, 1 + n * 400, str(n)),
    "update": lambda writer, n: writer.execute(
        "UPDATE core.reasons SET sentence = sentence || 'x' WHERE rowid % 7 = ?", [n % 7]
    ),
    "delete": lambda writer, n: writer.execute("DELETE FROM core.reasons WHERE rowid % 5 = ?", [n % 5]),
    "table": lambda writer, n: writer.execute(
        f"CREATE OR REPLACE TABLE core.other{n % 2} AS SELECT hash(n + {n}) AS h FROM range({20000 * (n + 1)}) AS t(n)"
    ),
    "drop": lambda writer, n: writer.execute(f"DROP TABLE IF EXISTS core.other{n % 2}"),
    "column": lambda writer, n: writer.execute(
        f"ALTER TABLE core.settings ADD COLUMN IF NOT EXISTS more{n} INTEGER DEFAULT {n}"
    ),
}


class _GivenUpError(Exception):
    pass


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    writes=st.lists(
        st.tuples(
            st.lists(st.tuples(st.sampled_from(sorted(ACTS)), st.integers(0, 9)), max_size=3),
            st.sampled_from(["published", "of a job", "given up", "by another", "while the spare is read"]),
        ),
        min_size=3,
        max_size=9,
    )
)
def test_whatever_is_written_the_published_file_is_equal(tmp_path_factory, writes) -> None:
    warehouse = Warehouse(tmp_path_factory.mktemp("own") / "perfreg.duckdb", lock_timeout_s=5)
    job = Warehouse(warehouse.path, lock_timeout_s=5, publish_every_s=30)
    with warehouse.writing():
        pass
    spare = warehouse.published.with_name(f"{warehouse.published.name}.spare")
    for acts, how in writes:
        if how == "by another":
            with duckdb.connect(str(warehouse.path)) as connection:
                connection.execute("CREATE OR REPLACE TABLE core.strange AS SELECT random() AS r FROM range(9000)")
            continue
        reader = spare.open("rb") if how == "while the spare is read" and spare.exists() else None
        try:
            with (job if how == "of a job" else warehouse).writing() as writer:
                for name, number in acts:
                    ACTS[name](writer, number)
                if how == "given up":
                    raise _GivenUpError
        except _GivenUpError:
            continue
        finally:
            if reader:
                reader.close()
        if how != "of a job" or job.publish():
            assert _are_equal(warehouse)
    with warehouse.writing():
        pass
    assert _are_equal(warehouse)


def _by_another_program(warehouse: Warehouse) -> None:
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute("UPDATE core.many SET value = 0 WHERE n BETWEEN 1000000 AND 1000100")


def _by_a_backup_put_back(warehouse: Warehouse) -> None:
    kept = warehouse.path.with_name("kept")
    shutil.copy2(warehouse.path, kept)
    with warehouse.writing() as writer:
        writer.execute("UPDATE core.many SET value = 1 WHERE n BETWEEN 1000000 AND 1000100")
    # As rsync --inplace --times does it: the same file, of the time of what is in it.
    found = kept.stat()
    with warehouse.path.open("r+b") as file:
        file.write(kept.read_bytes())
        file.truncate()
    os.utime(warehouse.path, ns=(found.st_atime_ns, found.st_mtime_ns))
    kept.unlink()


def _behind_its_back(warehouse: Warehouse) -> None:
    found = warehouse.path.stat()
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute("UPDATE core.many SET value = 0 WHERE n BETWEEN 1000000 AND 1000100")
    os.utime(warehouse.path, ns=(found.st_atime_ns, found.st_mtime_ns))


def _of_another_boot(warehouse: Warehouse) -> None:
    place = warehouse.path.with_name(f"{warehouse.path.name}.written")
    told = json.loads(place.read_text("utf-8"))
    assert told["maker"].startswith(duckdb.__version__)
    place.write_text(json.dumps(told | {"maker": "another"}), "utf-8")


def _of_a_note_cut_short(warehouse: Warehouse) -> None:
    place = warehouse.path.with_name(f"{warehouse.path.name}.written")
    place.write_text(place.read_text("utf-8")[:40], "utf-8")


@pytest.mark.parametrize(
    "change", [_by_another_program, _by_a_backup_put_back, _behind_its_back, _of_another_boot, _of_a_note_cut_short]
)
def test_of_a_file_that_anybody_else_may_have_written_nothing_is_known(large, compared, change) -> None:
    change(large)
    assert written_pages.known(large.path) is None
    compared.clear()
    _note(large, "after it")
    assert compared == [large.path.stat().st_size]
    assert _are_equal(large)


def test_what_replaces_the_spare_or_the_published_file_is_compared_as_a_whole(large, compared) -> None:
    spare = large.published.with_name(f"{large.published.name}.spare")
    shutil.copyfile(large.published, spare.with_name("other"))
    os.replace(spare.with_name("other"), spare)
    compared.clear()
    _note(large, "after it")
    assert compared == [large.path.stat().st_size]
    assert _are_equal(large)


def test_what_the_log_of_writes_leaves_out_is_found_and_told(large, compared, monkeypatch, caplog) -> None:
    spans = written_pages.Opened._spans

    def all_but_blocks(self):
        return [(start, end) for start, end in spans(self) if start < 3 * PAGE_BYTES]

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(publishing, "_PROBED_BYTES", large.path.stat().st_size // 3 + PAGE_BYTES)
        patched.setattr(written_pages.Opened, "_spans", all_but_blocks)
        for i in range(4):
            _note(large, str(i))
    assert "more was written than is known" in caplog.text
    assert large.path.stat().st_size in compared
    _by_another_program(large)
    _note(large, "last")
    assert _are_equal(large)


def test_of_a_file_that_is_taken_away_while_it_is_open_nothing_is_noted(large) -> None:
    opened = large._open()
    opened.connection.execute("CREATE TABLE core.another AS SELECT 1 AS n")
    opened.connection.execute("CHECKPOINT")
    large.path.unlink()
    opened.close()
    assert not large.path.with_name(f"{large.path.name}.written").exists()


def test_a_name_that_the_log_cannot_spell_is_compared_as_a_whole(new_warehouse: Warehouse, compared) -> None:
    warehouse = Warehouse(new_warehouse.path.with_name('a"b.duckdb'), lock_timeout_s=5)
    for i in range(4):
        _note(warehouse, str(i))
        assert _are_equal(warehouse)
    assert compared[-1] == warehouse.path.stat().st_size


def test_on_a_full_disk_nothing_is_known(large, monkeypatch) -> None:
    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(written_pages, "write_whole", full)
        _note(large, "on a full disk")
    assert written_pages.known(large.path) is None
    assert not [path for path in large.path.parent.iterdir() if path.name.endswith(".part")]
    assert _are_equal(large)


@given(st.lists(st.tuples(st.integers(0, 200_000), st.integers(1, 30_000)), max_size=12))
def test_whole_pages_hold_what_was_written_in_order_without_overlaps(spans) -> None:
    given = [(start, start + length) for start, length in spans]
    pages = {page for start, end in given for page in range(start // PAGE_BYTES, -(-end // PAGE_BYTES))}
    found = whole_pages(given)
    assert [page for start, end in found for page in range(start // PAGE_BYTES, end // PAGE_BYTES)] == sorted(pages)
    assert all(left[1] < right[0] for left, right in itertools.pairwise(found))


def test_a_file_written_all_over_is_not_kept_note_of() -> None:
    spans = [(2 * i * PAGE_BYTES, (2 * i + 1) * PAGE_BYTES) for i in range(1 << 15)]
    assert Record({(1, 2, 3): ()}).later(spans).since == {}
