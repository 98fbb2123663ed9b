"""What was read of one trace, as rows: made where the trace is, stored where the warehouse is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.model import inputs
from perfreg_assets.model.measurements import rows_of_run
from perfreg_assets.provenance import code_version
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.traces.gate import TraceHealth
from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.inspection import Inspection
from perfreg_assets.traces.thread_times import NoThreadTimes
from perfreg_assets.warehouse import measurements as measurement_table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse import slice_uses as slice_table
from perfreg_assets.warehouse import thread_times as thread_table
from perfreg_assets.warehouse import timings
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Writer
from perfreg_assets.warehouse.slice_uses import RunSlices
from perfreg_assets.warehouse.thread_times import RunThreads


@dataclass(frozen=True)
class Reading:
    """The gate's finding, series, measurements and thread times of one run, and how many seconds each part took.

    `threads` and `slices` are None where the trace is not whole.
    """

    trace: trace_table.TraceRow
    series: tuple[series_table.SeriesRow, ...]
    measurements: tuple[measurement_table.MeasurementRow, ...]
    threads: RunThreads | None
    slices: RunSlices | None
    seconds: dict[str, float]

    @property
    def run_id(self) -> str:
        return self.trace.run_id


def reading_of(row: run_table.RunRow, inspection: Inspection, settings: Settings) -> Reading:
    """The rows of what one look at a run's trace gave.

    Args:
        settings: those that it was read with.
    """
    version = code_version("traces")
    return Reading(
        trace=_trace_row(row, inspection.health, settings, version),
        series=tuple(_series_row(row.run_id, one, version) for one in inspection.series),
        measurements=tuple(rows_of_run(row, inspection.measurements, code_version=version)),
        threads=_threads(row.run_id, inspection.threads, version),
        slices=_slices(row, inspection.slices, version) if inspection.health.is_complete else None,
        seconds=dict(inspection.health.seconds),
    )


def store(writer: Writer, readings: Sequence[Reading]) -> None:
    """Puts the readings in place of earlier ones of the same runs; a run whose trace is damaged is quarantined."""
    run_ids = [reading.run_id for reading in readings]
    damage = {reason.code for reason in Reason if reason.is_damage}
    trace_table.upsert(writer, [reading.trace for reading in readings])
    series_table.forget(writer, run_ids)
    series_table.upsert(writer, [one for reading in readings for one in reading.series])
    thread_table.forget(writer, run_ids)
    thread_table.upsert(writer, [reading.threads for reading in readings if reading.threads is not None])
    slice_table.forget(writer, run_ids)
    slice_table.upsert(writer, [reading.slices for reading in readings if reading.slices is not None])
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
