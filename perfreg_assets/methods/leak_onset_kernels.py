"""Compiled kernel of `leak_onset`; in a file of its own, so that numba is loaded when it is called."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

LAST_ONSET_POINTS = 10  # fewer points after it show no shape


@njit(cache=True, nogil=True, error_model="numpy")
def gains_of_shapes(values: Any, shortest_teeth: int) -> Any:
    """Per onset the largest gain of a rising shape, and the height of that shape."""
    n = values.shape[0]
    onsets = max(n - LAST_ONSET_POINTS, 0)
    gains = np.zeros(onsets)
    heights = np.zeros(onsets)
    mean = values.mean()
    for onset in range(onsets):
        tail = n - onset
        teeth = 0  # 0: ramp, -1: step, else samples per tooth
        while True:
            top = 1.0 if teeth < 0 else float((tail if teeth == 0 else teeth) - 1)
            total = 0.0
            squares = 0.0
            product = 0.0
            for i in range(tail):
                if teeth < 0:
                    shape = 1.0
                elif teeth == 0:
                    shape = float(i)
                else:
                    shape = float(i % teeth)
                total += shape
                squares += shape * shape
                product += shape * (values[onset + i] - mean)
            spread = squares - total * total / n
            if spread > 1e-9 and product > 0.0 and product * product / spread > gains[onset]:
                gains[onset] = product * product / spread
                heights[onset] = product / spread * top
            if teeth < 0:
                break
            if teeth == 0:
                teeth = shortest_teeth
            else:
                teeth += max(1, teeth // 12)
            if teeth > tail // 2:
                teeth = -1
    return gains, heights
