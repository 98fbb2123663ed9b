"""`traces` and `time_series`: is the trace whole, and what happened second by second. One engine start for both."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.assets.stopwatch import Stopwatch
from perfreg_assets.partitions import app_versions
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.traces.gate import TraceHealth
from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.inspection import inspect_trace
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import series as series_table
from perfreg_assets.warehouse import timings
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader

_TRACES = """What the gate found about each run's trace: whole or not, and why.

A trace that loads is not thereby whole: size and SHA-256 against run.json, gzip and protobuf framing to the last
byte, duration against the exploration, data sources, the app's process, no error or data-loss statistics. An
incomplete trace never gets a verdict and is never in a history."""

_TIME_SERIES = """Series of each run on a common grid from the start of exploration [thesis 4.1].

CPU in core-seconds per second: value(i) = Σ over slices of |slice ∩ interval i| / interval; a slice that crosses a
border is split over all intervals it covers, empty intervals are 0, and the sums equal the trace's totals. Memory
in bytes, the last sample held. What the trace lacks is a series with a reason and without values."""


class InspectionConfig(dg.Config):  # type: ignore[misc]
    """`again`: read the traces again even where nothing changed since the last time."""

    again: bool = False


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            "traces",
            deps=["runs"],
            group_name="collect",
            kinds={"perfetto", "duckdb"},
            partitions_def=app_versions,
            description=_TRACES,
            metadata={"dagster/table_name": "marts.runs"},
        ),
        dg.AssetSpec(
            "time_series",
            deps=["traces"],
            group_name="series",
            kinds={"perfetto", "duckdb"},
            partitions_def=app_versions,
            description=_TIME_SERIES,
            metadata={"dagster/table_name": "marts.time_series"},
        ),
    ],
    backfill_policy=dg.BackfillPolicy.multi_run(max_partitions_per_run=100),
)
def traces_and_time_series(
    context: dg.AssetExecutionContext, config: InspectionConfig, project: Project
) -> Iterator[dg.MaterializeResult]:
    settings, warehouse = project.settings(), project.open()
    for key in context.partition_keys:
        watch = Stopwatch()
        with warehouse.reading() as reader:
            rows = run_table.of_partition(reader, key)
            due = rows if config.again else _due(reader, rows, settings)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda row: _inspect(row, settings), due))
        for row, (health, _) in zip(due, found, strict=True):
            context.log.info("%s: %s", row.run_id, health.detail if health.reason else "trace complete")
        with watch.measure("warehouse"), warehouse.writing() as writer:
            trace_table.upsert(writer, [_trace_row(row, health) for row, (health, _) in zip(due, found, strict=True)])
            series_table.forget(writer, [row.run_id for row in due])
            series_table.upsert(
                writer,
                [_series_row(row.run_id, one) for row, (_, series) in zip(due, found, strict=True) for one in series],
            )
            for row, (health, _) in zip(due, found, strict=True):
                if health.reason and health.reason.is_damage:
                    run_table.quarantine(writer, row.run_id, health.reason.code, _sentence(health))
                timings.record(writer, row.run_id, health.seconds)
        for health, _ in found:
            for part, seconds in health.seconds.items():
                watch.add(part, seconds)
        with warehouse.reading() as reader:
            for name, summary in _summaries(reader, [row.run_id for row in rows]).items():
                context.add_asset_metadata(
                    {**summary, "inspected_now": len(due), **watch.metadata()}, asset_key=name, partition_key=key
                )
    yield dg.MaterializeResult(asset_key="traces")
    yield dg.MaterializeResult(asset_key="time_series")


def _due(reader: Reader, rows: list[run_table.RunRow], settings: Settings) -> list[run_table.RunRow]:
    """Runs whose trace was not read yet, or by other code, or with another interval."""
    known = trace_table.find(reader, [row.run_id for row in rows])
    intervals = series_table.intervals(reader, [row.run_id for row in rows])
    current = code_version("traces")

    def is_current(row: run_table.RunRow) -> bool:
        trace = known.get(row.run_id)
        if trace is None or trace.code_version != current or trace.trace_sha256 != row.trace_sha256:
            return False
        return not trace.is_complete or intervals.get(row.run_id) == settings.interval_s

    return [row for row in rows if not is_current(row)]


def _inspect(row: run_table.RunRow, settings: Settings) -> tuple[TraceHealth, list[Series]]:
    assert row.app is not None
    assert row.trace_file is not None
    assert row.time_limit_s is not None
    exploration = None
    if row.exploration_start_ns is not None and row.exploration_end_ns is not None:
        exploration = (row.exploration_start_ns, row.exploration_end_ns)
    return inspect_trace(
        settings.runs_dir / row.run_id / row.trace_file,
        app=row.app,
        exploration=exploration,
        time_limit_s=row.time_limit_s,
        expected_bytes=row.trace_bytes,
        expected_sha256=row.trace_sha256,
        settings=settings,
    )


def _sentence(health: TraceHealth) -> str:
    assert health.reason is not None
    return f"{health.detail}: {health.reason.sentence}"


def _trace_row(row: run_table.RunRow, health: TraceHealth) -> trace_table.TraceRow:
    return trace_table.TraceRow(
        run_id=row.run_id,
        is_complete=health.is_complete,
        reason_code=health.reason.code if health.reason else None,
        reason=_sentence(health) if health.reason else None,
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
        load_sources=health.load_sources,
        health=dict(health.stats),
        engine=health.engine,
        engine_version=health.engine_version,
        engine_seconds=health.seconds.get("engine"),
        code_version=code_version("traces"),
    )


def _series_row(run_id: str, series: Series) -> series_table.SeriesRow:
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
        code_version=code_version("traces"),
    )


def _summaries(reader: Reader, run_ids: list[str]) -> dict[str, dict[str, float]]:
    traces = trace_table.find(reader, run_ids).values()
    series = series_table.find(reader, run_ids).values()
    present = [row for row in series if row.values is not None]
    return {
        "traces": {
            "dagster/partition_row_count": len(traces),
            "complete": sum(trace.is_complete for trace in traces),
            "incomplete": sum(not trace.is_complete for trace in traces),
            "trace_bytes": sum(trace.trace_bytes or 0 for trace in traces),
        },
        "time_series": {
            "dagster/partition_row_count": len(series),
            "series": len(present),
            "missing_series": len(series) - len(present),
            "samples": sum(len(row.values) for row in present if row.values is not None),
        },
    }
