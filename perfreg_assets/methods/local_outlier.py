"""Local outlier factor with a floor under every distance (Breunig et al. 2000), and mean distance to the neighbours.

    reach(a, b) = max(d(a, b), k-distance(b)),  lrd(a) = 1 / mean reach to the k neighbours,
    LOF(a) = mean lrd of the neighbours / lrd(a)

Windows of a regular program are often copies of each other: then the k-distance is 0, densities are infinite, and a
window that differs by a single event gets a factor of 10⁸. A floor of one event under every distance cures it. Without
a floor the values are scikit-learn's (its guard of 1e-10 included), which the tests compare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.lazy import LazyModule

kernels = LazyModule("perfreg_assets.methods.local_outlier_kernels")


@dataclass(frozen=True)
class Neighbourhood:
    """Points and how dense they lie.

    Attributes:
        points: (n, d).
        k_distance, density: (n,) of each point among the others.
        neighbours: k.
        floor: no distance counts as less.
    """

    points: Floats
    k_distance: Floats
    density: Floats
    neighbours: int
    floor: float

    def outlier_factors(self, queries: Floats) -> Floats:
        """(m,) LOF of queries (m, d) that are not among the points; 1 is as dense as the neighbours."""
        return self._scores(queries, is_factor=True)

    def mean_distances(self, queries: Floats) -> Floats:
        """(m,) mean distance to the k nearest points, of queries (m, d)."""
        return self._scores(queries, is_factor=False)

    def _scores(self, queries: Floats, *, is_factor: bool) -> Floats:
        found: Floats = kernels.scores(
            np.ascontiguousarray(queries, np.float64), self.points, self.k_distance, self.density,
            self.neighbours, self.floor, is_factor,
        )  # fmt: skip
        return found


def fit_neighbourhood(points: Floats, *, neighbours: int, floor: float = 0.0) -> Neighbourhood:
    """
    Args:
        points: (n, d) with n > neighbours.

    Raises:
        ValueError: too few points.
    """
    points = np.ascontiguousarray(points, np.float64)
    if len(points) <= neighbours:
        raise ValueError(f"{len(points)} points have no {neighbours} neighbours each; more points are needed")
    k_distance, density = kernels.fit(points, neighbours, floor)
    return Neighbourhood(points, k_distance, density, neighbours, floor)
