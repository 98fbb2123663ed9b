"""Self times of nested slices within a stretch of time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Numbers = NDArray[np.int64]


def self_times(start_ns: _Numbers, end_ns: _Numbers, parent: _Numbers, first_ns: int, last_ns: int) -> _Numbers:
    """What each slice lasted within [first_ns, last_ns) without its direct children, everything cut to the stretch.

    Args:
        start_ns, end_ns: (n,) of the slices.
        parent: (n,) the position of each slice's parent, -1 without one; a child of a slice that is not among them
            counts as without one.

    Returns:
        (n,) ns; negative where clocks let children exceed their parent.
    """
    inside = np.maximum(np.minimum(end_ns, last_ns) - np.maximum(start_ns, first_ns), 0)
    own: _Numbers = inside.copy()
    is_child = parent >= 0
    np.subtract.at(own, parent[is_child], inside[is_child])
    return own
