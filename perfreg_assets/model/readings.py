"""What was read of one trace, as rows: made where the trace is, stored where the warehouse is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfreg_assets.methods.power_profile import MAS_PER_MAH
from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.model import inputs, offered_profiles
from perfreg_assets.model.measurements import rows_of_run
from perfreg_assets.model.profile_shelf import Shelf
from perfreg_assets.provenance import code_version
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.traces.energies import Charge, Energies
from perfreg_assets.traces.gate import TraceHealth
from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.inspection import Inspection
from perfreg_assets.traces.method_energies import MethodCharge
from perfreg_assets.traces.profile_choice import BUNDLED, RUN_FOLDER, Chosen
from perfreg_assets.traces.thread_times import NoThreadTimes
from perfreg_assets.warehouse import energies as energy_table
from perfreg_assets.warehouse import measurements as measurement_table
from perfreg_assets.warehouse import power_profiles, timings
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse import slice_uses as slice_table
from perfreg_assets.warehouse import thread_times as thread_table
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.energies import RunEnergies
from perfreg_assets.warehouse.power_profiles import StoredProfile
from perfreg_assets.warehouse.slice_uses import RunSlices
from perfreg_assets.warehouse.thread_times import RunThreads


@dataclass(frozen=True)
class Reading:
    """The gate's finding, series, measurements and thread times of one run, and how many seconds each part took.

    `threads`, `slices` and `energies` are None where the trace is not whole.
    """

    trace: trace_table.TraceRow
    series: tuple[series_table.SeriesRow, ...]
    measurements: tuple[measurement_table.MeasurementRow, ...]
    threads: RunThreads | None
    slices: RunSlices | None
    energies: RunEnergies | None
    seconds: dict[str, float]

    @property
    def run_id(self) -> str:
        return self.trace.run_id


def reading_of(row: run_table.RunRow, inspection: Inspection, settings: Settings, shelf: Shelf) -> Reading:
    """The rows of what one look at a run's trace gave.

    Args:
        settings, shelf: those that it was read with.
    """
    version = code_version("traces")
    return Reading(
        trace=_trace_row(row, inspection.health, settings, version),
        series=tuple(_series_row(row.run_id, one, version) for one in inspection.series),
        measurements=tuple(rows_of_run(row, inspection.measurements, code_version=version)),
        threads=_threads(row.run_id, inspection.threads, version),
        slices=_slices(row, inspection.slices, version) if inspection.health.is_complete else None,
        energies=_energies(row, inspection.energies, settings, shelf, version)
        if inspection.health.is_complete
        else None,
        seconds=dict(inspection.health.seconds),
    )


def store(writer: Writer, readings: Sequence[Reading], settings: Settings) -> None:
    """Puts the readings in place of earlier ones of the same runs; a run whose trace is damaged is quarantined, and
    what was read while other power profiles were offered than are now is outdated.

    Args:
        settings: those in force.
    """
    run_ids = [reading.run_id for reading in readings]
    damage = {reason.code for reason in Reason if reason.is_damage}
    trace_table.upsert(writer, [reading.trace for reading in readings])
    series_table.forget(writer, run_ids)
    series_table.upsert(writer, [one for reading in readings for one in reading.series])
    thread_table.forget(writer, run_ids)
    thread_table.upsert(writer, [reading.threads for reading in readings if reading.threads is not None])
    slice_table.forget(writer, run_ids)
    slice_table.upsert(writer, [reading.slices for reading in readings if reading.slices is not None])
    energy_table.forget(writer, run_ids)
    energy_table.upsert(writer, [reading.energies for reading in readings if reading.energies is not None])
    offered_profiles.outdate(writer, settings, run_ids)
    measured = [one for reading in readings for one in reading.measurements]
    measurement_table.replace_subjects(writer, measurement_table.RUN, run_ids, measured)
    for reading in readings:
        trace = reading.trace
        if trace.reason_code in damage:
            run_table.quarantine(writer, trace.run_id, trace.reason_code, trace.reason or "")
        timings.record(writer, trace.run_id, reading.seconds)


def _trace_row(row: run_table.RunRow, health: TraceHealth, settings: Settings, version: str) -> trace_table.TraceRow:
    return trace_table.TraceRow(
        run_id=row.run_id,
        is_complete=health.is_complete,
        reason_code=health.reason.code if health.reason else None,
        reason=f"{health.detail}: {health.reason.sentence}" if health.reason else None,
        trace_sha256=row.trace_sha256,
        trace_bytes=row.trace_bytes,
        unpacked_bytes=health.unpacked_bytes,
        start_ns=health.start_ns,
        end_ns=health.end_ns,
        duration_s=health.duration_s,
        packet_count=health.packet_count,
        data_sources=tuple(health.data_sources),
        process_count=health.process_count,
        app_processes=tuple(health.app_processes),
        health=dict(health.stats),
        engine=health.engine,
        engine_version=health.engine_version,
        engine_seconds=health.seconds.get("engine"),
        load_sources=health.load_sources,
        parameters_hash=inputs.trace_parameters(settings),
        code_version=version,
    )


def _threads(run_id: str, found: ThreadTimes | NoThreadTimes | None, version: str) -> RunThreads | None:
    if isinstance(found, ThreadTimes):
        return thread_table.described(run_id, found, code_version=version)
    if found is None:
        return None
    return thread_table.missing(run_id, found.reason_code, found.reason, code_version=version)


def _slices(row: run_table.RunRow, found: SliceUses | str, version: str) -> RunSlices:
    if isinstance(found, str):
        code = Reason.SERIES_MISSING.code
        return slice_table.missing(row.run_id, row.path_hash, code, found, code_version=version)
    return slice_table.described(row.run_id, row.path_hash, found, code_version=version)


def _energies(run: run_table.RunRow, found: Energies, settings: Settings, shelf: Shelf, version: str) -> RunEnergies:
    """Charges in mAh and mJ: 1 mAh = 3.6 C = 3.6 · V J."""
    run_id, volts, chosen = run.run_id, settings.nominal_voltage_v, found.chosen
    row = energy_table.EnergyRunRow(
        run_id=run_id,
        device_name=found.device or None,
        duration_s=found.duration_s,
        profile_id=chosen.profile.profile_id if chosen else None,
        profile_name=chosen.offered.name if chosen else None,
        profile_origin=chosen.offered.origin if chosen else None,
        is_foreign_profile=chosen.is_foreign if chosen else None,
        fit_ratio=chosen.fit_ratio if chosen else None,
        first_cores=found.first_cores,
        has_idle_states=found.has_idle_states,
        late_ratio=found.late_ratio,
        outside_ratio=found.outside_ratio,
        nominal_voltage_v=volts,
        reason_code=found.reason_code,
        reason=found.reason,
        threads=tuple(
            energy_table.ThreadCharge(one.process, one.thread, one.is_app, one.charge_mas / MAS_PER_MAH)
            for one in found.threads
        ),
        own_profile_sha256=found.own_profile_sha256,
        offered_profiles=offered_profiles.offered(shelf, run, found),
        profile_doubt=chosen.doubt if chosen else None,
        rails_partly_ns=found.rails_partly_ns,
        code_version=version,
    )
    steps = tuple(
        energy_table.StepCharge(
            one.step_index, one.screen, one.duration_s, one.app_mas / MAS_PER_MAH, one.total_mas / MAS_PER_MAH
        )
        for one in found.steps
    )
    times = tuple(energy_table.TimeRow(run_id=run_id, **vars(one)) for one in found.times)
    charges = tuple(_energy_row(run_id, one, volts, chosen or found.bound) for one in found.charges)
    return RunEnergies(
        row, times, charges, _stored_profile(chosen or found.bound, found.device), steps, _methods(found.methods)
    )


def _methods(found: tuple[MethodCharge, ...] | str) -> tuple[energy_table.MethodCharge, ...] | str:
    if isinstance(found, str):
        return found
    return tuple(
        energy_table.MethodCharge(
            one.process, one.thread, one.method, one.call_count, one.self_mas / MAS_PER_MAH, one.total_mas / MAS_PER_MAH
        )
        for one in found
    )


def _energy_row(run_id: str, one: Charge, volts: float, chosen: Chosen | None) -> energy_table.EnergyRow:
    measured_mj = one.energy_mj
    charge_mas = one.charge_mas if one.charge_mas is not None else (measured_mj or 0.0) / volts
    return energy_table.EnergyRow(
        run_id=run_id,
        component=one.component,
        scope=one.scope,
        energy_source=one.source,
        charge_mah=charge_mas / MAS_PER_MAH,
        energy_mj=measured_mj if measured_mj is not None else charge_mas * volts,
        is_estimated=measured_mj is None,
        profile_id=chosen.profile.profile_id if chosen and measured_mj is None else None,
    )


def _stored_profile(chosen: Chosen | None, device: str) -> StoredProfile | None:
    if chosen is None:
        return None
    offered = chosen.offered
    origin = {RUN_FOLDER: power_profiles.RUN_FOLDER, BUNDLED: power_profiles.BUNDLED}.get(offered.origin)
    return power_profiles.described(
        chosen.profile,
        name=offered.name,
        device=offered.device or device or None,
        # One that was added is there already; one that a setting names may be the installation's.
        origin=origin or power_profiles.BUNDLED,
        content=offered.content,
    )


def _series_row(run_id: str, series: Series, version: str) -> series_table.SeriesRow:
    return series_table.SeriesRow(
        run_id=run_id,
        series=series.name,
        unit=series.unit,
        interval_s=series.interval_s,
        start_ns=series.start_ns,
        values=series.values,
        is_missing=series.values is None,
        reason_code=series.reason_code,
        reason=series.missing_reason,
        values_hash=series_table.content_hash(series.values, series.interval_s, series.start_ns),
        code_version=version,
    )
