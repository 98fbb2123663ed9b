"""One trace engine as a process of its own: address, end, and what ended it."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from typing import NamedTuple

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.engine_choice import EngineChoice
from perfreg_assets.traces.supervisor import EXIT_MEMORY

_FROM_OUTSIDE = frozenset({128 + signal.SIGKILL, 128 + signal.SIGTERM})
"""Exit statuses that no engine has by its own doing."""
START_LIMIT_S = 180.0  # the first start compiles: 4 to 20 s, more on a slow and busy machine


class Ended(NamedTuple):
    """Exit status (128 + signal; `supervisor.EXIT_MEMORY`), and the last that was written to standard error."""

    status: int
    text: str


class EngineProcess(ABC):
    """A running engine that answers on `address` (127.0.0.1 only); it ends with this process, however that ends.

    `is_narrow`: it can address 4 GiB only, and there is a wide one. `group`: the process group that it is in.
    """

    choice: EngineChoice
    address: str
    group: int
    is_narrow = False

    def __init__(self, choice: EngineChoice, memory_bytes: int) -> None:
        self.choice = choice
        self._memory_bytes = memory_bytes

    @abstractmethod
    def kill(self) -> None:
        """Ends the engine at once; safe to call from another thread, and twice."""

    @abstractmethod
    def close(self) -> None:
        """Ends the engine and forgets it; safe to call twice."""

    @abstractmethod
    def _end(self) -> Ended:
        """How the engine ended; ends it if it does not do so within two seconds."""

    def failure(self, what: str) -> Rejected:
        """Why the engine is gone, after a request to it broke.

        Args:
            what: the work it was doing, for the sentence.
        """
        ended = self._end()
        if ended.status == EXIT_MEMORY:
            limit = f"{self._memory_bytes / 2**20:,.0f} MiB"
            if self.is_narrow and self._memory_bytes > 4 << 30:
                limit = "4,096 MiB of 32-bit addresses"
            return Rejected(Reason.ENGINE_MEMORY, f"the engine passed its limit of {limit} {what}")
        tail = f"({ended.text})" if ended.text else ""
        reason = Reason.ENGINE_KILLED if ended.status in _FROM_OUTSIDE else Reason.ENGINE_CRASHED
        return Rejected(reason, f"the engine ended with status {ended.status} {what} {tail}".strip())


def not_started(choice: EngineChoice, status: int | None, text: str) -> Rejected:
    """ENGINE_UNAVAILABLE, with what the engine said."""
    tail = f"({text})" if text else ""
    what = f"the {choice.kind} engine {choice.path} did not start"
    ended = "" if status is None else f"(exit status {status})"
    return Rejected(Reason.ENGINE_UNAVAILABLE, " ".join(part for part in (what, ended, tail) if part))
