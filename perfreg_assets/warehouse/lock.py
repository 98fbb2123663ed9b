"""The writers' queue: one `flock` beside the warehouse file, waited for with a bound.

The kernel drops the lock when its holder ends, however it ends, so a killed writer never blocks the next one.
The holder leaves its process id in the file, only to be named in the message of those who waited in vain.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from perfreg_assets.reasons import Reason, Rejected

_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.1


@contextmanager
def file_lock(path: Path, *, timeout_s: float, what: str) -> Iterator[None]:
    """Holds an exclusive lock on `path` (created if missing).

    Raises:
        Rejected: WAREHOUSE_LOCKED after `timeout_s` seconds; the text names the holder.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _wait(descriptor, timeout_s, what)
        _sign(descriptor)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _wait(descriptor: int, timeout_s: float, what: str) -> None:
    deadline = time.monotonic() + timeout_s
    pause = _FIRST_PAUSE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                detail = f"{what} is being written by {_holder(descriptor)}; waited {timeout_s:g} s"
                raise Rejected(Reason.WAREHOUSE_LOCKED, detail) from None
            time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(pause * 2, _LONGEST_PAUSE_S)
        else:
            return


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


def _holder(descriptor: int) -> str:
    try:
        signature = json.loads(os.pread(descriptor, 4096, 0))
        pid, command, since = signature["pid"], signature["command"], signature["since"]
    except (ValueError, KeyError, TypeError):  # the holder has the lock but has not signed yet, or just left
        return "another process"
    who = "another thread of this process" if pid == os.getpid() else f"process {pid}"
    return f"{who} ({command}, since {since})"
