"""What a run cost, beside its history: by the profile that is stored with it, or by another one put on its times."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfreg_assets.methods.power_profile import (
    FIT_MINIMUM,
    MAS_PER_MAH,
    PowerProfile,
    fit_ratio,
    layout,
    outside_ratio,
)
from perfreg_assets.methods.power_states import PARTS, SCOPES, States, levels
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.profile_choice import SETTING, WAREHOUSE
from perfreg_assets.warehouse import energies as table
from perfreg_assets.warehouse import power_calibrations
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.power_calibrations import CalibrationRow

POWER = "power_"
"""What the names of all series of power begin with."""
_RAIL, _CPU_RAIL = "power_rail_", "power_rail_cpu"
_ORDER = {name: place for place, name in enumerate((*PARTS, "base"))}


@dataclass(frozen=True)
class Cost:
    """What a component took in a run. `share`: of all that the cores took, None of what is no part of that.
    `change_ratio`: of the charge per hour to the median of the history's runs of the same profile."""

    component: str
    scope: str
    source: str
    charge_mah: float
    energy_mj: float
    share: float | None
    change_ratio: float | None


@dataclass(frozen=True)
class Fit:
    """How another profile fits what the run's cores did, as marts.energies_at says it.

    Attributes:
        fit_ratio: share of the busy time at frequencies that its tables have.
        outside_ratio: share of it beyond its tables.
    """

    fit_ratio: float
    outside_ratio: float

    @property
    def is_foreign(self) -> bool:
        return self.fit_ratio < FIT_MINIMUM


@dataclass(frozen=True)
class PartlyMeasured:
    """A rail without a figure of the whole run: its counter started late, ended early, or fell.

    Attributes:
        known_count, interval_count: intervals of the grid in which it was measured, and all of them.
        mean_mw: of those in which it was.
    """

    component: str
    known_count: int
    interval_count: int
    mean_mw: float


@dataclass(frozen=True)
class Report:
    """Attributes:
    state: by what it was estimated, or why it was not.
    costs: empty where nothing is known.
    fit: of another profile; None by the run's own, and where no times are known that one could be put on.
    series: name → mean, highest value and unit of the power series that the run has; by another profile of those that
        the device measured.
    partly_measured: rails that have no row in `costs`, and how much of them is known.
    whole: the run beside its history, a row of marts.energy_by_run; None by another profile.
    threads, screens, methods: rows of the marts, those that cost most first; none by another profile.
    accuracy: a row of marts.energy_accuracy where the device measured its cores.
    calibration: how estimates of the device are brought to its rails; None where it is not calibrated.
    """

    state: table.EnergyRunRow
    costs: tuple[Cost, ...]
    fit: Fit | None
    series: dict[str, dict[str, Any]]
    partly_measured: tuple[PartlyMeasured, ...]
    whole: dict[str, Any] | None
    threads: tuple[dict[str, Any], ...]
    screens: tuple[dict[str, Any], ...]
    methods: tuple[dict[str, Any], ...]
    accuracy: dict[str, Any] | None
    calibration: CalibrationRow | None

    @property
    def estimated_mj(self) -> float:
        """Of the cores, for everybody."""
        return sum(one.energy_mj for one in self.costs if _is_of_cores(one))

    @property
    def calibrated_mj(self) -> float | None:
        """The same, brought to the rails of the device; None where it is not calibrated."""
        fitted = self.calibration
        if fitted is None:
            return None
        return fitted.scale_ratio * self.estimated_mj + fitted.floor_mw * self.state.duration_s


def report(reader: Reader, run_id: str, profile: PowerProfile | None = None) -> Report:
    """What a run cost.

    Args:
        profile: another one than that of the run.

    Raises:
        Rejected: PROFILE_MISFIT; DATA_MISSING.
        ValueError: the trace was not read for energies: not yet, or as it is not whole, or as the run is quarantined.
    """
    state = table.find(reader, [run_id]).get(run_id)
    if state is None:
        for _, reason in run_table.quarantined(reader, [run_id]).values():
            raise ValueError(f"{run_id} is quarantined: {reason}")
        trace = trace_table.find(reader, [run_id]).get(run_id)
        if trace is not None and not trace.is_complete:
            raise ValueError(f"{run_id} is incomplete_trace: {trace.reason}")
        raise ValueError(f"{run_id}: no trace was read for what it cost; `perfreg status` says what is due")
    is_stored = profile is None
    stored = table.charges_of(reader, run_id)
    rows, fit = stored, None
    if profile is not None:
        rows, fit = _of_another(reader, state, profile)
        rows += [row for row in stored if not row.is_estimated]
    whole = sum(row.charge_mah for row in rows if _is_of_cores(row))
    before = table.usual(reader, state) if is_stored else {}
    costs = [
        Cost(
            row.component,
            row.scope,
            row.energy_source,
            row.charge_mah,
            row.energy_mj,
            row.charge_mah / whole if _is_of_cores(row) and whole > 0 else None,
            _change(row, state.duration_s, before),
        )
        for row in rows
    ]
    series, partly_measured = _series(reader, run_id, {row.component for row in stored})
    if profile is not None:  # the others were estimated by the run's own, second by second
        series = {name: told for name, told in series.items() if name.startswith(_RAIL)}
    scopes = (*SCOPES, "device")
    costs.sort(key=lambda one: (_ORDER.get(one.component, len(_ORDER)), one.component, scopes.index(one.scope)))
    return Report(
        state,
        tuple(costs),
        fit,
        series,
        partly_measured,
        table.whole(reader, run_id) if is_stored else None,
        tuple(table.threads(reader, run_id)) if is_stored else (),
        tuple(table.screens(reader, run_id)) if is_stored else (),
        tuple(table.methods(reader, run_id)) if is_stored else (),
        table.accuracy(reader, run_id) if is_stored else None,
        power_calibrations.find(reader, state.device_name, state.profile_id) if is_stored else None,
    )


def _is_of_cores(one: Cost | table.EnergyRow) -> bool:
    """Whether it is a part of what the cores took; an upper bound is none."""
    return one.component in PARTS and one.scope in SCOPES


def _of_another(
    reader: Reader, state: table.EnergyRunRow, profile: PowerProfile
) -> tuple[list[table.EnergyRow], Fit | None]:
    """By a profile that is not the run's, from its times in state; nothing where the run has none."""
    times = table.times_of(reader, state.run_id)
    if not times:
        return [], None
    seen = state.first_cores or ()
    if layout(profile, (), seen) != seen:
        raise Rejected(
            Reason.PROFILE_MISFIT,
            f"the profile's clusters begin at the cores {profile.first_cores}, those of {state.run_id} at {seen}"
            f"{_counted_by(state)}",
        )
    if not profile.has_frequencies:
        raise Rejected(Reason.PROFILE_MISFIT, "the profile has steps without frequencies")
    states = States(np.array([one.cluster for one in times], np.int64), np.array([one.frequency_khz for one in times]))
    spent = np.array([[one.busy_s, one.cluster_share_s, one.active_share_s] for one in times]).reshape(-1, 3)
    charges = spent * levels(profile, states)
    found = []
    for part, component in enumerate(PARTS):
        for scope in SCOPES:
            own = [place for place, one in enumerate(times) if one.scope == scope]
            found.append(_row(state, component, scope, profile, float(charges[own, part].sum())))
    if profile.base_ma:
        found.append(_row(state, "base", "device", profile, sum(profile.base_ma.values()) * state.duration_s))
    busy = (states.cluster, states.khz, spent[:, 0])
    return found, Fit(fit_ratio(profile, *busy), outside_ratio(profile, *busy))


def _counted_by(state: table.EnergyRunRow) -> str:
    """By which clusters a run's times in state were counted, and what to do where that was a mistake."""
    if state.profile_id is None:
        return ", as its trace or what is known of its device shows them"
    told = f", by {state.profile_name} ({state.profile_origin}), which its trace was read with"
    if state.profile_origin == WAREHOUSE:
        return f"{told}; if that is the wrong one, `perfreg profiles remove {state.device_name}` has it read again"
    if state.profile_origin == SETTING:
        return f"{told}; if that is the wrong one, another setting `power_profile` has it read again"
    return told


def _row(
    state: table.EnergyRunRow, component: str, scope: str, profile: PowerProfile, charge_mas: float
) -> table.EnergyRow:
    return table.EnergyRow(
        run_id=state.run_id,
        component=component,
        scope=scope,
        energy_source=profile.source,
        charge_mah=charge_mas / MAS_PER_MAH,
        energy_mj=charge_mas * state.nominal_voltage_v,
        is_estimated=True,
        profile_id=profile.profile_id,
    )


def _change(row: table.EnergyRow, duration_s: float, before: dict[tuple[str, str, str], float]) -> float | None:
    usual = before.get((row.component, row.scope, row.energy_source))
    if not usual or duration_s <= 0:
        return None
    return row.charge_mah * 3600 / duration_s / usual - 1


def _series(
    reader: Reader, run_id: str, components: Collection[str]
) -> tuple[dict[str, dict[str, Any]], tuple[PartlyMeasured, ...]]:
    """What the power series of a run say, and the rails that have no component of the run."""
    found: dict[str, dict[str, Any]] = {}
    partly: list[PartlyMeasured] = []
    for (_, name), row in sorted(series_table.find(reader, [run_id]).items()):
        if not name.startswith(POWER) or row.values is None:
            continue
        known = row.values[np.isfinite(row.values)]
        if not known.size:
            continue
        found[name] = {"unit": row.unit, "mean": float(known.mean()), "highest": float(known.max())}
        component = name.removeprefix(POWER)
        if name.startswith(_RAIL) and name != _CPU_RAIL and component not in components:
            partly.append(PartlyMeasured(component, known.size, row.values.size, float(known.mean())))
    return found, tuple(partly)
