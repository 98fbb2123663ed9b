"""What judges a recording of hours while it is made, as a collection sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol


class Spool(Protocol):
    """Where the recording's bytes go that are not decided yet."""

    @property
    def offset(self) -> int:
        """Bytes that were appended."""


class Watch(Protocol):
    """Judges a recording while it comes (`model.watching.TraceWatch`)."""

    folder: Path

    @property
    def spool(self) -> Spool:
        """Of a recording that grows."""

    def explore_from(self, start_ns: int) -> None:
        """When the exploration began, on the trace's clock: what follows is what the run is judged by."""

    def explore_until(self, end_ns: int) -> None:
        """When it ended."""

    def explore_steps(self, screens: Callable[[], Sequence[tuple[int, str]]]) -> None:
        """Tells until when which screen was shown, of all steps that are known by then, on the trace's clock."""

    def append(self, data: bytes) -> None:
        """The next bytes."""

    def step(self, *, is_last: bool = False, is_behind: bool = False) -> str:
        """Judges what was appended, and says where it stands."""

    def take_file(self, path: Path, *, is_last: bool = False) -> str:
        """Judges a recording of its own; `is_last`: none follows, so that how it ends is kept."""

    def finish(self, state: str, *, source: str, run: Mapping[str, Any] | None = None) -> object:
        """Writes what was judged."""


Watching = Callable[[Path, float], Watch]
"""(folder, seconds after which a recording holds all that came with an event) → what judges"""
