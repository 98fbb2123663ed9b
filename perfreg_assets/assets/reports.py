"""`reports`: the pages people read."""

import dagster as dg

from perfreg_assets.assets.outstanding import write_all_pages, write_pages
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.assets.telling import tell_again
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.reports import site
from perfreg_assets.reports.links import run_page
from perfreg_assets.warehouse import runs as run_table

MOST_S = 10.0
"""Where verdicts are given, too, somebody may wait for them: pages that an update of perfreg or another ω makes
different are written for so long. On its own the step writes all, and that is asked for as long as some wait."""
MOST_ALONE_S = 1800.0
"""So long at once: Dagster gives a run up that takes hours."""
LISTED_PAGES = 20
"""So many are named in the log."""


@dg.asset(
    group_name="report",
    kinds={"html"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["benchmark_verdicts", "causes", "discords", "verdicts"],
)
@retried
def reports(context: dg.AssetExecutionContext, project: Project) -> None:
    """A page per run, the index over versions, and the page that compares ω: static files, readable offline.

    Every page that would come out different is written, of other versions too: a run's page names its neighbours.
    `perfreg serve` shows them, with the traces and Perfetto beside them. After an update of perfreg, or for another ω,
    all of them would: together with verdicts those of other runs are written for some seconds, the others afterwards.
    """
    watch = Stopwatch()
    settings = project.settings()
    warehouse = project.open()
    is_alone = set(context.job_def.asset_layer.executable_asset_keys) == {context.asset_key}
    with watch.measure("warehouse"):
        warehouse.publish()
    with warehouse.reading(goes_on=True) as reader, watch.measure("report"):
        run_ids = run_table.ids_of_partitions(reader, context.partition_keys)
        if not is_alone:
            changed = write_pages(reader, settings, most_s=MOST_S)
            tell_again(context, reader, changed, settings)
    if is_alone:
        with watch.measure("report"):
            changed = write_all_pages(warehouse.reading, settings, most_s=MOST_ALONE_S)
        with warehouse.reading() as reader, watch.measure("report"):
            tell_again(context, reader, changed, settings)
    left = site.waiting(settings.reports_dir)
    if left:
        context.log.info("%d pages of other runs and versions are still as before the last update or change of ω", left)
    names = ", ".join(changed[:LISTED_PAGES]) + (", …" if len(changed) > LISTED_PAGES else "")
    context.log.info("%d pages written%s", len(changed), f": {names}" if names else "")
    for key, ids in run_ids.items():
        pages = [run_page(run_id) for run_id in ids]
        context.add_asset_metadata(
            {
                "pages": len(pages),
                "pages_written_now": len(changed),
                "pages_waiting": left,
                "index": dg.MetadataValue.url(f"{settings.reports_address}/index.html"),
                "page": dg.MetadataValue.url(f"{settings.reports_address}/{pages[-1] if pages else 'index.html'}"),
                **watch.metadata(len(run_ids)),
            },
            partition_key=key,
        )
