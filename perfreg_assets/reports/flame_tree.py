"""Merged call trees as pages embed them: for trees.js."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Names = dict[str, int]
"""Each name once, and its number."""


def flame_tree(paths: Mapping[tuple[str, ...], tuple[float | None, float]], names: Names) -> dict[str, list[Any]]:
    """Nodes by path, each behind its parent: number of the parent (-1: the root) and of the name, and own value before
    (None: not known) and now. What stands above a path and is none itself has nothing of its own.

    Args:
        paths: names from the outermost on → own value before and now.
        names: gets the names that are new.
    """
    nodes: dict[str, list[Any]] = {"parent": [], "methods": [], "before": [], "now": []}
    numbers: dict[tuple[str, ...], int] = {(): -1}

    def number_of(path: tuple[str, ...]) -> int:
        if path not in numbers:
            above = number_of(path[:-1])
            numbers[path] = len(nodes["parent"])
            nodes["parent"].append(above)
            nodes["methods"].append(names.setdefault(path[-1], len(names)))
            nodes["before"].append(None)
            nodes["now"].append(0.0)
        return numbers[path]

    for path, (before, now) in paths.items():
        at = number_of(path)
        nodes["before"][at] = None if before is None else float(f"{before:.6g}")
        nodes["now"][at] = float(f"{now:.6g}")
    return nodes
