"""What a run cost: charge by component and scope, by thread and by step of its path, and the times they are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.power_profile import outside_ratio
from perfreg_assets.methods.power_states import CORE, PARTS, SCOPES, StateTimes
from perfreg_assets.methods.thread_times import REST
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.method_energies import MethodCharge, method_charges, most_of
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.power_series import Drawn, drawn
from perfreg_assets.traces.profile_choice import Chosen, Profiles
from perfreg_assets.traces.rail_series import partly_covered_ns, rails_of, whole_mj
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.slice_uses import NO_SLICES
from perfreg_assets.traces.state_times import SOURCE, TickedCores

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
    bound: what an upper bound was told by, where there is no estimate but the kernel's times in state.
    methods: or why there are none.
    own_profile_sha256: of the power profile in the run's folder, usable or not; None without one.
    rails_partly_ns: see `rail_series.partly_covered_ns`.
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
    bound: Chosen | None = None
    times: tuple[StateTime, ...] = ()
    charges: tuple[Charge, ...] = ()
    threads: tuple[ThreadCharge, ...] = ()
    steps: tuple[StepCharge, ...] = ()
    methods: tuple[MethodCharge, ...] | str = NO_SLICES
    own_profile_sha256: str | None = None
    rails_partly_ns: tuple[int, ...] = ()


NOT_RECORDED = Energies("", 0.0, Reason.SERIES_MISSING.code, "the trace covers no time of the run")


def energies(scope: Scope) -> Energies:
    """What the run of the scope cost, over its grid.

    Raises:
        Rejected: ENGINE_…
    """
    found = every_charge(scope)
    told = at_most(found, scope.profiles, scope.contents.code_name) if found.first_cores is None else found
    return shortened(replace(told, steps=told.steps if scope.screens else ()))


def shortened(found: Energies) -> Energies:
    """As it is stored: those threads and methods that cost most, and the rest."""
    methods = found.methods if isinstance(found.methods, str) else most_of(found.methods)
    return replace(found, threads=_most_threads(found.threads), methods=methods)


def every_charge(scope: Scope) -> Energies:
    """What the time of the scope's grid cost: all threads, methods and steps; what parts of a recording are joined of.
    The time after the last known step counts as one without a name.

    Raises:
        Rejected: ENGINE_…
    """
    found, duration_s = scope.once(drawn), scope.grid.count * scope.grid.interval_s
    common = Energies(
        "", duration_s, None, None, charges=_rail_charges(scope), own_profile_sha256=scope.profiles.own_sha256,
        rails_partly_ns=partly_covered_ns(scope),
    )  # fmt: skip
    if isinstance(found, str):
        return replace(common, reason_code=Reason.SERIES_MISSING.code, reason=found, methods=found)
    told = replace(
        common,
        device=found.device,
        first_cores=found.first_cores,
        has_idle_states=found.cores.has_idle_states,
        late_ratio=found.cores.late_ratio,
        times=_state_times(found.times),
    )
    if found.ma is None or found.chosen is None:
        why = found.missing
        assert why is not None
        return replace(told, reason_code=why.reason.code, reason=str(why), methods=str(why))
    of_segments = found.charges()
    return replace(
        told,
        outside_ratio=_outside_ratio(found),
        chosen=found.chosen,
        charges=(*_core_charges(found.chosen, of_segments, duration_s), *common.charges),
        threads=_thread_charges(scope, found),
        steps=_step_charges(scope, found, of_segments),
        methods=method_charges(scope, found),
    )


def at_most(told: Energies, profiles: Profiles, device: str) -> Energies:
    """With an upper bound from the kernel's times in state, where the run has them: no estimate, no series, no verdict.

    Why there is none, where they cannot be used, is told with why there is no estimate.

    Args:
        device: code name.
    """
    times = profiles.state_times
    if times is None:
        return told
    try:
        ticked = TickedCores(times)
        chosen = profiles.choose(device, ticked)
        charge = ticked.charge_mas(chosen.profile)
    except Rejected as rejected:
        return replace(told, device=device, reason=f"{told.reason}; no upper bound either: {rejected}")
    bound = Charge(CORE, DEVICE, SOURCE, charge, None)
    return replace(told, device=device, first_cores=ticked.first, bound=chosen, charges=(bound, *told.charges))


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
    rails = scope.once(rails_of)
    if isinstance(rails, str):
        return ()
    taken = {name: whole_mj(rail, scope.grid) for name, rail in rails.items()}
    return tuple(Charge(f"rail_{name}", DEVICE, "rail", None, mj) for name, mj in taken.items() if mj is not None)


def _outside_ratio(found: Drawn) -> float:
    assert found.chosen is not None
    busy = found.times.seconds()[..., 0].sum(axis=(0, 2))
    states = found.times.states
    return outside_ratio(found.chosen.profile, states.cluster, states.khz, busy)


def _thread_charges(scope: Scope, found: Drawn) -> tuple[ThreadCharge, ...]:
    """By name of process and thread."""
    assert found.ma is not None
    of_threads = (found.times.thread_seconds() * found.ma).sum(axis=(1, 2))
    who = Names(scope.contents, scope.app).thread
    sums: dict[tuple[bool, str, str], float] = {}
    for utid in np.flatnonzero(of_threads).tolist():
        key = who(utid)
        sums[key] = sums.get(key, 0.0) + float(of_threads[utid])
    return tuple(ThreadCharge(process, thread, is_app, charge) for (is_app, process, thread), charge in sums.items())


def _most_threads(threads: Iterable[ThreadCharge]) -> tuple[ThreadCharge, ...]:
    """Those that cost most by name, and the rest of the app and of all others, so that the sum is whole."""
    sums = {(one.is_app, one.process, one.thread): one.charge_mas for one in threads}
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
