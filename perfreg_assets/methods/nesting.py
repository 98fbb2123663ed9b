"""Calls out of entries and exits: which lasted from when to when, and within which other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Calls:
    """Calls (n,), the outer ones first. `parent`: position of the one within which each was made, -1 without one;
    `depth`: how many there are around it."""

    thread: Numbers
    method: Numbers
    start: Numbers
    end: Numbers
    parent: Numbers
    depth: Numbers


def nest(thread: Numbers, method: Numbers, is_entry: NDArray[np.bool_], at: Numbers, last: dict[int, int]) -> Calls:
    """Pairs entries with exits, thread by thread in the order given.

    An exit ends the innermost open call of its method, and with it those within that did not end. One of a method that
    is not open was entered before the first record, and ends nothing; -1 is the exit of whatever is innermost.

    Args:
        thread, method, is_entry, at: (n,) of the records.
        last: thread → when calls end that did not.
    """
    of_thread: list[int] = []
    of_method: list[int] = []
    start: list[int] = []
    end: list[int] = []
    parent: list[int] = []
    depth: list[int] = []
    stacks: dict[int, list[int]] = {}
    records = zip(thread.tolist(), method.tolist(), is_entry.tolist(), at.tolist(), strict=True)
    for number, what, enters, moment in records:
        stack = stacks.setdefault(number, [])
        if enters:
            parent.append(stack[-1] if stack else -1)
            depth.append(len(stack))
            stack.append(len(start))
            of_thread.append(number)
            of_method.append(what)
            start.append(moment)
            end.append(last[number])
        elif stack and (what == -1 or of_method[stack[-1]] == what):
            end[stack.pop()] = moment
        elif any(of_method[one] == what for one in stack):
            while of_method[stack[-1]] != what:
                end[stack.pop()] = moment
            end[stack.pop()] = moment
    order = np.argsort(np.array(depth, np.int64), kind="stable")
    place = np.empty(len(order) + 1, np.int64)
    place[order] = np.arange(len(order))
    place[-1] = -1
    ordered = [np.array(one, np.int64)[order] for one in (of_thread, of_method, start, end, parent, depth)]
    ordered[4] = place[ordered[4]]
    return Calls(*ordered)
