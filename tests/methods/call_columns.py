"""Calls as columns, from rows that a test can be read by."""

from __future__ import annotations

import numpy as np

from perfreg_assets.methods.call_trees import Calls
from perfreg_assets.methods.line_fields import NO_TIME


def columns(rows) -> Calls:
    """rows: (transaction, service, label, method, elapsed_ms[, time_ms or None])."""
    names = [sorted({row[kind] for row in rows}) for kind in range(4)]
    places = [{name: place for place, name in enumerate(kind)} for kind in names]
    numbers = [np.array([places[kind][row[kind]] for row in rows], np.int32) for kind in range(4)]
    times = [NO_TIME if len(row) < 6 or row[5] is None else row[5] for row in rows]
    return Calls(
        *numbers, np.array([float(row[4]) for row in rows]), np.array(times, np.int64), *(tuple(kind) for kind in names)
    )
