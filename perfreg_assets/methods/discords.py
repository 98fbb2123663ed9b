"""Where in a series the difference lies: the thesis' localisation (4.3), and flagged positions merged to windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.matrix_profile import ab_join


@dataclass(frozen=True)
class Window:
    """A suspicious stretch of the target.

    Attributes:
        start, end: sample indices; `end` is the first sample after it.
        peak: the sample in the middle of the position with the highest profile value.
        profile_value: that value.
        confidence: the quantile whose threshold the value exceeds (the thesis: 0.90 or 0.95).
    """

    start: int
    end: int
    peak: int
    profile_value: float
    confidence: float


@dataclass(frozen=True)
class Localisation:
    """Attributes:
    profile: one value per position; position i is the stretch of `window` samples from sample i on.
    window: samples.
    threshold_low, threshold_high: a position above the first is flagged, above the second more confidently.
    windows: by start; no sample lies in two of them.
    examined: [first, end) samples in which windows were looked for.
    """

    profile: Floats
    window: int
    threshold_low: float
    threshold_high: float
    windows: tuple[Window, ...]
    examined: tuple[int, int]


def thesis_discords(
    target: ArrayLike,
    barycenter: ArrayLike,
    *,
    window: int,
    quantile_low: float = 0.90,
    quantile_high: float = 0.95,
    skip_start: int = 0,
    skip_end: int = 0,
    backend: str = "numba",
) -> Localisation:
    """Discords of the target (n,) beside a barycenter (b,): positions of its z-normalised profile above the profile's
    own quantiles.

    Positions that touch the first `skip_start` or the last `skip_end` samples count neither for the quantiles nor as
    discords: the start and the end of a session differ in any two runs. If nothing is left, there are no windows.

    Args:
        window: samples per position.
        quantile_low, quantile_high: of the profile; above the first a position is flagged, 0 to 1.
        skip_start, skip_end: in samples.
        backend: see `ab_join`.

    Raises:
        ValueError: a series is not usable, the window does not fit, or a parameter is out of range.
    """
    if not 0 <= quantile_low <= quantile_high <= 1:
        raise ValueError(f"quantiles {quantile_low} and {quantile_high}: must rise and lie in 0 to 1")
    profile = ab_join(target, barycenter, window, normalize=True, backend=backend)
    kept = kept_positions(len(profile), skip_start=skip_start, skip_end=skip_end)
    if not kept.any():
        return Localisation(profile, window, float("inf"), float("inf"), (), (0, 0))
    low, high = (float(value) for value in np.quantile(profile[kept], [quantile_low, quantile_high]))
    windows = merge_windows(
        np.where(kept, profile, -np.inf),
        low,
        high,
        cover=(0, window),
        confidence_low=quantile_low,
        confidence_high=quantile_high,
    )
    first, last = (int(place) for place in np.flatnonzero(kept)[[0, -1]])
    return Localisation(profile, window, low, high, windows, (first, last + window))


def kept_positions(count: int, *, skip_start: int, skip_end: int) -> NDArray[np.bool_]:
    """Mask (count,) of the positions whose samples lie wholly between the skipped start and end (in samples).

    Raises:
        ValueError: a skip is negative.
    """
    if skip_start < 0 or skip_end < 0:
        raise ValueError(f"skip_start = {skip_start}, skip_end = {skip_end}: must be 0 or more samples")
    kept = np.zeros(count, dtype=bool)
    kept[skip_start : max(0, count - skip_end)] = True
    return kept


def merge_windows(
    profile: ArrayLike,
    threshold_low: float,
    threshold_high: float,
    *,
    cover: tuple[int, int],
    confidence_low: float,
    confidence_high: float,
) -> tuple[Window, ...]:
    """Positions above `threshold_low`, merged where they are contiguous or share samples.

    Args:
        profile: (p,) value per position; NaN or -inf where a position must not be flagged.
        cover: the samples that position i stands for are i + cover[0] up to, not including, i + cover[1].
        confidence_low, confidence_high: of a window whose peak is above the low, the high threshold.

    Raises:
        ValueError: `cover` is empty or negative, or the thresholds fall.
    """
    first, last = cover
    if not 0 <= first < last:
        raise ValueError(f"cover = {cover}: must be a non-empty range of samples from 0 on")
    if threshold_high < threshold_low:
        raise ValueError(f"threshold_high ({threshold_high}) must not be below threshold_low ({threshold_low})")
    values = np.asarray(profile, dtype=np.float64)
    flagged = np.flatnonzero(values > threshold_low)  # NaN compares false
    if not len(flagged):
        return ()
    # Neighbouring positions always join; others do when the samples they stand for overlap.
    gaps = np.flatnonzero(np.diff(flagged) >= max(last - first, 2))
    windows = []
    for positions in np.split(flagged, gaps + 1):
        highest = int(positions[np.argmax(values[positions])])
        windows.append(
            Window(
                start=int(positions[0]) + first,
                end=int(positions[-1]) + last,
                peak=highest + (first + last) // 2,
                profile_value=float(values[highest]),
                confidence=confidence_high if values[highest] > threshold_high else confidence_low,
            )
        )
    return tuple(windows)
