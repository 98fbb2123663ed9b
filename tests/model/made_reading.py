"""What reads a made-up trace in the engine's place: the same for a run of the warehouse and for a worker."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from made_folders import SECOND_NS, TRACE
from made_power_profiles import STATES, Cores
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
from synthetic import APP, SAMPLES, SERIES, threads, values

from perfreg_assets.methods.power_states import PARTS, SCOPES, levels
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.energies import NOT_RECORDED, Charge, Energies, StateTime, StepCharge, ThreadCharge
from perfreg_assets.traces.gate import TraceHealth
from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.inspection import Inspection
from perfreg_assets.traces.measurement import measured
from perfreg_assets.traces.power_series import APP as POWER_APP
from perfreg_assets.traces.power_series import TOTAL
from perfreg_assets.traces.profile_choice import Profiles

UNREADABLE: set[str] = set()
"""What is in the traces that the engine does not get through just now."""


def inspect_made(
    path: Path, *, exploration: tuple[int, int] | None, settings: Settings, profiles: Profiles, **_: Any
) -> Inspection:
    """As `traces.inspection.inspect_trace`, of a trace of `made_folders`."""
    if not path.is_file():
        return Inspection(TraceHealth(False, Reason.TRACE_FILE_MISSING, TRACE), [], [])
    trace = proto.Trace()
    trace.ParseFromString(path.read_bytes())
    told = json.loads(trace.packet[0].for_testing.str)
    if told["is_damaged"]:
        return Inspection(TraceHealth(False, Reason.TRACE_CORRUPT, "a packet"), [], [])
    if told["content"] in UNREADABLE:
        return Inspection(TraceHealth(False, Reason.ENGINE_TIMEOUT, "an engine"), [], [])
    health = TraceHealth(
        True, None, "", start_ns=told["clock_ns"], end_ns=told["clock_ns"] + SAMPLES * SECOND_NS,
        duration_s=float(SAMPLES), packet_count=len(trace.packet),
    )  # fmt: skip
    start_ns, end_ns = exploration or (0, 0)
    if end_ns - start_ns > (1 + settings.duration_tolerance_ratio) * SAMPLES * SECOND_NS:
        return Inspection(replace(health, is_complete=False, reason=Reason.TRACE_TOO_SHORT), [], [])
    step = round(settings.interval_s)
    series = [
        Series(
            name, unit, settings.interval_s, told["clock_ns"],
            told["scale"] * values(told["content"], name, extra=told["extra"].get(name, 0.0))[::step],
        )
        for name, unit in SERIES.items()
    ]  # fmt: skip
    series = [
        one.without_values(Reason.SERIES_MISSING, "not recorded") if one.name == told["lacks"] else one
        for one in series
    ]
    energies, power = _drawn(told, settings, profiles)
    mean = float(values(told["content"], "cpu_app", extra=0.0).mean())
    startup = measured("startup_initial_display_cold", told["scale"] * 900 * mean, {})
    ran = replace(threads(told["content"]), start_ns=told["clock_ns"])
    return Inspection(health, [*series, *power], [startup], ran, energies=energies)


def _drawn(told: dict[str, Any], settings: Settings, profiles: Profiles) -> tuple[Energies, list[Series]]:
    """What the run cost by the profile that is chosen of these, and its series of power."""
    blank = {name: Series(name, "mW", settings.interval_s, told["clock_ns"], None) for name in (POWER_APP, TOTAL)}
    common = replace(
        NOT_RECORDED, device=told["device"], duration_s=float(SAMPLES), first_cores=Cores.seen_clusters,
        has_idle_states=True, late_ratio=0.0, own_profile_sha256=profiles.own_sha256, methods=(),
    )  # fmt: skip
    seconds = _seconds(told["content"])
    times = tuple(
        StateTime(0, float(STATES.khz[state]), name, *map(float, seconds[state, scope]))
        for state in range(len(STATES))
        for scope, name in enumerate(SCOPES)
    )
    try:
        chosen = profiles.choose(told["device"], Cores())
    except Rejected as rejected:
        missing = [one.without_values(rejected.reason, str(rejected)) for one in blank.values()]
        code, why = rejected.reason.code, str(rejected)
        return replace(common, times=times, reason_code=code, reason=why, methods=why), missing
    charges = (seconds * levels(chosen.profile, STATES)[:, None, :]).sum(axis=0)
    app, total = float(charges[0].sum()), float(charges.sum())
    energies = replace(
        common, times=times, reason_code=None, reason=None, chosen=chosen, outside_ratio=0.0,
        charges=tuple(
            Charge(part, scope, chosen.profile.source, float(charges[row, column]), None)
            for row, scope in enumerate(SCOPES)
            for column, part in enumerate(PARTS)
        ),
        threads=(ThreadCharge(APP, "main", True, app), ThreadCharge("*", "*", False, total - app)),
        steps=(StepCharge(0, "s0", float(SAMPLES), app, total),),
    )  # fmt: skip
    step = round(settings.interval_s)
    scale = told["scale"] * profiles.nominal_voltage_v / SAMPLES
    series = [
        replace(blank[name], values=scale * charge * (1 + values(told["content"], name, extra=0.0)[::step]))
        for name, charge in ((POWER_APP, app), (TOTAL, total))
    ]
    if chosen.is_unconfirmed:
        series = [one.not_judged(Reason.PROFILE_UNCONFIRMED, chosen.doubt or "") for one in series]
    return energies, series


def _seconds(content: str) -> np.ndarray:
    """(states, scopes, parts) of some run: follows from what is in its trace."""
    seed = int.from_bytes(hashlib.sha256(f"{content} seconds".encode()).digest()[:4])
    return np.random.default_rng(seed).integers(1, 1000, size=(len(STATES), len(SCOPES), len(PARTS))) / 100
