"""What runs cost: charges by component, by thread, step and method, and the times in state that they are made of.

What steps and methods cost lies in the data folder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import median
from typing import Any

import pyarrow as pa

from perfreg_assets import __version__
from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse import power_profiles, run_conditions, value_files
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.power_profiles import StoredProfile
from perfreg_assets.warehouse.rows import OF_RUN, Table, delete_runs, insert, now_utc, to_arrow
from perfreg_assets.warehouse.rows import load as load_rows
from perfreg_assets.warehouse.rows_with_files import insert_with_files
from perfreg_assets.warehouse.value_files import Kind


@dataclass(frozen=True)
class ThreadCharge:
    """An entry of core.energy_runs.threads."""

    process: str
    thread: str
    is_app: bool
    charge_mah: float


@dataclass(frozen=True)
class StepCharge:
    """A row of core.energy_step_values; `screen` "": unknown."""

    step_index: int
    screen: str
    duration_s: float
    app_mah: float
    total_mah: float


@dataclass(frozen=True)
class MethodCharge:
    """A row of core.method_energy_values: of the cores alone, without shares of cluster and processor."""

    process: str
    thread: str
    method: str
    call_count: int
    method_self_mah: float
    method_mah: float


@dataclass(frozen=True, kw_only=True)
class EnergyRunRow:
    """A row of core.energy_runs: `reason_code` is None exactly when a profile was put on the run.

    Attributes:
        own_profile_sha256: of the power profile in the run's folder when its trace was read, usable or not.
        offered_profiles: which added profiles it was chosen from, see `model.offered_profiles`; None of a trace that
            was read before this was kept.
        rails_partly_ns: begin of each interval whose measured power of the cores is the mean over a part of it; None of
            a trace that was read before this was kept.
        values_file: with the steps; filled in when the row is stored.
    """

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
    own_profile_sha256: str | None = None
    offered_profiles: str | None = None
    profile_doubt: str | None = None
    priced_step_count: int = 0
    rails_partly_ns: tuple[int, ...] | None = None
    code_version: str = __version__
    extracted_at: datetime = field(default_factory=now_utc)
    values_file: str | None = field(default=None, compare=False)


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


@dataclass(frozen=True, kw_only=True)
class MethodRunRow:
    """A row of core.method_energies: `reason_code` is None exactly when the methods are known.

    Attributes:
        values_file: filled in when the row is stored; None without a method.
    """

    run_id: str
    method_count: int | None
    reason_code: str | None = None
    reason: str | None = None
    values_file: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class RunEnergies:
    """What is to be stored of a run. `methods`: or why there are none."""

    row: EnergyRunRow
    times: tuple[TimeRow, ...] = ()
    energies: tuple[EnergyRow, ...] = ()
    profile: StoredProfile | None = None
    steps: tuple[StepCharge, ...] = ()
    methods: tuple[MethodCharge, ...] | str = ()


RUNS = Table("core.energy_runs", EnergyRunRow, ("run_id",), ("run_id",), numbers=OF_RUN)
METHODS = Table("core.method_energies", MethodRunRow, ("run_id",), ("run_id",), numbers=OF_RUN)
TIMES = Table(
    "core.time_in_state", TimeRow, ("run_id",), ("run_id", "cluster", "frequency_khz", "scope"), numbers=OF_RUN
)
ENERGIES = Table(
    "core.energies", EnergyRow, ("run_id",), ("run_id", "component", "scope", "energy_source"), numbers=OF_RUN
)
_TABLES: tuple[Table[Any], ...] = (RUNS, METHODS, TIMES, ENERGIES)


def upsert(writer: Writer, found: Sequence[RunEnergies]) -> None:
    """Stores what some runs cost, in place of what was known of them."""
    if not found:
        return
    forget(writer, [one.row.run_id for one in found])
    power_profiles.keep(writer, [one.profile for one in found if one.profile is not None])
    rows = [replace(one.row, priced_step_count=len(one.steps)) for one in found]
    _insert_listed(writer, RUNS, rows, value_files.ENERGY_STEPS, [one.steps for one in found])
    methods = [() if isinstance(one.methods, str) else one.methods for one in found]
    _insert_listed(writer, METHODS, [_method_row(one) for one in found], value_files.METHOD_ENERGIES, methods)
    times = [row for one in found for row in one.times]
    if times:
        insert(writer, TIMES, to_arrow(times, TimeRow))
    charges = [row for one in found for row in one.energies]
    if charges:
        insert(writer, ENERGIES, to_arrow(charges, EnergyRow))


def _method_row(one: RunEnergies) -> MethodRunRow:
    if isinstance(one.methods, str):
        return MethodRunRow(
            run_id=one.row.run_id, method_count=None, reason_code=Reason.SERIES_MISSING.code, reason=one.methods
        )
    return MethodRunRow(run_id=one.row.run_id, method_count=len(one.methods))


def _insert_listed(
    writer: Writer,
    table: Table[Any],
    rows: Sequence[Any],
    kind: Kind,
    entries: Sequence[Sequence[Any]],
) -> None:
    """A row per run, and what is listed of it beside it."""
    listed = [
        {"run_id": row.run_id, "position": position, **vars(one)}
        for row, own in zip(rows, entries, strict=True)
        for position, one in enumerate(own)
    ]
    insert_with_files(writer, table, rows, kind, pa.Table.from_pylist(listed, kind.columns))


def forget(writer: Writer, run_ids: Iterable[str]) -> None:
    """Deletes what is known of some runs: before their traces are read anew."""
    ids = list(run_ids)
    for table in _TABLES:
        delete_runs(writer, table.name, ids)


def find(reader: Reader, run_ids: Iterable[str]) -> dict[str, EnergyRunRow]:
    """run_id -> by what its charge was estimated, or why it is not known; a run whose trace was not asked is not in
    it."""
    rows = load_rows(reader, RUNS, run_conditions.of(reader, run_ids))
    return {row.run_id: row for row in rows}


def charges_of(reader: Reader, run_id: str) -> list[EnergyRow]:
    """What each component took in a run."""
    return load_rows(reader, ENERGIES, run_conditions.of(reader, [run_id]))


def times_of(reader: Reader, run_id: str) -> list[TimeRow]:
    """How long the cores of a run were at which frequency, for whom."""
    return load_rows(reader, TIMES, run_conditions.of(reader, [run_id]))


_HISTORY = """
SELECT own.component, own.scope, own.energy_source, median(own.charge_mah * 3600 / theirs.duration_s)
FROM marts.compared_with AS members
JOIN core.energy_runs AS theirs ON theirs.run_no = members.history_run_no
JOIN core.energies AS own ON own.run_no = members.history_run_no
WHERE {of} AND theirs.duration_s > 0
    AND (NOT own.is_estimated OR own.profile_id = $profile)
GROUP BY ALL
"""


def usual(reader: Reader, state: EnergyRunRow) -> dict[tuple[str, str, str], float]:
    """(component, scope, source) -> median mAh per hour over a run's history: of the same profile, where estimated."""
    of_run = run_conditions.of(reader, [state.run_id], "members.run_no")
    rows = reader.rows(_HISTORY.format(of=of_run), {"profile": state.profile_id})
    return {(component, scope, source): value for component, scope, source, value in rows}


def whole(reader: Reader, run_id: str) -> dict[str, Any] | None:
    """A run's row of marts.energy_by_run, None without an estimate."""
    return next(iter(_of_run(reader, "marts.energy_by_run", run_id, "run_id")), None)


def accuracy(reader: Reader, run_id: str) -> dict[str, Any] | None:
    """A run's row of marts.energy_accuracy, None where its device measured nothing."""
    if not _with_rails(reader, [run_id]):
        return None
    return next(iter(_of_run(reader, "marts.energy_accuracy", run_id, "run_id")), None)


def accuracies(reader: Reader, run_ids: Sequence[str]) -> list[dict[str, Any]]:
    """run_id, energy_ratio, correlation and mape_ratio of those of some runs whose device measured its cores."""
    ids = _with_rails(reader, run_ids)
    if not ids:
        return []
    return reader.dicts(
        "SELECT run_id, energy_ratio, correlation, mape_ratio FROM marts.energy_accuracy "
        f"WHERE {run_conditions.of(reader, ids)} ORDER BY run_id"
    )


def _with_rails(reader: Reader, run_ids: Sequence[str]) -> list[str]:
    """Those whose cores' rails were measured: the mart looks into the samples of all runs to find that none were."""
    rows = reader.rows(
        "SELECT DISTINCT run_id FROM core.time_series WHERE series = 'power_rail_cpu' AND NOT is_missing "
        f"AND {run_conditions.of(reader, run_ids)} ORDER BY run_id"
    )
    return [run_id for (run_id,) in rows]


def threads(reader: Reader, run_id: str) -> list[dict[str, Any]]:
    """A run's rows of marts.energy_by_thread, those that took most first."""
    return _of_run(reader, "marts.energy_by_thread", run_id, "charge_mah DESC, process, thread")


def screens(reader: Reader, run_id: str) -> list[dict[str, Any]]:
    """A run's rows of marts.energy_by_screen, those that took most first."""
    return _of_run(reader, "marts.energy_by_screen", run_id, "total_mah DESC, screen")


def methods(reader: Reader, run_id: str) -> list[dict[str, Any]]:
    """A run's rows of marts.method_energies, those that took most by themselves first."""
    return _of_run(reader, "marts.method_energies", run_id, "method_self_mah DESC, process, thread, method")


def _of_run(reader: Reader, mart: str, run_id: str, order: str) -> list[dict[str, Any]]:
    return reader.dicts(f"SELECT * FROM {mart} WHERE {run_conditions.of(reader, [run_id])} ORDER BY {order}")


_STAMPS = """
SELECT
    runs.app,
    bit_xor(hash(
        costs.run_no, costs.extracted_at, sets.selected_at, counted.run_no IS NULL, versions.version_rank
    ))::VARCHAR
FROM core.energy_runs AS costs
JOIN core.runs AS runs ON runs.run_no = costs.run_no
JOIN marts.version_ranks AS versions ON versions.app = runs.app AND versions.version_name = runs.version_name
LEFT JOIN core.history_sets AS sets ON sets.run_no = costs.run_no
LEFT JOIN marts.counted_runs AS counted ON counted.run_no = costs.run_no
WHERE costs.profile_id IS NOT NULL AND NOT runs.is_quarantined AND {of}
GROUP BY runs.app
ORDER BY runs.app
"""


def stamps_of_apps(reader: Reader, apps: Collection[str] | None = None) -> dict[str, str]:
    """app -> a text that is another one when what `versions` says of it may be; of those of some apps (None: of all)
    that have an estimate."""
    if apps is None:
        return dict(reader.rows(_STAMPS.format(of="true")))
    found: dict[str, str] = {}
    for app in sorted(apps):  # an equality reaches the runs before they are joined
        found |= reader.rows(_STAMPS.format(of="runs.app = ?"), [app])
    return found


_LAST = """
SELECT runs.run_id
FROM core.runs AS runs
JOIN (
    SELECT version_name FROM marts.version_ranks WHERE app = $app ORDER BY version_rank DESC LIMIT $most
) AS placed ON placed.version_name = runs.version_name
WHERE runs.app = $app AND NOT runs.is_quarantined
"""
_VERSIONS = """
SELECT
    spent.device, spent.profile_id, spent.scenario, min(states.profile_name) AS profile_name, spent.version_name,
    count(*) AS run_count,
    median(spent.app_mah_per_h) AS app_mah_per_h, median(spent.total_mah_per_h) AS total_mah_per_h,
    median(spent.battery_ratio_per_h) AS battery_ratio_per_h, median(spent.app_change_ratio) AS app_change_ratio,
    median(spent.total_change_ratio) AS total_change_ratio
FROM marts.energy_by_run AS spent
JOIN core.energy_runs AS states ON states.run_no = spent.run_no
JOIN marts.counted_runs AS counted ON counted.run_no = spent.run_no
JOIN marts.version_ranks AS versions ON versions.app = spent.app AND versions.version_name = spent.version_name
WHERE {of}
GROUP BY spent.device, spent.profile_id, spent.scenario, spent.version_name
ORDER BY spent.device, spent.profile_id, spent.scenario NULLS FIRST, any_value(versions.version_rank)
"""


def versions(reader: Reader, app: str, *, most: int) -> list[dict[str, Any]]:
    """The last versions of an app as marts.energy_by_version has them, by device, profile, scenario and their order
    (marts.version_ranks)."""
    runs = [run_id for (run_id,) in reader.rows(_LAST, {"app": app, "most": most})]
    return versions_of_runs(reader, runs)


def versions_of_runs(reader: Reader, run_ids: Sequence[str]) -> list[dict[str, Any]]:
    """As `versions`, of the versions that these runs are of; without looking at other runs but their histories."""
    return reader.dicts(_VERSIONS.format(of=run_conditions.of(reader, run_ids, "spent.run_no")))


_FIGURES = """
SELECT counted.runs, counted.missing, charges.rows, spent.cpu_mah, spent.app_mah_per_h, spent.total_mah_per_h
FROM (
    SELECT
        count(*) FILTER (reason_code IS NULL) AS runs,
        count(*) FILTER (reason_code IS NOT NULL) AS missing
    FROM core.energy_runs WHERE {of}
) AS counted
CROSS JOIN (SELECT count(*) AS rows FROM core.energies WHERE {of}) AS charges
CROSS JOIN (
    SELECT
        sum(total_mah ORDER BY run_id) AS cpu_mah,
        median(app_mah_per_h) AS app_mah_per_h,
        median(total_mah_per_h) AS total_mah_per_h
    FROM marts.energy_by_run WHERE {of}
) AS spent
"""


def figures(reader: Reader, run_ids: Iterable[str]) -> dict[str, float]:
    """How many runs have charges and how many have none (`runs`, `missing`, `rows`); of those that have what their
    cores took together and medians per hour, and of those with rails the estimate's share of the measurement. What is
    known of no run is not in it.
    """
    ids = list(run_ids)
    (row,) = reader.dicts(_FIGURES.format(of=run_conditions.of(reader, ids)))
    ratios = [one["energy_ratio"] for one in accuracies(reader, ids) if one["energy_ratio"] is not None]
    if ratios:
        row["estimated_to_measured"] = median(ratios)
    return {name: value for name, value in row.items() if value is not None}


# ---- what power profiles were offered ------------------------------------------------------------
OWN_OFFERED = "own"
"""Of a run that brought along what the collection took from its device: whatever is added, it is estimated by that."""


def devices(reader: Reader, run_ids: Iterable[str] | None = None) -> list[str | None]:
    """Code names of the devices of some runs (default: of all); None where traces do not tell."""
    of = "true" if run_ids is None else run_conditions.of(reader, run_ids)
    rows = reader.rows(f"SELECT DISTINCT device_name FROM core.energy_runs WHERE {of} ORDER BY device_name")
    return [name for (name,) in rows]


# NULL: read before it was kept; until now what was in force then is.
_NOTE = f"""
UPDATE core.energy_runs SET offered_profiles = CASE
    WHEN profile_origin = 'run_folder' AND own_profile_sha256 = (
        SELECT runs.extra ->> '$.collection.power_profile.sha256' FROM core.runs AS runs
        WHERE runs.run_no = energy_runs.run_no
    ) THEN '{OWN_OFFERED}'
    ELSE $offered
END
WHERE offered_profiles IS NULL AND NOT is_outdated AND device_name IS NOT DISTINCT FROM $device
"""


def note_offered(writer: Writer, offered: Mapping[str | None, str]) -> None:
    """Notes of runs that do not know it what they were chosen from.

    Args:
        offered: device → what is offered to its runs until now.
    """
    for device, what in offered.items():
        writer.execute(_NOTE, {"device": device, "offered": what})


_OUTDATE = f"""
UPDATE core.energy_runs SET is_outdated = NOT is_outdated
WHERE device_name IS NOT DISTINCT FROM $device AND offered_profiles IS NOT NULL
    AND is_outdated <> (offered_profiles NOT IN ('{OWN_OFFERED}', $offered)) AND {{of}}
RETURNING run_id, is_outdated
"""
_READABLE = """
SELECT runs.run_id
FROM core.runs AS runs
LEFT JOIN core.traces AS traces USING (run_no)
WHERE {of} AND NOT runs.is_quarantined AND NOT coalesce(traces.is_trace_gone, false) AND traces.reduced_sha256 IS NULL
ORDER BY runs.run_id
"""


def outdate(writer: Writer, offered: Mapping[str | None, str], run_ids: Iterable[str] | None = None) -> list[str]:
    """Notes which runs are outdated and which are not any more; the ids of those that became it and can be read again.

    Args:
        offered: device → what is offered to its runs now.
        run_ids: of these alone.
    """
    of = "true" if run_ids is None else run_conditions.of(writer, run_ids)
    changed: list[str] = []
    for device, what in offered.items():
        rows = writer.rows(_OUTDATE.format(of=of), {"device": device, "offered": what})
        changed += [run_id for run_id, is_outdated in rows if is_outdated]
    if not changed:
        return []
    return [one for (one,) in writer.rows(_READABLE.format(of=run_conditions.of(writer, changed, "runs.run_no")))]
