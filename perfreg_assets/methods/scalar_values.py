"""One value per run, without a time axis (a start-up time, an energy total), beside the history's values.

`predictive`: the prediction interval of one more value, on the scale of `calibration`. It looks at logarithms where
all values are above 0: times and energies scatter in proportion to their size and are skewed to the right, so that on
their own scale the longest ones would widen the interval. `tukey`: Tukey's rule on the values themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.catalogue import SeriesDefinition, Worse, display_unit
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.calibration import (
    DISTURBED_LOG,
    QUARTILE,
    SMALLEST_LOG_SD,
    history_scores,
    inlier_mask,
    p_of_score,
    predictive_score,
    score_of_p,
)
from perfreg_assets.methods.explanation import readable, span_told
from perfreg_assets.methods.inputs import Floats, as_univariate
from perfreg_assets.methods.samples import Score

SMALLEST_HISTORY = 2
STEADY_LOG_SD, STEADY_DISTURBED_LOG = 0.005, 0.1
"""Of the logarithms of values that were averaged already, see `SeriesDefinition.is_steady`."""
_TIMES = ("s", "ms", "us", "ns")


def predictive(history: Floats, value: float, series: SeriesDefinition) -> Score:
    """A standard-normal score of a value beside a history's (k,), both in the series' unit.

    Values of the history far from the rest (see `calibration.inlier_mask`) do not widen the interval.

    Raises:
        ValueError: fewer than 2 values in the history, or one is not finite.
    """
    known, judged = _checked(history, value, SMALLEST_HISTORY)
    if known.min() > 0 and judged > 0:
        steady = STEADY_LOG_SD, STEADY_DISTURBED_LOG
        smallest = steady if series.is_steady else (SMALLEST_LOG_SD, DISTURBED_LOG)
        found = one_more(np.log(known), float(np.log(judged)), series.worse, *smallest)
    else:
        found = one_more_amount(known, judged, series.worse)
    set_aside = int((~found.is_kept).sum())
    return found.score(
        _evidence(known, value, set_aside=set_aside),
        _sentence(np.sort(known[found.is_kept]), value, series, set_aside=set_aside),
    )


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
        own = np.array([_two_sided(float(score)) for score in own])
        return OneMore(_two_sided(more), None, more >= 0, own, is_kept)
    if worse == "less":
        distance, improvement, own = -more, more, -own
    return OneMore(distance, improvement, more >= 0, own, is_kept)


def one_more_amount(known: Floats, judged: float, worse: Worse, smallest_sd: float = 1e-12) -> OneMore:
    """`one_more` of amounts (k,) on their own scale, of which some may be 0."""
    level = float(np.median(np.abs(known)))
    # Where most values are 0, those that are not are how it is at times, and no disturbance.
    smallest_sd = max(SMALLEST_LOG_SD * level, smallest_sd)
    return one_more(known, judged, worse, smallest_sd, level or float(np.abs(known).max()))


def tukey(history: Floats, value: float, series: SeriesDefinition) -> Score:
    """Tukey's rule for a value beside a history's (k,): `distance` is the value itself, in the series' unit.

    Where less is worse, the value is reflected about the middle between the quartiles, which stay what they are: it
    is then above the upper threshold exactly when it was below the lower one.

    Raises:
        ValueError: no values in the history, or one is not finite.
    """
    known, judged = _checked(history, value, 1)
    q1, q3 = (float(one) for one in np.quantile(known, [0.25, 0.75], method="linear"))
    reflected, own_reflected = q1 + q3 - judged, q1 + q3 - known
    improvement: float | None
    if series.worse == "either":
        distance, improvement, own = max(judged, reflected), None, np.maximum(known, own_reflected)
    elif series.worse == "more":
        distance, improvement, own = judged, reflected, known
    else:
        distance, improvement, own = reflected, judged, own_reflected
    return Score(
        distance=distance,
        q1=q1,
        q3=q3,
        improvement=improvement,
        is_recheck_passed=None,
        p_value=None,
        direction=_direction(known, judged),
        history_distances=own,
        evidence=_evidence(known, judged, set_aside=0),
        sentence=_sentence(known, judged, series, set_aside=0),
    )


def _checked(history: Floats, value: float, minimum: int) -> tuple[Floats, float]:
    if len(history) < minimum:
        raise ValueError(f"the history has {len(history)} values; at least {minimum} are needed")
    return as_univariate(history, "the history"), float(as_univariate([value], "the value")[0])


def _two_sided(score: float) -> float:
    """The score of being as far away on either side."""
    return score_of_p(2 * p_of_score(abs(score)))


def _direction(known: Floats, value: float) -> Literal["more", "less"]:
    return "more" if value >= np.median(known) else "less"


def _evidence(known: Floats, value: float, *, set_aside: int) -> dict[str, float]:
    """Numbers in the series' own unit."""
    return {
        "history_size": float(len(known)),
        "history_set_aside": float(set_aside),
        "value": float(value),
        "value_history_lowest": float(np.min(known)),
        "value_history_highest": float(np.max(known)),
    }


def _sentence(known: Floats, value: float, series: SeriesDefinition, *, set_aside: int) -> str:
    unit = display_unit(series.unit)
    is_now, were = ("takes", "took") if unit.axis in _TIMES else ("is", "were")
    told, low, high = (readable(one * unit.factor) for one in (value, float(known.min()), float(known.max())))
    name = f" {unit.axis}" if unit.axis else ""
    aside = f"; {how_many(set_aside, 'disturbed one')} set aside" if set_aside else ""
    return f"{is_now} {told}{name}; the {len(known)} comparable runs {were} {span_told(low, high)}{name}{aside}"
