"""Sampled call stacks of a run that is compared: the time of each, from the trace or a profile beside it.

A trace is opened for them only where it has some; what was read of it is kept (`traces.window_details`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from perfreg_assets.methods.thread_times import SECOND_NS
from perfreg_assets.methods.window_causes import Entity
from perfreg_assets.model.told_details import PROFILE_OF, ToldOfRun, within
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import contents
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.profile_files import ProfileFile
from perfreg_assets.traces.slices import Range
from perfreg_assets.traces.window_details import window_details
from perfreg_assets.warehouse.causes import CALL_STACKS

NO_STACKS = "the trace has no sampled call stacks, and no recording of simpleperf lies beside it"
NOT_OPENED = "traces are not opened for this page: `perfreg compare --html` reads call stacks"


def has_stacks(data_sources: Sequence[str], profiles: Sequence[ProfileFile]) -> bool:
    """Whether there is anything to open a trace for."""
    return contents.CALL_STACKS in data_sources or any(one.kind == PROFILE_OF[CALL_STACKS] for one in profiles)


def whole_seconds(start_ns: int, end_ns: int) -> list[Range]:
    """Of a stretch of trace time, as many as lie in it, and one of a shorter one."""
    count = max((end_ns - start_ns) // SECOND_NS, 1)
    return [(start_ns + k * SECOND_NS, start_ns + (k + 1) * SECOND_NS) for k in range(count)]


def stacks_of(
    trace: AbstractContextManager[Path],
    sha256: str,
    app: str,
    seconds: Sequence[Range],
    settings: Settings,
    engines: Engines,
    *,
    unpacked_bytes: int,
    profiles: Sequence[ProfileFile] = (),
) -> Mapping[Entity, float] | str:
    """Stack → core seconds per second over the seconds that are told of, or why there is none.

    Args:
        trace, sha256, profiles: see `window_details`. unpacked_bytes: of the trace.

    Raises:
        Rejected: ENGINE_UNAVAILABLE, which is this machine's fault and not the trace's.
    """
    try:
        with engines.room_for(unpacked_bytes):
            details = window_details(trace, sha256, app, seconds, settings, engines, profiles=profiles)
    except (Rejected, OSError) as error:
        if isinstance(error, Rejected) and error.reason is Reason.ENGINE_UNAVAILABLE:
            raise
        return str(error)
    told = ToldOfRun(details, seconds)
    if (problem := told.problem(CALL_STACKS)) is not None:
        return problem
    covered = told.covers(CALL_STACKS)
    return told.spent(CALL_STACKS, within(np.ones(covered.size), covered))
