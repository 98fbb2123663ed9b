"""What traces tell of a run's windows beyond threads: slices, locks, frames, call stacks, memory by process and stack;
and the profiles beside them: Java methods and call stacks.

Each beside the history's traces, on the same screens. A trace is opened only for the windows of a flagged run, and only
where what was read of it before says that it tells something; what was read is kept second by second and by content
(`traces.window_details`), so that it is opened once, whatever windows come later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.screens import matching_weights, window_weights
from perfreg_assets.methods.thread_times import SECOND_NS, ThreadTimes
from perfreg_assets.methods.window_causes import (
    MEMORY_FLOOR_BYTES,
    THREAD_FLOOR_CORES,
    Ranking,
    Recorded,
    rank_named,
)
from perfreg_assets.model.inspecting import usable_cores
from perfreg_assets.model.told_details import PROFILE_OF, ToldOfRun, Values, seconds_of, within
from perfreg_assets.model.trace_places import profiles_of, states_of, trace_of
from perfreg_assets.model.windows import Window
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import contents
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.profile_files import ProfileFile
from perfreg_assets.traces.slices import Range
from perfreg_assets.traces.window_details import WindowDetails, window_details
from perfreg_assets.warehouse import attachments, histories, recorded, slice_uses
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.causes import CALL_STACKS, FRAMES, HEAP, METHOD_TRACES, PROCESS_MEMORY, SLICES
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.unread_traces import UnreadRow

OF_TIME = (SLICES, FRAMES, CALL_STACKS, METHOD_TRACES)
"""Sources that explain what took time."""
OF_MEMORY = (PROCESS_MEMORY, HEAP)
"""Sources that explain what takes memory."""
_FRAME_TRACK = "android_actual_frame_timeline"
_ONE_PROCESS = "all of the app's memory is that of one process, and smaps was not sampled"
_NO_METHODS = "no method trace (.trace of ART) lies in the run's folder"
_NO_STACKS = "the trace has no sampled call stacks, and no recording of simpleperf lies beside it"
_NOT_THEN = "the profile does not tell of the suspicious seconds"

_NOT_OF_THE_TRACE = {Reason.ENGINE_UNAVAILABLE, Reason.EXCHANGE_UNAVAILABLE}
"""Nothing can be said of any trace: not that this one tells nothing."""

Read = Callable[..., WindowDetails]


@dataclass(frozen=True)
class Tells:
    """What the first reading of a run's trace found out about it: source → why it is not in there, None where it is."""

    missing: Mapping[str, str | None]

    def of(self, sources: Iterable[str]) -> list[str]:
        """Those of some sources that the trace has."""
        return [source for source in sources if self.missing[source] is None]


def tells(reader: Reader, run_ids: Iterable[str]) -> dict[str, Tells]:
    """run_id → what its trace tells, of every run asked for; no trace is opened."""
    ids = list(run_ids)
    traces, uses = trace_table.find(reader, ids), slice_uses.find(reader, ids)
    beside = attachments.profiles_of(reader, ids)
    found = {}
    for run_id in ids:
        trace, use = traces.get(run_id), uses.get(run_id)
        sources = set(trace.data_sources or ()) if trace else set()
        slices = "its slices were not asked for" if use is None else use.reason
        processes = trace.app_processes or () if trace else ()
        profiles = {one.kind for one in beside[run_id]}
        has_stacks = contents.CALL_STACKS in sources or PROFILE_OF[CALL_STACKS] in profiles
        found[run_id] = Tells(
            {
                SLICES: slices,
                FRAMES: None if _FRAME_TRACK in sources else "the trace has no frame timeline",
                CALL_STACKS: None if has_stacks else _NO_STACKS,
                PROCESS_MEMORY: None if len(processes) > 1 or contents.SMAPS in sources else _ONE_PROCESS,
                HEAP: None if contents.HEAP in sources else "the trace has no sampled allocations (heapprofd)",
                METHOD_TRACES: None if PROFILE_OF[METHOD_TRACES] in profiles else _NO_METHODS,
            }
        )
    return found


def explains(series: str) -> tuple[str, ...]:
    """Sources that can explain a series."""
    return OF_MEMORY if definition_of(series).kind == "memory" else OF_TIME


@dataclass(frozen=True)
class Detailed:
    """Of one window, by source: what grew, ranked by itself."""

    window: Window
    rankings: Mapping[str, Ranking]


@dataclass(frozen=True)
class LeftOut:
    """Attributes:
    file_name: relative to the run's folder; None where no file was looked at. file_state: what it was then, see
        `states_of`. is_profile: it is one beside the trace.
    """

    run_id: str
    why: str
    file_name: str | None = None
    file_state: str = ""
    is_profile: bool = False


@dataclass(frozen=True)
class Details:
    """Attributes:
    windows: in the order asked for; empty where the run's own trace cannot be read or tells nothing of them.
    missing: source → why it is not in `windows`, None where it is. history_counts: source → runs compared with.
    left_out: traces, and profiles beside them, that could not be read.
    sample_count, without_stack_count: call stack samples of the run, and those without a stack.
    """

    windows: list[Detailed]
    missing: Mapping[str, str | None]
    history_counts: Mapping[str, int]
    left_out: list[LeftOut]
    sample_count: int
    without_stack_count: int

    def unread_of(self, run_id: str) -> tuple[UnreadRow, ...]:
        """As rows for a run's causes: the files to try again."""
        return tuple(
            UnreadRow(
                run_id=run_id, member_id=one.run_id, file_name=file_name, file_state=one.file_state, reason=one.why
            )
            for one in self.left_out
            for file_name in [one.file_name]
            if file_name is not None
        )


def explain_details(
    reader: Reader,
    settings: Settings,
    run_id: str,
    windows: Sequence[Window],
    *,
    read: Read | None = None,
    engines: Engines | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Details:
    """Reads the run's trace and those of its history, where nothing is kept of them yet.

    Args:
        settings: those in force.
        read: what reads a trace; tests bring their own.
        engines: of a batch that the traces belong to.

    Raises:
        Rejected: ENGINE_UNAVAILABLE, EXCHANGE_UNAVAILABLE; DATA_MISSING.
    """
    members = histories.compared_with(reader, [run_id]).get(run_id, ())
    told = tells(reader, [run_id, *members])
    wanted = {source for one in windows for source in told[run_id].of(explains(one.series))}
    if not wanted:
        return Details([], told[run_id].missing, {}, [], 0, 0)
    names = [run_id, *(name for name in members if told[name].of(wanted))]
    known = recorded.load(reader, names)
    looks = _Looks(reader, settings, read or window_details, engines, progress)
    found, left_out = looks.at(names, known)
    if run_id not in found:
        why = next(one.why for one in left_out if one.run_id == run_id)
        missing = {source: why if source in wanted else own for source, own in told[run_id].missing.items()}
        return Details([], missing, {}, left_out, 0, 0)
    own = found[run_id]
    missing = {source: reason or own.problem(source) for source, reason in told[run_id].missing.items()}
    comparable = {
        source: [
            name
            for name in names[1:]
            if name in found
            and told[name].missing[source] is None
            and found[name].problem(source) is None
            and (source != METHOD_TRACES or found[name].details.method_clock == own.details.method_clock)
        ]
        for source in wanted
        if missing[source] is None
    }
    detailed = []
    for window in windows:
        of = [source for source in explains(window.series) if source in comparable]
        ranked = {
            source: _ranked(window, source, run_id, comparable[source], known, found, settings.history_minimum)
            for source in of
        }
        detailed.append(Detailed(window, {source: one for source, one in ranked.items() if one is not None}))
    for source in comparable:
        if not any(source in one.rankings for one in detailed):
            missing[source] = _NOT_THEN
    return Details(
        detailed,
        missing,
        {source: len(names) for source, names in comparable.items()},
        left_out,
        own.details.sample_count,
        own.details.without_stack_count,
    )


@dataclass(frozen=True)
class _Looks:
    """Opens the traces of some runs."""

    reader: Reader
    settings: Settings
    read: Read
    engines: Engines | None
    progress: Callable[[str], None]

    def at(self, names: Sequence[str], known: Mapping[str, Recorded]) -> tuple[dict[str, ToldOfRun], list[LeftOut]]:
        """run_id → what its trace tells by second, of those that can be read; and why the others cannot."""
        rows, traces = run_table.find(self.reader, names, with_path=False), trace_table.find(self.reader, names)
        profiles = profiles_of(self.reader, rows, self.settings)
        left_out: list[LeftOut] = []

        def look(name: str) -> ToldOfRun | None:
            times = known[name].times
            if times is None:
                left_out.append(LeftOut(name, "nothing is known of its seconds, as it has no thread times"))
                return None
            self.progress(name)
            size = traces[name].unpacked_bytes or 0
            return self._look(rows[name], size, seconds_of(times), profiles[name], left_out)

        if self.engines is not None:
            with ThreadPoolExecutor(usable_cores()) as pool:
                found = list(pool.map(look, names))
        elif self.read is window_details:
            with Engines(self.settings) as engines:
                return _Looks(self.reader, self.settings, self.read, engines, self.progress).at(names, known)
        else:
            found = [look(name) for name in names]
        told = {name: one for name, one in zip(names, found, strict=True) if one is not None}
        return told, sorted(left_out, key=lambda one: (one.run_id, one.file_name or ""))

    def _look(
        self,
        row: run_table.RunRow,
        unpacked_bytes: int,
        seconds: list[Range],
        profiles: Sequence[ProfileFile],
        left_out: list[LeftOut],
    ) -> ToldOfRun | None:
        read = partial(
            self.read, trace_of(row, self.settings), row.trace_sha256 or "", row.app, seconds, self.settings,
            profiles=profiles,
        )  # fmt: skip
        trace_file = row.trace_file or ""
        files = (trace_file, *(one.name for one in profiles))
        states = {name: state for (_, name), state in states_of([(row, one) for one in files], self.settings).items()}
        try:
            if self.engines is None:
                details = read()
            else:
                with self.engines.room_for(unpacked_bytes):
                    details = read(engines=self.engines)
        except (Rejected, OSError) as error:
            if isinstance(error, Rejected) and error.reason in _NOT_OF_THE_TRACE:
                raise
            left_out.append(LeftOut(row.run_id, str(error), trace_file, states[trace_file]))
            return None
        left_out += [
            LeftOut(row.run_id, one.why, one.name, states[one.name], is_profile=True) for one in details.unread
        ]
        return ToldOfRun(details, seconds)


def _ranked(
    window: Window,
    source: str,
    run_id: str,
    names: Sequence[str],
    known: Mapping[str, Recorded],
    found: Mapping[str, ToldOfRun],
    minimum: int,
) -> Ranking | None:
    """What grew of one source, in a window of a run, beside some runs of its history; None where a profile does not
    tell of the window."""
    times, screens = known[run_id].times, known[run_id].screens
    assert times is not None
    if source in OF_MEMORY:
        return _ranked_growth(window, source, found[run_id], times, [found[name] for name in names], minimum)
    weights = window_weights(window.start_ns, window.end_ns, times.start_ns, times.seconds.shape[1])
    weights = within(weights, found[run_id].covers(source))
    if not weights.any():
        return None
    history: list[Values] = []
    matched_count = 0
    for name in names:
        like, is_matched = matching_weights(weights, screens, known[name].screens)
        covers = found[name].covers(source)
        told = within(like, covers)
        matched_count += is_matched and bool(told.any())
        history.append(found[name].spent(source, told if told.any() else within(np.ones(covers.size), covers)))
    own = found[run_id].spent(source, weights)
    return rank_named(own, history, floor=THREAD_FLOOR_CORES, matched_count=matched_count, minimum=minimum)


def _ranked_growth(
    window: Window, source: str, own: ToldOfRun, times: ThreadTimes, history: Sequence[ToldOfRun], minimum: int
) -> Ranking:
    """What takes more memory by the window's end, beside the same seconds of other runs."""
    first = max((window.start_ns - times.start_ns) // SECOND_NS, 0)
    last = max(-((times.start_ns - window.end_ns) // SECOND_NS), first + 1)
    return rank_named(
        own.grown(source, first, last),
        [one.grown(source, first, last) for one in history],
        floor=MEMORY_FLOOR_BYTES,
        matched_count=sum(one.second_count > first for one in history),
        minimum=minimum,
    )
