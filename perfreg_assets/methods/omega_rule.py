"""Tukey's rule with a free factor ω: anomalous iff distance > q3 + ω (q3 - q1) (thesis 4.2.2), and the state it gives.

The rule's only home in Python. The warehouse's `verdicts_at(omega)` is the same rule in SQL: all that it asks for is
stored, so any ω is answered later without the series.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

from perfreg_assets.methods.samples import Score

State = Literal["anomalous", "series_missing", "improved", "normal"]

FAR_ALARM = 3.0  # standard deviations: three of a hundred false alarms at the default ω are farther out


def threshold(score: Score, omega: float) -> float:
    """What the distance has to exceed at ω, in the distance's unit."""
    return score.q3 + omega * (score.q3 - score.q1)


def is_anomalous(score: Score, omega: float) -> bool:
    """Whether the distance is above the threshold at ω and no second check took the alarm away."""
    return score.distance > threshold(score, omega) and score.is_recheck_passed is not False


def is_far(score: float) -> bool:
    """Whether an alarm's score, standard normal without a regression, leaves little doubt that there is one."""
    return score > FAR_ALARM


def critical_omega(score: Score) -> float:
    """The ω below which the score is anomalous (no unit): infinite where it is at every ω, or (negative) at none."""
    excess, spread = score.distance - score.q3, score.q3 - score.q1
    if score.is_recheck_passed is False:
        return -math.inf
    if spread > 0:
        return excess / spread
    return math.inf if excess > 0 else -math.inf


def state(score: Score, omega: float, missing_series: Collection[str] = ()) -> State:
    """The state of a series or of a whole run at ω; missing data and hidden regressions are never "normal" or better.

    Args:
        missing_series: of a run, the judged series that its history has and it lacks.
    """
    if is_anomalous(score, omega):
        return "anomalous"
    if missing_series:
        return "series_missing"
    limit = threshold(score, omega)
    uncorrected = score.distance if score.uncorrected_distance is None else score.uncorrected_distance
    if score.improvement is not None and score.improvement > limit and uncorrected <= limit:
        return "improved"
    return "normal"
