"""From the runs of an app to each run's history, as rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfreg_assets.methods.history import HistoryRules, HistorySelection, select_history
from perfreg_assets.model import inputs, readiness
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.partitions import from_key
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import histories, settings_table
from perfreg_assets.warehouse.connection import Warehouse


@dataclass(frozen=True)
class Selected:
    """What a step did: run_id → its history, for the runs whose history was selected now."""

    selections: dict[str, HistorySelection]


def history_rules(settings: Settings) -> HistoryRules:
    """The rules of a selection as the settings have them."""
    return HistoryRules(
        size=settings.history_size,
        minimum=settings.history_minimum,
        similarity_minimum=settings.path_similarity_minimum,
        same_version=settings.history_same_version,
        excludes_anomalous=settings.history_excludes_anomalous,
    )


def select_due(warehouse: Warehouse, settings: Settings, keys: Iterable[str], watch: Stopwatch) -> Selected:
    """Selects the histories that are due in some partitions."""
    keys = list(keys)
    selections: dict[str, HistorySelection] = {}
    hashes: dict[str, str] = {}
    with warehouse.reading() as reader, watch.measure("model"):
        settings = settings_table.in_force(reader, settings)
        rules = history_rules(settings)
        wanted = readiness.ready(reader, settings, Stage.HISTORY, keys).runs
        if not wanted:
            return Selected({})
        paths = histories.Paths(reader)
        for app in sorted({from_key(key)[0] for key in keys}):
            facts = histories.facts(reader, app, with_verdicts=rules.excludes_anomalous)
            chosen = [fact for fact in facts if fact.run_id in wanted]
            hashes |= inputs.history_hashes(reader, app, settings, {fact.run_id for fact in chosen})
            paths(chosen)  # at once
            selections |= {fact.run_id: select_history(fact, facts, rules, paths) for fact in chosen}
    with watch.measure("warehouse"), warehouse.writing() as writer:
        histories.upsert(writer, *_rows(selections, hashes, rules, settings))
    readiness.done(writer, Stage.HISTORY)
    return Selected(selections)


def _rows(
    selections: dict[str, HistorySelection], hashes: dict[str, str], rules: HistoryRules, settings: Settings
) -> tuple[list[histories.HistoryRow], list[histories.CandidateRow]]:
    sets = [
        histories.HistoryRow(
            run_id=run_id,
            state=selection.state,
            way=selection.way,
            history_size=len(selection.members),
            history_maximum=rules.size,
            history_minimum=rules.minimum,
            similarity_minimum=rules.similarity_minimum,
            candidate_count=selection.candidate_count,
            excluded_counts={reason.code: count for reason, count in selection.excluded_counts.items()},
            explanation=selection.explanation,
            parameters_hash=settings.hash_of(*inputs.HISTORY_PARAMETERS),
            input_hash=hashes[run_id],
            code_version=code_version("methods"),
        )
        for run_id, selection in selections.items()
    ]
    candidates = [
        histories.CandidateRow(
            run_id=run_id,
            history_run_id=candidate.run_id,
            history_rank=candidate.rank,
            screens_rank=candidate.screens_rank,
            similarity_ratio=candidate.similarity,
            exclude_reason=candidate.exclude_reason,
        )
        for run_id, selection in selections.items()
        for candidate in (*selection.members, *selection.near_misses)
    ]
    return sets, candidates
