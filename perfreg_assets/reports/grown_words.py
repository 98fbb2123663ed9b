"""How what grew between two sides is called, on pages and at the command line alike."""

from __future__ import annotations

from typing import NamedTuple


class GrownWords(NamedTuple):
    """Of a source: its title, what one of it is called, and its unit."""

    title: str
    entity: str
    unit: str


GROWN_WORDS = {
    "threads": GrownWords("Threads that run more in B", "thread", "core-seconds/s"),
    "slices": GrownWords("Slices that take more in B, waits included", "slice", "s/s"),
    "stacks": GrownWords("Call stacks that run more in B", "function", "core-seconds/s"),
}
