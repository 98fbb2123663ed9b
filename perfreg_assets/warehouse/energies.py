"""What runs cost: charges by component, by thread and step, and the times in state that they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from perfreg_assets import __version__
from perfreg_assets.warehouse import power_profiles
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.power_profiles import StoredProfile
from perfreg_assets.warehouse.rows import Table, delete_runs, insert, now_utc, to_arrow
from perfreg_assets.warehouse.rows import load as load_rows


@dataclass(frozen=True)
class ThreadCharge:
    """An entry of core.energy_runs.threads."""

    process: str
    thread: str
    is_app: bool
    charge_mah: float


@dataclass(frozen=True)
class StepCharge:
    """An entry of core.energy_runs.steps."""

    step_index: int
    screen: str
    duration_s: float
    app_mah: float
    total_mah: float


@dataclass(frozen=True, kw_only=True)
class EnergyRunRow:
    """A row of core.energy_runs: `reason_code` is None exactly when a profile was put on the run."""

    run_id: str
    device_name: str | None
    duration_s: float
    profile_id: str | None = None
    profile_name: str | None = None
    profile_origin: str | None = None
    is_foreign_profile: bool | None = None
    fit_ratio: float | None = None
    first_cores: tuple[int, ...] | None = None
    has_idle_states: bool | None = None
    late_ratio: float | None = None
    outside_ratio: float | None = None
    nominal_voltage_v: float
    reason_code: str | None = None
    reason: str | None = None
    is_outdated: bool = False
    threads: tuple[ThreadCharge, ...] = ()
    steps: tuple[StepCharge, ...] = ()
    code_version: str = __version__
    extracted_at: datetime = field(default_factory=now_utc)


@dataclass(frozen=True, kw_only=True)
class TimeRow:
    """A row of core.time_in_state."""

    run_id: str
    cluster: int
    frequency_khz: float
    scope: str
    busy_s: float
    cluster_share_s: float
    active_share_s: float


@dataclass(frozen=True, kw_only=True)
class EnergyRow:
    """A row of core.energies."""

    run_id: str
    component: str
    scope: str
    energy_source: str
    charge_mah: float
    energy_mj: float
    is_estimated: bool
    profile_id: str | None


@dataclass(frozen=True)
class RunEnergies:
    """What is to be stored of a run."""

    row: EnergyRunRow
    times: tuple[TimeRow, ...]
    energies: tuple[EnergyRow, ...]
    profile: StoredProfile | None


RUNS = Table("core.energy_runs", EnergyRunRow, ("run_id",), ("run_id",))
TIMES = Table("core.time_in_state", TimeRow, ("run_id",), ("run_id", "cluster", "frequency_khz", "scope"))
ENERGIES = Table("core.energies", EnergyRow, ("run_id",), ("run_id", "component", "scope", "energy_source"))
_TABLES: tuple[Table[Any], ...] = (RUNS, TIMES, ENERGIES)


def upsert(writer: Writer, found: Sequence[RunEnergies]) -> None:
    """Stores what some runs cost, in place of what was known of them."""
    if not found:
        return
    forget(writer, [one.row.run_id for one in found])
    power_profiles.keep(writer, [one.profile for one in found if one.profile is not None])
    rows: Mapping[Table[Any], list[Any]] = {
        RUNS: [one.row for one in found],
        TIMES: [row for one in found for row in one.times],
        ENERGIES: [row for one in found for row in one.energies],
    }
    for table, own in rows.items():
        if own:
            insert(writer, table, to_arrow(own, table.row))


def forget(writer: Writer, run_ids: Iterable[str]) -> None:
    """Deletes what is known of some runs: before their traces are read anew."""
    ids = list(run_ids)
    for table in _TABLES:
        delete_runs(writer, table.name, ids)


def find(reader: Reader, run_ids: Iterable[str]) -> dict[str, EnergyRunRow]:
    """run_id -> by what its charge was estimated, or why it is not known; a run whose trace was not asked is not in
    it."""
    rows = load_rows(reader, RUNS, "run_id IN (SELECT unnest(?::VARCHAR[]))", [list(run_ids)])
    return {row.run_id: row for row in rows}


def figures(reader: Reader, run_ids: Iterable[str]) -> dict[str, float]:
    """How many runs have charges and how many have none, and what all of them cost, mAh."""
    (row,) = reader.dicts(
        "SELECT count(*) FILTER (reason_code IS NULL) AS runs, count(*) FILTER (reason_code IS NOT NULL) AS missing, "
        "(SELECT count(*) FROM core.energies WHERE list_contains($ids::VARCHAR[], run_id)) AS rows, "
        "(SELECT coalesce(sum(charge_mah), 0) FROM core.energies WHERE list_contains($ids::VARCHAR[], run_id) "
        "AND component LIKE 'cpu!_%' ESCAPE '!') AS cpu_mah "
        "FROM core.energy_runs WHERE list_contains($ids::VARCHAR[], run_id)",
        {"ids": list(run_ids)},
    )
    return row
