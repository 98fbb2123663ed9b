"""Memory that several engines at once may take together."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perfreg_assets.settings import Settings

_SHARE = 0.8  # of what is free: the rest is for this process and for what others begin meanwhile
_ENGINE_BYTES = 128 << 20  # without a trace
_BYTES_PER_TRACE_BYTE = 4  # 3.3 to 3.6 for traces dense with scheduling (measured)
_ENGINE_BYTES_MAX = 16 << 30  # the WebAssembly engine's own limit
_CGROUP = Path("/sys/fs/cgroup")


class MemoryBudget:
    """Lets traces begin as long as what their engines are expected to take fits together; one always may.

    In the order of asking, so that a large trace is not passed by small ones for ever. For several threads.
    """

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self._taken = 0
        self._turn = threading.Lock()
        self._changed = threading.Condition()

    @contextmanager
    def taking(self, wanted_bytes: int) -> Iterator[None]:
        """Waits until there is room; within, it is taken."""
        with self._turn, self._changed:
            self._changed.wait_for(lambda: not self._taken or self._taken + wanted_bytes <= self.total_bytes)
            self._taken += wanted_bytes
        try:
            yield
        finally:
            with self._changed:
                self._taken -= wanted_bytes
                self._changed.notify_all()


def expected_bytes(unpacked_bytes: int) -> int:
    """What an engine takes for a trace of that size."""
    return _ENGINE_BYTES + _BYTES_PER_TRACE_BYTE * unpacked_bytes


def allowed_bytes(settings: Settings) -> int:
    """What one engine may take before it is ended: as set, else a share of all the memory there is."""
    if settings.engine_memory_bytes is not None:
        return settings.engine_memory_bytes
    there = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError, ValueError):  # "max" is no limit, and no number
        there.append(int((_CGROUP / "memory.max").read_text("ascii")))
    return min(int(_SHARE * min(there)), _ENGINE_BYTES_MAX)


def free_bytes() -> int:
    """What engines may take now: a share of what the machine has left, or the container where that is less."""
    free = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        free.append(int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10)
    with suppress(OSError, ValueError):  # "max" is no limit, and no number
        limit = int((_CGROUP / "memory.max").read_text("ascii"))
        used = int((_CGROUP / "memory.current").read_text("ascii"))
        free.append(max(0, limit - used))
    return int(_SHARE * min(free))
