"""Matrix profile of one series against another (AB-join): how far each window of the target is from its nearest
window in the reference.

z-normalised (Yeh et al. 2016, with the centred recurrence of Zimmerman et al. 2019, as stumpy.stump) or raw (AAMP,
Akbarinia & Cloez 2019, as stumpy.aamp with p = 2). The recurrence runs along diagonals and is vectorised across
them; the value at the nearest window is then computed afresh, so rounding cannot pile up in it.

Constant windows, by stumpy's convention: two of them have z-normalised distance 0; one of them and one that is not,
sqrt(window), whatever their levels. A window is constant when all its samples are exactly equal.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from perfreg_assets.methods.inputs import Floats, as_univariate
from perfreg_assets.methods.jit import load_stumpy
from perfreg_assets.methods.lazy import LazyModule

kernels = LazyModule("perfreg_assets.methods.matrix_profile_kernels")

BACKENDS = ("numba", "stumpy")
SMALLEST_WINDOW = 3  # stumpy's limit: two samples have no shape


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
    found: Floats = (kernels.normalized if normalize else kernels.raw)(a, b, window, *moments)
    return found


def _moments(values: Floats, window: int) -> tuple[Floats, Floats, Floats]:
    """Per window: mean, mean without the last sample, 1 / standard deviation (0 where all samples are equal)."""
    windows = sliding_window_view(values, window)
    mean = windows.mean(axis=1)
    deviation = np.sqrt(((windows - mean[:, None]) ** 2).mean(axis=1))
    is_constant = (windows.max(axis=1) == windows.min(axis=1)) | (deviation == 0.0)  # squares of 1e-200 vanish
    inverse = np.where(is_constant, 0.0, 1.0 / np.where(is_constant, 1.0, deviation))
    return mean, sliding_window_view(values, window - 1).mean(axis=1), inverse
