"""Several series are judged in one run: what one alarm per run costs each of them.

Šidák's correction, p' = 1 - (1 - p)^m for m series: a run of normal series raises an alarm with the nominal
probability, exactly so for independent series and at most so for positively dependent ones (Šidák 1967). It is
Bonferroni's m·p but for terms of p², and unlike min(1, m·p) it stays an order for large p. With it a run is
anomalous exactly when one of its series is, at every ω.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from scipy import special

from perfreg_assets.methods.calibration import LARGEST_SCORE, p_of_score, score_of_p
from perfreg_assets.methods.samples import Score


def corrected(score: Score, series_count: int) -> Score:
    """A calibrated score on the scale of the whole run (`series_count` series judged, itself included)."""
    if series_count < 1:
        raise ValueError(f"series_count = {series_count}: a judged series belongs to a run with at least one")
    distance = _corrected(score.distance, series_count)
    return replace(
        score,
        distance=distance,
        improvement=None if score.improvement is None else _corrected(score.improvement, series_count),
        p_value=p_of_score(distance),
        evidence={**score.evidence, "series_score": score.distance, "series_count": float(series_count)},
    )


def run_score(scores: Mapping[str, Score]) -> Score:
    """The run's own score from corrected ones: the worst series'; and the best one's improvement.

    Raises:
        ValueError: no scores.
    """
    if not scores:
        raise ValueError("a run without a judged series has no verdict; at least one score is needed")
    worst = max(sorted(scores), key=lambda name: scores[name].distance)
    best = max(sorted(scores), key=lambda name: _improvement(scores[name]))
    told = worst if scores[worst].distance >= _improvement(scores[best]) else best
    return replace(
        scores[told],
        distance=scores[worst].distance,
        improvement=scores[best].improvement,
        p_value=scores[worst].p_value,
        history_distances=scores[worst].history_distances,
        evidence={f"{name}_score": one.distance for name, one in scores.items()},
        sentence=f"{told}: {scores[told].sentence}" if scores[told].sentence else "",
        barycenter_id=None,
    )


def _corrected(score: float, count: int) -> float:
    # Each side is computed from its own small tail: near 1 a probability has no digits left.
    if score < 0:
        below = math.exp(count * float(special.log_ndtr(score)))
        return max(float(special.ndtri(below)), -LARGEST_SCORE)
    return score_of_p(-math.expm1(count * math.log1p(-p_of_score(score))))


def _improvement(score: Score) -> float:
    return float("-inf") if score.improvement is None else score.improvement
