"""A run's verdict from those of its series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfreg_assets.methods.calibration import QUARTILE, p_of_score, score_of_p
from perfreg_assets.methods.samples import Score


def combine_run(scores: Mapping[str, Score], detector: str) -> Score:
    """The run's own score, stored as series '*'.

    `default`: Bonferroni. The run's p is m times the smallest of its m series' p (at most 1), so the level of the knob
    is the level for the whole run, however its series depend on each other. Holm's procedure rejects the same runs:
    it starts with the same comparison, and only then looks at further series.

    `iqr`: the thesis' "any series". The row of the series that stays anomalous up to the largest ω, so that the run is
    anomalous at exactly those ω at which any of its series is.

    Raises:
        ValueError: no scores, or the detector is not known.
    """
    if not scores:
        raise ValueError("a run without a judged series has no verdict; at least one score is needed")
    if detector == "default":
        return _bonferroni(scores)
    if detector == "iqr":
        return _any(scores)
    raise ValueError(f"detector = {detector!r}: allowed is default or iqr")


def _bonferroni(scores: Mapping[str, Score]) -> Score:
    count = len(scores)
    worst = max(sorted(scores), key=lambda name: scores[name].distance)
    best = max(sorted(scores), key=lambda name: _improvement(scores[name]))
    distance = _corrected(scores[worst].distance, count)
    improvement = _corrected(_improvement(scores[best]), count)
    told = worst if distance >= improvement else best
    return replace(
        scores[told],
        distance=distance,
        q1=-QUARTILE,
        q3=QUARTILE,
        improvement=improvement,
        is_recheck_passed=None,
        p_value=p_of_score(distance),
        history_distances=scores[worst].history_distances,
        evidence={"series_count": float(count), **{f"{name}_score": one.distance for name, one in scores.items()}},
        sentence=f"{told}: {scores[told].sentence}" if scores[told].sentence else "",
        barycenter_id=None,
    )


def _corrected(score: float, count: int) -> float:
    return score_of_p(min(1.0, count * p_of_score(score))) if count > 1 else score


def _improvement(score: Score) -> float:
    return float("-inf") if score.improvement is None else score.improvement


def _any(scores: Mapping[str, Score]) -> Score:
    # A series whose second check took the alarm away can never be the reason, whatever its distance.
    worst = max(
        sorted(scores), key=lambda name: (scores[name].is_recheck_passed is not False, _largest_omega(scores[name]))
    )
    return replace(
        scores[worst],
        evidence={"series_count": float(len(scores)), **scores[worst].evidence},
        sentence=f"{worst}: {scores[worst].sentence}",
        barycenter_id=None,
    )


def _largest_omega(score: Score) -> tuple[float, float]:
    """Orders by the ω up to which the series is anomalous; without spread it is anomalous at every ω or at none."""
    spread = score.q3 - score.q1
    excess = score.distance - score.q3
    if spread > 0:
        return excess / spread, excess
    return (float("inf") if excess > 0 else float("-inf")), excess
