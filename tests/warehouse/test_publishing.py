"""Publishing writes what changed, and whoever has any published state open goes on seeing just that."""

from __future__ import annotations

import errno
import fcntl
import filecmp
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

from perfreg_assets.warehouse import publishing
from perfreg_assets.warehouse.connection import Warehouse

SIZE = (40 << 18) + 3 * 4096  # DuckDB's: three headers and blocks of 256 kB

# Answers each line with the sum over what the file holds, through the connection that it opened first.
READ = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
for line in sys.stdin:
    print(connection.execute("SELECT sum(hash(note)::HUGEINT) FROM core.settings").fetchone()[0], flush=True)
"""


@pytest.fixture(autouse=True)
def _no_shared_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of what is tested here a file system that shares blocks does not need."""
    monkeypatch.setattr(publishing, "_clone", lambda source, part: False)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each publish since the last look wrote into its file."""
    counts = [0]
    pwrite, sendfile = os.pwrite, os.sendfile

    def counting_write(descriptor: int, data: memoryview, start: int) -> int:
        done = pwrite(descriptor, data, start)
        counts[0] += done
        return done

    def counting_send(*arguments: int) -> int:
        done = sendfile(*arguments)
        counts[0] += done
        return done

    monkeypatch.setattr(publishing.os, "pwrite", counting_write)
    monkeypatch.setattr(publishing.os, "sendfile", counting_send)
    return counts


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A file and where it is published; two generations are there already."""
    source, target = tmp_path / "a.duckdb", tmp_path / "a.read.duckdb"
    source.write_bytes(np.random.default_rng(0).bytes(SIZE))
    for _ in range(2):
        publishing.publish(source, target)
    return source, target


def _change(source: Path, position: int, text: bytes) -> None:
    with source.open("r+b") as file:
        file.seek(position)
        file.write(text)


def test_pages_that_changed_since_the_spare_was_published_are_written_and_no_others(
    files: tuple[Path, Path], written: list[int]
) -> None:
    source, target = files
    for i in range(6):
        _change(source, i * (3 << 18) + 4090, b"0123456789")  # over the edge of two pages
        written[0] = 0
        publishing.publish(source, target)
        assert filecmp.cmp(source, target, shallow=False)
        # These, and those of the publish before: the spare is older by one.
        assert written[0] == (2 if i == 0 else 4) * 4096


@pytest.mark.parametrize("size", [SIZE + 1, SIZE - 5000, SIZE + (5 << 20), 3 * 4096, 4097, 1, 0, SIZE + 100_000])
def test_a_file_that_grew_or_shrank_comes_out_equal(files: tuple[Path, Path], size: int) -> None:
    source, target = files
    for seed in (1, 2, 3):
        source.write_bytes(source.read_bytes()[: size // seed] + np.random.default_rng(seed).bytes(size - size // seed))
        publishing.publish(source, target)
        assert filecmp.cmp(source, target, shallow=False)
    assert {path.name for path in source.parent.iterdir()} == {
        "a.duckdb", "a.duckdb.written", "a.read.duckdb", "a.read.duckdb.spare",
    }  # fmt: skip


def test_what_somebody_wrote_beside_the_copy_is_no_part_of_the_next(warehouse: Warehouse) -> None:
    note = "INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'note', '1')"
    with warehouse.writing() as writer:
        writer.execute(note)
    foreign = (
        "import duckdb, os, sys\nfile = duckdb.connect(sys.argv[1])\n"
        "file.execute(\"SET checkpoint_threshold = '1GB'\")\nfile.execute('CREATE TABLE mine (x INT)')\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", foreign, str(warehouse.published)], check=True)
    log = warehouse.published.with_name(f"{warehouse.published.name}.wal")
    assert log.exists()
    for number in range(3):
        with warehouse.writing() as writer:
            writer.execute(
                "INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'note', ?)", [str(number)]
            )
        assert not log.exists()
        with duckdb.connect(str(warehouse.published), read_only=True) as reader:
            assert reader.execute("SELECT count(*) FROM core.settings WHERE name = 'note'").fetchall() == [
                (2 + number,)
            ]
        assert filecmp.cmp(warehouse.path, warehouse.published, shallow=False)


def _in_this_process(path: Path) -> Iterator[int]:
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{path}' AS it (READ_ONLY)")
    while True:
        yield int(connection.execute("SELECT sum(hash(note)::HUGEINT) FROM it.core.settings").fetchall()[0][0])


def _in_another_process(path: Path) -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", READ, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while True:
            process.stdin.write("\n")
            process.stdin.flush()
            yield int(process.stdout.readline())


def _by_plain_reading(path: Path) -> Iterator[int]:
    with path.open("rb") as file:
        while True:
            file.seek(0)
            yield hash(file.read())


@pytest.mark.parametrize("open_at", [_in_this_process, _in_another_process, _by_plain_reading])
def test_who_has_any_generation_open_sees_it_unchanged(warehouse: Warehouse, open_at) -> None:
    readers = []
    for i in range(7):
        with warehouse.writing() as writer:
            writer.execute(
                "INSERT INTO core.settings (changed_at, name, value, note) "
                "SELECT now() + to_microseconds(n), 'note', ?, repeat(md5(n::VARCHAR), 9) "
                "FROM range(2000) AS numbers(n)",
                [str(i)],
            )
            writer.execute("UPDATE core.settings SET note = note || ? WHERE value = '0'", [str(i)])
        assert filecmp.cmp(warehouse.path, warehouse.published, shallow=False)
        if i in (0, 1, 2, 5):
            reader = open_at(warehouse.published)
            readers.append((reader, next(reader)))
        for reader, seen in readers:
            assert next(reader) == seen
    assert len({seen for _, seen in readers}) == len(readers)
    for reader, _ in readers:
        reader.close()


def test_a_reader_of_the_spare_costs_one_full_copy_and_the_next_publish_is_small_again(
    files: tuple[Path, Path], written: list[int]
) -> None:
    source, target = files
    spare = target.with_name(target.name + ".spare")
    with spare.open("rb") as reader:
        before = reader.read()
        counts = []
        for i in range(3):
            _change(source, i << 18, b"x")
            written[0] = 0
            publishing.publish(source, target)
            counts.append(written[0])
            reader.seek(0)
            assert reader.read() == before
    assert counts[0] == SIZE
    assert max(counts[1:]) <= 2 * 4096


@pytest.mark.parametrize("missing", ["F_SETLEASE", "F_OFD_SETLK", "refused", "link"])
def test_what_a_system_or_file_system_does_not_have_is_made_up_for_by_a_full_copy(
    files: tuple[Path, Path], written: list[int], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    source, target = files
    if missing == "link":
        monkeypatch.setattr(publishing.os, "link", _refuse)
    elif missing == "refused":
        monkeypatch.setattr(publishing.fcntl, "fcntl", _refuse)
    else:
        monkeypatch.delattr(fcntl, missing)
    for i in range(3):
        _change(source, i << 18, b"x")
        written[0] = 0
        publishing.publish(source, target)
        assert filecmp.cmp(source, target, shallow=False)
    assert written[0] == SIZE


def _refuse(*arguments: object) -> None:
    raise OSError(errno.EOPNOTSUPP, "not here")


def test_shared_blocks_need_no_spare(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = files

    def share(source: Path, part: Path) -> bool:
        part.write_bytes(source.read_bytes())
        return True

    monkeypatch.setattr(publishing, "_clone", share)
    _change(source, 5, b"x")
    publishing.publish(source, target)
    assert filecmp.cmp(source, target, shallow=False)
    assert {path.name for path in source.parent.iterdir()} == {"a.duckdb", "a.read.duckdb"}


def test_a_full_disk_while_the_spare_is_refreshed_leaves_the_published_file(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = files
    before = target.read_bytes()

    def full(descriptor: int, data: memoryview, start: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_write", full)
        _change(source, 5, b"x")
        with pytest.raises(publishing.Rejected):
            publishing.publish(source, target)
    assert target.read_bytes() == before
    publishing.publish(source, target)
    assert filecmp.cmp(source, target, shallow=False)
