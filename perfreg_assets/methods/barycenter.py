"""DTW barycenter averaging (DBA): the history's typical series.

Petitjean et al. 2011 in the majorise-minimise form of Schultz & Jain 2018, as tslearn 0.10: the first barycenter is
the pointwise mean of the series (of those that still run at that sample), stretched to the wanted length; then align
all, average what was matched, until the mean squared distance no longer falls.

The series are put into an order of their content first, so the order in which a history is listed changes
no bit of the result.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np
from numpy.typing import ArrayLike

from perfreg_assets.methods.dtw import checked_radius, dtw_kernels, refuse_huge_path
from perfreg_assets.methods.inputs import Floats, as_all_values, as_rows, pack

BACKENDS = ("numba", "tslearn")


@dataclass(frozen=True)
class Barycenter:
    """The average of a history.

    Attributes:
        values: (length,) for one dimension, (length, d) for several; unit of the series.
        inertia: mean squared DTW distance of the series to the barycenter before the last update.
        iterations: updates done.
    """

    values: Floats
    inertia: float
    iterations: int


def dba(
    series: Sequence[ArrayLike],
    *,
    length: int | None = None,
    max_iterations: int = 30,
    tolerance: float = 1e-5,
    backend: str = "numba",
    radius: int | None = None,
) -> Barycenter:
    """The barycenter of k series (n_i,) or (n_i, d) of any lengths.

    Args:
        length: samples of the barycenter; default: those of the longest series.
        max_iterations: updates at most (13 to 21 reach the fixed point, measured).
        tolerance: stop when the mean squared distance falls by less, in squared units of the series.
        backend: "numba" (own kernels) or "tslearn" (the reference: 15 to 25 times slower, equal to 1e-9).
        radius: Sakoe-Chiba half width in samples, see `dtw`; own kernels only.

    Raises:
        ValueError: no series, one is empty or not finite, dimensions differ, or a parameter is out of range.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend = {backend!r}: allowed is {' or '.join(BACKENDS)}")
    if max_iterations < 1:
        raise ValueError(f"max_iterations = {max_iterations}: must be at least 1")
    if not tolerance >= 0:
        raise ValueError(f"tolerance = {tolerance}: must be 0 or more")
    if length is not None and length < 1:
        raise ValueError(f"length = {length}: must be at least 1 sample")
    checked = in_canonical_order(as_all_values(series))
    size = length or max(len(values) for values in checked)
    for values in checked:
        refuse_huge_path(size, len(values), radius)
    start = _pointwise_mean(checked, size)
    if backend == "tslearn":
        if radius is not None:
            raise ValueError("radius is not available with backend tslearn: its band is not scaled for unequal lengths")
        return _dba_tslearn(checked, start, max_iterations, tolerance)
    flat, offsets = pack(checked)
    center, inertia, iterations = dtw_kernels.barycenter(
        flat, offsets, as_rows(start), max_iterations, float(tolerance), checked_radius(radius)
    )
    return Barycenter(np.ascontiguousarray(center.T).reshape(start.shape), float(inertia), int(iterations))


def in_canonical_order(series: Sequence[Floats]) -> list[Floats]:
    """The series, k of (n_i,) or (n_i, d), ordered by the hash of their content."""
    return sorted(series, key=_content)


def _content(values: Floats) -> bytes:
    plain = np.ascontiguousarray(values + 0.0, dtype="<f8")  # + 0.0: -0.0 and 0.0 are one value
    return hashlib.sha256(f"{plain.shape}".encode() + plain.tobytes()).digest()


def _pointwise_mean(series: Sequence[Floats], length: int) -> Floats:
    """tslearn's first barycenter: at each sample the mean of the series that reach it, stretched linearly."""
    longest = max(len(values) for values in series)
    shape = (longest, *series[0].shape[1:])
    total, count = np.zeros(shape), np.zeros((longest,) + (1,) * (len(shape) - 1))
    for values in series:
        total[: len(values)] += values
        count[: len(values)] += 1
    mean = total / count
    if length == longest:
        return mean
    grid, wanted = np.linspace(0, 1, longest), np.linspace(0, 1, length)
    columns = [np.interp(wanted, grid, column) for column in mean.reshape(longest, -1).T]
    return np.stack(columns, axis=1).reshape(length, *shape[1:])


def _dba_tslearn(series: Sequence[Floats], start: Floats, max_iterations: int, tolerance: float) -> Barycenter:
    # Imported here: 4 s, and only for those who choose it. One update per call, because tslearn does not tell how
    # many it did; the stop rule is its own.
    implementation = import_module("tslearn.barycenters.dba")
    dataset = import_module("tslearn.utils").to_time_series_dataset(
        [values.reshape(len(values), -1) for values in series]
    )
    center = start.reshape(len(start), -1)
    previous = inertia = math.inf
    iterations = 0
    while iterations < max_iterations:
        center, inertia = implementation.dtw_barycenter_averaging_one_init(dataset, init_barycenter=center, max_iter=1)
        iterations += 1
        if abs(previous - inertia) < tolerance or previous < inertia:
            break
        previous = inertia
    return Barycenter(np.ascontiguousarray(center).reshape(start.shape), float(inertia), iterations)
