"""The SQLite files of Dagster's home, there as a whole or not at all.

Dagster creates them where they will stay, table by table, and takes what is there for finished: a process killed
meanwhile leaves a home that every later one fails in, two first commands at once meet each other's halves. So they
are created aside, by one process at a time, and renamed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse.lock import file_lock

DATABASES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
_LOCK, _CONFIGURATION = ".creating.lock", "dagster.yaml"
_ELSEWHERE = {"storage", "run_storage"}
"""Keys of a configuration whose records lie in another database: nothing is created here then. `schedule_storage` is
ours, in the file that is Dagster's by default."""


def make_whole(home: Path, *, timeout_s: float) -> list[str]:
    """Creates those of the files that are missing or half made; which.

    Args:
        home: holds dagster.yaml.
        timeout_s: how long another process that is creating them is waited for.

    Raises:
        Rejected: WAREHOUSE_LOCKED, naming the other process; FOLDER_UNWRITABLE.
    """
    if not unfinished_files(home):
        return []
    with file_lock(home / _LOCK, timeout_s=timeout_s, what=str(home)):
        unfinished = _unfinished(home)
        if unfinished:
            _clear_leftovers(home)
            with tempfile.TemporaryDirectory(dir=home, prefix=".creating-") as aside:
                _create(home, Path(aside))
                for name in unfinished:
                    _put(Path(aside) / name, home / name)
        return unfinished


def unfinished_files(home: Path) -> list[str]:
    """Those of the files that are missing or half made; none where the records lie in another database.

    Raises:
        sqlite3.DatabaseError: one is damaged.
        Rejected: FOLDER_UNWRITABLE: one cannot even be read for that.
    """
    unfinished = _unfinished(home)
    return unfinished if unfinished and not _is_elsewhere(home) else []


def damaged_files(home: Path) -> list[str]:
    """Those of the files that SQLite does not find in order; which is none of the runs' own event files."""
    found = []
    for name in DATABASES:
        try:
            if (home / name).exists():
                with closing(sqlite3.connect(f"file:{home / name}?mode=ro", uri=True)) as connection:
                    [(said,), *_] = connection.execute("PRAGMA quick_check(1)").fetchall()
                    found += [name] if said != "ok" else []
        except sqlite3.DatabaseError:
            found.append(name)
    return found


def _unfinished(home: Path) -> list[str]:
    return [name for name in DATABASES if not _is_whole(home / name)]


def _is_whole(path: Path) -> bool:
    """Whether Dagster wrote the version of the schema, which it does when all tables are there."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            [(count,)] = connection.execute("SELECT count(*) FROM alembic_version").fetchall()
            return bool(count)
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return False
        if not os.access(path.parent, os.W_OK):  # SQLite makes files beside one that it only reads
            raise Rejected(Reason.FOLDER_UNWRITABLE, f"{path.parent} ({error})") from error
        raise


def _is_elsewhere(home: Path) -> bool:
    import yaml  # noqa: PLC0415  (once in the life of a home)

    configuration = yaml.safe_load((home / _CONFIGURATION).read_text(encoding="utf-8"))
    return isinstance(configuration, dict) and not _ELSEWHERE.isdisjoint(configuration)


def _create(home: Path, aside: Path) -> None:
    from dagster import DagsterInstance  # noqa: PLC0415  (once in the life of a home)

    shutil.copyfile(home / _CONFIGURATION, aside / _CONFIGURATION)
    with DagsterInstance.from_config(str(aside)) as instance:
        instance.get_runs_count()
        instance.get_dynamic_partitions("any")
        instance.all_instigator_state()


def _put(made: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    for suffix in ("-wal", "-shm", "-journal"):  # of the half that is replaced
        place.with_name(f"{place.name}{suffix}").unlink(missing_ok=True)
    os.replace(made, place)


def _clear_leftovers(home: Path) -> None:
    for leftover in home.glob(".creating-*"):
        shutil.rmtree(leftover)
