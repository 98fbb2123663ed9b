"""One value per run, without a time axis (a start-up time, an energy total), beside the history's values.

`predictive`: the prediction interval of one more value, on the scale of `calibration`. It looks at logarithms where
all values are above 0: times and energies scatter in proportion to their size and are skewed to the right, so that on
their own scale the longest ones would widen the interval. What many runs have nothing of is judged as rare amounts are
(`rare_load`). `tukey`: Tukey's rule on the values themselves.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition, display_unit
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.calibration import DISTURBED_LOG, SMALLEST_LOG_SD
from perfreg_assets.methods.explanation import span_told
from perfreg_assets.methods.inputs import Floats, as_univariate
from perfreg_assets.methods.one_more import one_more, one_more_amount
from perfreg_assets.methods.rare_load import is_rare_amount, one_more_rare
from perfreg_assets.methods.samples import Score
from perfreg_assets.readable import readable

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
    elif is_rare_amount(known) and judged >= 0:
        found = one_more_rare(known, judged, series)
    else:
        found = one_more_amount(known, judged, series.worse)
    set_aside = int((~found.is_kept).sum())
    return found.score(
        _evidence(known, value, set_aside=set_aside),
        _sentence(np.sort(known[found.is_kept]), value, series, set_aside=set_aside),
    )


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
