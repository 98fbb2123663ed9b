"""Several series are judged in one run: what one alarm per run costs each of them, and which one decides.

`sidak`: p' = 1 - (1 - p)^m for m series: a run of normal series raises an alarm with the nominal probability, exactly
so for independent series and at most so for positively dependent ones (Šidák 1967). It is Bonferroni's m·p but for
terms of p², and unlike min(1, m·p) it stays an order for large p. `any`: nothing is corrected (the thesis).

By either rule a run is anomalous exactly when one of its series is, at every ω.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import numpy as np

from perfreg_assets.detection import RunRule
from perfreg_assets.methods.calibration import LARGEST_SCORE, p_of_score, score_of_p, special
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.omega_rule import critical_omega, state
from perfreg_assets.methods.repeats import combined_score, score_by_number
from perfreg_assets.methods.samples import Score

SERIES_IMPROVEMENT = "series_improvement"
"""In a corrected score's evidence: its improvement before. What is no improvement at all is corrected to the lowest
score that there is, from which nothing leads back."""


def correct(score: Score, series_count: int, run_rule: RunRule) -> Score:
    """A series' score on the scale of the whole run (`series_count` series judged, itself included).

    Under `sidak` distance and improvement have to be standard-normal scores; under `any` the score stays as it is.

    Raises:
        ValueError: no series was judged, or the rule is not known.
    """
    if series_count < 1:
        raise ValueError(f"series_count = {series_count}: a judged series belongs to a run with at least one")
    if _checked(run_rule) == "any":
        return score
    distance = sidak(score.distance, series_count)
    evidence = {**score.evidence, "series_score": score.distance, "series_count": float(series_count)}
    if score.improvement is not None:
        evidence[SERIES_IMPROVEMENT] = score.improvement
    return replace(
        score,
        distance=distance,
        improvement=None if score.improvement is None else sidak(score.improvement, series_count),
        uncorrected_distance=score.distance,
        p_value=p_of_score(distance),
        evidence=evidence,
    )


def with_distance(
    corrected: Score, distance: float, improvement: float | None, series_count: int, run_rule: RunRule
) -> Score:
    """A corrected standard-normal score with another distance and improvement before the correction.

    Raises:
        ValueError: as `correct`.
    """
    bare = replace(corrected, distance=distance, improvement=improvement, p_value=p_of_score(distance))
    return correct(bare, series_count, run_rule)


def combine(scores: Mapping[str, Score], run_rule: RunRule) -> Score:
    """The run's own score, stored as series '*', from the corrected ones of its series.

    It is the score of the worst series, the one that stays anomalous up to the largest ω. Under `sidak`, where all
    series share a scale, the best series' improvement stands beside it and is told as well when it is the larger one,
    each with the name of the series it is about; a run that is improved at ω = 0, and so anomalous at none, is told
    by the best series.

    Raises:
        ValueError: no scores, or the rule is not known.
    """
    if not scores:
        raise ValueError("a run without a judged series has no verdict; at least one score is needed")
    # A series whose second check took the alarm away can never be the reason, whatever its distance.
    worst = max(sorted(scores), key=lambda name: _badness(scores[name]))
    best = worst if _checked(run_rule) == "any" else max(sorted(scores), key=lambda name: _improvement(scores[name]))
    uncorrected = [one.uncorrected_distance for one in scores.values() if one.uncorrected_distance is not None]
    run = replace(
        scores[worst],
        improvement=scores[best].improvement,
        uncorrected_distance=max(uncorrected, default=None),
        evidence={"series_count": float(len(scores)), **{f"{name}_distance": s.distance for name, s in scores.items()}},
        sentence=_told(worst, scores[worst].sentence),
        barycenter_id=None,
    )
    better = _improvement(run)
    if best == worst or better <= max(run.distance, run.q3):  # not above q3: an improvement at no ω
        return run
    of_best = _told(f"{best} (improvement score {better:.2g})", scores[best].sentence)
    if state(run, omega=0.0) == "improved":
        return replace(run, sentence=of_best, direction=scores[best].direction)
    return replace(run, sentence="; ".join(filter(None, (run.sentence, of_best))))


def version_score(scores: Mapping[str, Floats], degrees: Mapping[str, float], alike: Mapping[str, float]) -> float:
    """Standard-normal score of a build as a whole, as marts.version_verdicts_at decides it: its runs together, or most
    of them, or half of six and more, each in its own way.

    Args:
        scores: series → (n,) uncorrected scores of its runs, in one order.
        degrees, alike: series → what `repeats.combined_score` takes.

    Raises:
        ValueError: no series, or one without a run.
    """
    if not scores:
        raise ValueError("a build without a judged series has no verdict; at least one score is needed")
    of_series = series_scores(scores, degrees, alike)
    worst = [max(sidak(float(one), len(scores)) for one in of_run) for of_run in zip(*scores.values(), strict=True)]
    together = max(sidak(score, len(of_series)) for score in of_series.values())
    return max(together, score_by_number(np.array(worst)))


def series_scores(
    scores: Mapping[str, Floats], degrees: Mapping[str, float], alike: Mapping[str, float]
) -> dict[str, float]:
    """Series → score of a build by it alone, uncorrected; as `version_score`."""
    return {
        series: max(combined_score(of_runs, degrees[series], alike[series]), score_by_number(of_runs))
        for series, of_runs in scores.items()
    }


def sidak(score: float, count: int) -> float:
    """A standard-normal score among `count` of them, as a standard-normal score: of p' = 1 - (1 - p)^count."""
    if count == 1:
        return score
    # Each side is computed from its own small tail: near 1 a probability has no digits left.
    if score < 0:
        below = math.exp(count * float(special.log_ndtr(score)))
        return max(float(special.ndtri(below)), -LARGEST_SCORE)
    return score_of_p(-math.expm1(count * math.log1p(-p_of_score(score))))


def _checked(run_rule: RunRule) -> RunRule:
    if run_rule not in get_args(RunRule):
        raise ValueError(f"run_rule = {run_rule!r}: allowed is {' or '.join(get_args(RunRule))}")
    return run_rule


def _badness(score: Score) -> tuple[bool, float, float]:
    return score.is_recheck_passed is not False, critical_omega(score), score.distance - score.q3


def _improvement(score: Score) -> float:
    return -math.inf if score.improvement is None else score.improvement


def _told(name: str, sentence: str) -> str:
    return f"{name}: {sentence}" if sentence else ""
