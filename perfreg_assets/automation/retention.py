"""Every night the traces that nobody needs any more are deleted; nothing where the setting says that all are kept."""

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.model.retention import drop_due


@dg.op(description="Deletes traces that the setting keep_traces does not keep, as `perfreg archive`.")
@retried
def drop_traces(context: dg.OpExecutionContext, project: Project) -> None:
    warehouse = project.open()
    if not warehouse.published.exists():
        context.log.info("there is no warehouse yet")
        return
    dropped = drop_due(warehouse, project.settings())
    freed = sum(one.bytes_before or 0 for one in dropped)
    elsewhere = sum(one.bytes_elsewhere for one in dropped)
    context.log.info("%d traces deleted, %d bytes, %d of which another folder has", len(dropped), freed, elsewhere)


@dg.job(description="Deletes traces that nobody needs any more; see the setting keep_traces.")
def drop_unneeded_traces() -> None:
    drop_traces()


nightly_retention = dg.ScheduleDefinition(
    name="nightly_retention",
    job=drop_unneeded_traces,
    cron_schedule="52 3 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Starts drop_unneeded_traces every night.",
)
