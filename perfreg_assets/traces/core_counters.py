"""What a trace sampled of its cores: their frequencies and their idle states, asked for once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfreg_assets.traces.columns import Table
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.frequency import Clock
from perfreg_assets.traces.statements import statement

_AWAKE = 4294967295  # the kernel's -1
_SCHEMA = {"ts": "int64", "cpu": "int64", "value": "float64", "is_idle_state": "int64"}

Awake = tuple[np.ndarray, np.ndarray, np.ndarray]
"""(ts, core, is out of idle) of each change, (n,) each."""


@dataclass(frozen=True)
class CoreCounters:
    """Attributes:
    clocks: frequency of each core that has one, or why there is none.
    awake: None where the trace does not tell.
    """

    clocks: dict[int, Clock] | str
    awake: Awake | None


def load_core_counters(session: TraceSession) -> CoreCounters:
    """
    Raises:
        Rejected: ENGINE_…
    """
    rows = session.query(statement("core_counters"), _SCHEMA)
    is_idle_state = rows["is_idle_state"] != 0
    return CoreCounters(_clocks(rows, ~is_idle_state), _awake(rows, is_idle_state))


def _clocks(rows: Table, is_frequency: np.ndarray) -> dict[int, Clock] | str:
    ts, cores, khz = (rows[name][is_frequency] for name in ("ts", "cpu", "value"))
    if not ts.size:
        return "the trace has no CPU frequencies (power/cpu_frequency, sys_stats cpufreq)"
    clocks: dict[int, Clock] = {}
    for number in np.unique(cores):
        here = cores == number
        try:
            clocks[int(number)] = Clock(ts[here], khz[here])
        except ValueError as error:
            return f"core {number} has {error}"
    return clocks


def _awake(rows: Table, is_idle_state: np.ndarray) -> Awake | None:
    if not is_idle_state.any():
        return None
    state = rows["value"][is_idle_state]
    return rows["ts"][is_idle_state], rows["cpu"][is_idle_state], (state == _AWAKE) | (state == -1)
