"""What a run cost: charge by component and scope, by thread and by step of its path, and the times they are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.power_states import PARTS, SCOPES, StateTimes
from perfreg_assets.methods.thread_times import REST
from perfreg_assets.reasons import Reason
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.power_series import Drawn, drawn
from perfreg_assets.traces.profile_choice import Chosen
from perfreg_assets.traces.rail_series import rails_of
from perfreg_assets.traces.scope import Scope

BASE, DEVICE = "base", "device"
_MOST_THREADS = 60
_LEAST_SHARE = 1e-4  # of the run's charge: less is told with the rest


@dataclass(frozen=True)
class StateTime:
    """How long cores of a cluster were at a frequency for whom: of themselves, of the cluster, of the processor."""

    cluster: int
    frequency_khz: float
    scope: str
    busy_s: float
    cluster_share_s: float
    active_share_s: float


@dataclass(frozen=True)
class Charge:
    """mA·s of a component; of what rails measured, mJ."""

    component: str
    scope: str
    source: str
    charge_mas: float | None
    energy_mj: float | None


@dataclass(frozen=True)
class ThreadCharge:
    """mA·s of all threads of one name."""

    process: str
    thread: str
    is_app: bool
    charge_mas: float


@dataclass(frozen=True)
class StepCharge:
    """A step of the path, by its place in it: what its screen cost until its action was sent. `screen` "": unknown."""

    step_index: int
    screen: str
    duration_s: float
    app_mas: float
    total_mas: float


@dataclass(frozen=True)
class Energies:
    """Attributes:
    reason_code, reason: why there are no charges of the cores; None where there are.
    times: of every state that cores were in; empty where the trace does not tell.
    charges: of what the profile tells and of what rails measured.
    outside_ratio: share of the busy time at frequencies beyond the profile's tables.
    """

    device: str
    duration_s: float
    reason_code: str | None
    reason: str | None
    first_cores: tuple[int, ...] | None = None
    has_idle_states: bool | None = None
    late_ratio: float | None = None
    outside_ratio: float | None = None
    chosen: Chosen | None = None
    times: tuple[StateTime, ...] = ()
    charges: tuple[Charge, ...] = ()
    threads: tuple[ThreadCharge, ...] = ()
    steps: tuple[StepCharge, ...] = ()


NOT_RECORDED = Energies("", 0.0, Reason.SERIES_MISSING.code, "the trace covers no time of the run")


def energies(scope: Scope) -> Energies:
    """What the run of the scope cost, over its grid.

    Raises:
        Rejected: ENGINE_…
    """
    found, duration_s = scope.once(drawn), scope.grid.count * scope.grid.interval_s
    rails = _rail_charges(scope)
    if isinstance(found, str):
        return Energies("", duration_s, Reason.SERIES_MISSING.code, found, charges=rails)
    times = _state_times(found.times)
    if found.ma is None or found.chosen is None:
        why = found.missing
        assert why is not None
        return Energies(
            found.device,
            duration_s,
            why.reason.code,
            str(why),
            found.first_cores,
            found.cores.has_idle_states,
            found.cores.late_ratio,
            times=times,
            charges=rails,
        )
    of_segments = found.charges()
    return Energies(
        found.device,
        duration_s,
        None,
        None,
        found.first_cores,
        found.cores.has_idle_states,
        found.cores.late_ratio,
        _outside_ratio(found),
        found.chosen,
        times,
        (*_core_charges(found.chosen, of_segments, duration_s), *rails),
        _thread_charges(scope, found),
        _step_charges(scope, found, of_segments),
    )


def _state_times(times: StateTimes) -> tuple[StateTime, ...]:
    seconds = times.seconds().sum(axis=0)
    return tuple(
        StateTime(int(times.states.cluster[state]), float(times.states.khz[state]), name, *map(float, own))
        for state in range(len(times.states))
        for name, own in zip(SCOPES, seconds[state], strict=True)
        if own[0] > 0
    )


def _core_charges(chosen: Chosen, of_segments: Floats, duration_s: float) -> list[Charge]:
    profile = chosen.profile
    totals = of_segments.sum(axis=(0, 1))
    found = [
        Charge(component, name, profile.source, float(totals[scope, part]), None)
        for part, component in enumerate(PARTS)
        for scope, name in enumerate(SCOPES)
    ]
    if profile.base_ma:
        found.append(Charge(BASE, DEVICE, profile.source, sum(profile.base_ma.values()) * duration_s, None))
    return found


def _rail_charges(scope: Scope) -> tuple[Charge, ...]:
    """What each rail took over the grid, of those that were measured all along."""
    rails, grid = scope.once(rails_of), scope.grid
    if isinstance(rails, str) or not grid.count:
        return ()
    found = []
    for name, rail in rails.items():
        energy, covered = rail.energy_mj(grid.borders[[0, -1]])
        if np.isfinite(energy[0]) and covered[0] >= 1 - grid.interval_s / (grid.count * grid.interval_s):
            found.append(Charge(f"rail_{name}", DEVICE, "rail", None, float(energy[0])))
    return tuple(found)


def _outside_ratio(found: Drawn) -> float:
    assert found.chosen is not None
    busy = found.times.seconds()[..., 0].sum(axis=(0, 2))
    tables = [found.chosen.profile.cluster(number).khz for number in found.times.states.cluster.tolist()]
    is_outside = [
        table is None or not table[0] <= khz <= table[-1]
        for table, khz in zip(tables, found.times.states.khz, strict=True)
    ]
    return float(busy[is_outside].sum() / busy.sum()) if busy.sum() > 0 else 0.0


def _thread_charges(scope: Scope, found: Drawn) -> tuple[ThreadCharge, ...]:
    """The threads that cost most by name, and the rest of the app and of all others, so that the sum is whole."""
    assert found.ma is not None
    of_threads = (found.times.thread_seconds() * found.ma).sum(axis=(1, 2))
    who = Names(scope.contents, scope.app).thread
    sums: dict[tuple[bool, str, str], float] = {}
    for utid in np.flatnonzero(of_threads).tolist():
        key = who(utid)
        sums[key] = sums.get(key, 0.0) + float(of_threads[utid])
    total = sum(sums.values())
    ranked = sorted(sums, key=lambda key: (-sums[key], key))
    kept = [key for key in ranked if sums[key] >= _LEAST_SHARE * total]
    chosen = {*kept[:_MOST_THREADS], *[key for key in kept if key[0]][:_MOST_THREADS]}
    rests: dict[tuple[bool, str, str], float] = {}
    for key in ranked:
        is_app, process, _ = key
        to = key if key in chosen else (is_app, process if is_app else REST, REST)
        rests[to] = rests.get(to, 0.0) + sums[key]
    return tuple(
        ThreadCharge(process, thread, is_app, charge)
        for (is_app, process, thread), charge in sorted(rests.items(), key=lambda row: (-row[1], row[0]))
    )


def _step_charges(scope: Scope, found: Drawn, of_segments: Floats) -> tuple[StepCharge, ...]:
    grid, names = scope.grid, [name for _, name in scope.screens]
    if not names:
        return ()
    count = len(names) + 1  # the last one is what no screen is known of
    steps = np.where(found.steps < 0, len(names), found.steps)
    scopes = of_segments.sum(axis=(1, 3))
    until = np.array([grid.start_ns, *(ts for ts, _ in scope.screens), grid.end_ns], np.int64)
    lengths = np.diff(np.clip(until, grid.start_ns, grid.end_ns)) / 1e9
    app = np.bincount(steps, scopes[:, 0], count)
    total = np.bincount(steps, scopes.sum(axis=1), count)
    return tuple(
        StepCharge(index, name, float(lengths[index]), float(app[index]), float(total[index]))
        for index, name in enumerate([*names, ""])
        if lengths[index] > 0
    )
