"""From the comparisons of one run to its rows of core.distances; what was measured from the same inputs is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perfreg_assets import detection
from perfreg_assets.assets.comparisons import SCORED, Comparison
from perfreg_assets.methods.barycenter import Barycenter
from perfreg_assets.methods.detectors import Detector
from perfreg_assets.methods.multiple_testing import combine, correct
from perfreg_assets.methods.samples import Sample, Score
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.barycenters import BarycenterRow
from perfreg_assets.warehouse.distances import RUN_LEVEL, DistanceRow

# When no series of a run can be judged, the run's own state is the first of these that occurs.
_RUN_STATES = ("incomplete_trace", "not_enough_history", "series_missing")
_DETECTOR_PARAMETERS = ("barycenter_iterations", "dbscan_eps", "dbscan_min_samples")

Earlier = Mapping[tuple[str, str, str], DistanceRow]


def measure_run(
    comparisons: Sequence[Comparison],
    detector: Detector,
    averages: Mapping[str, tuple[str, BarycenterRow]],
    earlier: Earlier,
    settings: Settings,
    parameters_hash: str,
) -> list[DistanceRow]:
    """Each judged series of one run, and the run itself ('*'), by one detector.

    Args:
        averages: series → (id, barycenter) of this run.
        earlier: (run, series, detector) → what was measured last.
    """
    rows: list[DistanceRow] = []
    run_rule = detection.definition_of(detector.name).run_rule
    scores: dict[str, Score] = {}
    series_count = sum(one.state == SCORED for one in comparisons)
    for one in comparisons:
        blank = DistanceRow(
            run_id=one.run_id,
            series=one.series,
            detector=detector.name,
            parameters_hash=parameters_hash,
            state=one.state,
            state_reason=one.state_reason,
            history_size=len(one.history) if one.state == SCORED else None,
            k=settings.history_size,
            interval_s=settings.interval_s,
            engine_version=one.engine_version,
            code_version=code_version("methods"),
        )
        if one.state != SCORED:
            rows.append(blank)
            continue
        input_hash = _input_hash(one, detector.name, series_count, settings)
        before = earlier.get((one.run_id, one.series, detector.name))
        if before is not None and before.input_hash == input_hash:
            row = replace(before, parameters_hash=parameters_hash, k=settings.history_size)
            scores[one.series] = _score_of(row)
        else:
            average_id, average = averages[one.series]
            score = correct(_score(one, detector, average), series_count, run_rule)
            scores[one.series] = score
            row = _filled(blank, replace(score, barycenter_id=average_id), input_hash)
        rows.append(row)
    return [*rows, _run_level(rows, scores, detector.name)] if rows else []


def _score(one: Comparison, detector: Detector, average: BarycenterRow) -> Score:
    history, target = one.samples
    return detector.score(
        history,
        target,
        series=one.definition,
        interval_s=one.interval_s,
        barycenter=Barycenter(average.values, average.inertia, average.iteration_count),
    )


def _run_level(rows: list[DistanceRow], scores: dict[str, Score], detector: str) -> DistanceRow:
    blank = replace(rows[0], series=RUN_LEVEL, **_NOTHING)
    if scores:
        digest = hashlib.sha256("".join(sorted(row.input_hash or "" for row in rows)).encode()).hexdigest()
        return _filled(
            replace(blank, state=SCORED, state_reason=None),
            combine(scores, detection.definition_of(detector).run_rule),
            digest,
        )
    told = min(rows, key=lambda row: _RUN_STATES.index(row.state))
    return replace(blank, state=told.state, state_reason=told.state_reason)


_NOTHING: dict[str, Any] = dict.fromkeys(
    (
        *("state_reason", "distance", "q1", "q3", "improvement", "is_recheck_passed", "p_value", "direction"),
        *("history_distances", "evidence", "evidence_text", "barycenter_id", "input_hash"),
    )
)


def _filled(blank: DistanceRow, score: Score, input_hash: str) -> DistanceRow:
    return replace(
        blank,
        distance=score.distance,
        q1=score.q1,
        q3=score.q3,
        improvement=score.improvement,
        is_recheck_passed=score.is_recheck_passed,
        p_value=score.p_value,
        direction=score.direction,
        history_distances=score.history_distances,
        evidence=dict(score.evidence),
        evidence_text=score.sentence,
        barycenter_id=score.barycenter_id,
        input_hash=input_hash,
    )


def _score_of(row: DistanceRow) -> Score:
    assert row.distance is not None
    assert row.q1 is not None
    assert row.q3 is not None
    return Score(
        distance=row.distance,
        q1=row.q1,
        q3=row.q3,
        improvement=row.improvement,
        is_recheck_passed=row.is_recheck_passed,
        p_value=row.p_value,
        direction="less" if row.direction == "less" else "more",
        history_distances=row.history_distances if row.history_distances is not None else np.empty(0),
        evidence=row.evidence or {},
        sentence=row.evidence_text or "",
        barycenter_id=row.barycenter_id,
    )


def _input_hash(one: Comparison, detector: str, series_count: int, settings: Settings) -> str:
    """What a score depends on: the samples (the history as a set), the detector's parameters, the code."""
    history, target = one.samples
    parts = (
        detector,
        one.definition,
        one.interval_s,
        series_count,
        settings.hash_of(*_DETECTOR_PARAMETERS),
        code_version("methods"),
    )
    digest = hashlib.sha256("|".join(map(str, parts)).encode())
    digest.update(_content(target))
    for content in sorted(map(_content, history)):
        digest.update(content)
    return digest.hexdigest()


def _content(sample: Sample) -> bytes:
    states = b"" if sample.states is None else np.ascontiguousarray(sample.states, dtype=np.int64).tobytes()
    return hashlib.sha256(np.ascontiguousarray(sample.values, dtype=np.float64).tobytes() + states).digest()
