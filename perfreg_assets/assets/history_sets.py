"""`history_sets`: the earlier runs that a run is compared with."""

import dagster as dg

from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
<<<<<<< HEAD
from perfreg_assets.model.selecting import select_due
from perfreg_assets.model.stopwatch import Stopwatch
=======
from perfreg_assets.assets.stopwatch import Stopwatch
from perfreg_assets.methods.history import HistoryRules, HistorySelection, RunFacts, select_history
from perfreg_assets.partitions import from_key
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
>>>>>>> 2da93e23a87d9a1a6a24e91eec0623f90341cc53
from perfreg_assets.warehouse import histories
from perfreg_assets.warehouse import runs as run_table


@dg.asset(
    group_name="model",
    kinds={"duckdb", "python"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["time_series"],
    metadata={"dagster/table_name": "marts.history_sets"},
)
def history_sets(context: dg.AssetExecutionContext, project: Project) -> None:
    """For each run its history H: the latest k = 12 comparable runs [thesis 4.2.3].

    Comparable: same configuration C and recording, no functional problems F, a whole trace, an earlier start, another
    version, not reviewed out, and path similarity D(R₁, R₂) ≥ 0.8 by Ratcliff-Obershelp over state hashes. Too few of
    them is the state `not_enough_history`, with the counts that explain it.
    """
    watch = Stopwatch()
<<<<<<< HEAD
    warehouse, keys = project.open(), list(context.partition_keys)
    selected = select_due(warehouse, project.settings(), keys, watch)
    for run_id, selection in selected.selections.items():
        context.log.info("%s: %s", run_id, selection.explanation)
    with warehouse.reading() as reader:
        run_ids = run_table.ids_of_partitions(reader, keys)
        sets = histories.find(reader, [run_id for ids in run_ids.values() for run_id in ids])
    for key, ids in run_ids.items():
        mine = [sets[run_id] for run_id in ids if run_id in sets]
=======
    settings, warehouse = project.settings(), project.open()
    rules = HistoryRules(
        size=settings.history_size,
        minimum=settings.history_minimum,
        similarity_minimum=settings.path_similarity_minimum,
        same_version=settings.history_same_version,
        excludes_anomalous=settings.history_excludes_anomalous,
    )
    selections: dict[str, dict[str, HistorySelection]] = {}
    with warehouse.reading() as reader, watch.measure("model"):
        run_ids = run_table.ids_of_partitions(reader, context.partition_keys)
        facts_of_app: dict[str, list[RunFacts]] = {}
        for key in context.partition_keys:
            app, _ = from_key(key)
            if app not in facts_of_app:
                facts_of_app[app] = histories.facts(reader, app)
            of_key = set(run_ids[key])
            selections[key] = {
                fact.run_id: select_history(fact, facts_of_app[app], rules)
                for fact in facts_of_app[app]
                if fact.run_id in of_key
            }
    with watch.measure("warehouse"), warehouse.writing() as writer:
        for chosen in selections.values():
            histories.upsert(writer, *_rows(chosen, rules, settings))
    for key, chosen in selections.items():
        ready = [selection for selection in chosen.values() if selection.state == "ready"]
>>>>>>> 2da93e23a87d9a1a6a24e91eec0623f90341cc53
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": sum(one.history_size for one in mine),
                "runs": len(ids),
                "runs_with_history": sum(one.state == "ready" for one in mine),
                "history_size": max((one.history_size for one in mine), default=0),
                "selected_now": len(selected.selections.keys() & set(ids)),
                **watch.metadata(len(keys)),
            },
            partition_key=key,
        )
