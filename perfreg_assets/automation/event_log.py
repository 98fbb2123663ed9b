"""Dagster's event log in SQLite files, in which the files of runs under way stay open.

Dagster's own storage opens and closes a file for every event. Who closes a SQLite file in WAL mode as the last one
copies the log into it and deletes the log, so that each event is written several times over, and making connections
costs more than the event itself. Here whoever writes a run's events keeps the file open until the run has finished.
The files are those that Dagster's storage makes and reads, and other processes see each event at once.

A commit does not wait for the disk: a loss of power may take the last events along, never the file. What is due is
told by the warehouse, not by events.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._config import Field, StringSource
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._serdes import ConfigurableClassData
from sqlalchemy import create_engine, event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import StaticPool

_MOST_OPEN = 4
"""Files of runs kept open at once: a daemon logs some events of runs that go on in other processes."""
_CERTAIN_S = 2.0
"""For so long a partition that was there is believed to be there still."""
_LAST = frozenset({dg.DagsterEventType.RUN_SUCCESS, dg.DagsterEventType.RUN_FAILURE, dg.DagsterEventType.RUN_CANCELED})


class EventLogStorage(SqliteEventLogStorage):
    """`event_log_storage` in dagster.yaml; without a `base_dir` its files are where Dagster's own would be."""

    def __init__(self, base_dir: str | None, inst_data: ConfigurableClassData | None = None) -> None:
        self._open: dict[str, Engine] = {}  # a file's name without its ending, the one last opened at the end
        self._opening = threading.Lock()
        self._tables: set[str] = set()  # those that were seen: none is ever dropped
        self._partitions: dict[tuple[str, str], float] = {}  # those that were seen, and when
        self._inst_data = inst_data
        self._is_placed = base_dir is not None
        if base_dir is not None:
            super().__init__(base_dir, inst_data)

    def register_instance(self, instance: dg.DagsterInstance) -> None:
        if not self._is_placed:  # what the configuration is read with knows no folder, the instance does
            super().__init__(str(Path(instance.root_directory) / "history" / "runs"), self._inst_data)
            self._is_placed = True
        super().register_instance(instance)

    @classmethod
    def config_type(cls) -> Mapping[str, Any]:
        return {"base_dir": Field(StringSource, is_required=False)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> EventLogStorage:
        return cls(config_value.get("base_dir"), inst_data)

    def store_event(self, event: dg.EventLogEntry) -> None:
        self._keep_open(event.run_id)
        super().store_event(event)
        # Who follows the run in the UI watches this file, and with the log beside it nothing else would change in it.
        os.utime(self.path_for_shard(event.run_id))
        if event.is_dagster_event and event.dagster_event_type in _LAST:
            self._close(event.run_id)

    def has_table(self, table_name: str) -> bool:
        """Asked whenever a partition is looked at, dozens of times a run; Dagster's own connects each time."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def has_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> bool:
        """Asked whenever an event names a partition, some thirty times a run: 4 % of the CPU of taking one run in."""
        known, now = (partitions_def_name, partition_key), time.monotonic()
        if now - self._partitions.get(known, -math.inf) < _CERTAIN_S:
            return True
        is_there = super().has_dynamic_partition(partitions_def_name, partition_key)
        self._partitions = {one: seen for one, seen in self._partitions.items() if now - seen < _CERTAIN_S}
        if is_there:
            self._partitions[known] = now
        return is_there

    def delete_dynamic_partition(self, partitions_def_name: str, partition_key: str) -> None:
        super().delete_dynamic_partition(partitions_def_name, partition_key)
        self._partitions.pop((partitions_def_name, partition_key), None)

    def dispose(self) -> None:
        for name in list(self._open):
            self._close(name)
        super().dispose()

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        engine = self._open.get(shard)
        if engine is None:
            with super()._connect(shard) as connection:
                yield connection
            return
        with self._db_lock, engine.connect() as connection, connection.begin():
            yield connection

    def _keep_open(self, run_id: str) -> None:
        with self._opening:
            for name in (INDEX_SHARD_NAME, run_id):
                if name not in self._open:
                    with super()._connect(name):
                        pass  # makes the file and its tables
                    self._open[name] = _engine(self.conn_string_for_shard(name))
            runs = [name for name in self._open if name != INDEX_SHARD_NAME]
        for name in runs[:-_MOST_OPEN]:
            self._close(name)

    def _close(self, name: str) -> None:
        with self._opening, self._db_lock:
            engine = self._open.pop(name, None)
            if engine is not None:
                engine.dispose()


def _engine(address: str) -> Engine:
    """One connection that any thread may use, one at a time."""
    engine = create_engine(
        address,
        poolclass=StaticPool,
        connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _do_not_wait(connection: Any, _: object) -> None:
        connection.execute("PRAGMA synchronous = NORMAL")

    return engine
