"""`history_sets`: the earlier runs that a run is compared with."""

import dagster as dg

from perfreg_assets.assets import checks, presentation
from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.retrying import retried
from perfreg_assets.model.selecting import select_due
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.warehouse import histories
from perfreg_assets.warehouse import runs as run_table


@dg.asset(
    group_name="model",
    kinds={"duckdb", "python"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["time_series"],
    metadata=presentation.of_mart("history_sets"),
    check_specs=checks.specs("history_sets"),
)
@retried
def history_sets(context: dg.AssetExecutionContext, project: Project) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """For each run its history H: the latest k = 12 comparable runs [thesis 4.2.3].

    Comparable: same configuration C and recording, no functional problems F, a whole trace, an earlier start, another
    version, not reviewed out, and path similarity D(R₁, R₂) ≥ 0.8 by Ratcliff-Obershelp over state hashes. Too few of
    them is the state `not_enough_history`, with the counts that explain it.
    """
    watch = Stopwatch()
    warehouse, keys = project.open_in(context), list(context.partition_keys)
    settings = project.settings()
    selected = select_due(warehouse, settings, keys, watch)
    for run_id, selection in selected.selections.items():
        context.log.info("%s: %s", run_id, selection.explanation)
    with warehouse.reading() as reader:
        run_ids = run_table.ids_of_partitions(reader, keys)
        everyone = [run_id for ids in run_ids.values() for run_id in ids]
        sets, members = histories.find(reader, everyone), histories.members_of_partitions(reader, everyone)
        checked = checks.results(reader, "history_sets", keys)
    for key, ids in run_ids.items():
        mine = [sets[run_id] for run_id in ids if run_id in sets]
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": sum(one.history_size for one in mine),
                "runs": len(ids),
                "runs_with_history": sum(one.state == "ready" for one in mine),
                "history_size": max((one.history_size for one in mine), default=0),
                "selected_now": len(selected.selections.keys() & set(ids)),
                **presentation.history_table(members.get(key, ()), settings),
                **watch.metadata(len(keys)),
            },
            partition_key=key,
        )
    return dg.MaterializeResult(check_results=checked)
