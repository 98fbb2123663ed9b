"""From when on does a run hold more memory than its history would?

The run's course beside the history's median course is fitted by least squares with a constant plus one of three shapes
that begin at an onset: a ramp (a leak), a sawtooth (a leak that is released now and then) and a step (something large
that stays). The gain of the best shape over the constant says how strongly the run speaks for it; gains over all
onsets give a probability that it has begun by a given second. What gain chance alone brings is learned from the
history's runs, each beside the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.lazy import LazyModule

kernels = LazyModule("perfreg_assets.methods.leak_onset_kernels")

SHORTEST_TEETH_S = 10.0
MOST_POINTS = 400  # longer courses are averaged down: a leak has no detail of single seconds
SMOOTHING_S = 15.0


@dataclass(frozen=True)
class Onset:
    """Attributes:
    gain: sum of squares that the best shape explains, per sample.
    height: of the best shape at its highest, unit of the course.
    begun: (n,) probability that the extra memory has begun by the sample.
    first: the sample at which the best shape begins.
    """

    gain: float
    height: float
    begun: Floats
    first: int


def median_course(courses: Sequence[Floats], length: int, interval_s: float) -> Floats:
    """The history's typical course (length,): medians at the same time since the start, smoothed.

    Where fewer than half of the runs still go on, the last value is held.
    """
    longest = max(len(course) for course in courses)
    table = np.full((len(courses), longest), np.nan)
    for row, course in zip(table, courses, strict=True):
        row[: len(course)] = course
    present = (~np.isnan(table)).sum(axis=0)
    usable = int(np.flatnonzero(present >= min(len(courses), max(3, len(courses) // 2)))[-1]) + 1
    medians = np.nanmedian(table[:, :usable], axis=0)
    width = max(1, min(round(SMOOTHING_S / interval_s), usable))
    padded = np.pad(medians, (width // 2, width - 1 - width // 2), mode="edge")
    smooth = np.convolve(padded, np.full(width, 1 / width), mode="valid")
    return smooth[np.minimum(np.arange(length), usable - 1)]


def find_onset(differences: Floats, interval_s: float, chance_gain: float) -> Onset:
    """The onset of extra memory in a run's differences (n,) to the typical course.

    Args:
        chance_gain: `gain` that normal runs have; 0 when it is not known yet.
    """
    length = len(differences)
    width = -(-length // MOST_POINTS)
    count = length // width
    points = np.ascontiguousarray(differences[: count * width].reshape(count, width).mean(axis=1))
    shortest = max(3, round(SHORTEST_TEETH_S / (interval_s * width)))
    gains, heights = kernels.gains_of_shapes(points, shortest)
    gains = gains / count
    if not len(gains) or not gains.max() > 0:
        return Onset(0.0, 0.0, np.zeros(length), 0)
    best = int(np.argmax(gains))
    sharpness = chance_gain if chance_gain > 0 else gains[best]
    weights = np.exp((gains - gains[best]) / sharpness)
    begun = np.ones(count)
    total = np.cumsum(weights)
    begun[: len(gains)] = total / total[-1]  # not weights.sum(), rounded otherwise: at most 1
    places = np.minimum(np.arange(length) // width, count - 1)
    return Onset(float(gains[best]), float(heights[best]), begun[places], best * width)
