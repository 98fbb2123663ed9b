"""The writers' queue: one lock (`flock`, by filelock) beside the warehouse file, waited for with a bound.

The kernel drops the lock when its holder ends, however it ends, so a killed writer never blocks the next one.
The holder leaves its process id in the file, only to be named in the message of those who waited in vain.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from perfreg_assets.process_life import is_alive
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.unwritable import refused_where_unwritable

POLL_S = 0.02
"""How often who waits for a lock looks."""


@contextmanager
def file_lock(
    path: Path, *, timeout_s: float, what: str, reason: Reason = Reason.WAREHOUSE_LOCKED, done: str = "written"
) -> Iterator[None]:
    """Holds an exclusive lock on `path` (created if missing).

    Args:
        what, done: for the message of those who waited in vain: what is being written, or else, by the holder.

    Raises:
        Rejected: `reason` after `timeout_s` seconds; the text names the holder. FOLDER_UNWRITABLE.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  (30 ms that readers do not pay)

    lock = FileLock(
        path,
        timeout=timeout_s,
        mode=0o644,
        poll_interval=POLL_S,
        fallback_to_soft=False,  # a lock that is only a file outlives a killed holder
        on_acquired=_sign,
        thread_local=False,  # a timer may release what another thread took
    )
    try:
        with refused_where_unwritable(path.parent):
            lock.acquire()
    except Timeout:
        detail = f"{what} is being {done} by {_holder(path)}; waited {timeout_s:g} s"
        raise Rejected(reason, detail) from None
    try:
        yield
    finally:
        with suppress(FileNotFoundError):  # the folder was removed under us; the lock ends all the same
            os.truncate(path, 0)
        lock.release()


def _sign(descriptor: int) -> None:
    signature = {
        "pid": os.getpid(),
        "command": Path(sys.argv[0]).name if sys.argv else "",
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    os.ftruncate(descriptor, 0)
    # On a full disk the lock holds without a name on it; whoever holds it will find the disk full in their own words.
    with suppress(OSError):
        os.pwrite(descriptor, json.dumps(signature).encode(), 0)


def _holder(path: Path) -> str:
    try:
        signature = json.loads(path.read_bytes())
        pid, command, since = signature["pid"], signature["command"], signature["since"]
    except (ValueError, KeyError, TypeError):  # the holder has the lock but has not signed yet, or just left
        return "another process"
    who = "another thread of this process" if pid == os.getpid() else f"process {pid}"
    return f"{who} ({command}, since {since})"


def dead_holder(path: Path) -> int | None:
    """The process that signed a lock and is gone without taking its name off; the lock itself went with it."""
    try:
        pid = int(json.loads(path.read_bytes())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if is_alive(pid) else pid


def forget_holder(path: Path) -> None:
    """Takes the name of a dead holder off a lock, unless somebody has it by now.

    Raises:
        Rejected: WAREHOUSE_LOCKED.
    """
    with file_lock(path, timeout_s=0.0, what=str(path)):
        pass  # taking and leaving it is all
