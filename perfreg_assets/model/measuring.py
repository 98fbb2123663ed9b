"""From the comparisons of a run to its rows of core.distances; what was measured from the same inputs is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from perfreg_assets.advance import Count
from perfreg_assets.detection import DetectorDefinition, Way, detectors
from perfreg_assets.methods import repeats
from perfreg_assets.methods.detectors import Detector, detectors_by_way
from perfreg_assets.methods.empirical_null import EmpiricalNull, TheoreticalScore
from perfreg_assets.methods.multiple_testing import SERIES_IMPROVEMENT, combine, correct, with_distance
from perfreg_assets.methods.samples import Score, UnlikeHistoryError
from perfreg_assets.model import inputs, readiness
from perfreg_assets.model.averaging import stored_average
from perfreg_assets.model.comparisons import SCORED, Comparison, SampleStore
from perfreg_assets.model.freshness import Stage
from perfreg_assets.model.past_scores import PastScores
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.provenance import code_version
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import barycenters as barycenter_table
from perfreg_assets.warehouse import distances as table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.barycenters import BarycenterRow
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.distances import DistanceRow
from perfreg_assets.warehouse.past_scores import (
    PAST_RUNS,
    THEORETICAL_IMPROVEMENT,
    THEORETICAL_SCORE,
    TRANSIENT_RUNS,
    UNIT_RUNS,
)

# When no series of a run can be judged, and it lacks none that its history has, its own state is the first of these.
_RUN_STATES = ("incomplete_trace", "not_enough_history", "series_missing")
_OF_THE_PAST = (THEORETICAL_SCORE, THEORETICAL_IMPROVEMENT, PAST_RUNS, TRANSIENT_RUNS, UNIT_RUNS)
_OF_SCORE = {spec.name for spec in fields(Score)} & {spec.name for spec in fields(DistanceRow)}

Earlier = Mapping[tuple[str, str, str], DistanceRow]
"""(run, series, detector) → what was measured last."""


@dataclass(frozen=True)
class Measured:
    """What a step did: the rows it stored."""

    rows: list[DistanceRow]


def measure_due(warehouse: Warehouse, settings: Settings, keys: Iterable[str], watch: Stopwatch) -> Measured:
    """Measures the runs that are due in some partitions, by every detector."""
    with warehouse.reading() as reader:
        settings = settings_table.in_force(reader, settings)
        planned = readiness.ready(reader, settings, Stage.DISTANCE, keys).planned
        if not planned.run_ids:
            return Measured([])
        everything = planned.everything()
        store = SampleStore(reader, everything)
        averages = barycenter_table.find(
            reader, {inputs.barycenter_id(one, settings) for one in everything if one.has_barycenter}
        )
        earlier = {(row.run_id, row.series, row.detector): row for row in table.find(reader, planned.run_ids)}
        past = PastScores.of_detectors(reader, planned.run_ids)
    measurements = [Measurement(one, settings, store, averages) for one in detectors().values()]

    def measure(run_id: str) -> list[list[DistanceRow]]:
        return [one.of_series(planned.family(run_id, one.definition), earlier) for one in measurements]

    count = Count(len(planned.run_ids), "runs measured")
    with watch.measure("model"), ThreadPoolExecutor() as pool:
        by_theory = list(count.over(pool.map(measure, planned.run_ids)))
        rows: list[DistanceRow] = []
        for place, one in enumerate(measurements):
            before = past.get(one.definition.name)
            if before is not None:
                before.learn(theoretical_scores(row for of_run in by_theory for row in of_run[place]))
            for family, of_run in zip(planned.of(one.definition).values(), by_theory, strict=True):
                rows += one.of_run(family, of_run[place], before)
    with watch.measure("warehouse"), warehouse.writing() as writer:
        table.upsert(writer, rows)
    readiness.done(writer, Stage.DISTANCE)
    return Measured(rows)


class Measurement:
    """One detector at work.

    Args:
        averages: barycenters by id; those of all comparisons that are measured.
    """

    def __init__(
        self,
        definition: DetectorDefinition,
        settings: Settings,
        store: SampleStore,
        averages: Mapping[str, BarycenterRow],
    ) -> None:
        self._definition, self._settings, self._store, self._averages = definition, settings, store, averages
        self._of_way: dict[Way, Detector] = detectors_by_way(definition, vars(settings))
        self._own = inputs.own_parameters(definition, settings)

    @property
    def definition(self) -> DetectorDefinition:
        return self._definition

    def of_series(self, family: Sequence[Comparison], earlier: Earlier) -> list[DistanceRow]:
        """Each judged series of one run; where it has an empirical null, by theory or as it was judged before."""
        return [self._row(one, family, earlier) for one in family]

    def of_run(
        self, family: Sequence[Comparison], measured: Sequence[DistanceRow], past: PastScores | None
    ) -> list[DistanceRow]:
        """The series beside the app's earlier scores, and the run itself ('*').

        Args:
            measured: of `of_series`.
            past: where the detector has an empirical null: scores of earlier runs.
        """
        rows = [
            self._beside(row, past.null(row.run_id, row.series), family)
            if past is not None and one.has_course and row.state == SCORED
            else row
            for one, row in zip(family, measured, strict=True)
        ]
        scores = {row.series: _score_of(row) for row in rows if row.state == SCORED}
        return [*rows, self._run_level(family, rows, scores, past)] if rows else []

    def _beside(self, row: DistanceRow, null: EmpiricalNull, family: Sequence[Comparison]) -> DistanceRow:
        evidence = row.evidence or {}
        if not null.counts and THEORETICAL_SCORE not in evidence:
            return row
        theory, of_row = _theoretical_score(row), _score_of(row)
        series_count = sum(other.is_scored for other in family)
        by_theory = evidence.get(THEORETICAL_IMPROVEMENT, evidence.get(SERIES_IMPROVEMENT))
        improvement = None if by_theory is None else null.improved(by_theory)
        score = with_distance(of_row, null.judged(theory), improvement, series_count, self._definition.run_rule)
        known = {name: value for name, value in score.evidence.items() if name not in _OF_THE_PAST}
        if null.counts:
            known |= {THEORETICAL_SCORE: theory.score, PAST_RUNS: float(len(null) if null.has_past else 0)}
        if null.transient_runs:
            known[TRANSIENT_RUNS] = float(null.transient_runs)
        if null.foreign_ratio > 0:
            known[UNIT_RUNS] = float(null.unit.run_count)
            if by_theory is not None:
                known[THEORETICAL_IMPROVEMENT] = by_theory
        return _filled(row, replace(score, evidence=known))

    def _row(self, one: Comparison, family: Sequence[Comparison], earlier: Earlier) -> DistanceRow:
        input_hash = inputs.measurement_hash(one, self._definition, family, self._own)
        blank = self._blank(one, input_hash)
        if not one.is_scored:
            return blank
        before = earlier.get((one.run_id, one.series, self._definition.name))
        if before is not None and before.input_hash == input_hash and before.state == SCORED:
            return replace(before, parameters_hash=blank.parameters_hash, k=blank.k, interval_s=blank.interval_s)
        series_count = sum(other.is_scored for other in family)
        try:
            score = correct(self._score(one), series_count, self._definition.run_rule)
        except UnlikeHistoryError as unlike:
            return replace(blank, state="not_enough_history", state_reason=str(unlike), history_size=None)
        key = inputs.barycenter_id(one, self._settings) if one.has_barycenter else None
        if self._definition.scale == "score":
            score = replace(score, evidence={**score.evidence, **_repeats(one, score)})
        return _filled(blank, replace(score, barycenter_id=key))

    def _blank(self, one: Comparison, input_hash: str) -> DistanceRow:
        return DistanceRow(
            run_id=one.run_id,
            series=one.series,
            detector=self._definition.name,
            parameters_hash=inputs.measuring_parameters(self._definition, self._settings),
            state=one.state,
            state_reason=one.state_reason,
            history_size=one.history_size if one.is_scored else None,
            input_hash=input_hash,
            k=self._settings.history_size,
            interval_s=self._settings.interval_s,
            engine_version=one.engine_version,
            code_version=code_version("methods"),
        )

    def _score(self, one: Comparison) -> Score:
        detector = self._of_way[one.way]
        if not one.has_course:
            assert one.value is not None
            return detector.score_value(np.array(one.known), one.value, series=one.definition)
        history, target = self._store.samples(one)
        return detector.score(
            history,
            target,
            series=one.definition,
            interval_s=one.interval_s,
            barycenter=stored_average(one, self._averages, self._settings),
        )

    def _run_level(
        self,
        family: Sequence[Comparison],
        rows: Sequence[DistanceRow],
        scores: Mapping[str, Score],
        past: PastScores | None,
    ) -> DistanceRow:
        blank = replace(
            self._blank(family[0], inputs.run_hash(self._definition, family, self._settings, past)),
            series=RUN_LEVEL,
            missing_series=tuple(one.series for one in family if one.is_missing_in_run),
        )
        if scores:
            worst = max(row.history_size or 0 for row in rows)
            whole = replace(blank, state=SCORED, state_reason=None, history_size=worst)
            return _filled(whole, combine(scores, self._definition.run_rule))
        missing = blank.missing_series or ()
        rest = [row for row in rows if row.series not in missing]
        told = min(rest, key=lambda row: _RUN_STATES.index(row.state)) if rest else None
        if not missing:
            assert told is not None
            return replace(blank, state=told.state, state_reason=told.state_reason)
        # As axes and versions have it: what the run lacks says more than why the rest cannot be judged.
        why = f"Not judged, missing although the history has it: {', '.join(missing)}."
        of_rest = f" Of the rest nothing can be judged: {told.state_reason}" if told is not None else ""
        return replace(blank, state="series_missing", state_reason=why + of_rest)


def theoretical_scores(rows: Iterable[DistanceRow]) -> dict[str, dict[str, TheoreticalScore]]:
    """run_id → series → score before earlier ones were asked, of the rows that have one."""
    found: dict[str, dict[str, TheoreticalScore]] = {}
    for row in rows:
        scores = found.setdefault(row.run_id, {})
        if row.state == SCORED:
            scores[row.series] = _theoretical_score(row)
    return found


def _theoretical_score(row: DistanceRow) -> TheoreticalScore:
    assert row.uncorrected_distance is not None
    evidence = row.evidence or {}
    return TheoreticalScore.of(evidence.get(THEORETICAL_SCORE, row.uncorrected_distance), evidence)


def _repeats(one: Comparison, score: Score) -> dict[str, float]:
    """What the scores of several runs of a build are combined by, see `methods.repeats`."""
    kept = one.history_size - int(score.evidence.get("history_set_aside", 0))
    alike = repeats.correlation(score.history_distances, one.history_versions, kept)
    return {"score_degrees": float(kept - 1), "repeat_correlation": alike}


def _filled(blank: DistanceRow, score: Score) -> DistanceRow:
    values: dict[str, Any] = {name: getattr(score, name) for name in _OF_SCORE}
    return replace(blank, **values | {"evidence": dict(score.evidence)}, evidence_text=score.sentence)


def _score_of(row: DistanceRow) -> Score:
    assert row.distance is not None
    values = {name: getattr(row, name) for name in _OF_SCORE}
    history = row.history_distances if row.history_distances is not None else np.empty(0)
    return Score(
        **values | {"evidence": row.evidence or {}, "history_distances": history}, sentence=row.evidence_text or ""
    )
