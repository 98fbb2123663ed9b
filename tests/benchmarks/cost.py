"""What a piece of work costs: CPU seconds, bytes written and peak memory of this process and of those it started.

CPU: user and system time of this process, of the children it waited for and of those that still live. Bytes:
`write_bytes` of /proc/…/io, what went into the page cache of files on disk, whether or not it was deleted afterwards.
Peak: VmHWM, the most memory that was resident, reset when the measurement begins.

A trace engine is killed together with the supervisor that would have waited for it; this process adopts what is left
behind so (a child subreaper), or the engine's time would be in no account.
"""

from __future__ import annotations

import ctypes
import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Cost:
    """Attributes:
    cpu_s: of the process and its children.
    children_cpu_s: the children's part.
    bytes_written: by the process and its children.
    peak_bytes: of the process alone.
    """

    cpu_s: float
    children_cpu_s: float
    bytes_written: int
    peak_bytes: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.cpu_s + other.cpu_s,
            self.children_cpu_s + other.children_cpu_s,
            self.bytes_written + other.bytes_written,
            max(self.peak_bytes, other.peak_bytes),
        )


NOTHING = Cost(0.0, 0.0, 0, 0)


class Meter:
    """Measures from its making; each `lap` tells what it cost since the one before."""

    def __init__(self) -> None:
        if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1):
            raise OSError(ctypes.get_errno(), "this process cannot adopt what its children leave behind")
        self._begin()

    def lap(self) -> Cost:
        _bury()
        own, children = _cpu()
        cost = Cost(
            own + children - self._cpu_s, children - self._children_cpu_s, _written() - self._written, peak_bytes()
        )
        self._begin()
        return cost

    def _begin(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew at what is resident now
        self._written = _written()
        own, self._children_cpu_s = _cpu()
        self._cpu_s = own + self._children_cpu_s


def _bury() -> None:
    """Waits for the dead among this process's children: nobody else does for those that it adopted."""
    for process in _descendants():
        fields = _or_none(_stat, process)
        if fields is not None and fields[0] == "Z" and int(fields[1]) == os.getpid():
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)


def peak_bytes(process: int | str = "self") -> int:
    """The most memory that was resident since the start, or since it was reset."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/{process}/status has no VmHWM: this needs Linux")


def children_cpu_s() -> float:
    """Of the children that this process waited for, and of those that live."""
    return _cpu()[1]


def children_peak_bytes() -> int:
    """Of the largest child, living or waited for, since the start of this process."""
    waited = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return max([waited, *(_or_zero(peak_bytes, child) for child in _descendants())])


def _cpu() -> tuple[float, float]:
    """(this process, its children) in seconds."""
    times = os.times()
    living = sum(_or_zero(_ticks, child) for child in _descendants())
    return times.user + times.system, times.children_user + times.children_system + living / _TICKS


def _ticks(process: int) -> int:
    """User and system time of a process and of the children it waited for."""
    return sum(map(int, _stat(process)[11:15]))


def _written() -> int:
    return _io("self") + sum(_or_zero(_io, child) for child in _descendants())


def _io(process: int | str) -> int:
    """Of a process and of the children it waited for."""
    for line in Path(f"/proc/{process}/io").read_text().splitlines():
        if line.startswith("write_bytes:"):
            return int(line.split()[1])
    raise OSError(f"/proc/{process}/io has no write_bytes: this needs Linux with task accounting")


def _descendants() -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            parent = _or_zero(lambda process: int(_stat(process)[1]), int(entry.name))
            parents.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def _stat(process: int) -> list[str]:
    """The fields after the name, which may hold anything: state, parent, …"""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _or_none(read, process: int):
    """None for a process that ended meanwhile; its parent has its share by then."""
    try:
        return read(process)
    except (FileNotFoundError, ProcessLookupError):
        return None


def _or_zero(read, process: int) -> int:
    return _or_none(read, process) or 0
