"""How far a run is from its nearest history runs, and how far those are from each other.

Nearest neighbours instead of the barycenter: the history's own values leave the run itself out, so they are comparable
with the target's (a barycenter is fitted to the runs it is then compared with), and an average of bursts that do not
coincide resembles no run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfreg_assets.methods.dtw import dtw_distances, dtw_pairwise
from perfreg_assets.methods.inputs import Floats

NEIGHBOURS = 3  # 1 to 5 differ by less than .01 AUC (measured)
RADIUS_SHARE = 0.2  # of the longest series: the same ranking as without a band, a third of the time (measured)
SMALLEST_RADIUS = 30  # samples


def distances_within(series: Sequence[Floats]) -> Floats:
    """DTW distance (k, k) per step of the longest possible path; infinite on the diagonal."""
    lengths = np.array([len(values) for values in series], dtype=np.float64)
    distances = dtw_pairwise(series, radius=radius_of(series)) / np.sqrt(lengths[:, None] + lengths[None])
    np.fill_diagonal(distances, np.inf)
    return distances


def distances_to(series: Sequence[Floats], target: Floats) -> Floats:
    """The same from the target to each history run, (k,)."""
    lengths = np.array([len(values) for values in series], dtype=np.float64)
    return dtw_distances(series, target, radius=radius_of([*series, target])) / np.sqrt(lengths + len(target))


def nearest_mean(distances: Floats) -> Floats:
    """Mean of the smallest three along the last axis, (…, k) → (…,); fewer where there are fewer finite ones."""
    ordered = np.sort(distances, axis=-1)[..., :NEIGHBOURS]
    finite = np.isfinite(ordered)
    mean: Floats = np.where(finite, ordered, 0.0).sum(axis=-1) / np.maximum(finite.sum(axis=-1), 1)
    return mean


def radius_of(series: Sequence[Floats]) -> int:
    """The band of DTW for some series, each (n_i,), in samples."""
    return max(SMALLEST_RADIUS, round(RADIUS_SHARE * max(len(values) for values in series)))
