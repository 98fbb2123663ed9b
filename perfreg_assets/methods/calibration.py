"""From a statistic and its values on the history to a standard-normal score: the scale of detector `default`.

If the k + 1 values are exchangeable and roughly normal, (s - mean) / (sd · sqrt(1 + 1/k)) follows Student's t with
k - 1 degrees of freedom: the prediction interval for one more observation. Small k has fat tails, so the threshold
widens by itself (level .05: 1.65 sd for many runs, 1.87 for 12, 2.26 for 6, 3.4 for 3).

The score z has the same tail probability as that t. The null's quartiles are ∓0.6745, so Tukey's rule
z > q3 + ω (q3 - q1) holds with them, and ω means the same level for every series, run and history size:
ω = 0 is level .25, 0.5 is .089, 1 is .022, 1.5 is .0035.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.lazy import LazyModule

special = LazyModule("scipy.special")

QUARTILE = 0.6744897501960817  # of the standard normal distribution, the upper one
MAD_TO_SD = 1.4826  # of a normal distribution: its standard deviation over the median absolute deviation
HEAVY_TAILS = 1.1  # normal runs scatter a little wider than a normal distribution (measured, see docs/choices.md)
SMALLEST_LOG_SD = 0.02  # of the logarithm of a distance, range or value: 2 % more is never unusual
DISTURBED_SD = 6.0
DISTURBED_LOG = math.log(2)  # twice the median; natural tails are far below
LARGEST_DISTURBED_SHARE = 0.25
LARGEST_SCORE = 8.0  # p = 6e-16; beyond it the tail of the t distribution is no statement about anything


def level_of_omega(omega: float) -> float:
    """Nominal false-alarm probability of one series at ω."""
    return float(special.ndtr(-(QUARTILE + omega * 2 * QUARTILE)))


def omega_of_level(level: float) -> float:
    """The ω with that nominal false-alarm probability; negative above .25.

    Raises:
        ValueError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"level = {level}: must be between 0 and 1")
    return float((-special.ndtri(level) - QUARTILE) / (2 * QUARTILE))


def score_of_p(p_value: float) -> float:
    """Standard-normal score with upper tail p, within ±LARGEST_SCORE."""
    return float(np.clip(-special.ndtri(p_value), -LARGEST_SCORE, LARGEST_SCORE))


def p_of_score(score: float) -> float:
    """Upper tail probability of a standard-normal score."""
    return float(special.ndtr(-score))


def inlier_mask(known: Sequence[Floats], smallest: float) -> NDArray[np.bool_]:
    """Mask (k,) of the history's runs that say what is usual: all but those far outside in any of several numbers.

    A history may hold a regression nobody has seen yet, or a run that something else disturbed; a few of them would
    widen the interval until nothing is unusual any more. Far outside: further than `smallest` from the median, and
    beyond six robust standard deviations (MAD; Hampel 1974). If more than a quarter were left out, the history is
    simply like that, and all of it counts.

    Args:
        known: numbers of the k runs, each (k,), any unit.
        smallest: in that unit, above natural tails: a mere robust rule takes those for disturbances, which costs
            calibration.
    """
    kept = np.ones(len(known[0]), dtype=bool)
    for values in known:
        distance = np.abs(values - np.median(values))
        kept &= distance <= max(DISTURBED_SD * MAD_TO_SD * float(np.median(distance)), smallest)
    return kept if (~kept).sum() <= LARGEST_DISTURBED_SHARE * len(kept) else np.ones_like(kept)


def predictive_score(known: Floats, value: float, smallest_sd: float) -> float:
    """Score of one more value beside k known ones (k >= 2).

    Args:
        known: (k,), the unit of `value`.
        smallest_sd: the known values' standard deviation counts as at least this, so ties do not divide by zero.
    """
    count = len(known)
    spread = HEAVY_TAILS * max(float(np.std(known, ddof=1)), smallest_sd) * math.sqrt(1 + 1 / count)
    return _score_of_t((value - float(np.mean(known))) / spread, count - 1)


def leave_one_out_scores(known: Floats, smallest_sd: float) -> Floats:
    """Score (k,) of each known value beside the others (k >= 3; with 2 the score beside both)."""
    if len(known) < 3:
        return np.array([predictive_score(known, float(value), smallest_sd) for value in known])
    count = len(known) - 1
    others = np.broadcast_to(known, (len(known), len(known)))[~np.eye(len(known), dtype=bool)].reshape(-1, count)
    spread = HEAVY_TAILS * np.maximum(np.std(others, axis=1, ddof=1), smallest_sd) * math.sqrt(1 + 1 / count)
    t = (known - np.mean(others, axis=1)) / spread
    tails = np.maximum(special.stdtr(count - 1, -np.abs(t)), 1e-300)
    scores = np.copysign(np.clip(-special.ndtri(tails), -LARGEST_SCORE, LARGEST_SCORE), t)
    return np.where(t == 0, 0.0, scores)


def history_scores(inliers: Floats, outliers: Floats, kept: NDArray[np.bool_], smallest_sd: float) -> Floats:
    """Scores (k,) of a history's own values: each inlier beside the other ones, each outlier beside all of them.

    Args:
        inliers, outliers: the k values, in their order, divided by `kept` (k,), see `inlier_mask`.
        smallest_sd: see `predictive_score`.
    """
    scores = np.empty(len(kept))
    scores[kept] = leave_one_out_scores(inliers, smallest_sd)
    scores[~kept] = [predictive_score(inliers, float(value), smallest_sd) for value in outliers]
    return scores


def _score_of_t(t: float, degrees: int) -> float:
    # Tail by symmetry: stdtr near 1 would lose all digits.
    tail = special.stdtr(degrees, -abs(t))
    return math.copysign(score_of_p(max(float(tail), 1e-300)), t) if t else 0.0
