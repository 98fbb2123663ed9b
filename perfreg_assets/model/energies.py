"""What a run cost, beside its history: by the profile that is stored with it, or by another one put on its times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from perfreg_assets.methods.power_profile import PowerProfile, layout
from perfreg_assets.methods.power_states import PARTS, SCOPES, States, levels
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import energies as table
from perfreg_assets.warehouse import power_calibrations
from perfreg_assets.warehouse.connection import Reader

_MAS_PER_MAH = 3600.0
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
class Report:
    """Attributes:
    state: by what it was estimated, or why it was not.
    costs: empty where nothing is known.
    series: name → mean, highest value and unit of the power series that the run has.
    whole: the run beside its history, a row of marts.energy_by_run; None by another profile.
    threads, screens: rows of the marts, those that cost most first; none by another profile.
    accuracy: a row of marts.energy_accuracy where the device measured its cores.
    calibrated_mj: of the cores, brought to the rails of the device; None where it is not calibrated.
    """

    state: table.EnergyRunRow
    costs: tuple[Cost, ...]
    series: dict[str, dict[str, Any]]
    whole: dict[str, Any] | None
    threads: tuple[dict[str, Any], ...]
    screens: tuple[dict[str, Any], ...]
    accuracy: dict[str, Any] | None
    calibrated_mj: float | None

    @property
    def estimated_mj(self) -> float:
        """Of the cores, for everybody."""
        return sum(one.energy_mj for one in self.costs if one.component in PARTS)


def report(reader: Reader, run_id: str, profile: PowerProfile | None = None) -> Report:
    """What a run cost.

    Args:
        profile: another one than that of the run.

    Raises:
        Rejected: PROFILE_MISFIT; DATA_MISSING.
        ValueError: the run's trace was not read for energies yet.
    """
    state = table.find(reader, [run_id]).get(run_id)
    if state is None:
        raise ValueError(f"{run_id}: no trace was read for what it cost; `perfreg status` says what is due")
    rows = _of_another(reader, state, profile) if profile is not None else _stored(reader, run_id)
    whole = sum(row["charge_mah"] for row in rows if row["component"] in PARTS)
    before = {} if profile is not None else _history(reader, state)
    costs = [
        Cost(
            row["component"],
            row["scope"],
            row["energy_source"],
            row["charge_mah"],
            row["energy_mj"],
            row["charge_mah"] / whole if row["component"] in PARTS and whole > 0 else None,
            _change(row, state.duration_s, before),
        )
        for row in rows
    ]
    scopes = (*SCOPES, "device")
    costs.sort(key=lambda one: (_ORDER.get(one.component, len(_ORDER)), one.component, scopes.index(one.scope)))
    is_stored = profile is None
    return Report(
        state,
        tuple(costs),
        _series(reader, run_id),
        _first(reader, "marts.energy_by_run", run_id) if is_stored else None,
        tuple(_rows(reader, "marts.energy_by_thread", run_id, "charge_mah DESC, process, thread")) if is_stored else (),
        tuple(_rows(reader, "marts.energy_by_screen", run_id, "total_mah DESC, screen")) if is_stored else (),
        _first(reader, "marts.energy_accuracy", run_id) if is_stored else None,
        _calibrated(reader, state, costs) if is_stored else None,
    )


def _calibrated(reader: Reader, state: table.EnergyRunRow, costs: list[Cost]) -> float | None:
    fitted = power_calibrations.find(reader, state.device_name, state.profile_id)
    if fitted is None:
        return None
    estimated_mj = sum(one.energy_mj for one in costs if one.component in PARTS)
    return fitted.scale_ratio * estimated_mj + fitted.floor_mw * state.duration_s


def _stored(reader: Reader, run_id: str) -> list[dict[str, Any]]:
    return reader.dicts(
        "SELECT component, scope, energy_source, charge_mah, energy_mj FROM core.energies WHERE run_id = ?", [run_id]
    )


def _of_another(reader: Reader, state: table.EnergyRunRow, profile: PowerProfile) -> list[dict[str, Any]]:
    """By a profile that is not the run's, from its times in state."""
    seen = state.first_cores or ()
    if layout(profile, (), seen) != seen:
        raise Rejected(
            Reason.PROFILE_MISFIT,
            f"the profile's clusters begin at the cores {profile.first_cores}, those of {state.run_id} at {seen}",
        )
    if not profile.has_frequencies:
        raise Rejected(Reason.PROFILE_MISFIT, "the profile has steps without frequencies")
    times = reader.dicts("SELECT * FROM core.time_in_state WHERE run_id = ?", [state.run_id])
    states = States(
        np.array([row["cluster"] for row in times], np.int64), np.array([row["frequency_khz"] for row in times], float)
    )
    spent = np.array([[row["busy_s"], row["cluster_share_s"], row["active_share_s"]] for row in times]).reshape(-1, 3)
    charges = spent * levels(profile, states)
    found = []
    for part, component in enumerate(PARTS):
        for scope in SCOPES:
            own = [place for place, row in enumerate(times) if row["scope"] == scope]
            charge_mah = float(charges[own, part].sum()) / _MAS_PER_MAH
            found.append(_row(component, scope, profile.source, charge_mah, state.nominal_voltage_v))
    if profile.base_ma:
        charge_mah = sum(profile.base_ma.values()) * state.duration_s / _MAS_PER_MAH
        found.append(_row("base", "device", profile.source, charge_mah, state.nominal_voltage_v))
    return found if times else []


def _row(component: str, scope: str, source: str, charge_mah: float, volts: float) -> dict[str, Any]:
    return {
        "component": component,
        "scope": scope,
        "energy_source": source,
        "charge_mah": charge_mah,
        "energy_mj": charge_mah * _MAS_PER_MAH * volts,
    }


def _history(reader: Reader, state: table.EnergyRunRow) -> dict[tuple[str, str, str], float]:
    """(component, scope, source) → median mAh per hour over the history's runs of the same profile."""
    rows = reader.rows(
        "SELECT own.component, own.scope, own.energy_source, median(own.charge_mah * 3600 / theirs.duration_s) "
        "FROM core.history_candidates AS members "
        "JOIN core.energy_runs AS theirs ON theirs.run_id = members.history_run_id "
        "JOIN core.energies AS own ON own.run_id = members.history_run_id "
        "WHERE members.run_id = $run AND members.history_rank IS NOT NULL AND theirs.duration_s > 0 "
        "AND (NOT own.is_estimated OR own.profile_id = $profile) GROUP BY ALL",
        {"run": state.run_id, "profile": state.profile_id},
    )
    return {(component, scope, source): value for component, scope, source, value in rows}


def _change(row: dict[str, Any], duration_s: float, before: dict[tuple[str, str, str], float]) -> float | None:
    usual = before.get((row["component"], row["scope"], row["energy_source"]))
    if not usual or duration_s <= 0:
        return None
    return float(row["charge_mah"] * 3600 / duration_s / usual - 1)


def _series(reader: Reader, run_id: str) -> dict[str, dict[str, Any]]:
    rows = reader.dicts(
        "SELECT series, unit, list_avg(finite) AS mean, list_max(finite) AS highest FROM ("
        'SELECT series, unit, list_filter("values", lambda one: isfinite(one)) AS finite FROM marts.series_arrays '
        "WHERE run_id = ? AND starts_with(series, 'power_') AND NOT is_missing) ORDER BY series",
        [run_id],
    )
    return {row.pop("series"): row for row in rows}


def _rows(reader: Reader, mart: str, run_id: str, order: str) -> list[dict[str, Any]]:
    return reader.dicts(f"SELECT * FROM {mart} WHERE run_id = ? ORDER BY {order}", [run_id])


def _first(reader: Reader, mart: str, run_id: str) -> dict[str, Any] | None:
    return next(iter(_rows(reader, mart, run_id, "run_id")), None)
