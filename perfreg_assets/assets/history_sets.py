"""`history_sets`: the earlier runs that a run is compared with."""

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.assets.stopwatch import Stopwatch
from perfreg_assets.methods.history import HistoryRules, HistorySelection, RunFacts, select_history
from perfreg_assets.partitions import app_versions, from_key
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import histories
from perfreg_assets.warehouse import runs as run_table

HISTORY_PARAMETERS = (
    *("history_size", "history_minimum", "path_similarity_minimum"),
    *("history_same_version", "history_excludes_anomalous"),
)


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

    Comparable: same configuration C, no functional problems F, a whole trace, an earlier start, another version,
    not reviewed out, and path similarity D(R₁, R₂) ≥ 0.8 by Ratcliff-Obershelp over state hashes. Too few of them
    is the state `not_enough_history`, with the counts that explain it.
    """
    watch = Stopwatch()
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
                facts_of_app[app] = [RunFacts(**vars(fact)) for fact in histories.facts(reader, app)]
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
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": sum(len(selection.members) for selection in chosen.values()),
                "runs": len(chosen),
                "runs_with_history": len(ready),
                "history_size": max((len(selection.members) for selection in chosen.values()), default=0),
                **watch.metadata(len(selections)),
            },
            partition_key=key,
        )
        for run_id, selection in chosen.items():
            context.log.info("%s: %s", run_id, selection.explanation)


def _rows(
    chosen: dict[str, HistorySelection], rules: HistoryRules, settings: Settings
) -> tuple[list[histories.HistoryRow], list[histories.CandidateRow]]:
    parameters_hash = settings.hash_of(*HISTORY_PARAMETERS)
    sets = [
        histories.HistoryRow(
            run_id=run_id,
            state=selection.state,
            history_size=len(selection.members),
            history_maximum=rules.size,
            history_minimum=rules.minimum,
            similarity_minimum=rules.similarity_minimum,
            candidate_count=selection.candidate_count,
            excluded_counts={reason.code: count for reason, count in selection.excluded_counts.items()},
            explanation=selection.explanation,
            parameters_hash=parameters_hash,
            code_version=code_version("methods"),
        )
        for run_id, selection in chosen.items()
    ]
    candidates = [
        histories.CandidateRow(
            run_id=run_id,
            history_run_id=candidate.run_id,
            history_rank=candidate.rank,
            similarity_ratio=candidate.similarity,
            exclude_reason=candidate.exclude_reason,
        )
        for run_id, selection in chosen.items()
        for candidate in (*selection.members, *selection.near_misses)
    ]
    return sets, candidates
