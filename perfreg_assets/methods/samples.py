"""What a detector is given and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.inputs import Floats, as_univariate

SHORTEST = 8  # samples: fewer have neither a start-up to leave out nor a distribution


class UnlikeHistoryError(ValueError):
    """A run has too little in common with its history to be judged by it; the message says what."""


@dataclass(frozen=True)
class Sample:
    """One series of one run on the common grid.

    Attributes:
        values: (n,) finite, unit of the series.
        states: (n,) integer code of what the app was doing at each sample (screen, seconds since the last action), the
            same code meaning the same in every run; None where the path is not known.
    """

    values: Floats
    states: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Score:
    """How unusual a run's series is beside its history: enough for a verdict at any ω (`omega_rule`) and to explain it.

    Attributes:
        distance: how far towards the worse side (`catalogue.Worse`); anomalous when above q3 + ω (q3 - q1). Unit of the
            series (`iqr`), standard-normal score (`default`).
        q1, q3: quartiles of what a normal run would have, same scale.
        improvement: the same towards the better side; None where there is none or the detector cannot tell.
        is_recheck_passed: False when the second check takes the alarm away; None without a second check.
        p_value: probability that a normal run is as unusual; None where the detector does not say.
        direction: whether the values are more or less than the history's.
        history_distances: (k,) the history's own values on the scale of `distance`.
        uncorrected_distance: before the correction for several series (`multiple_testing`); of a run the largest of its
            series'. None where nothing was corrected.
        evidence: named numbers behind the sentence; units are part of the names.
        sentence: one sentence for people.
        barycenter_id: of the barycenter used; filled in by the caller who stores barycenters.
    """

    distance: float
    q1: float
    q3: float
    improvement: float | None
    is_recheck_passed: bool | None
    p_value: float | None
    direction: Literal["more", "less"]
    history_distances: Floats
    uncorrected_distance: float | None = None
    evidence: Mapping[str, float] = field(default_factory=dict)
    sentence: str = ""
    barycenter_id: str | None = None


def checked_history(history: Sequence[Sample], target: Sample, minimum: int) -> tuple[list[Floats], Floats]:
    """The plain series of the history, k of (n_i,), and of the target, (n,).

    Raises:
        ValueError: as `checked_values`.
    """
    known = checked_values(history, minimum)
    return known, checked_values([target], 1, "the target")[0]


def checked_values(samples: Sequence[Sample], minimum: int, name: str = "") -> list[Floats]:
    """The plain series, k of (n_i,), unit of the series.

    Raises:
        ValueError: there are fewer than `minimum`, or one is too short or not finite.
    """
    if len(samples) < minimum:
        raise ValueError(f"the history has {len(samples)} runs; at least {minimum} are needed")
    values = [as_univariate(sample.values, name or f"series {index}") for index, sample in enumerate(samples)]
    shortest = min((len(one) for one in values), default=SHORTEST)
    if shortest < SHORTEST:
        raise ValueError(f"a series has {shortest} samples; at least {SHORTEST} are needed, use a shorter interval")
    return values
