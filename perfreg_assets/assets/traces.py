"""`traces`, `time_series`, `thread_times`, `energies`: is the trace whole, what happened by second, what did it cost.

One engine start for all of them.
"""

from collections.abc import Iterator

import dagster as dg

from perfreg_assets.assets import checks, presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.model.inspecting import inspect_due, summaries
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.model.trace_places import placeless
from perfreg_assets.warehouse import runs as run_table

_TRACES = """What the gate found about each run's trace: whole or not, and why.

A trace that loads is not thereby whole: size and SHA-256 against run.json, gzip and protobuf framing to the last
byte, duration against the exploration, data sources, the app's process, no error or data-loss statistics. An
incomplete trace never gets a verdict and is never in a history."""

_TIME_SERIES = """Series of each run on a common grid from the start of exploration [thesis 4.1].

CPU in core-seconds per second: value(i) = Σ over slices of |slice ∩ interval i| / interval; a slice that crosses a
border is split over all intervals it covers, empty intervals are 0, and the sums equal the trace's totals. Memory
in bytes, the last sample held. What the trace lacks is a series with a reason and without values."""


_THREAD_TIMES = """Running and waiting time of each run's threads by second, so that causes need no history's traces.

The 60 threads that ran most and those of the app, by the names of process and thread with `#` for every number, and
rests, so that the seconds add up to `cpu_total` and `cpu_app`; of the app's threads also how long they could run and
had no core, and how long they were blocked, where the trace tells. From the same scheduling slices as the series."""


_ENERGIES = """What each run's cores cost: charge by component and for whom, by thread and by screen.

The device's power profile put on the time that cores spent at each frequency while they were out of idle; the times are
kept, so that another profile is SQL alone (`marts.energies_at`). With the power rails that the device measured. An
estimate: docs/energy.md says how good."""


class InspectionConfig(dg.Config):
    """`again`: read the traces again even where nothing changed since the last time."""

    again: bool = False


def _spec(name: str, description: str, *, after: str, group: str, mart: str) -> dg.AssetSpec:
    return dg.AssetSpec(
        name,
        deps=[after],
        group_name=group,
        kinds={"perfetto", "duckdb"},
        partitions_def=app_versions,
        description=description,
        metadata=presentation.of_mart(mart),
    )


@dg.multi_asset(
    specs=[
        _spec("traces", _TRACES, after="runs", group="collect", mart="runs"),
        _spec("time_series", _TIME_SERIES, after="traces", group="series", mart="time_series"),
        _spec("thread_times", _THREAD_TIMES, after="traces", group="series", mart="thread_times"),
        _spec("energies", _ENERGIES, after="traces", group="series", mart="energies"),
    ],
    check_specs=checks.specs("traces", "time_series"),
    backfill_policy=dg.BackfillPolicy.multi_run(max_partitions_per_run=100),
)
@retried
def traces_and_time_series(
    context: dg.AssetExecutionContext, config: InspectionConfig, project: Project
) -> Iterator[dg.MaterializeResult[None]]:
    settings, warehouse, keys = project.settings(), project.open_in(context), list(context.partition_keys)
    watch = Stopwatch()
    inspected = inspect_due(warehouse, settings, keys, watch, again=config.again)
    for run_id, health in inspected.found.items():
        context.log.info("%s: %s", run_id, health.detail if health.reason else "trace complete")
    if inspected.placeless:
        context.log.warning("%s", placeless(inspected.placeless))
    seconds = watch.metadata(share=len(keys))
    with warehouse.reading() as reader:
        for key, run_ids in run_table.ids_of_partitions(reader, keys).items():
            now = sum(run_id in inspected.found for run_id in run_ids)
            for name, summary in summaries(reader, run_ids).items():
                context.add_asset_metadata(
                    {**summary, "inspected_now": now, **seconds}, asset_key=name, partition_key=key
                )
        found = {name: checks.results(reader, name, context.partition_keys) for name in ("traces", "time_series")}
    for name in ("traces", "time_series", "thread_times", "energies"):
        yield dg.MaterializeResult(asset_key=name, check_results=found.get(name, []))
