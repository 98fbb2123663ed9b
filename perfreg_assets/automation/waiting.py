"""Sensors that wait inside a tick: a tick that lasts costs nothing, one that is begun and ended costs rows and calls.

A sensor with nothing to do looks at a few time stamps every second until something is different or the tick's time is
up. So an arrival is noticed within a second or two, with a tenth of the ticks that asking every five seconds takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import dagster as dg

from perfreg_assets.settings import Settings

LONGEST_S = 40.0
"""Dagster gives a tick 60 s, and what follows the waiting takes some of them."""
STEP_S = 1.0
_HEARS_S = 0.1
"""Within this time a waiting sensor sees that `perfreg ui` stops."""


def patience(context: dg.SensorEvaluationContext) -> float:
    """How long a tick may wait, in seconds: not at all where Dagster evaluates one sensor after the other."""
    return LONGEST_S if context.instance.get_sensor_settings().get("use_threads") else 0.0


def wait_for(is_different: Callable[[], bool], settings: Settings, *, seconds: float) -> bool:
    """Whether something was different within that time; looked at least once. Ends early when `perfreg ui` stops."""
    until = time.monotonic() + seconds
    while not is_different():
        next_look = time.monotonic() + STEP_S
        if next_look > until:
            return False
        while (left_s := next_look - time.monotonic()) > 0:
            if settings.stopping_file.exists():
                return False
            time.sleep(min(_HEARS_S, left_s))
    return True
