"""Every night the traces that are old enough are reduced; nothing where the setting says never."""

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.automation.materialise import range_tags, ranges
from perfreg_assets.model.archiving import due_runs
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.warehouse import states

reduce_old_traces = dg.define_asset_job(
    "reduce_old_traces",
    dg.AssetSelection.assets("trace_windows", "reduced_traces"),
    description="Reduces traces of normal runs that are older than reduction_after_days.",
)


@dg.schedule(
    name="nightly_reduction",
    job=reduce_old_traces,
    cron_schedule="7 4 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Starts reduce_old_traces, a run per stretch of versions, where traces are old enough.",
)
def nightly_reduction(context: dg.ScheduleEvaluationContext, project: Project) -> list[dg.RunRequest] | dg.SkipReason:
    """A Dagster run per contiguous range of the versions that Dagster knows, as `upkeep` asks for what is due."""
    warehouse = project.open()
    if not warehouse.published.exists():
        return dg.SkipReason("there is no warehouse yet")
    with warehouse.reading() as reader:
        keys = sorted(set(states.partitions_of(reader, due_runs(reader, project.settings()).run_ids).values()))
    if not keys:
        return dg.SkipReason("no trace on this machine is old enough, or reduction_after_days says never")
    order = list(context.instance.get_dynamic_partitions(DIMENSION))
    day = context.scheduled_execution_time.date()
    return [
        dg.RunRequest(run_key=f"{day}-{first}", tags=range_tags(first, last))
        for first, last, _ in ranges(set(keys) & set(order), order)
    ]
