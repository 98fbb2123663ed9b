"""Starts trace engines, for one trace or for many."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.engine_choice import EngineChoice, choose_engine
from perfreg_assets.traces.engine_process import EngineProcess
from perfreg_assets.traces.memory_budget import MemoryBudget, allowed_bytes, expected_bytes, free_bytes
from perfreg_assets.traces.native_process import NativeProcess
from perfreg_assets.traces.wasm_files import cache_folders, narrow_of
from perfreg_assets.traces.wasm_process import WasmPrefork, WasmProcess

NARROW_BYTES = 4 << 30  # what an engine with 32-bit addresses can hold
_NARROW_TRACE_BYTES = 1 << 30  # an engine takes 3.3 to 3.6 times the size of a trace dense with scheduling (measured)


class Engines:
    """Engines for a batch of traces, of one and the same choice; each trace has a process of its own.

    For several threads. Use as a context manager, or `close()`, which ends all engines.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._budget = MemoryBudget(free_bytes())
        self._preforks: dict[Path, WasmPrefork] = {}
        self._lock = threading.Lock()

    def room_for(self, unpacked_bytes: int) -> AbstractContextManager[None]:
        """Waits until a trace of that size may be loaded beside the others; within, its memory counts as taken."""
        return self._budget.taking(expected_bytes(unpacked_bytes))

    def start(self, *, is_wide: bool) -> EngineProcess:
        """A new engine.

        Args:
            is_wide: it must be able to address more than 4 GiB. Native engines always are.

        Raises:
            Rejected: ENGINE_UNAVAILABLE.
        """
        memory_bytes = allowed_bytes(self._settings)
        if self.choice.kind != "wasm":
            return NativeProcess(self.choice, memory_bytes)
        narrow = None if is_wide else narrow_of(self.choice.path)
        wasm = narrow or self.choice.path
        prefork = self._prefork(wasm)
        try:
            return WasmProcess(prefork, self.choice, memory_bytes, is_narrow=narrow is not None)
        except Rejected:
            if prefork.process.poll() is None:
                raise
            # Something ended it in this very moment, as it would have been noticed before.
            return WasmProcess(self._prefork(wasm), self.choice, memory_bytes, is_narrow=narrow is not None)

    @cached_property
    def choice(self) -> EngineChoice:
        """Which engine it is; looked for when the first one is wanted."""
        return choose_engine(self._settings)

    def _prefork(self, wasm: Path) -> WasmPrefork:
        with self._lock:
            known = self._preforks.get(wasm)
            if known is not None and known.process.poll() is None:
                return known
            if known is not None:
                known.close()
            caches = cache_folders(self._settings.home_dir if self._settings.home else None)
            self._preforks[wasm] = made = WasmPrefork(self.choice, wasm, caches)
            return made

    def close(self) -> None:
        """Ends all engines. Safe to call twice."""
        with self._lock:
            for prefork in self._preforks.values():
                prefork.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def wants_wide(unpacked_bytes: int) -> bool:
    """Whether a trace of that size is more than an engine with 32-bit addresses takes, as a rule."""
    return unpacked_bytes > _NARROW_TRACE_BYTES
