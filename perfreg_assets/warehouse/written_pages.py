"""Which bytes of a warehouse's file were written since the published file was equal to it, and since the one before
was: all that publishing has to compare, however large the file is.

DuckDB's log of its file system tells what it writes while the file is open (`Opened`). What it told is kept beside the
file, in `<name>.written`, with what the file system says of all files it is about. Where that is no longer so (another
program wrote, a backup was put back, a writer was killed, the machine was started again) nothing is known, and whole
files are compared. Call all of it under the writers' lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from perfreg_assets.file_stamps import Stamp, stamp
from perfreg_assets.spans import Span, merged
from perfreg_assets.warehouse.kept_instances import NAME
from perfreg_assets.warehouse.literals import literal
from perfreg_assets.whole_files import write_whole

PAGE_BYTES = 4096
"""DuckDB's headers have one each, its blocks begin after them."""
_HEADERS = 3

_MOST_SPANS = 1 << 14  # of a file that was written all over it is quicker to compare all
_TICK_NS = 20_000_000  # of the clock by which Linux notes times of files: 1 to 10 ms
_WRITTEN = "SELECT pos, bytes FROM duckdb_logs_parsed('FileSystem') WHERE op = 'WRITE' AND path = ?"


@dataclass(frozen=True)
class Record:
    """What was written to a file.

    Attributes:
        since: by the stamp of a file that it was equal to, what was written to it after that.
        compared_to: the byte up to which publishing last compared also what nobody is known to have written.
    """

    since: Mapping[Stamp, tuple[Span, ...]]
    compared_to: int = 0

    def later(self, spans: Iterable[Span]) -> Record:
        """With what was written besides."""
        more = list(spans)
        since = {known: whole_pages([*written, *more]) for known, written in self.since.items()}
        return replace(self, since={known: written for known, written in since.items() if len(written) <= _MOST_SPANS})


def whole_pages(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The pages that hold these bytes, in order, in as few spans as can be."""
    widened = ((start // PAGE_BYTES * PAGE_BYTES, -(-end // PAGE_BYTES) * PAGE_BYTES) for start, end in spans)
    return tuple(merged(widened))


def known(path: Path) -> Record | None:
    """What is known of what was written to the file; None where it may have been written to by anybody."""
    try:
        told = json.loads(_place(path).read_text("utf-8"))
        is_so = told["maker"] == _maker() and told["file"] == _identity(path)
        since = {tuple(one["stamp"]): tuple((first, last) for first, last in one["spans"]) for one in told["since"]}
        return Record(since, int(told["compared_to"])) if is_so else None
    except (OSError, ValueError, KeyError, TypeError):  # none, or one that was cut short
        return None


def note(path: Path, record: Record) -> None:
    """Keeps what is known of a file that nobody has open; on a full disk nothing is known of it then."""
    # What is written within the same tick would not be seen by the time of the last change.
    time.sleep(max(0, min(_TICK_NS, path.stat().st_mtime_ns + _TICK_NS - time.time_ns())) / 1e9)
    told = {
        "maker": _maker(),
        "file": _identity(path),
        "since": [{"stamp": stamp, "spans": spans} for stamp, spans in record.since.items()],
        "compared_to": record.compared_to,
    }
    try:
        write_whole(_place(path), json.dumps(told).encode(), is_durable=False)
    except OSError:
        forget(path)


def forget(path: Path) -> None:
    """From here on nothing is known of what was written to the file."""
    _place(path).unlink(missing_ok=True)


def _place(path: Path) -> Path:
    return path.with_name(f"{path.name}.written")


def _identity(path: Path) -> list[int | str]:
    """With the time of the last change of status, which nobody can set, and a hash of DuckDB's headers, of which every
    write that counts changes one: not all file systems tell times of less than a second."""
    found = path.stat()
    with path.open("rb") as file:
        headers = hashlib.sha256(file.read(_HEADERS * PAGE_BYTES)).hexdigest()
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, headers]


def _maker() -> str:
    """Another DuckDB may tell less, and after a loss of power files can be older than what was noted of them."""
    with suppress(OSError):
        return f"{duckdb.__version__} {Path('/proc/sys/kernel/random/boot_id').read_text('ascii').strip()}"
    return f"{duckdb.__version__} {os.getpid()}"  # not a Linux: within this process


class Opened:
    """A database that is open for writing. Closing it notes what was written; it leaves the log of what is committed
    as it is, for whoever checkpoints next.

    Attributes:
        connection: the database is its current one.
    """

    def __init__(self, path: Path, config: Mapping[str, str | bool | int | float | list[str]]) -> None:
        """
        Raises:
            duckdb.Error: it cannot be opened.
        """
        self._path = path
        self._known = known(path)
        self.connection = duckdb.connect(config=dict(config))
        try:
            if self._known is not None:
                self.connection.execute("CALL enable_logging('FileSystem', storage = 'memory')")
            self.connection.execute(f"ATTACH {literal(str(path))} AS {NAME}")
            self.connection.execute(f"USE {NAME}")
            # What is committed stays in the log until it is published: whole blocks are written, whatever changed
            # in them. Closing would also swallow what goes wrong.
            self.connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        except BaseException:
            self.connection.close()
            raise

    def close(self) -> None:
        """Closes it; a transaction that is open is rolled back."""
        try:
            spans = self._spans() if self._known else None
            seen = stamp(self._path)
        finally:
            self.connection.close()
        if self._known is None:
            return
        if spans is None or seen is None or stamp(self._path) != seen:
            forget(self._path)
        elif spans:
            note(self._path, self._known.later(spans))

    def _spans(self) -> list[Span] | None:
        """What was written since it was opened; None where that cannot be told."""
        try:
            # A connection of its own: a transaction that failed answers nothing any more.
            with self.connection.cursor() as asking:
                rows = asking.execute(_WRITTEN, [str(self._path)]).fetchall()
        except duckdb.Error:  # broken off in the middle, or a name that its log cannot spell
            return None
        return [(start, start + length) for start, length in rows]
