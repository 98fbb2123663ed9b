"""A number of a run beside those of its history, on a scale where they scatter evenly: the prediction interval of one
more of them, see `calibration`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.catalogue import Worse
from perfreg_assets.methods.calibration import (
    QUARTILE,
    SMALLEST_LOG_SD,
    history_scores,
    inlier_mask,
    p_of_score,
    predictive_score,
    score_of_p,
)
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.samples import Score


@dataclass(frozen=True)
class OneMore:
    """A number of a run beside those of its history, on the standard-normal scale.

    Attributes:
        distance, improvement: as in `Score`.
        is_more: whether it is above the history's.
        own: (k,) of the history's own numbers.
        is_kept: (k,) whether the number counts, see `calibration.inlier_mask`.
    """

    distance: float
    improvement: float | None
    is_more: bool
    own: Floats
    is_kept: NDArray[np.bool_]

    def score(self, evidence: Mapping[str, float], sentence: str) -> Score:
        """As a detector returns it."""
        return Score(
            distance=self.distance,
            q1=-QUARTILE,
            q3=QUARTILE,
            improvement=self.improvement,
            is_recheck_passed=None,
            p_value=p_of_score(self.distance),
            direction="more" if self.is_more else "less",
            history_distances=self.own,
            evidence=evidence,
            sentence=sentence,
        )


def one_more(known: Floats, judged: float, worse: Worse, smallest_sd: float, smallest_disturbance: float) -> OneMore:
    """The prediction interval of one more number beside known ones (k,), k >= 2, on a scale where they scatter evenly.

    Args:
        smallest_sd: their standard deviation counts as at least this.
        smallest_disturbance: nearer to the median than this none is left out, see `calibration.inlier_mask`.
    """
    order = np.argsort(known, kind="stable")  # sums of the same numbers in another order may differ in the last bit
    ordered = known[order]
    kept = inlier_mask([ordered], smallest_disturbance)
    more = predictive_score(ordered[kept], judged, smallest_sd)
    own, is_kept = np.empty(len(known)), np.empty(len(known), dtype=np.bool_)
    own[order] = history_scores(ordered[kept], ordered[~kept], kept, smallest_sd)
    is_kept[order] = kept
    distance, improvement = more, -more
    if worse == "either":
        own = np.array([two_sided(float(score)) for score in own])
        return OneMore(two_sided(more), None, more >= 0, own, is_kept)
    if worse == "less":
        distance, improvement, own = -more, more, -own
    return OneMore(distance, improvement, more >= 0, own, is_kept)


def one_more_amount(known: Floats, judged: float, worse: Worse, smallest_sd: float = 1e-12) -> OneMore:
    """`one_more` of amounts (k,) on their own scale, of which some may be 0."""
    level = float(np.median(np.abs(known)))
    # Where most values are 0, those that are not are how it is at times, and no disturbance.
    smallest_sd = max(SMALLEST_LOG_SD * level, smallest_sd)
    return one_more(known, judged, worse, smallest_sd, level or float(np.abs(known).max()))


def two_sided(score: float) -> float:
    """The score of being as far away on either side."""
    return score_of_p(2 * p_of_score(abs(score)))
