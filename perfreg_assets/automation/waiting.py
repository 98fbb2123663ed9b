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


def patience(context: dg.SensorEvaluationContext) -> float:
    """How long a tick may wait, in seconds: not at all where Dagster evaluates one sensor after the other."""
    return LONGEST_S if context.instance.get_sensor_settings().get("use_threads") else 0.0


def wait_for(is_different: Callable[[], bool], settings: Settings, *, seconds: float) -> bool:
    """Whether something was different within that time; looked at least once. Ends early when `perfreg ui` stops."""
    until = time.monotonic() + seconds
    while not is_different():
        if time.monotonic() + STEP_S > until or settings.stopping_file.exists():
            return False
        time.sleep(STEP_S)
    return True
