"""Series of a recording of hours: read part by part while it is made, before anything of it is dropped, and joined.

What is joined is all that a trace tells of a run: series, thread times, times of starts, energies and sums of slices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.gate import TraceHealth
from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.inspection import Inspection, inspect_trace
from perfreg_assets.traces.joined_costs import PROFILES_DIFFER, JoinedCosts
from perfreg_assets.traces.measurement import Measurement
from perfreg_assets.traces.profile_choice import Profiles
from perfreg_assets.traces.scope import Screens
from perfreg_assets.traces.thread_times import NoThreadTimes

MARGIN_NS = 1_000_000_000
"""So much before a part's begin is there as well (`watching`)."""
PART_S = 120.0
"""So much is read at once: 40 MB at the default data sources."""
_OF_CORES = "power_cpu_"

Span = tuple[int, int]


@dataclass(frozen=True)
class _Part:
    span: Span
    found: Inspection


class PartReader:
    """Reads the exploration's part of a recording, each second once."""

    def __init__(
        self, app: str, settings: Settings, *, part_s: float = PART_S, profiles: Callable[[], Profiles] = Profiles
    ) -> None:
        """
        Args:
            profiles: power profiles to choose from, asked for with each part.
        """
        self._app, self._settings, self._profiles = app, settings, profiles
        self._costs = JoinedCosts()
        self._screens: Callable[[], Screens] = tuple
        self._interval_ns = round(settings.interval_s * 1e9)
        self._part_ns = round(part_s * 1e9)
        self._next: int | None = None
        self._end: int | None = None
        self._parts: list[_Part] = []

    def explore_from(self, start_ns: int) -> None:
        """When the exploration began, on the trace's clock: the grid begins there."""
        self._next = start_ns

    def explore_until(self, end_ns: int) -> None:
        """When it ended."""
        self._end = end_ns

    def explore_steps(self, screens: Callable[[], Screens]) -> None:
        """Tells until when which screen was shown, of all steps that are known by then: asked with each part."""
        self._screens = screens

    @property
    def needed_from_ns(self) -> int:
        """What the recording holds from there on was not read yet; the app's start counts, which lies before."""
        return self._next if self._next is not None and self._parts else 0

    def read(self, path: Path, settled_ns: int, *, is_last: bool = False) -> None:
        """Reads what is new in a trace file.

        Args:
            settled_ns: up to there the file holds all that was recorded.
            is_last: nothing will come any more.
        """
        if self._next is None:
            return
        limit = min(settled_ns, self._end) if self._end is not None else settled_ns
        count = max(0, limit - self._next) // self._interval_ns
        if count == 0 or (count * self._interval_ns < self._part_ns and not is_last):
            return
        span = self._next, self._next + count * self._interval_ns
        screens = self._screens()
        try:
            found = inspect_trace(
                path, app=self._app, exploration=span, time_limit_s=(span[1] - span[0]) / 1e9, settings=self._settings,
                screens=screens, profiles=self._profiles(), is_part=True,
                told_from_ns=span[0] - MARGIN_NS if self._parts else None,
            )  # fmt: skip
        except Rejected as error:  # no engine on this machine: the recording goes on, and the run says it
            found = Inspection(TraceHealth(is_complete=False, reason=error.reason, detail=error.detail), [], [])
        found = _unless_short(found, span, count)
        if found.costs is not None:
            self._costs.add(found.costs, screens)
        self._parts.append(_Part(span, found._replace(costs=None)))
        self._next = span[1]

    def joined(
        self, unseen: Sequence[Span], *, file_bytes: int, sha256: str, screens: Screens = (),
        profiles: Profiles | None = None,
    ) -> Inspection:  # fmt: skip
        """What was read, as of one trace.

        Args:
            unseen: [start, end) that were not recorded.
            file_bytes, sha256: of the recording.
            screens, profiles: of the run, see `inspect_trace`.
        """
        found = [part.found for part in self._parts]
        health = self._health(unseen)
        health = replace(health, file_bytes=file_bytes, sha256=sha256, unpacked_bytes=file_bytes)
        if not health.is_complete:
            return Inspection(health, [], [])
        energies = self._costs.energies(screens, profiles or Profiles())
        series = _series(found)
        if energies.reason == PROFILES_DIFFER:
            reason = Reason.SERIES_MISSING
            series = [one.without_values(reason, PROFILES_DIFFER) if _is_of_cores(one) else one for one in series]
        threads = _threads([one.threads for one in found])
        return Inspection(health, series, _measurements(found), threads, self._costs.slices(screens), energies)

    def _health(self, unseen: Sequence[Span]) -> TraceHealth:
        if not self._parts:
            return TraceHealth(False, Reason.TRACE_TOO_SHORT, "nothing of the exploration was recorded")
        healths = [part.found.health for part in self._parts]
        first, last = self._parts[0].span[0], self._parts[-1].span[1]
        bad = next((part for part in self._parts if not part.found.health.is_complete), None)
        reason, detail = None, ""
        missed = [span for span in unseen if span[0] < last and span[1] > first]
        if bad is not None:
            reason = bad.found.health.reason
            detail = f"{bad.found.health.detail} ({(bad.span[0] - first) / 1e9:.0f} s after the exploration's begin)"
        elif missed:
            reason = Reason.TRACE_DATA_LOSS
            detail = f"{sum(end - begin for begin, end in missed) / 1e9:.1f} s were not recorded"
        return replace(
            healths[-1],
            is_complete=reason is None,
            reason=reason,
            detail=detail,
            start_ns=min((one.start_ns for one in healths if one.start_ns is not None), default=None),
            duration_s=(last - first) / 1e9,
            packet_count=None,  # parts overlap
            data_sources=tuple(sorted({source for one in healths for source in one.data_sources})),
            process_count=max((one.process_count or 0 for one in healths), default=0),
            app_processes=tuple(sorted({name for one in healths for name in one.app_processes})),
            window_ns=(first, last),
            seconds=_sums([one.seconds for one in healths]),
        )


def _unless_short(found: Inspection, span: Span, count: int) -> Inspection:
    """The same, but incomplete where the file does not hold all of the span: what follows would be at wrong times."""
    if not found.health.is_complete or all(one.values is None or len(one.values) == count for one in found.series):
        return found
    window = found.health.window_ns or (0, 0)
    held_s = max(0, min(window[1], span[1]) - max(window[0], span[0])) / 1e9
    detail = f"of {(span[1] - span[0]) / 1e9:.1f} s {held_s:.1f} s were recorded"
    return Inspection(replace(found.health, is_complete=False, reason=Reason.TRACE_DATA_LOSS, detail=detail), [], [])


def _series(found: Sequence[Inspection]) -> list[Series]:
    """Each series of every part, one behind the other; missing where a part lacks it."""
    by_name: dict[str, list[Series]] = {}
    for one in found:
        for series in one.series:
            by_name.setdefault(series.name, []).append(series)
    joined = []
    for name, parts in by_name.items():
        first, lacking = parts[0], next((one for one in parts if one.values is None), None)
        if lacking is not None:
            joined.append(replace(lacking, start_ns=found[0].series[0].start_ns))
        elif len(parts) < len(found):
            detail = f"{name} is in {len(parts)} of {len(found)} parts of the recording"
            joined.append(replace(first.without_values(Reason.SERIES_MISSING, detail)))
        else:
            values = np.concatenate([one.values for one in parts if one.values is not None])
            joined.append(replace(first, values=values))
    return joined


def _is_of_cores(series: Series) -> bool:
    return series.name.startswith(_OF_CORES) and series.values is not None


def _threads(found: Sequence[ThreadTimes | NoThreadTimes | None]) -> ThreadTimes | NoThreadTimes | None:
    """All entities of any part; nothing where one has none."""
    known = [one for one in found if isinstance(one, ThreadTimes)]
    if len(known) < len(found):
        return next(one for one in found if not isinstance(one, ThreadTimes))
    total = sum(one.seconds.shape[1] for one in known)
    rows: dict[tuple[str, str, str, bool], np.ndarray] = {}
    begin = 0
    for one in known:
        count = one.seconds.shape[1]
        entities = zip(one.process, one.thread, one.state, one.is_app.tolist(), strict=True)
        for number, entity in enumerate(entities):
            rows.setdefault(entity, np.zeros(total))[begin : begin + count] += one.seconds[number]
        begin += count
    recorded = set.intersection(*(set(one.recorded) for one in known))
    return ThreadTimes(
        start_ns=known[0].start_ns,
        process=tuple(key[0] for key in rows),
        thread=tuple(key[1] for key in rows),
        state=tuple(key[2] for key in rows),
        is_app=np.array([key[3] for key in rows], dtype=bool),
        seconds=np.array(list(rows.values())).reshape(len(rows), total),
        recorded=tuple(state for state in known[0].recorded if state in recorded),
    )


def _measurements(found: Sequence[Inspection]) -> list[Measurement]:
    """Median over the starts of the app in all parts, which overlap; where there are none, why, by the first part."""
    joined = []
    for number, one in enumerate(found[0].measurements):
        same = [part.measurements[number] for part in found if part.measurements]
        measured = [other for other in same if other.value is not None]
        launches = {launch["ts_ns"]: launch for other in measured for launch in other.provenance["launches"]}
        if not launches:
            joined.append(one)
            continue
        shown = [launches[at] for at in sorted(launches)]
        value = float(np.median([launch["seconds"] for launch in shown]))
        joined.append(replace(measured[0], value=value, provenance={**measured[0].provenance, "launches": shown}))
    return joined


def _sums(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = {name for one in parts for name in one}
    return {name: sum(one.get(name, 0.0) for one in parts) for name in sorted(names)}
