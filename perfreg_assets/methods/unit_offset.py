"""What a device unit adds to a score: two phones of one model do not draw alike.

A run is compared with runs of other units of its configuration's device where its own unit has too few. Its score is
then the unit's offset, times the share of the history that is of other units, and what the score would be without:

    z_i = g_i·δ + ε_i,  δ ~ N(0, τ²) between units, ε ~ N(0, 1) by theory

so the unit's earlier scores give a normal posterior of δ with variance v = 1/(1/τ² + Σg²) and mean m = v·Σgz (the
random-intercept model of a mixed model, Laird & Ware 1982), and a further score is standard-normal as

    (z - g·m) / √(1 + g²·v)

A unit without a past widens by √(1 + g²τ²); one with a past is judged beside what it always had. A history of the
run's own unit (g = 0) needs none of this. τ and what it brings are measured in docs/quality.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from perfreg_assets.methods.inputs import Floats

_Value = TypeVar("_Value", float, Floats)

BETWEEN_UNITS_SD = 1.0
"""τ: how far units of one model lie apart, in standard deviations of a run beside its history."""


@dataclass(frozen=True)
class UnitOffset:
    """Attributes:
    mean, variance: m and v of the module, of δ.
    run_count: earlier scores of the unit behind them.
    """

    mean: float = 0.0
    variance: float = BETWEEN_UNITS_SD**2
    run_count: int = 0

    @classmethod
    def of(cls, scores: Floats, foreign_ratios: Floats) -> UnitOffset:
        """
        Args:
            scores: (n,) standard-normal by theory, of the unit's earlier runs on one series; may be empty.
            foreign_ratios: (n,) g, the share of each one's history that is of other units, 0 to 1.

        Raises:
            ValueError: the lengths differ, a score is not finite, or a share is not from 0 to 1.
        """
        known, shares = np.asarray(scores, np.float64), np.asarray(foreign_ratios, np.float64)
        if known.shape != shares.shape or known.ndim != 1:
            raise ValueError(f"{known.shape} scores with {shares.shape} shares: one share per score is needed")
        if not np.isfinite(known).all() or not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError("a score is not finite, or a share is not from 0 to 1")
        order = np.lexsort((shares, known))  # sums of the same numbers in another order may differ in the last bit
        known, shares = known[order], shares[order]
        variance = 1 / (BETWEEN_UNITS_SD**-2 + float((shares**2).sum()))
        return cls(variance * float((shares * known).sum()), variance, int((shares > 0).sum()))

    def without(self, score: _Value, foreign_ratio: _Value) -> _Value:
        """A score of the unit as it would be without the offset, as far as that is known; or an array of them.

        Args:
            score: standard-normal by theory.
            foreign_ratio: g, of its history; 0 leaves the score as it is. An array of the score's shape, or one that
                broadcasts to it.
        """
        own: _Value = (score - foreign_ratio * self.mean) / np.sqrt(1 + foreign_ratio * foreign_ratio * self.variance)
        return own
