"""`runs`: what was tested, and what was refused."""

import dagster as dg

from perfreg_assets.assets import checks, presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.assets.taking_in import take_in
from perfreg_assets.collection.registry import Registration
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.partitions import to_key
from perfreg_assets.warehouse import runs as run_table


class RunsConfig(dg.Config):
    """Run folders to take in; none: the partition's registered runs are listed again.

    `from_inbox`: they lie in the inbox, and leave it once they are registered (setting `inbox_after`).
    """

    folders: list[str] = []
    from_inbox: bool = False


@dg.asset(
    group_name="collect",
    kinds={"duckdb"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["collections"],
    tags={"contract": "run_folder"},
    metadata=presentation.of_mart("runs"),
    check_specs=checks.specs("runs"),
)
@retried
def runs(context: dg.AssetExecutionContext, config: RunsConfig, project: Project) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Test runs R = (C, U, F): configuration, version, functional problems, path [thesis 4].

    A run folder is validated and its files are checked (size, SHA-256, gzip, protobuf framing); what does not
    hold is quarantined with a reason code, and the rest goes on. The same folder given twice is one run.
    """
    watch = Stopwatch()
    settings, warehouse = project.settings(), project.open_in(context)
    refused: dict[str, list[Registration]] = {}
    with watch.measure("register"):
        for outcome in take_in(config.folders, settings, warehouse, context.log, from_inbox=config.from_inbox):
            key = to_key(outcome.app or "", outcome.version_name or "")
            for note in outcome.notes:
                context.log.warning("%s: not kept: %s", outcome.run_id, note)
            if outcome.rejected:
                refused.setdefault(key, []).append(outcome)
                context.log.warning("quarantined %s [%s] %s", outcome.folder, outcome.rejected.reason, outcome.rejected)
            elif key not in context.partition_keys:
                context.log.warning("%s belongs to %s; materialise that version to judge it", outcome.run_id, key)
            else:
                context.log.info("%s %s", "registered" if outcome.is_new else "known already:", outcome.run_id)
    with warehouse.reading() as reader:
        checked = checks.results(reader, "runs", context.partition_keys)
        for key in context.partition_keys:
            rows = run_table.of_partition(reader, key)
            context.add_asset_metadata(
                {
                    **presentation.of_runs(rows),
                    "quarantined_now": len(refused.get(key, ())),
                    **presentation.refused(refused.get(key, ())),
                    **watch.metadata(len(context.partition_keys)),
                },
                partition_key=key,
            )
    return dg.MaterializeResult(check_results=checked)
