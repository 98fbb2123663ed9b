"""Compiled kernel of `excess_load`; in a file of its own, so that numba is loaded when it is called."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def forward_backward(usual: Any, excess: Any, enter: float, leave: float) -> Any:
    """Log likelihood of the samples, and probability (n,) of the excess state; transition probabilities per sample."""
    n = usual.shape[0]
    filtered = np.empty(n)
    probability = np.empty(n)
    total = 0.0
    ahead = enter / (enter + leave)
    for t in range(n):
        high = max(usual[t], excess[t])
        u = np.exp(usual[t] - high) * (1.0 - ahead)
        e = np.exp(excess[t] - high) * ahead
        total += np.log(u + e) + high
        filtered[t] = e / (u + e)
        ahead = (1.0 - filtered[t]) * enter + filtered[t] * (1.0 - leave)
    after_usual = 1.0
    after_excess = 1.0
    for t in range(n - 1, -1, -1):
        e = filtered[t] * after_excess
        probability[t] = e / (e + (1.0 - filtered[t]) * after_usual)
        high = max(usual[t], excess[t])
        u = np.exp(usual[t] - high) * after_usual
        e = np.exp(excess[t] - high) * after_excess
        after_usual = (1.0 - enter) * u + enter * e
        after_excess = leave * u + (1.0 - leave) * e
        scale = after_usual + after_excess
        after_usual /= scale
        after_excess /= scale
    return total, probability
