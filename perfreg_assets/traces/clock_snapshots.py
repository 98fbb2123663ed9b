"""What other clocks showed at moments of a trace, so that what was recorded by them can be placed in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.statements import statement
from perfreg_assets.traces.trace_clock import MONOTONIC

Times = NDArray[np.int64]


@dataclass(frozen=True)
class ClockSnapshots:
    """Attributes:
    trace_ns, clock_ns: (n,) the trace's time and the clock's at the same moments, ascending.
    """

    trace_ns: Times
    clock_ns: Times

    def to_clock(self, trace_ns: Times) -> Times:
        """The clock's times at moments of the trace: by the snapshot before, or the first one. Where the device slept
        between two snapshots, a clock that stood still shows nothing later than at the second one."""
        place = np.clip(np.searchsorted(self.trace_ns, trace_ns, side="right") - 1, 0, None)
        shown = trace_ns - self.trace_ns[place] + self.clock_ns[place]
        after = np.append(self.clock_ns[1:], np.iinfo(np.int64).max)[place]
        moments: Times = np.minimum(shown, after)
        return moments

    def to_trace(self, clock_ns: Times) -> Times:
        """The trace's times at moments of the clock."""
        place = np.clip(np.searchsorted(self.clock_ns, clock_ns, side="right") - 1, 0, None)
        moments: Times = clock_ns - self.clock_ns[place] + self.trace_ns[place]
        return moments


def monotonic_snapshots(session: TraceSession) -> ClockSnapshots | None:
    """Of the monotonic clock, by which ART and simpleperf record; None where the trace does not tell of it.

    Raises:
        Rejected: ENGINE_…
    """
    table = session.query(statement("clock_snapshots", clock_id=MONOTONIC), {"trace_ns": "int64", "clock_ns": "int64"})
    if len(table):
        return ClockSnapshots(table["trace_ns"], table["clock_ns"])
    own = session.query(statement("trace_clock"), {"clock_id": "Int64"})
    if len(own) and own["clock_id"].tolist() == [MONOTONIC]:
        start = np.zeros(1, np.int64)
        return ClockSnapshots(start, start)
    return None
