"""Rows of sessions in the warehouse: written as each ends, and afterwards for one whose process died in between.

A session's row comes after its run folder. So that a kill between the two loses no row, it lies beside the journals
before the folder comes into its place, and goes when it is stored. That of a failed one lies there as soon as it is to
be stored, should the warehouse not take it. Whoever stores rows next (another collection, a sweep, `perfreg doctor
--fix`, the device's job) stores it for one that was killed.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from perfreg_assets.collection.errors import CollectionRecord
from perfreg_assets.collection.sweep import journal_dir
from perfreg_assets.process_life import is_alive
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import collections as table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Reader, Warehouse
from perfreg_assets.whole_files import write_whole

_FOLDER = "told"
_TIMES = ("started_at", "ended_at")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Kept:
    """A row that waits: `run_folder` is where the session's folder was to come; None: there is to be none."""

    path: Path
    record: CollectionRecord
    run_folder: Path | None
    pid: int

    @property
    def is_orphan(self) -> bool:
        """The process that would have stored it has ended."""
        try:
            since = self.path.stat().st_mtime
        except FileNotFoundError:  # stored meanwhile
            return False
        return not is_alive(self.pid, since=since)

    def holds(self, reader: Reader) -> bool:
        """Whether what it says came about: the session's folder is in its place, or was taken in from there."""
        run_id = self.record.run_id
        if self.run_folder is None:
            return True
        return self.run_folder.is_dir() or (
            run_id is not None and bool(run_table.find(reader, [run_id], with_path=False))
        )


def keep(settings: Settings, record: CollectionRecord, run_folder: Path | None = None) -> None:
    """Puts a row where it is found should this process die; on the disk when this returns."""
    folder = journal_dir(settings) / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    times = {name: getattr(record, name).isoformat() for name in _TIMES}
    told = {"record": asdict(record) | times, "run_folder": run_folder and str(run_folder), "pid": os.getpid()}
    # A full disk ends the session, and leaves nothing here.
    write_whole(folder / f"{record.collection_id}.json", json.dumps(told).encode(), is_durable=True)


def orphans(settings: Settings) -> list[CollectionRecord]:
    """Rows that killed collections left, whether or not there is a run; oldest first."""
    return [one.record for one in _kept(settings) if one.is_orphan]


def store(warehouse: Warehouse, settings: Settings, records: Iterable[CollectionRecord] = ()) -> int:
    """Stores rows of sessions, and those that killed ones left; how many of the latter.

    Raises:
        Rejected: as `Warehouse.writing`; all rows wait then.
    """
    own = list(records)
    left = [one for one in _kept(settings) if one.is_orphan]
    if not own and not left:
        return 0
    _keep_failed(settings, own)
    with warehouse.writing() as writer:
        found = [replace(one.record, leftover_path=None) for one in left if one.holds(writer)]
        table.upsert(writer, [table.CollectionRow(**asdict(record)) for record in (*found, *own)])
    folder = journal_dir(settings) / _FOLDER
    for path in (*(one.path for one in left), *(folder / f"{record.collection_id}.json" for record in own)):
        path.unlink(missing_ok=True)
    return len(found)


def _keep_failed(settings: Settings, records: Iterable[CollectionRecord]) -> None:
    """Of those with a run folder a row lies there since the folder does."""
    for record in records:
        if record.run_id is None:
            try:
                keep(settings, record)
            except OSError as error:  # a full disk: the warehouse may have room
                _LOG.warning("the row of session %s is kept by this process alone (%s)", record.collection_id, error)


def _kept(settings: Settings) -> Iterator[_Kept]:
    for path in sorted((journal_dir(settings) / _FOLDER).glob("*.json")):
        try:
            told: dict[str, Any] = json.loads(path.read_bytes())
            times = {name: datetime.fromisoformat(told["record"][name]) for name in _TIMES}
            record = CollectionRecord(**{**told["record"], **times})
            folder = told["run_folder"]
            yield _Kept(path, record, None if folder is None else Path(folder), int(told["pid"]))
        except FileNotFoundError:  # stored meanwhile
            continue
        except (ValueError, TypeError, KeyError) as error:
            _LOG.warning("%s is damaged (%s): a session's row cannot be told from it", path, error)
