"""How a table goes into a width: columns side by side, the last one's sentences beneath each row, or row by row.

A word is never broken as long as another way is left: `anomalo` over `us` is no state that anybody finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from rich.cells import cell_len

GAP = 2
"""Blanks between columns."""
_WORD_MOST = 32
"""What is longer may be broken: a hash, an address."""
_SENTENCE_LEAST = 40
"""The least width in which sentences read well."""
_LINES = 4
"""Into how many lines a long cell may go where its width is less than that."""


class Way(Enum):
    SIDE_BY_SIDE = auto()
    BENEATH = auto()
    """The last column's cells have lines of their own, beneath their row."""
    RECORDS = auto()
    """A line per column, rows one after the other."""


@dataclass(frozen=True)
class Layout:
    way: Way
    widths: tuple[int, ...]
    """Of the columns that stand side by side; none of `RECORDS`."""


def layout(columns: Sequence[Sequence[str]], width: int, *, whole: Sequence[int] = ()) -> Layout:
    """The way that shows most at a glance.

    Args:
        columns: per column its heading and its cells.
        width: what there is, in characters of a terminal.
        whole: positions of columns that are never wrapped.
    """
    natural = [max(map(cell_len, column), default=0) for column in columns]
    least = [natural[at] if at in whole else _least(column, natural[at]) for at, column in enumerate(columns)]
    if _total(least) <= width:
        return Layout(Way.SIDE_BY_SIDE, _filled(least, natural, width))
    if len(columns) > 1 and natural[-1] > _SENTENCE_LEAST and _total(least[:-1]) <= width:
        return Layout(Way.BENEATH, _filled(least[:-1], natural[:-1], width))
    return Layout(Way.RECORDS, ())


def _least(column: Sequence[str], natural: int) -> int:
    words = max((cell_len(word) for cell in column for word in cell.split()), default=0)
    return max(min(words, _WORD_MOST), min(_SENTENCE_LEAST, natural // _LINES))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _filled(least: Sequence[int], natural: Sequence[int], width: int) -> tuple[int, ...]:
    """What is left goes to the columns that need least to be whole."""
    widths, left = list(least), width - _total(least)
    for at in sorted(range(len(widths)), key=lambda at: natural[at] - least[at]):
        more = min(left, natural[at] - least[at])
        widths[at] += more
        left -= more
    return tuple(widths)
