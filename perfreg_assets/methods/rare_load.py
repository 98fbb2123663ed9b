"""A load that many runs have nothing of: janky frames, bytes that are sent now and then.

Where more runs of a history are empty than can be set aside as disturbed, their courses are not what tells runs apart:
empty ones are all alike, and a single event is infinitely further from them than they are from each other. How much of
it a run has in all is then compared, as a metric of one value would be, on the scale of the square root: counts of
events scatter evenly there whatever their number, and one large transfer does not make all others alike. They scatter
as chance alone lets them at least, also where the history, by chance, shows less of it or has nothing at all: the first
event that an app has is none that its next runs could not have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition
from perfreg_assets.methods.calibration import LARGEST_DISTURBED_SHARE
from perfreg_assets.methods.explanation import Explainer
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.samples import Score
from perfreg_assets.methods.scalar_values import one_more_amount


def is_rare(series: SeriesDefinition, history: Sequence[Floats]) -> bool:
    """Whether a series is a load that too many runs of its history, k of (n_i,), have nothing of."""
    empty = sum(not values.any() for values in history)
    return series.kind == "load" and empty > LARGEST_DISTURBED_SHARE * len(history)


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
