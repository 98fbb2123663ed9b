"""A limit of the work that the bytes of one trace may cost before any engine sees them.

Size alone bounds no time: a small file can be made of millions of tiny packets, or of tiny gzip members. What counts is
the CPU time of the thread that reads, so that a busy machine or a slow disk refuses nothing.
"""

from __future__ import annotations

import time

from perfreg_assets.reasons import Reason, Rejected


class WorkLimit:
    """Counts from its making; for one thread."""

    def __init__(self, name: str, limit_s: float) -> None:
        """
        Args:
            name: of the file. limit_s: CPU seconds.
        """
        self._name, self._limit_s = name, limit_s
        self._begin_s = time.thread_time()

    def check(self) -> None:
        """To be called every few megabytes.

        Raises:
            Rejected: TRACE_TOO_SLOW.
        """
        if time.thread_time() - self._begin_s > self._limit_s:
            detail = f"{self._name}: reading it took more than {self._limit_s:g} s of CPU time (trace_check_s)"
            raise Rejected(Reason.TRACE_TOO_SLOW, detail)
