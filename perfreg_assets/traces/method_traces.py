"""Method traces of ART (`Debug.startMethodTracing`, `am profile start`): which Java method ran when, by wall time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfreg_assets.methods.thread_times import entity_name
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.slices import Range, SliceTimes, slice_times


@dataclass(frozen=True)
class _OfApp(Names):
    """A method trace is of one process and does not name it."""

    def thread(self, utid: int | None) -> tuple[bool, str, str]:
        return True, entity_name(self.app), super().thread(utid)[2]


def method_times(session: TraceSession, app: str, ranges: Sequence[Range]) -> tuple[SliceTimes, Range]:
    """Self times of methods within each range, and from when to when the trace tells of them.

    The rows are as those of slices, all of them of the app; `path` goes from the outermost method to the one that ran.
    Time that a method waits is its own, as ART tells wall time.

    Args:
        session: with the method trace loaded.
        ranges: on the monotonic clock, ns.

    Raises:
        Rejected: ENGINE_…
    """
    contents = load_contents(session, with_sched=False)
    return slice_times(session, _OfApp(contents, app), ranges), (contents.start_ns, contents.end_ns)
