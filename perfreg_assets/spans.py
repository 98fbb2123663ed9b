"""Half-open spans [begin, end) of whole numbers: of nanoseconds, of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[int, int]
Spans = list[Span]


def merged(spans: Iterable[Span]) -> Spans:
    """The same numbers, in order, in as few spans as can be."""
    joined: Spans = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


def without(spans: Sequence[Span], others: Iterable[Span]) -> Spans:
    """What of `spans` is in none of the others, in the order of `spans`."""
    left = list(spans)
    for low, high in others:
        left = [
            piece
            for begin, end in left
            for piece in ((begin, min(end, low)), (max(begin, high), end))
            if piece[0] < piece[1]
        ]
    return left


def until(spans: Iterable[Span], limit: int) -> Spans:
    """What of `spans` lies before `limit`."""
    return [(begin, min(end, limit)) for begin, end in spans if begin < limit]
