"""Clock frequency of a core as a step function that can be integrated exactly."""

from __future__ import annotations

import numpy as np

_KHZ_MAX = 1e8  # 100 GHz: more is a corrupt value


class Clock:
    """One core's frequency: `khz[k]` holds from `ts[k]` on; before the first sample, its value, as none is known."""

    def __init__(self, ts: np.ndarray, khz: np.ndarray) -> None:
        """
        Args:
            ts: (n,) int64 nanoseconds, ascending, n ≥ 1.
            khz: (n,) float64.

        Raises:
            ValueError: a frequency that no core has.
        """
        if not ((khz >= 0) & (khz <= _KHZ_MAX)).all():  # refuses NaN too
            raise ValueError("a frequency outside 0 to 100 GHz")
        self._ts = ts
        self._khz = np.rint(khz).astype(np.int64)
        # Modulo 2^64: the integral itself overflows after 40 minutes, differences of it over one interval do not.
        self._integral = np.concatenate([[0], np.cumsum(np.diff(ts) * self._khz[:-1])])

    @property
    def ts(self) -> np.ndarray:
        """(n,) int64 ns, when it was sampled."""
        return self._ts

    @property
    def khz(self) -> np.ndarray:
        """(n,) int64, what holds from then on."""
        khz: np.ndarray = self._khz
        return khz

    def integral(self, at: np.ndarray) -> np.ndarray:
        """∫ f dt up to each time in kHz·ns, modulo 2^64: meaningful as a difference of two nearby times."""
        k = np.maximum(np.searchsorted(self._ts, at, side="right") - 1, 0)
        integral: np.ndarray = self._integral[k] + (at - self._ts[k]) * self._khz[k]
        return integral
