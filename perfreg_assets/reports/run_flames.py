"""Differential flame graphs of a run's suspicious windows: width is now, colour is growth."""

from __future__ import annotations

from typing import Any

from perfreg_assets.catalogue import display_unit
from perfreg_assets.reports.data import Explained, Stack
from perfreg_assets.reports.flame_tree import Names, flame_tree

_BYTES = display_unit("bytes")
_KNOWN = {
    "slices": ("Slices", "all slices", "time", "ms per s", 1e3),
    "call_stacks": ("Call stacks", "all samples", "time", "ms per s", 1e3),
    "method_traces": ("Java methods", "all methods", "time", "ms per s", 1e3),
    "heap": ("Native allocations", "all allocations", "memory", _BYTES.axis, _BYTES.factor),
}
"""Source → heading, name of the root, what is measured, in which unit, and the unit's multiple of what is stored."""


class Flames:
    """The flame graphs of one page; `payload` is what it embeds of them."""

    def __init__(self) -> None:
        self._names: Names = {}
        self._flames: list[dict[str, Any]] = []

    def of(self, window: Explained) -> list[dict[str, Any]]:
        """The graphs of a window for the template: number in the payload, heading, and whether colours tell growth."""
        shown = []
        for source, (heading, root, what, unit, factor) in _KNOWN.items():
            stacks = [one for one in window.stacks if one.source == source and one.value > 0]
            if stacks:
                tree = flame_tree({_path(one): _values(one, factor) for one in stacks}, self._names)
                shown.append(
                    {
                        "index": len(self._flames),
                        "heading": heading,
                        "has_history": any(one.history_median is not None for one in stacks),
                    }
                )
                self._flames.append({"name": root, "what": what, "unit": unit, **tree})
        return shown

    @property
    def payload(self) -> dict[str, Any] | None:
        """None of a page without any."""
        return {"names": list(self._names), "flames": self._flames} if self._flames else None


def _path(one: Stack) -> tuple[str, ...]:
    return (one.process, *([one.thread] if one.thread is not None else []), *one.stack)


def _values(one: Stack, factor: float) -> tuple[float | None, float]:
    before = None if one.history_median is None else one.history_median * factor
    return before, one.value * factor
