"""A database is put aside with its log under a name that no other has, or stays as it was."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from perfreg_assets.warehouse.put_aside import REPLACED, put_aside, replaced


def make(folder: Path, content: bytes = b"database", log: bytes | None = b"log") -> Path:
    path = folder / "perfreg.duckdb"
    path.unlink(missing_ok=True)  # another file: what was put aside is the same one by another name
    path.write_bytes(content)
    if log is not None:
        log_of(path).write_bytes(log)
    return path


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def refused(code: int):
    def link(*arguments: object, **named: object) -> None:
        raise OSError(code, os.strerror(code))

    return link


def test_the_log_goes_with_its_database_which_keeps_its_own_name_too(tmp_path):
    path = make(tmp_path)
    aside = put_aside(path, REPLACED)
    assert aside.name.startswith("perfreg.duckdb.replaced-")
    assert (aside.read_bytes(), path.read_bytes()) == (b"database", b"database")
    assert log_of(aside).read_bytes() == b"log"
    assert not log_of(path).exists()


def test_several_within_a_second_have_names_of_their_own_and_are_told_without_logs(tmp_path):
    asides = [put_aside(make(tmp_path, str(number).encode(), log=b"log" if number else None), REPLACED)
              for number in range(3)]  # fmt: skip
    assert len(set(asides)) == 3
    assert [one.read_bytes() for one in asides] == [b"0", b"1", b"2"]
    earlier = tmp_path / "perfreg.duckdb.replaced"  # as an earlier release named it
    earlier.write_bytes(b"earlier")
    (tmp_path / "perfreg.duckdb.replaced-folder").mkdir()
    assert replaced(tmp_path / "perfreg.duckdb") == sorted([earlier, *asides])


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_where_a_file_has_one_name_only_it_is_moved(tmp_path, monkeypatch, code):
    path = make(tmp_path)
    monkeypatch.setattr(os, "link", refused(code))
    aside = put_aside(path, REPLACED)
    assert (aside.read_bytes(), log_of(aside).read_bytes()) == (b"database", b"log")
    assert not path.exists()
    assert not log_of(path).exists()


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_database_that_cannot_be_put_aside_keeps_its_log(tmp_path, monkeypatch, code):
    """What was committed and is in the log only would be missing where it is opened again."""
    path = make(tmp_path)
    monkeypatch.setattr(os, "link", refused(code))
    with pytest.raises(OSError, match=os.strerror(code)):
        put_aside(path, REPLACED)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {
        "perfreg.duckdb": b"database", "perfreg.duckdb.wal": b"log",
    }  # fmt: skip
