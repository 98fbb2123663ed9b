"""A media pipeline on one core, simulated event by event: windows of 40 ms, frames shown late, and perturbations.

Steps of 1 ms under a fair scheduler. Threads: source, decoder, converter, sink, audio, three daemons, and from the
eighth on what perturbs, which computes without end. A frame that the sink cannot show in time is late; the buffer has
to run dry first, so that the effect begins later than its cause and ends later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.lazy import LazyModule

_kernel = LazyModule("perfreg_assets.evaluation.endurance_stream_kernel")

WINDOW_S = 0.04
WINDOWS_PER_S = 25
REFERENCE_S = 300
_HOGS = 7  # threads that perturb: fewer make next to no frame late


@dataclass(frozen=True)
class Stream:
    """Windows after the reference ones, and what is true of them.

    Attributes:
        reference: (windows, types) of the first 300 s, without a perturbation.
        counts: (n, types).
        is_perturbed: (n,) a perturbation runs.
        late_count: (n,) frames that were shown late.
    """

    reference: NDArray[np.float64]
    counts: NDArray[np.float64]
    is_perturbed: NDArray[np.bool_]
    late_count: NDArray[np.int64]


def simulate(seed: int, *, seconds: int, period_s: int, length_s: int, drift: float = 0.1) -> Stream:
    """A stream with a perturbation of `length_s` at the end of every period after the reference.

    Args:
        drift: share by which the load swings slowly, over two hours.
    """
    counts, late, perturbed = _kernel.simulate(seed, seconds, REFERENCE_S, period_s, length_s, _HOGS, drift, True)
    first = REFERENCE_S * WINDOWS_PER_S
    used = counts.astype(np.float64)
    return Stream(used[:first], used[first:], perturbed[first:] > 0, late[first:].astype(np.int64))
