"""The one door to DuckDB: writers queue, write one transaction and publish; readers never meet a lock.

A writer takes the file lock, opens the warehouse, migrates it if needed, runs one transaction, closes, and
puts a copy at `<name>.read.duckdb` by an atomic rename. When anything fails nothing is published and the
transaction is as if it had never begun. Readers open the published copy only.

The steps of one job write one after the other and read what the one before wrote, through one open file that they hand
on with the lock (`holding`): they publish at the end of the job,
and meanwhile only so often that people see a long backfill advance. A marker beside the file says that something
waits to be published, whatever became of the job or of a restore.

`Reader` and `Writer` take SQL from code with bound parameters. Identifiers never come from data.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings, data_beside, published_beside
from perfreg_assets.warehouse import committed, data_folder, data_owner, migrations, recovering
from perfreg_assets.warehouse.committed import State
from perfreg_assets.warehouse.data_folder import DataFolder
from perfreg_assets.warehouse.file_name import LOCK_SUFFIX, refuse_name
from perfreg_assets.warehouse.holding import HELD, Holding
from perfreg_assets.warehouse.kept_instances import KEPT, NO_EXTENSIONS, OF_JOBS, Config, Instance, allow_attaching
from perfreg_assets.warehouse.lock import file_lock
from perfreg_assets.warehouse.publishing import publish, require_free_space
from perfreg_assets.warehouse.put_aside import REPLACED, put_aside
from perfreg_assets.warehouse.written_pages import Opened
from perfreg_assets.whole_files import write_whole

if TYPE_CHECKING:
    import pyarrow as pa

# Readable by DuckDB 1.5 clients (supported to March 2027); without it 2.0 writes a format that they refuse.
STORAGE_VERSION = "v1.5.0"
_WRITER_CONFIG: Config = {
    "storage_compatibility_version": STORAGE_VERSION,
    **NO_EXTENSIONS,
}

BLOCK_BYTES = 1 << 14
"""Of a new warehouse, the smallest there is: what a run adds to each table is written in whole blocks, and with
DuckDB's own 256 kB more than half of that is padding."""

Parameters = Sequence[Any] | Mapping[str, Any]

_LOG = logging.getLogger(__name__)
_RESTORED = b"restored"
"""What the marker says of a file that was restored: it may have fewer runs than are published."""
_STAGED = "staged_rows"
_OPEN_PAUSE_S = 0.05


_BATCH_ROWS = 1 << 17

DAMAGE = (duckdb.IOException, duckdb.FatalException, duckdb.SerializationException)


class Reader:
    """Queries on one open, unchanging state of the warehouse."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, data: DataFolder | None = None, *, state: State | None = None
    ) -> None:
        """
        Args:
            data: where the large values lie; default: a folder that ends with this process.
            state: what is seen; of a writer, what its transaction began on. None where nobody asks for it.
        """
        self._connection = connection
        self.data = data or data_folder.of_process()
        self.state = state

    def rows(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """All rows of a query as tuples."""
        return self._run(sql, parameters).fetchall()

    def dicts(self, sql: str, parameters: Parameters = ()) -> list[dict[str, Any]]:
        """All rows of a query as dictionaries, keyed by column name."""
        result = self._run(sql, parameters)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """The single value of a query; None when it has no row."""
        rows = self.rows(sql, parameters)
        return rows[0][0] if rows else None

    def arrow(self, sql: str, parameters: Parameters = ()) -> pa.Table:
        """The result of a query as an Arrow table: the quick way out for numbers and lists."""
        # A relation, because execute() would copy every row once more.
        return self._connection.sql(sql, params=_bound(parameters)).to_arrow_table()

    def relation(self, sql: str) -> duckdb.DuckDBPyRelation:
        """A query that has not run yet, with the types of its columns."""
        return self._connection.sql(sql)

    def batches(self, sql: str) -> pa.RecordBatchReader:
        """The result in parts, for what may be larger than the memory."""
        return self._connection.sql(sql).to_arrow_reader(_BATCH_ROWS)

    def _run(self, sql: str, parameters: Parameters) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(sql, _bound(parameters))


class Writer(Reader):
    """A `Reader` of the file being written, inside one open transaction, that can change it.

    Attributes:
        left: what its transaction left, once that is committed.
    """

    left: State | None = None

    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Runs one statement; the number of rows it changed."""
        rows = self._run(sql, parameters).fetchall()
        return int(rows[0][0]) if rows and isinstance(rows[0][0], int) else 0

    def execute_with(self, staged: pa.Table, sql: str, parameters: Parameters = ()) -> int:
        """Runs one statement that reads the Arrow table `staged` under the name `staged_rows`."""
        self._connection.register(_STAGED, staged)
        count = self.execute(sql, parameters)
        self._connection.unregister(_STAGED)  # not after an error: the transaction is lost then, and hides the cause
        return count


class Warehouse:
    """One DuckDB file, its published copy and the folder with the large values of both.

    Args:
        publish_every_s: 0: every write is published. Else, for the steps of a job, it is published only if some of it
            waits that long already, and readings see the latest write; whoever ends the job calls `publish`.
        data: a folder or a URL of an object store; default: `<stem>.data` beside the file.
    """

    def __init__(
        self, path: Path, *, lock_timeout_s: float, publish_every_s: float = 0.0, data: str | None = None
    ) -> None:
        self.path = Path(path).absolute()
        self.data = DataFolder(data or data_beside(self.path))
        self._publish_every_s = publish_every_s
        self._unpublished = self.path.with_name(f"{self.path.name}.unpublished")
        self.published = published_beside(self.path)
        self.lock_file = self.path.with_name(f"{self.path.name}{LOCK_SUFFIX}")
        self._lock_timeout_s = lock_timeout_s

    @classmethod
    def of(cls, settings: Settings, *, publish_every_s: float = 0.0) -> Warehouse:
        """The warehouse that the settings name."""
        return cls(
            settings.warehouse,
            lock_timeout_s=settings.lock_timeout_s,
            publish_every_s=publish_every_s,
            data=settings.data,
        )

    @contextmanager
    def writing(self, *, expected_bytes: int = 0) -> Iterator[Writer]:
        """One transaction on the warehouse, published (or due to be) when the block ends without an exception.

        Args:
            expected_bytes: about how much the block will add; checked against the free space beforehand.

        Raises:
            Rejected: WAREHOUSE_LOCKED, WAREHOUSE_DISK_FULL, WAREHOUSE_NEWER, WAREHOUSE_ALTERED, WAREHOUSE_UNREADABLE,
                WAREHOUSE_NOT_OPENED, WAREHOUSE_NAME, DATA_TAKEN.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._holding() as held:
            require_free_space(self.path, expected_bytes=expected_bytes)
            with self._failures_are_clear():
                connection = held.connection(self._migrated)
                connection.execute("BEGIN TRANSACTION")
                writer = Writer(connection, self.data, state=committed.of_database(self.path))
                # An open transaction is rolled back by closing: nothing of a failed block stays.
                yield writer
                if not self.has_unpublished:  # its time is that of the first write that waits
                    self._unpublished.touch()
                connection.execute("COMMIT")
            if self._is_publishing_due():
                self._publish(held)
            writer.left = committed.of_database(self.path)

    def take_over(self, database: Path, *, before: Callable[[], None] = lambda: None) -> Path | None:
        """Puts another database in the place of this one, and publishes it; where the one that was there is kept.

        Killed at any point it is the old one or the new one, and publishing it is left to the next who writes.

        Args:
            database: on the same file system; it is moved.
            before: called first, when nobody else writes or tidies; where it raises, nothing has happened.

        Raises:
            Rejected: WAREHOUSE_LOCKED, WAREHOUSE_DISK_FULL, WAREHOUSE_NEWER, WAREHOUSE_ALTERED, WAREHOUSE_NAME,
                DATA_TAKEN.
        """
        with self._holding() as held:
            held.close()
            before()
            require_free_space(self.path, expected_bytes=database.stat().st_size)
            aside = None if recovering.is_lost(self.path) else self._put_aside(held)
            write_whole(self._unpublished, _RESTORED, is_durable=True)  # somebody said that it may have fewer runs
            os.replace(database, self.path)
            with self._failures_are_clear():
                held.connection(self._migrated)
            self._publish(held)
        return aside

    def _put_aside(self, held: Holding) -> Path:
        try:  # or what is only in the log would be missing should this be killed between log and database
            held.connection(self._open).execute("CHECKPOINT")
        except (duckdb.Error, Rejected) as error:
            if isinstance(error, Rejected) and error.reason is Reason.WAREHOUSE_LOCKED:
                raise
            _LOG.warning("%s is put aside as it is (%s)", self.path.name, _first_line(error))
        finally:
            held.close()
        return put_aside(self.path, REPLACED)

    def refuse_mixing(self) -> None:
        """Checks, before anything is written, that what would lie beside this file and its values is no other's.

        Raises:
            Rejected: WAREHOUSE_NAME, DATA_TAKEN.
        """
        refuse_name(self.path, self.published)
        data_owner.refuse_taken(self.data, self.path)

    @property
    def has_unpublished(self) -> bool:
        """Something was written and not published yet, by a job that is under way or was cut short."""
        return self._unpublished.exists()

    @property
    def is_there(self) -> bool:
        """Whether anything was ever written that can be read."""
        return self.published.is_file() or self.has_unpublished

    def publish(self) -> bool:
        """Publishes what was written and is not published yet. Whether there was any.

        Raises:
            Rejected: WAREHOUSE_LOCKED, WAREHOUSE_DISK_FULL.
        """
        if not self.has_unpublished:
            return False
        with self._holding() as held:
            if not self.has_unpublished:  # another process did while we waited
                return False
            self._publish(held)
        return True

    def catch_up(self) -> bool:
        """Brings a published warehouse of an earlier release to this one's schema: readings of new columns would fail
        until somebody writes. Whether it was one, and could be brought on.

        A published file alone, one that may not be written and one that is being written to stay as they are.

        Raises:
            Rejected: as `writing` does, but for WAREHOUSE_LOCKED; as `nothing_published`.
        """
        with self.reading() as reader:
            is_behind = migrations.is_behind(reader.rows)
        return is_behind and self._bring_on()

    @contextmanager
    def reading_caught_up(self, *, goes_on: bool = False) -> Iterator[Reader]:
        """`reading` for people and programs that may come first after an update: `catch_up` goes before it.

        Args:
            goes_on: as in `reading`.
        """
        with self.reading(goes_on=goes_on) as reader:
            if not migrations.is_behind(reader.rows):
                yield reader
                return
        self._bring_on()
        with self.reading() as reader:
            yield reader

    def _bring_on(self) -> bool:
        """Migrates and publishes where that is allowed now; whether it was."""
        if not self.path.is_file() or not os.access(self.path, os.W_OK):
            return False
        now = Warehouse(self.path, lock_timeout_s=0.0, data=self.data.root)
        try:
            with now.writing():
                pass  # opening migrates, and the end publishes
        except Rejected as error:
            if error.reason is not Reason.WAREHOUSE_LOCKED:
                raise
            return False
        return True

    @contextmanager
    def reading(self, *, goes_on: bool = False) -> Iterator[Reader]:
        """The published state at this moment; it does not change while the block runs.

        Within a job: the state as last written. No writer comes in between then, so load and leave.

        Args:
            goes_on: with a job of this process that published what it wrote: what its steps asked of that state is
                not asked again.

        Raises:
            Rejected: as `nothing_published`, WAREHOUSE_UNREADABLE (in the block too), within a job WAREHOUSE_LOCKED.
        """
        if self._publish_every_s and self.has_unpublished:
            with self._holding() as held, self._damage_is_clear(self.path):
                connection = held.connection(self._migrated)
                connection.execute("BEGIN TRANSACTION READ ONLY")
                yield Reader(connection, self.data, state=committed.of_database(self.path))
                connection.execute("ROLLBACK")
            return
        if not self.published.is_file():
            raise self.nothing_published()
        attached = self._attached_again if self._publish_every_s or goes_on else self._attached
        with attached(self.published) as reader, self._damage_is_clear(self.published):
            yield reader

    def nothing_published(self) -> Rejected:
        """What is said where there is no published copy: WAREHOUSE_MISSING, or WAREHOUSE_UNPUBLISHED where what it
        would be a copy of is there."""
        is_there = self.path.is_file() and self.path.stat().st_size
        reason = Reason.WAREHOUSE_UNPUBLISHED if is_there else Reason.WAREHOUSE_MISSING
        return Rejected(reason, f"{self.published} does not exist")

    def _is_publishing_due(self) -> bool:
        if not self._publish_every_s or not self.published.exists():
            return True
        return time.time() - self._unpublished.stat().st_mtime >= self._publish_every_s

    def _publish(self, held: Holding) -> None:
        """Through the connection that wrote, where it is still open: another one would read the whole log again."""
        with self._failures_are_clear():
            try:
                connection = held.connection(self._open)
                if not self._is_restored():
                    recovering.refuse_fewer(connection, self.path, self.published)
                seen = committed.of_database(self.path)
                connection.execute("CHECKPOINT")
            finally:
                held.close()  # before it is copied: closing a copied file takes away the lock that DuckDB has on it
        publish(self.path, self.published)
        committed.note_copied(self.published, seen)
        self._unpublished.unlink(missing_ok=True)

    def _is_restored(self) -> bool:
        return self.has_unpublished and self._unpublished.read_bytes() == _RESTORED

    @contextmanager
    def _attached(self, path: Path) -> Iterator[Reader]:
        # Within a process DuckDB gives every connection to the same path the database that is open already: a
        # second reader would see the state that the first one opened, replaced since. Attaching does not.
        instance = Instance()
        try:
            with _readable(path):
                instance.attach(path)
            _shut_in(instance.connection, self.data)
            yield Reader(instance.connection, self.data)
        finally:
            instance.end()

    @contextmanager
    def _attached_again(self, path: Path) -> Iterator[Reader]:
        """As `_attached`, for the steps of a job and who ran it: what they ask is made by nobody but them."""
        with KEPT.one_for(path, self.data.root, lambda made: _shut_in(made, self.data)) as instance:
            seen = committed.of_copy(path)
            with _readable(path):
                instance.attach(path)
            is_seen = committed.of_copy(path) == seen  # or another copy was put there meanwhile
            yield Reader(instance.connection, self.data, state=seen if is_seen else None)

    @contextmanager
    def _holding(self) -> Iterator[Holding]:
        """The writers' lock and, once asked for, the file open under it. The steps of a job hand both on."""

        def lock() -> AbstractContextManager[None]:
            self.refuse_mixing()
            return file_lock(self.lock_file, timeout_s=self._lock_timeout_s, what=str(self.path))

        if self._publish_every_s:
            with HELD.one_for(str(self.path), self.data.root, lock) as holding:
                yield holding
            return
        HELD.end(str(self.path), self.data.root)
        holding = Holding(str(self.path), lock())
        try:
            yield holding
        finally:
            holding.end()

    def _migrated(self) -> Opened:
        opened = self._open()
        try:
            migrations.migrate(opened.connection, data=self.data)
            data_owner.note(self.data, self.path)
        except BaseException:
            opened.close()
            raise
        return opened

    def _open(self) -> Opened:
        # A device, a FIFO: a new database would take its place.
        if self.path.exists() and not self.path.is_file():
            raise Rejected(Reason.WAREHOUSE_UNREADABLE, f"{self.path} is there and no regular file")
        if recovering.is_lost(self.path) and not recovering.bring_back(self.path, self.published):
            self._create()
        deadline = time.monotonic() + self._lock_timeout_s
        while True:
            try:
                opened = Opened(self.path, {**_WRITER_CONFIG, **(OF_JOBS if self._publish_every_s else {})})
                break
            except duckdb.Error as error:
                if not _is_in_use(error):
                    raise _refused(self.path, error) from error
                if time.monotonic() >= deadline:
                    detail = (
                        f"{self.path} is open in another program or connection ({_first_line(error)}); "
                        f"let it open {self.published} instead"
                    )
                    raise Rejected(Reason.WAREHOUSE_LOCKED, detail) from error
                time.sleep(_OPEN_PAUSE_S)
        opened.connection.execute("SET TimeZone = 'UTC'")
        allow_attaching(opened.connection, self.published)
        _shut_in(opened.connection, self.data)
        return opened

    def _create(self) -> None:
        """An empty database, there as a whole or not at all: DuckDB refuses one whose creation was cut short."""
        part = self.path.with_name(f"{self.path.name}.new")
        part.unlink(missing_ok=True)
        duckdb.connect(str(part), config={**_WRITER_CONFIG, "default_block_size": str(BLOCK_BYTES)}).close()
        os.replace(part, self.path)

    @contextmanager
    def _failures_are_clear(self) -> Iterator[None]:
        try:
            with self._damage_is_clear(self.path):
                yield
        except duckdb.Error as error:
            if _is_disk_full(error):
                raise Rejected(Reason.WAREHOUSE_DISK_FULL, f"writing {self.path}") from error
            raise

    @contextmanager
    def _damage_is_clear(self, path: Path) -> Iterator[None]:
        """A file that is cut short or damaged opens well: only who reads what is not there notices."""
        try:
            yield
        except DAMAGE as error:
            is_of_values = str(self.data.root) in str(error) and str(path) not in str(error)
            if is_of_values or _is_disk_full(error):
                raise
            raise _refused(path, error) from error


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """What DuckDB has against opening a file, as a sentence."""
    try:
        yield
    except duckdb.Error as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: duckdb.Error) -> Rejected:
    """Who only may not open a file, or stands in a folder that is gone, is not told to replace it by an older one."""
    text = str(error)
    is_shut = "Cannot open file" in text or "working directory" in text
    reason = Reason.WAREHOUSE_NOT_OPENED if is_shut else Reason.WAREHOUSE_UNREADABLE
    return Rejected(reason, f"{path} ({_first_line(error)})")


def _bound(parameters: Parameters) -> dict[str, Any] | list[Any]:
    """The binding takes a plain dict or list only."""
    return dict(parameters) if isinstance(parameters, Mapping) else list(parameters)


def _shut_in(connection: duckdb.DuckDBPyConnection, data: DataFolder) -> None:
    """No SQL, whatever it is made of, reaches files beside the data folder, or the network, from here on; but for a
    database that may be attached."""
    data.allow(connection)
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].strip() if str(error).strip() else type(error).__name__


def _is_in_use(error: duckdb.Error) -> bool:
    """By another process, or by a connection of this one that is none of ours."""
    text = str(error).lower()
    return (isinstance(error, duckdb.IOException) and "lock" in text) or "already attached" in text


def _is_disk_full(error: duckdb.Error) -> bool:
    text = str(error).lower()
    return "no space left" in text or "disk full" in text or "enospc" in text or "quota" in text
