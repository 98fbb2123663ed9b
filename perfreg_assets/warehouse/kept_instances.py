"""DuckDB instances that this process keeps from one reading to the next: to make one and end it costs twice as much as
to attach a warehouse to it. The steps of a job read the published file with one; what they wrote themselves they read
through the file that they hold (`holding`).

An instance is made for one warehouse, and whatever is asked of it reaches nothing but that one's files. Between two
readings no database is attached: no file is open and none is locked.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from perfreg_assets.own_scratch import make_folder, remove_folder
from perfreg_assets.warehouse.literals import literal

Config = dict[str, str | bool | int | float | list[str]]

NO_EXTENSIONS: Config = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
OF_JOBS: Config = {"threads": 1}
"""Jobs ask hundreds of small questions, of which threads that wait for work cost more than they save, the more of them
the more: on one a run alone takes 4 to 10 % less CPU than on two, and a job over a whole history as long."""
MOST_KEPT = 4
"""A process reads one warehouse, the file that is written to and the published one, seldom two at once."""
NAME = "perfreg"
"""Of the warehouse in an instance, whatever its file is called."""


class Instance:
    """An instance with a place of its own for what does not fit into memory."""

    def __init__(self, config: Config = NO_EXTENSIONS) -> None:
        self.spill = make_folder("perfreg-read-")
        self.connection = duckdb.connect(config={"temp_directory": str(self.spill), **config})
        self.connection.execute("SET TimeZone = 'UTC'")

    def attach(self, path: Path) -> None:
        """Opens a warehouse for reading.

        Raises:
            duckdb.Error: it cannot be opened.
        """
        self.connection.execute(f"ATTACH {literal(str(path))} AS {NAME} (READ_ONLY)")
        self.connection.execute(f"USE {NAME}")

    def detach(self) -> None:
        """Closes the warehouse.

        Raises:
            duckdb.Error: something of it is still in use.
        """
        self.connection.execute("USE memory")
        self.connection.execute(f"DETACH {NAME}")

    def end(self) -> None:
        self.connection.close()
        remove_folder(self.spill)


@contextmanager
def attached(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """One file for reading, whatever becomes of those that are kept: a backup's, one put aside.

    Raises:
        duckdb.Error: it cannot be opened.
    """
    instance = Instance()
    try:
        instance.attach(path)
        yield instance.connection
    finally:
        instance.end()


_Key = tuple[int, str, str]


def allow_attaching(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Lets a connection reach the database at `path` also after other files are forbidden to it."""
    files = ", ".join(literal(f"{path}{ending}") for ending in ("", ".wal"))
    connection.execute(f"SET allowed_paths = [{files}]")


@dataclass
class KeptInstances:
    """The instances that wait for the next reading, by what they may reach; the latest last."""

    _idle: list[tuple[_Key, Instance]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def one_for(
        self, path: Path, root: str, shut_in: Callable[[duckdb.DuckDBPyConnection], None]
    ) -> Iterator[Instance]:
        """An instance that waited, or else a new one, to which the warehouse at `path` can be attached; it is detached
        when the block ends.

        Args:
            root: the folder of its large values: what else may be reached.
            shut_in: allows that folder to a new instance and forbids it everything that is not allowed.
        """
        key = (os.getpid(), str(path), root)  # what a fork inherits has no threads any more
        instance = self._taken(key) or _made(path, shut_in)
        is_clean = False
        try:
            yield instance
            instance.detach()
            is_clean = True
        finally:  # of one that something went wrong with nobody knows what it still holds
            if is_clean:
                self._give_back(key, instance)
            else:
                instance.end()

    def _taken(self, key: _Key) -> Instance | None:
        with self._lock:
            for place, (known, instance) in enumerate(self._idle):
                if known == key:
                    del self._idle[place]
                    return instance
        return None

    def _give_back(self, key: _Key, instance: Instance) -> None:
        with self._lock:
            self._idle.append((key, instance))
            spare = self._idle.pop(0)[1] if len(self._idle) > MOST_KEPT else None
        if spare is not None:
            spare.end()


def _made(path: Path, shut_in: Callable[[duckdb.DuckDBPyConnection], None]) -> Instance:
    instance = Instance({**NO_EXTENSIONS, **OF_JOBS})
    try:
        allow_attaching(instance.connection, path)
        shut_in(instance.connection)
    except BaseException:
        instance.end()
        raise
    return instance


KEPT = KeptInstances()
