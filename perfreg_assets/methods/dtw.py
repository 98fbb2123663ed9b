"""Dynamic time warping: distances and alignments.

Squared differences under the root, as tslearn (the thesis prints the formula without the square; tslearn, which it
used, has it). Lengths may differ; (n,) is one series, (n, d) several warped together. `radius` is a Sakoe-Chiba half
width in samples of the longer series around the scaled diagonal; None compares everything with everything.
All functions release the GIL and are deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfreg_assets.methods.inputs import Floats, as_all_values, as_rows, as_values, dimensions, pack
from perfreg_assets.methods.lazy import LazyModule

dtw_kernels = LazyModule("perfreg_assets.methods.dtw_kernels")

LARGEST_PATH_CELLS = 4_000_000_000  # one byte each: two series of 63,000 samples


@dataclass(frozen=True)
class Alignment:
    """The cheapest path of x (n samples) against y, told per sample of x.

    Attributes:
        distance: the DTW distance, in the unit of the series.
        matched: mean of the y samples matched to x[i]; shape of x.
        first_index: index (n,) of the first y sample matched to x[i].
    """

    distance: float
    matched: Floats
    first_index: NDArray[np.int64]


def dtw_distance(x: ArrayLike, y: ArrayLike, *, radius: int | None = None) -> float:
    """DTW distance of two series, (n,) and (m,) or (n, d) and (m, d).

    Raises:
        ValueError: a series is empty or not finite, dimensions differ, radius is negative.
    """
    first, second = _pair(x, y)
    return math.sqrt(dtw_kernels.squared_distance(as_rows(first), as_rows(second), checked_radius(radius)))


def dtw_distances(series: Sequence[ArrayLike], target: ArrayLike, *, radius: int | None = None) -> Floats:
    """Distances (k,) of each series to the target.

    Raises:
        ValueError: as `dtw_distance`, or no series.
    """
    *checked, goal = as_all_values([*series, target])
    if not checked:
        raise ValueError("there are no series; at least one is needed")
    flat, offsets = pack(checked)
    squared: Floats = dtw_kernels.squared_distances(flat, offsets, as_rows(goal), checked_radius(radius))
    return np.sqrt(squared)


def dtw_pairwise(series: Sequence[ArrayLike], *, radius: int | None = None) -> Floats:
    """Distances (k, k) between all series; symmetric with a zero diagonal.

    Raises:
        ValueError: as `dtw_distance`, or no series.
    """
    checked = as_all_values(series)
    flat, offsets = pack(checked)
    squared: Floats = dtw_kernels.squared_pairwise(flat, offsets, dimensions(checked[0]), checked_radius(radius))
    return np.sqrt(squared)


def align(
    x: ArrayLike, y: ArrayLike, *, radius: int | None = None, largest: Sequence[float] | None = None
) -> Alignment:
    """The cheapest path of x against y; of equally cheap ones the one that goes diagonally, then along x (as tslearn).

    Args:
        largest: differences (d,) beyond which samples count as no further apart, per dimension: what y does not have
            then cannot pull the path towards whatever in y resembles it. The distance is that of bounded differences.

    Raises:
        ValueError: as `dtw_distance`, or the two are too long for the path to be kept in memory, or `largest` has not
            a number that is not negative for each dimension.
    """
    first, second = _pair(x, y)
    refuse_huge_path(len(first), len(second), radius)
    bounds = _squared_bounds(largest, dimensions(first))
    squared, matched, first_index = dtw_kernels.align(as_rows(first), as_rows(second), checked_radius(radius), bounds)
    return Alignment(math.sqrt(squared), matched.T.reshape(first.shape), first_index)


def _squared_bounds(largest: Sequence[float] | None, dims: int) -> Floats:
    """(dims,) squared; empty for none."""
    bounds = np.array([] if largest is None else largest, dtype=np.float64)
    if largest is not None and (bounds.shape != (dims,) or not (bounds >= 0).all()):
        raise ValueError(f"largest = {largest}: must be {dims} differences, none negative")
    return np.square(bounds)


def checked_radius(radius: int | None) -> int:
    """The kernels' radius in samples: -1 means none.

    Raises:
        ValueError: it is negative.
    """
    if radius is None:
        return -1
    if radius < 0:
        raise ValueError(f"radius = {radius}: must be 0 or more samples, or None for no band")
    return int(radius)


def refuse_huge_path(n: int, m: int, radius: int | None) -> None:
    """Lets pass what `align` can keep in memory; `radius` in samples, None for no band.

    Raises:
        ValueError: the steps of a path between n and m samples would not fit.
    """
    width = min(n, m) if radius is None else min(n, m, 2 * radius + 2 + max(n, m) // min(n, m))
    if width * max(n, m) > LARGEST_PATH_CELLS:
        raise ValueError(
            f"aligning {n} with {m} samples needs {width * max(n, m) / 1e9:.1f} GB; use a longer interval or a radius"
        )


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    first, second = as_values(x, "the first series"), as_values(y, "the second series")
    if dimensions(first) != dimensions(second):
        raise ValueError(f"the series differ in dimensions: {dimensions(first)} and {dimensions(second)}")
    return first, second
