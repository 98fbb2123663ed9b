"""Matrix profile of one series against another (AB-join): how far each window of the target is from its nearest
window in the reference.

z-normalised (Yeh et al. 2016, with the centred recurrence of Zimmerman et al. 2019, as stumpy.stump) or raw (AAMP,
Akbarinia & Cloez 2019, as stumpy.aamp with p = 2). The recurrence runs along diagonals and is vectorised across
them; the value at the nearest window is then computed afresh, so rounding cannot pile up in it.

Constant windows, by stumpy's convention: two of them have z-normalised distance 0; one of them and one that is not,
sqrt(window), whatever their levels. A window is constant when all its samples are exactly equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from perfreg_assets.methods.inputs import Floats, as_univariate
from perfreg_assets.methods.jit import load_stumpy

BACKENDS = ("numba", "stumpy")
SMALLEST_WINDOW = 3  # stumpy's limit: two samples have no shape

_FLAGS = {"nnan", "nsz"}  # inputs are finite; nothing is reordered, so the bits are the same on every processor


def ab_join(
    target: ArrayLike, reference: ArrayLike, window: int, *, normalize: bool = True, backend: str = "numba"
) -> Floats:
    """Profile (n - window + 1,) of the target (n,) against the reference (r,).

    Args:
        window: samples per window, at least 3, at most the shorter series.
        normalize: True compares shapes (z-normalised, no unit), False levels too (unit of the series).
        backend: "numba" (own kernel) or "stumpy" (the reference: 20 to 60 s of compilation on a cold cache).

    Raises:
        ValueError: a series is empty or not finite, or the window does not fit.
    """
    a = as_univariate(target, "the target")
    b = as_univariate(reference, "the reference")
    if backend not in BACKENDS:
        raise ValueError(f"backend = {backend!r}: allowed is {' or '.join(BACKENDS)}")
    if window < SMALLEST_WINDOW:
        raise ValueError(f"window = {window} samples: must be at least {SMALLEST_WINDOW}")
    if window > min(len(a), len(b)):
        raise ValueError(
            f"window = {window} samples is longer than the target ({len(a)}) or the reference ({len(b)}); "
            "use a shorter window"
        )
    if backend == "stumpy":
        join = load_stumpy().stump(a, window, T_B=b, ignore_trivial=False, normalize=normalize)
        return np.ascontiguousarray(join[:, 0], dtype=np.float64)
    # Levels cancel in both distances; without them the products keep more digits (memory is 10^8 bytes +- 10^5).
    level = b[0]
    a, b = a - level, b - level
    moments = (*_moments(a, window), *_moments(b, window)) if normalize else ()
    found: Floats = (_normalized if normalize else _raw)(a, b, window, *moments)
    return found


def _moments(values: Floats, window: int) -> tuple[Floats, Floats, Floats]:
    """Per window: mean, mean without the last sample, 1 / standard deviation (0 where all samples are equal)."""
    windows = sliding_window_view(values, window)
    mean = windows.mean(axis=1)
    deviation = np.sqrt(((windows - mean[:, None]) ** 2).mean(axis=1))
    is_constant = (windows.max(axis=1) == windows.min(axis=1)) | (deviation == 0.0)  # squares of 1e-200 vanish
    inverse = np.where(is_constant, 0.0, 1.0 / np.where(is_constant, 1.0, deviation))
    return mean, sliding_window_view(values, window - 1).mean(axis=1), inverse


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
def _normalized(
    a: Any, b: Any, window: int, mean_a: Any, short_a: Any, inverse_a: Any, mean_b: Any, short_b: Any, inverse_b: Any
) -> Any:
    rows = a.shape[0] - window + 1
    columns = b.shape[0] - window + 1
    # For the step into column j (from j - 1): what enters and leaves, from the mean of the samples both windows share.
    entering = b[window:] - short_b[1:columns]
    leaving = b[: columns - 1] - short_b[1:columns]
    # A constant window correlates .5 with one that is not (stumpy), which makes the distance sqrt(window).
    constant = np.where(inverse_b == 0.0, 0.5, 0.0)
    has_constant = inverse_b.min() == 0.0
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
def _raw(a: Any, b: Any, window: int) -> Any:
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
