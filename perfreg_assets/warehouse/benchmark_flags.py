"""Flags of a virtual machine that the sides of a comparison ran under: other ones read as a slower version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from perfreg_assets.how_many import how_many

Flags = Mapping[str, set[str]]
"""Benchmark → the flags of a virtual machine that it ran under, one text each, where its files say."""


def texts_of(told: object) -> list[str]:
    """What a file says of them as one text; nothing where it says nothing."""
    if told is None:
        return []
    return [" ".join(map(str, told)) if isinstance(told, list) else str(told)]


def told_other(a: Flags, b: Flags, names: tuple[str, str]) -> list[str]:
    """A line for each pair of flags, how many benchmarks ran under these: other ones on a side than on the other, or
    under several on one. Those of most benchmarks first.

    Args:
        names: of the sides.
    """
    both = ((a[name], b[name]) for name in a if a[name] and b.get(name))
    pairs = Counter((_told(one), _told(other)) for one, other in both if len(one | other) > 1)
    return [
        f"{how_many(count, 'benchmark')} ran under other flags of the virtual machine: "
        f"{names[0]} {of_a}, {names[1]} {of_b}"
        for (of_a, of_b), count in pairs.most_common()
    ]


def _told(flags: set[str]) -> str:
    return " and ".join(one or "none" for one in sorted(flags, reverse=True))
