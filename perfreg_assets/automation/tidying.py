"""The data folder is tidied every night: small files are joined, and those that nothing names any more are deleted."""

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.warehouse.tidying import tidy


@dg.op(description="Joins small files of values and deletes those that nothing has named for a day, as `perfreg tidy`.")
@retried
def tidy_files(context: dg.OpExecutionContext, project: Project) -> None:
    warehouse = project.open()
    if not warehouse.published.exists():
        context.log.info("there is no warehouse yet")
        return
    done = tidy(warehouse)
    context.log.info("%d files joined, %d deleted, %d to be deleted later", done.joined, done.deleted, done.waiting)
    if done.missing:
        raise dg.Failure(done.lack)


@dg.job(description="Keeps the folder of large values small; see `perfreg tidy`.")
def tidy_data_folder() -> None:
    tidy_files()


nightly_tidying = dg.ScheduleDefinition(
    name="nightly_tidying",
    job=tidy_data_folder,
    cron_schedule="37 3 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Starts tidy_data_folder every night.",
)
