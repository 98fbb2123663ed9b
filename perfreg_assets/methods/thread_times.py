"""Time of threads by second: what every run keeps of its threads, so that causes are found without its trace.

An entity is a thread in a state, known by the names of process and thread: those that a build, a pool or a restart
counts up (`Thread-12`, `binder:713_2`) are one entity, because names are compared with every number taken out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RUNNING, RUNNABLE, UNINTERRUPTIBLE, SLEEPING = "running", "runnable", "uninterruptible", "sleeping"
"""States. The last two may tell in which function of the kernel: `uninterruptible:FUNCTION`."""

REST = "*"
"""As a thread: all threads of the process that are not told apart; as a process too: of all such processes."""

UNKNOWN = "?"
"""Name of a thread or process that the trace does not name."""

SECOND_NS = 1_000_000_000

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class ThreadTimes:
    """What the threads of one run did, second by second.

    Of `running`, everything that ran is in it: over the entities of that state, a second's sum is the CPU time of all
    (`cpu_total`), over those of the app among them the app's (`cpu_app`). Other states are of threads of the app only,
    and there only where the trace tells them.

    Attributes:
        start_ns: trace clock at the begin of the first second.
        process, thread: names with `#` for every number, see `entity_name`; `REST` for what is not told apart.
        state: `RUNNING`, `RUNNABLE`, `UNINTERRUPTIBLE`, `SLEEPING`; the latter two with `:FUNCTION` where recorded.
        is_app: (entities,) whether it is of a process of the app.
        seconds: (entities, seconds) float64, core seconds per second: of all threads with these names together.
        recorded: the states that the trace tells, without functions: no entity in one of them means none waited.
    """

    start_ns: int
    process: tuple[str, ...]
    thread: tuple[str, ...]
    state: tuple[str, ...]
    is_app: NDArray[np.bool_]
    seconds: NDArray[np.float64]
    recorded: tuple[str, ...] = (RUNNING,)

    @property
    def end_ns(self) -> int:
        """Trace clock at the end of the last second."""
        return self.start_ns + int(self.seconds.shape[1]) * SECOND_NS

    def of_state(self, state: str) -> NDArray[np.bool_]:
        """(entities,) Which are in that state, whatever function of the kernel it tells."""
        return np.array([one == state or one.startswith(f"{state}:") for one in self.state], dtype=bool)


def entity_name(name: str | None) -> str:
    """The name by which a process or thread is compared between runs: every run of digits is `#`."""
    return _DIGITS.sub("#", name) if name else UNKNOWN
