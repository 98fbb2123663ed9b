"""Compiled kernels of `matrix_profile`; in a file of their own, so that numba is loaded when one is called."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_LARGEST_GAIN = 1e6  # by how much a rounding error of the recurrence may grow: 1e-16 becomes 1e-10 of a correlation
_SMALLEST_NORMAL = np.finfo(np.float64).tiny
_FLAGS = {"nnan", "nsz"}  # inputs are finite; nothing is reordered, so the bits are the same on every processor


@njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")
def _next_covariances(
    before: Any, after: Any, leaving: Any, entering: Any, factor: float, left: float, entered: float
) -> None:
    """Row i of the covariances from row i - 1: `after[j] = before[j - 1]` without the sample that left."""
    previous = before[:-1]
    current = after[1:]
    for j in range(current.shape[0]):
        current[j] = previous[j] + factor * (entering[j] * entered - leaving[j] * left)


@njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")
def _correlations(covariances: Any, inverse: Any, constant: Any, scale: float, out: Any) -> float:
    """Fills the correlations with one window of the target; returns the largest."""
    best = -2.0
    for j in range(out.shape[0]):
        out[j] = covariances[j] * inverse[j] * scale + constant[j]
        best = max(best, out[j])
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _index_of(values: Any, wanted: float) -> int:
    for j in range(values.shape[0]):
        if values[j] == wanted:
            return j
    return 0


@njit(cache=True, nogil=True, error_model="numpy")
def _recompute_faint(
    window_a: Any, b: Any, mean_b: Any, inverse_a: float, inverse_b: Any, faintest: Any, limit: float, out: Any
) -> None:
    """Correlations afresh where the product of both inverse deviations is over the limit; `faintest`: the columns by
    falling inverse."""
    window = window_a.shape[0]
    for j in faintest:
        if inverse_a * inverse_b[j] <= limit:
            return
        total = 0.0
        for k in range(window):
            total += (window_a[k] * inverse_a) * ((b[j + k] - mean_b[j]) * inverse_b[j])
        out[j] = total / window


@njit(cache=True, nogil=True, error_model="numpy")
def _largest(values: Any) -> float:
    best = -2.0
    for value in values:
        best = max(best, value)
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def normalized(
    a: Any, b: Any, window: int, mean_a: Any, short_a: Any, inverse_a: Any, mean_b: Any, short_b: Any, inverse_b: Any
) -> Any:
    """z-normalised profile of a (n,) against b (r,); per window the mean, the mean without the last sample, and 1 /
    standard deviation (0 for a constant one)."""
    rows = a.shape[0] - window + 1
    columns = b.shape[0] - window + 1
    # For the step into column j (from j - 1): what enters and leaves, from the mean of the samples both windows share.
    entering = b[window:] - short_b[1:columns]
    leaving = b[: columns - 1] - short_b[1:columns]
    # A constant window correlates .5 with one that is not (stumpy), which makes the distance sqrt(window).
    constant = np.where(inverse_b == 0.0, 0.5, 0.0)
    has_constant = inverse_b.min() == 0.0
    # Rounding errors of the recurrence are of the size of the series, not of the window: they would swamp the
    # correlation of two windows that hardly vary beside a spike elsewhere.
    faintest = np.argsort(-inverse_b)
    limit = _LARGEST_GAIN / max((a.max() - a.min()) * (b.max() - b.min()), _SMALLEST_NORMAL)
    factor = (window - 1) / (window * window)
    row = np.empty(columns)
    next_row = np.empty(columns)
    correlations = np.empty(columns)
    profile = np.empty(rows)
    for i in range(rows):
        if i > 0:
            shared = short_a[i]
            _next_covariances(row, next_row, leaving, entering, factor, a[i - 1] - shared, a[i + window - 1] - shared)
            row, next_row = next_row, row
        for j in range(columns if i == 0 else 1):
            total = 0.0
            for k in range(window):
                total += (a[i + k] - mean_a[i]) * (b[j + k] - mean_b[j])
            row[j] = total / window
        if inverse_a[i] == 0.0:
            profile[i] = 0.0 if has_constant else np.sqrt(window)
            continue
        best = _correlations(row, inverse_b, constant, inverse_a[i], correlations)
        if inverse_a[i] * inverse_b[faintest[0]] > limit:
            shape = a[i : i + window] - mean_a[i]
            _recompute_faint(shape, b, mean_b, inverse_a[i], inverse_b, faintest, limit, correlations)
            best = _largest(correlations)
        j = _index_of(correlations, best)
        if inverse_b[j] == 0.0:
            profile[i] = np.sqrt(window)
            continue
        total = 0.0
        for k in range(window):
            difference = (a[i + k] - mean_a[i]) * inverse_a[i] - (b[j + k] - mean_b[j]) * inverse_b[j]
            total += difference * difference
        profile[i] = np.sqrt(total)
    return profile


@njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")
def _next_squares(before: Any, after: Any, leaving: Any, entering: Any, left: float, entered: float) -> float:
    """Row i of the squared distances from row i - 1 (not column 0); returns the smallest."""
    previous = before[:-1]
    current = after[1:]
    best = np.inf
    for j in range(current.shape[0]):
        old = leaving[j] - left
        new = entering[j] - entered
        current[j] = previous[j] - old * old + new * new
        best = min(best, current[j])
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def raw(a: Any, b: Any, window: int) -> Any:
    """Profile of a (n,) against b (r,) in the unit of the series."""
    rows = a.shape[0] - window + 1
    columns = b.shape[0] - window + 1
    entering = b[window:].copy()
    leaving = b[: columns - 1].copy()
    row = np.empty(columns)
    next_row = np.empty(columns)
    profile = np.empty(rows)
    for i in range(rows):
        best = np.inf
        if i > 0:
            best = _next_squares(row, next_row, leaving, entering, a[i - 1], a[i + window - 1])
            row, next_row = next_row, row
        for j in range(columns if i == 0 else 1):
            total = 0.0
            for k in range(window):
                difference = a[i + k] - b[j + k]
                total += difference * difference
            row[j] = total
            best = min(best, total)
        j = _index_of(row, best)
        total = 0.0
        for k in range(window):
            difference = a[i + k] - b[j + k]
            total += difference * difference
        profile[i] = np.sqrt(total)
    return profile
