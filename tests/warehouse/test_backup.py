"""What was backed up comes back as it was, whoever writes meanwhile and whatever is killed."""

from __future__ import annotations

import errno
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import PathStep
from perfreg_assets.warehouse import runs
from perfreg_assets.warehouse.backup import backup, restore
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.data_folder import DataFolder
from perfreg_assets.warehouse.examining import missing_values
from perfreg_assets.warehouse.put_aside import replaced
from perfreg_assets.warehouse.tidying import tidy
from perfreg_assets.whole_files import part_beside

KILLED = """
import os, signal, sys
from pathlib import Path
from perfreg_assets.warehouse import backup, connection, data_folder

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

point = sys.argv[3]
if point == "first_file":
    data_folder._write = die
if point == "put_aside":
    connection.write_whole = die
if point == "marked":
    os.replace = die
if point == "in_place":
    connection.Warehouse._migrated = die
if point == "before_publishing":
    connection.publish = die
backup.restore(connection.Warehouse(Path(sys.argv[1]), lock_timeout_s=20), Path(sys.argv[2]), is_replacing=True)
"""


def marts(warehouse: Warehouse) -> dict[str, list[str]]:
    """All rows of all views of the marts, as text in order."""
    with warehouse.reading() as reader:
        names = [
            name
            for (name,) in reader.rows("SELECT view_name FROM duckdb_views() WHERE schema_name = 'marts' ORDER BY ALL")
        ]
        return {name: sorted(map(repr, reader.rows(f"SELECT * FROM marts.{name}"))) for name in names}


@pytest.fixture(scope="module")
def kept(sample: Warehouse, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("backup") / "perfreg.tar"
    done = backup(sample, file)
    assert done.run_count > 40
    assert done.file_count > 10
    assert done.file_bytes == file.stat().st_size
    return file


def test_a_link_is_followed_and_stays(sample, tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "latest.tar"
    link.symlink_to("disk/perfreg.tar")
    for _ in range(2):  # leads nowhere at first, and to a backup then
        done = backup(sample, link)
        assert link.is_symlink()
        assert (tmp_path / "disk" / "perfreg.tar").stat().st_size == done.file_bytes
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["perfreg.tar"]


@pytest.mark.parametrize("is_linked", [False, True])
def test_what_is_no_regular_file_is_not_replaced(sample, tmp_path, is_linked):
    pipe = target = tmp_path / "pipe"
    os.mkfifo(pipe)
    if is_linked:
        target = tmp_path / "link.tar"
        target.symlink_to(pipe)
    with pytest.raises(Rejected) as caught:
        backup(sample, target)
    assert caught.value.reason is Reason.BACKUP_NOT_A_FILE
    assert str(target) in str(caught.value)
    assert pipe.is_fifo()
    assert set(tmp_path.iterdir()) == {pipe, target}


@pytest.mark.parametrize("what", ["text", "tar of other files", "the warehouse", "its published file"])
def test_a_file_that_is_no_backup_is_not_replaced(sample, tmp_path, what):
    own = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5)
    shutil.copyfile(sample.path, own.path)
    shutil.copyfile(sample.published, own.published)
    shutil.copytree(sample.data.root, own.data.root)
    target = {"the warehouse": own.path, "its published file": own.published}.get(what, tmp_path / "mine")
    if what == "text":
        target.write_text("notes of a year", "utf-8")
    elif what == "tar of other files":
        with tarfile.open(target, "w") as archive:
            archive.add(sample.path, "photos/perfreg.duckdb")
    before = target.read_bytes()
    with pytest.raises(Rejected) as caught:
        backup(own, target)
    assert caught.value.reason is Reason.BACKUP_REPLACES_OTHER
    assert str(target) in str(caught.value)
    assert target.read_bytes() == before


def test_an_empty_file_and_an_earlier_backup_are_replaced(sample, tmp_path):
    target = tmp_path / "perfreg.tar"
    target.touch()
    for _ in range(2):
        assert backup(sample, target).file_bytes == target.stat().st_size > 0


def test_a_folder_that_cannot_be_written_to_is_named(sample, tmp_path, monkeypatch):
    opened = Path.open

    def read_only(path, mode="r", *given, **named):
        if mode == "xb":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opened(path, mode, *given, **named)

    (tmp_path / "file").touch()
    monkeypatch.setattr(Path, "open", read_only)
    for folder, why in ((tmp_path, "Read-only file system"), (tmp_path / "file" / "sub", "Not a directory")):
        with pytest.raises(Rejected) as caught:
            backup(sample, folder / "x.tar")
        assert caught.value.reason is Reason.FOLDER_UNWRITABLE
        assert caught.value.detail == f"{folder} ({why})"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("at", ["copying", "packing"])
def test_a_full_folder_of_backups_is_named(sample, tmp_path, monkeypatch, at):
    def full(*_args: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if at == "copying":
        monkeypatch.setattr("perfreg_assets.warehouse.backup._contents", full)
    else:
        monkeypatch.setattr(tarfile.TarFile, "add", full)
    with pytest.raises(Rejected, match=f"no room for the backup in {tmp_path}") as caught:
        backup(sample, tmp_path / "b.tar")
    assert caught.value.reason is Reason.WAREHOUSE_DISK_FULL
    assert os.listdir(tmp_path) == []


def test_what_a_killed_backup_left_is_removed_by_the_next_one_to_that_folder(sample, tmp_path):
    """Each is as large as the warehouse, in a folder that nobody examines."""
    dying = (
        "import os, signal, sys, tarfile\nfrom pathlib import Path\n"
        "from perfreg_assets.warehouse import backup, connection\n"
        "tarfile.TarFile.add = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "backup.backup(connection.Warehouse(Path(sys.argv[1]), lock_timeout_s=20), Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", dying, str(sample.path), str(tmp_path / "monday.tar")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    parts = set(os.listdir(tmp_path))
    assert len(parts) == 2
    (pid,) = {name.split(".")[-2] for name in parts}
    elsewhere = f".monday.tar.01234567.89abcdef.{pid}.part"  # of another machine, where that process may live
    before = f".monday.tar.01234567.{os.getpid()}.part"  # of an earlier container: this process is another one
    others = [".own.part", part_beside(tmp_path / "own.tar").name, "photo.01234567.1.part"]
    for name in (elsewhere, before, *others):
        (tmp_path / name).touch()
    backup(sample, tmp_path / "tuesday.tar")
    assert set(os.listdir(tmp_path)) == {"tuesday.tar", elsewhere, before, *others}
    for name in (elsewhere, before, *others[::2]):
        os.utime(tmp_path / name, (1, 1))
    backup(sample, tmp_path / "tuesday.tar")
    assert set(os.listdir(tmp_path)) == {"tuesday.tar", *others}


def test_marts_are_equal_after_a_restore_elsewhere(sample, kept, new_warehouse):
    restore(new_warehouse, kept)
    there = marts(new_warehouse)
    assert len(there) > 40
    assert {name: rows for name, rows in there.items() if name != "storage"} == {
        name: rows for name, rows in marts(sample).items() if name != "storage"
    }
    with new_warehouse.writing() as writer:  # and it is one that goes on
        writer.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'note', 'x')")
    assert not list(new_warehouse.path.parent.glob(".*"))


def test_a_warehouse_that_is_there_stays_unless_told_otherwise(kept, warehouse, sample):
    with pytest.raises(Rejected) as caught:
        restore(warehouse, kept)
    assert caught.value.reason is Reason.WAREHOUSE_EXISTS
    before = marts(warehouse)
    aside = restore(warehouse, kept, is_replacing=True).replaced
    assert marts(warehouse)["runs"] == marts(sample)["runs"]
    with duckdb.connect(str(aside), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM core.runs").fetchall() == [(len(before["runs"]),)]


def test_a_backup_of_fewer_runs_may_replace_a_warehouse(kept, sample_copy, tmp_path):
    backup(sample_copy, tmp_path / "earlier.tar")
    with sample_copy.writing() as writer:
        writer.execute(
            "INSERT INTO core.runs SELECT * REPLACE ('one-more' AS run_id, 999 AS run_no) FROM core.runs LIMIT 1"
        )
    count = len(marts(sample_copy)["runs"])
    restore(sample_copy, tmp_path / "earlier.tar", is_replacing=True)
    assert len(marts(sample_copy)["runs"]) == count - 1


def test_backups_beside_a_writer_are_each_one_state(sample_copy, tmp_path):
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            number += 1
            with sample_copy.writing() as writer:
                for name in ("left", "right"):
                    writer.execute(
                        "INSERT INTO core.settings (changed_at, name, value) VALUES (now(), ?, ?)",
                        [name, str(number)],
                    )

    thread = threading.Thread(target=write)
    thread.start()
    try:
        files = [tmp_path / f"{number}.tar" for number in range(5)]
        for file in files:
            backup(sample_copy, file)
    finally:
        done.set()
        thread.join()
    for number, file in enumerate(files):
        restored = Warehouse(tmp_path / str(number) / "perfreg.duckdb", lock_timeout_s=5)
        restore(restored, file)
        with restored.reading() as reader:
            left, right = (
                reader.value("SELECT count(*) FROM core.settings WHERE name = ?", [name]) for name in ("left", "right")
            )
        assert left == right


def run_ids(warehouse: Warehouse, path: Path | None = None) -> list[str]:
    """Of the warehouse as published, or of one of its files."""
    with duckdb.connect(str(path or warehouse.published), read_only=True) as connection:
        return [run_id for (run_id,) in connection.execute("SELECT run_id FROM core.runs ORDER BY ALL").fetchall()]


def add_run(warehouse: Warehouse, name: str) -> None:
    with warehouse.writing() as writer:
        number = writer.value("SELECT max(run_no) + 1 FROM core.runs")
        writer.execute(
            "INSERT INTO core.runs SELECT * REPLACE (? AS run_id, ? AS run_no) FROM core.runs "
            "WHERE NOT is_quarantined LIMIT 1",
            [name, number],
        )


@pytest.mark.parametrize("point", ["first_file", "put_aside", "marked", "in_place", "before_publishing"])
def test_a_restore_that_is_killed_leaves_the_old_or_the_new_one(sample_copy, tmp_path, point):
    """The new one has fewer runs, which is refused of any other file."""
    backup(sample_copy, tmp_path / "earlier.tar")
    restored = run_ids(sample_copy)
    add_run(sample_copy, "one-more")
    old = run_ids(sample_copy)
    if point == "first_file":  # else there is none to be written
        next(one for one in Path(sample_copy.data.root).rglob("values.parquet") if "file=~" not in str(one)).unlink()
    arguments = [sys.executable, "-c", KILLED, str(sample_copy.path), str(tmp_path / "earlier.tar"), point]
    assert subprocess.run(arguments, check=False).returncode == -signal.SIGKILL
    assert run_ids(sample_copy) == old, "readers see what was published"
    with sample_copy.writing():
        pass
    is_over = point in ("in_place", "before_publishing")
    assert run_ids(sample_copy) == (restored if is_over else old)
    restore(sample_copy, tmp_path / "earlier.tar", is_replacing=True)
    assert run_ids(sample_copy) == restored
    assert old in [run_ids(sample_copy, one) for one in replaced(sample_copy.path)]
    assert not sample_copy.has_unpublished
    left = [one.name for one in sample_copy.path.parent.iterdir() if one.name.startswith(".")]
    assert left == [], "what the killed one unpacked is as large as the warehouse"
    add_run(sample_copy, "another")  # what may have fewer runs is the one that was restored
    with pytest.raises(Rejected) as caught, sample_copy.writing() as writer:
        writer.execute("DELETE FROM core.runs WHERE run_id = 'another'")
    assert caught.value.reason is Reason.WAREHOUSE_FEWER_RUNS


def test_each_warehouse_that_was_replaced_is_kept(sample_copy, tmp_path):
    backup(sample_copy, tmp_path / "earlier.tar")
    add_run(sample_copy, "one-more")
    old = run_ids(sample_copy)
    asides = [restore(sample_copy, tmp_path / "earlier.tar", is_replacing=True).replaced for _ in range(3)]
    assert len(set(asides)) == 3
    assert [run_ids(sample_copy, one) for one in asides] == [old, run_ids(sample_copy), run_ids(sample_copy)]
    assert sorted(asides) == replaced(sample_copy.path)


def test_what_is_committed_and_in_the_log_only_is_kept_with_it(sample_copy, tmp_path):
    backup(sample_copy, tmp_path / "earlier.tar")
    script = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1], config={"storage_compatibility_version": "v1.5.0"})
connection.execute("SET checkpoint_threshold = '1TB'")
connection.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'note', 'in the log')")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script, str(sample_copy.path)], check=True)
    assert sample_copy.path.with_name("perfreg.duckdb.wal").stat().st_size
    aside = restore(sample_copy, tmp_path / "earlier.tar", is_replacing=True).replaced
    with duckdb.connect(str(aside), read_only=True) as connection:
        assert connection.execute("SELECT value FROM core.settings WHERE name = 'note'").fetchall() == [("in the log",)]


def test_a_damaged_warehouse_is_put_aside_as_it_is(sample_copy, tmp_path):
    backup(sample_copy, tmp_path / "earlier.tar")
    whole = run_ids(sample_copy)
    sample_copy.path.write_bytes(b"damaged" * 9999)
    aside = restore(sample_copy, tmp_path / "earlier.tar", is_replacing=True).replaced
    assert aside.read_bytes() == b"damaged" * 9999
    assert run_ids(sample_copy) == whole


def test_tidying_leaves_what_a_replaced_warehouse_names(sample_copy, tmp_path):
    empty = Warehouse(tmp_path / "empty" / "perfreg.duckdb", lock_timeout_s=5)
    with empty.writing():
        pass
    backup(empty, tmp_path / "empty.tar")
    restore(sample_copy, tmp_path / "empty.tar", is_replacing=True)
    files = set(Path(sample_copy.data.root).rglob("*.parquet"))
    for path in files:
        os.utime(path, (1, 1))
    assert tidy(sample_copy, grace=timedelta(0)).deleted == 0
    assert files <= set(Path(sample_copy.data.root).rglob("*.parquet"))
    [aside] = replaced(sample_copy.path)
    aside.write_bytes(b"damaged")  # of no use any more, nor is what it names
    assert tidy(sample_copy, grace=timedelta(0)).deleted > 0


def test_a_run_that_is_corrected_after_a_restore_has_its_rows_once(sample_copy, tmp_path):
    """Its values lay in the folder by the month that it had before, which the restored warehouse did not know."""
    path = (PathStep(0, 1, "a", "home", "tap"), PathStep(1, 2, "b", "list", "tap"))
    backup(sample_copy, tmp_path / "earlier.tar")
    for month in (10, 11):
        with sample_copy.writing() as writer:
            given = runs.RunRow(
                run_id="late", folder_name="late", content_hash="c", partition_key="shop@1", app="shop",
                version_name="1", config_hash="c", started_at=datetime(2026, month, 1, tzinfo=UTC), path=path,
            )  # fmt: skip
            runs.upsert(writer, [given])
            assert writer.value("SELECT count(*) FROM marts.run_paths WHERE run_id = 'late'") == len(path)
        if month == 10:
            restore(sample_copy, tmp_path / "earlier.tar", is_replacing=True)
    for aside in replaced(sample_copy.path):
        aside.unlink()
    tidy(sample_copy, grace=timedelta(0))
    with sample_copy.reading() as reader:
        assert reader.value("SELECT count(*) FROM marts.run_paths WHERE run_id = 'late'") == len(path)


@pytest.fixture
def tidied_meanwhile(sample_copy, tmp_path, monkeypatch):
    """A backup, and the marts it holds: while the next restore waits, the writer deletes values that are in it."""
    backup(sample_copy, tmp_path / "kept.tar")
    whole = marts(sample_copy)
    with sample_copy.writing() as writer:
        writer.execute("DELETE FROM core.time_series")
    tidy(sample_copy)  # nothing names their files from now on
    take_over = Warehouse.take_over

    def tidied_before(warehouse: Warehouse, *arguments, **named):
        assert tidy(warehouse, grace=timedelta(0)).deleted > 0
        return take_over(warehouse, *arguments, **named)

    monkeypatch.setattr(Warehouse, "take_over", tidied_before)
    return tmp_path / "kept.tar", whole


def test_values_that_are_tidied_away_while_a_restore_waits_for_the_writer_are_restored(sample_copy, tidied_meanwhile):
    file, whole = tidied_meanwhile
    restore(sample_copy, file, is_replacing=True)
    assert missing_values(sample_copy)[1] == []
    assert marts(sample_copy) == whole


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.EIO, Reason.BACKUP_UNREADABLE), (errno.ENOSPC, Reason.WAREHOUSE_DISK_FULL)],
)
def test_what_cannot_be_put_back_then_is_refused_with_a_reason(
    sample_copy, tidied_meanwhile, monkeypatch, number, reason
):
    file, _ = tidied_meanwhile
    before = marts(sample_copy)

    def fails(*arguments, **named):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(DataFolder, "write", fails)
    with pytest.raises(Rejected) as caught:
        restore(sample_copy, file, is_replacing=True)
    assert caught.value.reason is reason
    assert marts(sample_copy) == before
    assert replaced(sample_copy.path) == []


def test_a_full_disk_is_no_fault_of_the_backup(kept, new_warehouse, monkeypatch):
    def full(*arguments, **named):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("perfreg_assets.warehouse.data_folder._write", full)
    with pytest.raises(Rejected) as caught:
        restore(new_warehouse, kept)
    assert caught.value.reason is Reason.WAREHOUSE_DISK_FULL


def test_a_place_that_cannot_be_written_to_is_no_fault_of_the_backup(kept, new_warehouse, tmp_path):
    (tmp_path / "taken").touch()
    in_file = Warehouse(tmp_path / "taken" / "sub" / "perfreg.duckdb", lock_timeout_s=1)
    beside = Warehouse(new_warehouse.path, lock_timeout_s=1, data=str(tmp_path / "taken"))
    for warehouse, folder in ((in_file, in_file.path.parent), (beside, Path(beside.data.root))):
        with pytest.raises(Rejected) as caught:
            restore(warehouse, kept)
        assert caught.value.reason is Reason.FOLDER_UNWRITABLE
        assert caught.value.detail == f"{folder} (Not a directory)"


def packed(path: Path, *entries: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for entry, content in entries:
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def unpacked(path: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(path) as archive:
        return [(entry, opened.read()) for entry in archive if (opened := archive.extractfile(entry)) is not None]


def link(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return entry


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [(tarfile.TarInfo("perfreg.duckdb"), b"no database" * 999)],
        [(tarfile.TarInfo("../perfreg.duckdb"), b"x")],
        [(tarfile.TarInfo("/tmp/perfreg.duckdb"), b"x")],
        [(tarfile.TarInfo("data/../../out"), b"x")],
        [(tarfile.TarInfo("something.else"), b"x")],
        [(link("perfreg.duckdb"), b"")],
    ],
)
def test_what_is_no_backup_is_refused_and_changes_nothing(entries, new_warehouse, tmp_path):
    with pytest.raises(Rejected) as caught:
        restore(new_warehouse, packed(tmp_path / "bad.tar", *entries))
    assert caught.value.reason is Reason.BACKUP_UNREADABLE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.tar"]


def test_half_a_backup_is_refused(kept, new_warehouse, tmp_path):
    whole = kept.read_bytes()
    for share in (0.01, 0.5, 0.99):
        (tmp_path / "half.tar").write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(Rejected) as caught:
            restore(new_warehouse, tmp_path / "half.tar")
        assert caught.value.reason is Reason.BACKUP_UNREADABLE
        assert not new_warehouse.path.exists()


def test_a_backup_of_a_warehouse_that_lost_a_file_is_none(sample_copy, tmp_path):
    lost = next(path for path in Path(sample_copy.data.root).rglob("values.parquet") if "file=~" not in str(path))
    lost.unlink()
    with pytest.raises(Rejected) as caught:
        backup(sample_copy, tmp_path / "kept.tar")
    assert caught.value.reason is Reason.DATA_MISSING
    assert not list(tmp_path.glob("*.tar*"))


def test_a_damaged_file_of_values_is_found_not_backed_up_and_brought_back(sample_copy, tmp_path):
    file = tmp_path / "kept.tar"
    backup(sample_copy, file)
    whole, before = marts(sample_copy), file.read_bytes()
    damaged = next(path for path in Path(sample_copy.data.root).rglob("values.parquet") if "file=~" not in str(path))
    content = damaged.read_bytes()
    for broken in (content[:100], content[:-1], b""):
        damaged.write_bytes(broken)
        assert missing_values(sample_copy)[1] == [str(damaged.relative_to(sample_copy.data.root))]
        with pytest.raises(Rejected, match="is damaged") as caught:
            backup(sample_copy, file)
        assert caught.value.reason is Reason.DATA_MISSING
        assert file.read_bytes() == before
        restore(sample_copy, file, is_replacing=True)
        assert damaged.read_bytes() == content
        assert missing_values(sample_copy)[1] == []
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))  # as long as it was
    restore(sample_copy, file, is_replacing=True)
    assert damaged.read_bytes() == content
    assert marts(sample_copy) == whole


def test_values_that_are_gone_come_back_as_tidying_says(sample_copy, tmp_path):
    backup(sample_copy, tmp_path / "kept.tar")
    before = marts(sample_copy)
    lost = next(path for path in Path(sample_copy.data.root).rglob("values.parquet") if "file=~" not in str(path))
    lost.unlink()
    told = tidy(sample_copy).lack
    assert "lacks 1 file that the warehouse names" in told
    assert str(lost.relative_to(sample_copy.data.root)) in told
    assert "`perfreg restore FILE --replace`" in told
    assert "ingest" not in told  # its runs are known: nothing of them would be written again
    restore(sample_copy, tmp_path / "kept.tar", is_replacing=True)
    assert marts(sample_copy) == before
    assert tidy(sample_copy).missing == ()


def values_in(archive: Path) -> tarfile.TarInfo:
    """Where the values of one file are in a backup."""
    with tarfile.open(archive) as opened:
        return next(entry for entry in opened if entry.name.startswith("data/") and "file=~" not in entry.name)


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("share", [1.0, 0.99])
def test_damaged_values_in_a_backup_take_nobodys_place(sample_copy, tmp_path, share):
    file = tmp_path / "kept.tar"
    backup(sample_copy, file)
    before = marts(sample_copy)
    values = values_in(file)
    there = Path(sample_copy.data.root) / values.name.removeprefix("data/")
    content = there.read_bytes()
    flip(file, values.offset_data + values.size // 2)
    file.write_bytes(file.read_bytes()[: int(file.stat().st_size * share)])
    with pytest.raises(Rejected) as caught:
        restore(sample_copy, file, is_replacing=True)
    assert caught.value.reason is Reason.BACKUP_UNREADABLE
    assert values.name in str(caught.value)
    assert there.read_bytes() == content
    assert marts(sample_copy) == before
    assert replaced(sample_copy.path) == []


def test_damaged_values_of_the_length_they_had_are_not_backed_up(sample_copy, tmp_path):
    file = tmp_path / "kept.tar"
    backup(sample_copy, file)
    before = file.read_bytes()
    damaged = Path(sample_copy.data.root) / values_in(file).name.removeprefix("data/")
    flip(damaged, damaged.stat().st_size // 2)
    with pytest.raises(Rejected, match="is damaged") as caught:
        backup(sample_copy, file)
    assert caught.value.reason is Reason.DATA_MISSING
    assert file.read_bytes() == before


def test_a_backup_that_lacks_values_takes_no_place(sample_copy, tmp_path):
    backup(sample_copy, tmp_path / "kept.tar")
    before, lacked = marts(sample_copy), values_in(tmp_path / "kept.tar").name
    entries = unpacked(tmp_path / "kept.tar")
    file = packed(tmp_path / "few.tar", *((entry, content) for entry, content in entries if entry.name != lacked))
    (Path(sample_copy.data.root) / lacked.removeprefix("data/")).rename(tmp_path / "away")
    with pytest.raises(Rejected, match="lacks") as caught:
        restore(sample_copy, file, is_replacing=True)
    assert caught.value.reason is Reason.BACKUP_UNREADABLE
    assert replaced(sample_copy.path) == []
    (tmp_path / "away").rename(Path(sample_copy.data.root) / lacked.removeprefix("data/"))
    assert marts(sample_copy) == before


def test_a_backup_of_a_later_release_leaves_nothing_behind(kept, new_warehouse, tmp_path):
    entries = unpacked(kept)
    later = tmp_path / "later.duckdb"
    later.write_bytes(entries[0][1])
    with duckdb.connect(str(later)) as connection:
        connection.execute(
            "INSERT INTO core.schema_version SELECT * REPLACE (9999 AS version) FROM core.schema_version LIMIT 1"
        )
    file = packed(tmp_path / "later.tar", (entries[0][0], later.read_bytes()), *entries[1:])
    later.unlink()
    with pytest.raises(Rejected) as caught:
        restore(new_warehouse, file)
    assert caught.value.reason is Reason.WAREHOUSE_NEWER
    assert not Path(new_warehouse.data.root).exists()


def test_without_a_warehouse_there_is_nothing_to_back_up(new_warehouse, tmp_path):
    with pytest.raises(Rejected) as caught:
        backup(new_warehouse, tmp_path / "kept.tar")
    assert caught.value.reason is Reason.WAREHOUSE_MISSING
