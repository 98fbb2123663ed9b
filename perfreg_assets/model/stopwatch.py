"""Where a step's seconds go: engine, series, model, warehouse. What is left of the run is Dagster's own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up wall seconds by name; `metadata()` gives them as `seconds_<name>`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - begin)

    def add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def metadata(self, share: int = 1) -> dict[str, float]:
        """Seconds per name, divided over `share` partitions of the same step."""
        return {f"seconds_{name}": round(value / share, 4) for name, value in self.seconds.items()}
