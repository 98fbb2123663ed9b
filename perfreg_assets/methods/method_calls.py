"""Calls of methods from their entries and exits on one thread, with what each call took beyond what it called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Moment = TypeVar("Moment")


@dataclass(frozen=True)
class Passage(Generic[Moment]):
    """A method was entered or left. `at`: whatever tells the moment."""

    method: str
    is_entry: bool
    at: Moment


@dataclass(frozen=True)
class Call(Generic[Moment]):
    """A call from entry to exit.

    Attributes:
        parent: place of the call that it was made from among all calls, -1 without one.
        is_outermost: no call around it is of the same method.
    """

    method: str
    entry: Moment
    exit: Moment
    parent: int
    is_outermost: bool


def calls(passages: Iterable[Passage[Moment]]) -> list[Call[Moment]]:
    """The calls of one thread, in order of their entries.

    Raises:
        ValueError: an exit without its entry, or an entry that is left open: lines were lost.
    """
    found: list[Call[Moment] | None] = []
    open_calls: list[tuple[int, Passage[Moment]]] = []
    for number, one in enumerate(passages, 1):
        if one.is_entry:
            open_calls.append((len(found), one))
            found.append(None)
            continue
        if not open_calls or open_calls[-1][1].method != one.method:
            inside = open_calls[-1][1].method if open_calls else "nothing"
            raise ValueError(f"line {number} leaves {one.method}, entered is {inside}")
        place, entry = open_calls.pop()
        around = [outer.method for _, outer in open_calls]
        parent = open_calls[-1][0] if open_calls else -1
        found[place] = Call(one.method, entry.at, one.at, parent, one.method not in around)
    if open_calls:
        raise ValueError(f"{open_calls[-1][1].method} is entered and never left")
    return [one for one in found if one is not None]


def own_amounts(parents: Sequence[int], totals: Sequence[float]) -> list[float]:
    """What each call took beyond its direct children.

    Args:
        parents: as `Call.parent`.
        totals: of each call with everything that it called.
    """
    own = list(totals)
    for parent, total in zip(parents, totals, strict=True):
        if parent >= 0:
            own[parent] -= total
    return own
