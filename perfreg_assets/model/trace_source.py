"""A trace with what is known of where it is from: what it is judged by, or taken into, has to be of the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A trace, and what is known of where it is from; None where nothing says.

    Attributes:
        span: [start, end) on the trace's clock that counts; None: all of it.
        problems: functional problems that were found while it was recorded.
    """

    path: Path
    app: str | None = None
    device: str | None = None
    config_hash: str | None = None
    span: tuple[int, int] | None = None
    problems: tuple[str, ...] = ()
