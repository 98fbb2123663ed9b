"""A load that many runs have nothing of: janky frames, bytes that are sent now and then.

Where more runs of a history are empty than can be set aside as disturbed, their courses are not what tells runs apart:
empty ones are all alike, and a single event is infinitely further from them than they are from each other. How much of
it a run has in all is then compared, as a metric of one value would be, on the scale of the square root: counts of
events scatter evenly there whatever their number, and one large transfer does not make all others alike. They scatter
as chance alone lets them at least, also where the history, by chance, shows less of it or has nothing at all: the first
event that an app has is none that its next runs could not have.

So it is with metrics of one value that are 0 in many runs: errors, dropped frames, time that the app was frozen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition, smallest_amount
from perfreg_assets.methods.calibration import LARGEST_DISTURBED_SHARE
from perfreg_assets.methods.explanation import Explainer
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.one_more import OneMore, one_more_amount
from perfreg_assets.methods.samples import Score


def is_rare(series: SeriesDefinition, history: Sequence[Floats]) -> bool:
    """Whether a series is a load that too many runs of its history, k of (n_i,), have nothing of."""
    return series.kind == "load" and _too_many_empty(sum(not values.any() for values in history), len(history))


def is_rare_amount(known: Floats) -> bool:
    """Whether too many runs of a history have nothing of a metric of one value (k,), and none has less."""
    return bool(known.min() >= 0) and _too_many_empty(int((known == 0).sum()), len(known))


def _too_many_empty(empty: int, count: int) -> bool:
    return empty > LARGEST_DISTURBED_SHARE * count


def rare_amount(mean: float) -> float:
    """How much of a rare load a run has, from its mean, on the scale where such amounts scatter evenly."""
    return math.sqrt(max(mean, 0.0))


def event_of(courses: Sequence[Floats]) -> float:
    """What a sample of courses, k of (n_i,), has where it has anything: the median of those; 0 where none has."""
    some = np.concatenate([values[values > 0] for values in courses])
    return float(np.median(some)) if len(some) else 0.0


def smallest_scatter(event: float, values: Floats) -> float:
    """What amounts of a rare load scatter at least, standard deviation on the scale of `rare_amount`: as much as the
    root of a Poisson count of events, which is half of one event's.

    Args:
        event: `event_of` the history; where that had none, what the run itself has counts as one.
        values: (n,) of the run that is judged.
    """
    return max(0.5 * rare_amount((event or event_of([values])) / len(values)), 1e-12)


def one_more_rare(known: Floats, judged: float, series: SeriesDefinition) -> OneMore:
    """A metric of one value beside a history's (k,), all of at least 0 and in the series' unit, that is a rare amount.

    Of amounts an event is what the history shows; where it has nothing, what of that unit is worth a look
    (`catalogue.smallest_amount`). Of other units whole numbers are counts, whose events are 1; what the run has is one,
    where that is less and the history has nothing.
    """
    shown, least = event_of([known]), smallest_amount(series.unit)
    if least is not None:
        event = shown or least
    elif all(float(one).is_integer() for one in known):
        event = 1.0 if shown else min(judged, 1.0)
    else:
        event = shown
    scatter = smallest_scatter(event, np.array([judged]))
    return one_more_amount(np.sqrt(known), rare_amount(judged), series.worse, scatter)


def scores_of_rare(
    history: Sequence[Floats], judged: Sequence[Floats], series: SeriesDefinition, interval_s: float
) -> list[Score]:
    """Standard-normal scores of runs, t of (n_i,), by their means beside a history's, k of (n_i,).

    What a passing disturbance would be is not asked: all that there is of such a load passes.
    """
    known = np.array([rare_amount(float(values.mean())) for values in history])
    event = event_of(history)
    scores = []
    for values in judged:
        scatter = smallest_scatter(event, values)
        found = one_more_amount(known, rare_amount(float(values.mean())), series.worse, scatter)
        usual = [one for one, is_kept in zip(history, found.is_kept, strict=True) if is_kept]
        explainer = Explainer(series, usual, interval_s, set_aside=len(history) - len(usual))
        side = found.is_more if series.worse != "either" else None
        evidence, sentence = explainer.explain(values, 1.0, is_higher=side)
        del evidence["distance_ratio"]  # of courses
        scores.append(found.score(evidence, sentence))
    return scores
