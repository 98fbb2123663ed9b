"""`reports`: the pages people read."""

import dagster as dg

from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.stopwatch import Stopwatch
from perfreg_assets.reports.links import page_name
from perfreg_assets.reports.site import build_site
from perfreg_assets.warehouse import runs as run_table


@dg.asset(
    group_name="report",
    kinds={"html"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["discords", "verdicts"],
)
def reports(context: dg.AssetExecutionContext, project: Project) -> None:
    """A page per run, the index over versions, and the page that compares ω: static files, readable offline.

    A page is written again only when something it shows has changed. `perfreg serve` shows them, with the traces
    and Perfetto beside them.
    """
    watch = Stopwatch()
    settings = project.settings()
    with project.open().reading() as reader:
        run_ids = run_table.ids_of_partitions(reader, context.partition_keys)
        with watch.measure("report"):
            changed = build_site(
                reader,
                settings.reports_dir,
                run_ids=[run_id for ids in run_ids.values() for run_id in ids],
                server=settings.reports_address,
            )
    context.log.info("%d pages written: %s", len(changed), ", ".join(changed[:20]))
    for key, ids in run_ids.items():
        pages = [f"runs/{page_name(run_id)}.html" for run_id in ids]
        context.add_asset_metadata(
            {
                "pages": len(pages),
                "pages_written_now": sum(page in changed for page in pages),
                "index": dg.MetadataValue.url(f"{settings.reports_address}/index.html"),
                "page": dg.MetadataValue.url(f"{settings.reports_address}/{pages[-1] if pages else 'index.html'}"),
                **watch.metadata(len(run_ids)),
            },
            partition_key=key,
        )
