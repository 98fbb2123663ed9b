"""Gate, series, thread times, energies and measurements of one trace with one start of the engine.

Two starts, if 4 GiB are too little for it.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.energies import NOT_RECORDED, Energies, energies
from perfreg_assets.traces.engine import TraceSession, start_engine
from perfreg_assets.traces.engines import Engines, wants_wide
from perfreg_assets.traces.gate import FileFacts, TraceHealth, check_facts, check_file, check_trace
from perfreg_assets.traces.grid import Grid, Series
from perfreg_assets.traces.joined_costs import PartCosts, part_costs
from perfreg_assets.traces.measurement import Measurement
from perfreg_assets.traces.power_series import TOTAL
from perfreg_assets.traces.profile_choice import Profiles
from perfreg_assets.traces.scope import Scope, Screens
from perfreg_assets.traces.series import series_of
from perfreg_assets.traces.slice_uses import NO_SLICES, slice_uses
from perfreg_assets.traces.startup import startup_times
from perfreg_assets.traces.thread_times import NoThreadTimes, thread_times
from perfreg_assets.traces.trace_file import SmallTrace, unpacked_chunks

_SMALL_BYTES = 16 << 20  # unpacked; kept from checking to loading, for every trace that is read at the same time


class Inspection(NamedTuple):
    """What one look at a trace gives; only `health` where it is not complete. `slices`: or why there are none. `costs`:
    of a part of a recording in place of `slices` and `energies`."""

    health: TraceHealth
    series: list[Series]
    measurements: list[Measurement]
    threads: ThreadTimes | NoThreadTimes | None = None
    slices: SliceUses | str = NO_SLICES
    energies: Energies = NOT_RECORDED
    costs: PartCosts | None = None


def inspect_trace(
    path: Path,
    *,
    app: str,
    exploration: tuple[int, int] | None,
    time_limit_s: float,
    settings: Settings,
    expected_bytes: int | None = None,
    expected_sha256: str | None = None,
    known: FileFacts | None = None,
    engines: Engines | None = None,
    screens: Screens = (),
    profiles: Profiles | None = None,
    is_part: bool = False,
    told_from_ns: int | None = None,
) -> Inspection:
    """What the trace is worth, and its series, thread times and measurements if it is complete.

    Whatever is wrong with the trace ends in `TraceHealth.reason`, never in an exception. Where something else ended the
    engine, which says nothing of the trace, it is read once more.
    `TraceHealth.seconds`: `file` (reading and checking the bytes), `engine` (start, load and queries: time spent
    waiting for it), `series` (everything else: splitting and summing).

    Args:
        exploration: (start_ns, end_ns) in trace time; None if run.json does not say, then the recorded span counts.
        expected_bytes, expected_sha256: from run.json, if stated there.
        known: what `check_file` found in this file before; if it has not changed since, it is not read again for that.
        engines: of the batch that the trace belongs to; without, one is started for it.
        screens: what the app showed when, see `Screens`.
        profiles: power profiles to choose from; without, what the cores drew is not known.
        is_part: more of the recording follows, which will be joined with this.
        told_from_ns: see `Scope`.

    Raises:
        Rejected: ENGINE_UNAVAILABLE only, which is this machine's fault and not the trace's.
    """
    begin = time.perf_counter()
    facts: FileFacts | None = None
    small = SmallTrace(_SMALL_BYTES)
    try:
        if known is not None and known.still_hold(path):
            facts = known
            check_facts(facts, expected_bytes=expected_bytes, expected_sha256=expected_sha256)
        else:
            facts = check_file(
                path,
                expected_bytes=expected_bytes,
                expected_sha256=expected_sha256,
                settings=settings,
                on_chunk=small.add,
            )
    except Rejected as error:
        health = _incomplete(error, None, facts, None)
        return Inspection(replace(health, seconds=_seconds(begin, time.perf_counter() - begin, 0.0)), [], [])
    file_s = time.perf_counter() - begin
    look = partial(
        _look_inside,
        path,
        small.take(),
        facts,
        app=app,
        exploration=exploration,
        time_limit_s=time_limit_s,
        settings=settings,
        screens=screens,
        profiles=profiles or Profiles(),
        is_part=is_part,
        told_from_ns=told_from_ns,
    )
    with engines.room_for(facts.unpacked_bytes) if engines else nullcontext():
        begin = time.perf_counter() - file_s  # the wait for others is nobody's work
        is_wide = wants_wide(facts.unpacked_bytes)
        found, engine_s, lacks_addresses = look(engines, is_wide=is_wide)
        if found.health.reason is Reason.ENGINE_KILLED:
            found, again_s, lacks_addresses = look(engines, is_wide=is_wide)
            engine_s += again_s
        if lacks_addresses:
            found, again_s, _ = look(engines, is_wide=True)
            engine_s += again_s
    return found._replace(health=replace(found.health, seconds=_seconds(begin, file_s, engine_s)))


def _seconds(begin: float, file_s: float, engine_s: float) -> dict[str, float]:
    return {"file": file_s, "engine": engine_s, "series": time.perf_counter() - begin - file_s - engine_s}


def _look_inside(
    path: Path,
    content: bytes | None,
    facts: FileFacts,
    engines: Engines | None,
    *,
    app: str,
    exploration: tuple[int, int] | None,
    time_limit_s: float,
    settings: Settings,
    screens: Screens,
    profiles: Profiles,
    is_part: bool,
    told_from_ns: int | None,
    is_wide: bool,
) -> tuple[Inspection, float, bool]:
    """With one engine: what it gives, the seconds spent waiting for it, and whether a wide one may do better."""
    health: TraceHealth | None = None
    lacks_addresses = False
    session: TraceSession | None = None
    try:
        session = start_engine(settings, engines, is_wide=is_wide)
        session.load([content] if content is not None else unpacked_chunks(path, settings.trace_max_bytes))
        contents = load_contents(session)
        health = check_trace(
            session,
            facts,
            app=app,
            exploration=exploration,
            time_limit_s=time_limit_s,
            settings=settings,
            contents=contents,
        )
        found = Inspection(health, [], [], energies=replace(NOT_RECORDED, own_profile_sha256=profiles.own_sha256))
        if health.is_complete and health.window_ns is not None:
            start_ns, end_ns = health.window_ns
            grid = Grid.covering(start_ns, end_ns, settings.interval_s)
            scope = Scope(session, contents, grid, app, profiles, screens, told_from_ns)
            series = series_of(scope, health.losses)
            threads = _threads(scope, series)
            # A collection launches the app before the exploration begins, so that part of the recording counts too.
            measurements = startup_times(
                session,
                app=app,
                start_ns=min(contents.start_ns, start_ns),
                end_ns=end_ns,
                has_slices=contents.has_slices,
            )
            found = Inspection(health, series, measurements, threads)
            if is_part:
                found = found._replace(costs=_part_costs(scope, series))
            else:
                found = found._replace(slices=slice_uses(scope, screens), energies=_energies(scope, series))
    except Rejected as error:
        if error.reason is Reason.ENGINE_UNAVAILABLE:
            raise
        lacks_addresses = session is not None and session.lacks_addresses(error)
        found = Inspection(_incomplete(error, health, facts, session), [], [])
    finally:
        if session is not None:
            session.close()
    return found, 0.0 if session is None else session.engine_seconds, lacks_addresses


def _threads(scope: Scope, series: list[Series]) -> ThreadTimes | NoThreadTimes:
    """Of the same slices as `cpu_total`, and missing where that is."""
    (total,) = (one for one in series if one.name == "cpu_total")
    if total.values is None:
        return NoThreadTimes(str(total.reason_code), str(total.missing_reason))
    return thread_times(scope)


def _energies(scope: Scope, series: list[Series]) -> Energies:
    """Of the same times as `power_cpu_total`; nothing of what a loss took from that."""
    return _unless_spoilt(energies(scope), series)


def _part_costs(scope: Scope, series: list[Series]) -> PartCosts:
    found = part_costs(scope)
    return replace(found, energies=_unless_spoilt(found.energies, series))


def _unless_spoilt(found: Energies, series: list[Series]) -> Energies:
    (total,) = (one for one in series if one.name == TOTAL)
    if total.reason_code != Reason.SERIES_SPOILT.code:
        return found
    return replace(
        NOT_RECORDED,
        device=found.device,
        duration_s=found.duration_s,
        reason_code=total.reason_code,
        reason=total.missing_reason,
        methods=str(total.missing_reason),
        own_profile_sha256=found.own_profile_sha256,
    )


def _incomplete(
    error: Rejected, health: TraceHealth | None, facts: FileFacts | None, session: TraceSession | None
) -> TraceHealth:
    """As much as was found out before the failure."""
    known = health or TraceHealth(is_complete=False, reason=error.reason, detail=error.detail)
    if facts is not None:
        known = replace(
            known,
            file_bytes=facts.file_bytes,
            sha256=facts.sha256,
            content_sha256=facts.content_sha256,
            unpacked_bytes=facts.unpacked_bytes,
            packet_count=facts.packet_count,
        )
    if session is not None:
        known = replace(known, engine=session.kind, engine_version=session.version)
    return replace(known, is_complete=False, reason=error.reason, detail=error.detail)
