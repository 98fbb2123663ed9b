"""Checks and layout of series at the border to the compiled kernels.

Kernels get float64, writable, C-contiguous, dimension-major (d, n): any other dtype or layout would compile again, and
NaN would spread silently through every minimum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LARGEST = 1e150  # squares and sums of them stay finite


def as_values(series: ArrayLike, name: str) -> Floats:
    """The series as float64 with its own shape (n,) or (n, d); a copy where it is read-only, as what Arrow gives is.

    Raises:
        ValueError: empty, more than two axes, not numeric, NaN, infinite or too large to be squared.
    """
    try:
        values = np.require(series, dtype=np.float64, requirements="W")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers: {error}") from error
    if values.ndim not in {1, 2}:
        raise ValueError(f"{name} has {values.ndim} axes; a series is (samples,) or (samples, dimensions)")
    if values.size == 0:
        raise ValueError(f"{name} is empty; a series needs at least one sample")
    bad = ~(np.abs(values) < LARGEST)  # NaN compares false
    if bad.any():
        first = int(np.argmax(bad.reshape(len(values), -1).any(axis=1)))
        raise ValueError(
            f"{name} has {int(bad.sum())} values that are NaN, infinite or beyond {LARGEST:g}, "
            f"the first at sample {first}; fill the gaps or leave the series out"
        )
    return values


def as_univariate(series: ArrayLike, name: str) -> Floats:
    """As `as_values`, (n,) and C-contiguous.

    Raises:
        ValueError: as above, or more than one dimension.
    """
    values = as_values(series, name)
    if values.ndim == 2 and values.shape[1] != 1:
        raise ValueError(f"{name} has {values.shape[1]} dimensions; this method takes one series at a time")
    return np.ascontiguousarray(values.reshape(-1))


def as_rows(values: Floats) -> Floats:
    """(n,) or (n, d) → the kernels' layout (d, n), C-contiguous."""
    return np.ascontiguousarray(values.reshape(1, -1) if values.ndim == 1 else values.T)


def as_all_values(series: Sequence[ArrayLike]) -> list[Floats]:
    """Several series of one kind, each (n_i,) or (n_i, d), as float64.

    Raises:
        ValueError: none at all, one is unusable (named by its index), or they differ in dimensions.
    """
    checked = [as_values(one, f"series {index}") for index, one in enumerate(series)]
    if not checked:
        raise ValueError("there are no series; at least one is needed")
    if len({dimensions(values) for values in checked}) > 1 or len({values.ndim for values in checked}) > 1:
        shapes = sorted({values.shape[1:] for values in checked})
        raise ValueError(f"the series differ in dimensions: shapes after the sample axis are {shapes}")
    return checked


def dimensions(values: Floats) -> int:
    """Of (n,) 1, of (n, d) d."""
    return 1 if values.ndim == 1 else values.shape[1]


def pack(series: Sequence[Floats]) -> tuple[Floats, NDArray[np.int64]]:
    """Series in kernel layout, one after another: flat values and the sample offsets (k + 1,).

    Series s of d dimensions occupies `flat[d * offsets[s] : d * offsets[s + 1]]`.
    """
    offsets = np.zeros(len(series) + 1, dtype=np.int64)
    offsets[1:] = np.cumsum([len(values) for values in series])
    return np.concatenate([as_rows(values).reshape(-1) for values in series]), offsets
