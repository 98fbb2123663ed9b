"""The score of Zhou & Li 2015 (3.2): which methods take a large share of many services, without any history.

`R = sqrt(Σ r² / x)`, `score = R − f · Std`, where r is the mean self-time ratio of a method in the merged tree of each
of the x services that call it, Std the population's standard deviation, f = 1.

Errata of the article: the root is over Σr²/x, not over Σr² alone and then divided by x, or its own examples come out at
.314 and .309. It finds what is big, not what grew, and lets a method pass that is big in one service of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DEFAULT_FACTOR = 1.0


@dataclass(frozen=True)
class SeedScore:
    """Of one method.

    Attributes:
        distance: of the ratios from the origin, sqrt(Σ r²).
        rms: R. std: population standard deviation of the ratios. score: rms − f · std.
        service_count: x.
    """

    distance: float
    rms: float
    std: float
    score: float
    service_count: int


def seed_score(ratios: Sequence[float] | NDArray[np.float64], factor: float = DEFAULT_FACTOR) -> SeedScore:
    """The score of one method.

    Args:
        ratios: (x,) self-time ratio, 0 to 1, in each service that calls the method; at least one.

    Raises:
        ValueError: no service calls it.
    """
    r = np.asarray(ratios, float)
    if not len(r):
        raise ValueError("a method that no service calls has no score")
    distance = float(np.sqrt(np.sum(r * r)))
    rms, std = distance / np.sqrt(len(r)), float(np.std(r))
    return SeedScore(distance, float(rms), std, float(rms - factor * std), len(r))


def seed_scores(
    shares: NDArray[np.float64], is_called: NDArray[np.bool_], factor: float = DEFAULT_FACTOR
) -> list[SeedScore | None]:
    """The scores of many methods.

    Args:
        shares, is_called: (methods, services).

    Returns:
        One per method; None where no service calls it.
    """
    return [
        seed_score(row[called], factor) if called.any() else None for row, called in zip(shares, is_called, strict=True)
    ]
