"""Which processes run: who signed a file's name, is it still the one with this number, who is in a group?"""

from __future__ import annotations

import os
import re
import socket
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

_GONE = ("Z", "X")  # ended, and not asked for its status yet
_STARTED = 19
"""Place in `stat_fields` of the start."""
_SIGNED = re.compile(r".+\.([0-9a-f]{8})\.(\d+)\.part")
_SLACK_S = 2.0
"""Start times are told in hundredths of a second since a boot whose time is told in whole ones."""


def is_alive(pid: int, *, since: float | None = None, booted: float | None = None) -> bool:
    """Whether a process of this machine runs.

    Args:
        since: when it did something (Unix seconds): one that was started later is another one with the same number.
        booted: what `booted_at` said about then: a clock that was set since has it say something else now.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    except OverflowError:
        return False
    with suppress(OSError, ValueError, IndexError, StopIteration):  # no Linux: what the signal said holds
        fields = stat_fields(pid)
        if fields[0] in _GONE:
            return False
        started_s = int(fields[_STARTED]) / os.sysconf("SC_CLK_TCK")
        return since is None or (booted_at() if booted is None else booted) + started_s <= since + _SLACK_S
    return True


def started_ticks(pid: int) -> int | None:
    """When a process was started, counted since its machine was: no clock that is set changes it. None where none runs
    under this number, or the machine does not tell (no Linux)."""
    with suppress(OSError, ValueError, IndexError):
        fields = stat_fields(pid)
        if fields[0] not in _GONE:
            return int(fields[_STARTED])
    return None


def members(group: int) -> set[int] | None:
    """The processes of a group that have not ended; None where the machine does not tell (no Linux)."""
    found = set()
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return None
    for name in names:
        with suppress(OSError, ValueError, IndexError):  # ended meanwhile
            parts = stat_fields(int(name))
            if int(parts[2]) == group and parts[0] not in _GONE:
                found.add(int(name))
    return found


@cache
def neighbourhood() -> str:
    """8 hex digits, the same for processes that know each other by these numbers: of one machine since it was started,
    and of one container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
        known = f"{boot} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:  # no Linux
        known = socket.gethostname()
    return f"{zlib.crc32(known.encode()):08x}"


def signature() -> str:
    """How the name of what this process has not finished ends, for `signer`."""
    return f".{neighbourhood()}.{os.getpid()}.part"


def signer(name: str) -> tuple[bool, int] | None:
    """Whether a process of this neighbourhood signed a name, and its number; None where nobody did."""
    signed = _SIGNED.fullmatch(name)
    return None if signed is None else (signed[1] == neighbourhood(), int(signed[2]))


def stat_fields(pid: int) -> list[str]:
    """What /proc says of a process behind its name: state, parent, group, …

    Raises:
        OSError: there is none, or no /proc.
    """
    # The name is in brackets, and may have any of its own.
    return Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()


def booted_at() -> float:
    """When this machine was started, in Unix seconds by the clock as it is now: set by an hour, so is this.

    Raises:
        OSError, StopIteration: no Linux.
    """
    lines = Path("/proc/stat").read_text("ascii").splitlines()
    return float(next(int(line.split()[1]) for line in lines if line.startswith("btime ")))
