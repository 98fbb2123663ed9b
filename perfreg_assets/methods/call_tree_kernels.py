"""Calls merged into trees, compiled: one pass over the calls, transaction by transaction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from perfreg_assets.methods.line_fields import NO_TIME

SPLIT_GAP_MS = 1000
"""Calls of two uses of one transaction id are so far apart in time at least."""
PARALLEL_RATIO = 0.01
"""Children may be so much longer than their parent by the noise of clocks and by rounding."""

NO_PARENT_LABEL, PARENT_NEVER_SEEN = -1, -2
_SMALL_SORT = 64


@njit(cache=True, nogil=True)
def grouped(group: Any, group_count: int) -> Any:
    """(rows group by group, where each group starts in them)."""
    starts = np.zeros(group_count + 1, np.int64)
    for one in group:
        starts[one + 1] += 1
    for number in range(group_count):
        starts[number + 1] += starts[number]
    at = starts[:-1].copy()
    order = np.empty(len(group), np.int32)
    for row in range(len(group)):
        order[at[group[row]]] = row
        at[group[row]] += 1
    return order, starts


@njit(cache=True, nogil=True)
def _sort_by(rows: Any, rank: Any, label: Any) -> None:
    """Sorts rows by the place of their label in pre-order; usually they are nearly so."""
    if len(rows) <= _SMALL_SORT:
        for i in range(1, len(rows)):
            row = rows[i]
            place = rank[label[row]]
            j = i - 1
            while j >= 0 and rank[label[rows[j]]] > place:
                rows[j + 1] = rows[j]
                j -= 1
            rows[j + 1] = row
        return
    places = np.empty(len(rows), np.int32)
    is_sorted = True
    for i in range(len(rows)):
        places[i] = rank[label[rows[i]]]
        is_sorted = is_sorted and (i == 0 or places[i - 1] <= places[i])
    if not is_sorted:
        rows[:] = rows[np.argsort(places, kind="mergesort")]


@njit(cache=True, nogil=True)
def _is_double(rows: Any, label: Any) -> bool:
    """Of sorted rows: whether a label stands twice."""
    for i in range(1, len(rows)):  # noqa: SIM110  (compiled code has no generators)
        if label[rows[i]] == label[rows[i - 1]]:
            return True
    return False


@njit(cache=True, nogil=True)
def _split(rows: Any, rank: Any, label: Any, time_ms: Any) -> Any:
    """Ends of the pieces into which rows with a label twice fall, the rows put in their order; none: refused."""
    ends = np.empty(len(rows), np.int64)
    count = 0
    for row in rows:
        if time_ms[row] == NO_TIME:
            return ends[:0]
    rows[:] = rows[np.argsort(time_ms[rows], kind="mergesort")]
    open_starts = np.zeros(len(rows) + 1, np.int64)
    open_ends = np.zeros(len(rows) + 1, np.int64)
    open_ends[0] = len(rows)
    open_count = 1
    while open_count:
        open_count -= 1
        start, end = open_starts[open_count], open_ends[open_count]
        piece = rows[start:end].copy()
        _sort_by(piece, rank, label)
        if not _is_double(piece, label):
            rows[start:end] = piece
            ends[count] = end
            count += 1
            continue
        cut, largest = -1, SPLIT_GAP_MS - 1
        for i in range(start + 1, end):
            gap = int(time_ms[rows[i]] - time_ms[rows[i - 1]])
            if gap > largest:
                cut, largest = int(i), gap
        if cut < 0:
            return ends[:0]
        open_starts[open_count], open_ends[open_count] = cut, end
        open_starts[open_count + 1], open_ends[open_count + 1] = start, cut
        open_count += 2
    return ends[:count]  # the earlier half is always taken first, so the ends rise


@njit(cache=True, nogil=True)
def _wider(array: Any) -> Any:
    found = np.zeros((array.shape[0], 2 * array.shape[1]), array.dtype)
    found[:, : array.shape[1]] = array
    return found


@njit(cache=True, nogil=True)
def _longer(array: Any) -> Any:
    found = np.zeros(2 * len(array), array.dtype)
    found[: len(array)] = array
    return found


@njit(cache=True, nogil=True)
def _slot(slots: Any, keys: Any, key: int) -> Any:
    """Where a key stands in the hash table, or where it would."""
    mask = np.uint64(len(slots) - 1)
    stirred = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = (stirred ^ (stirred >> np.uint64(32))) & mask
    while slots[at] >= 0 and keys[slots[at]] != key:
        at = (at + np.uint64(1)) & mask
    return at


@njit(cache=True, nogil=True)
def _stirred(one: Any, other: Any) -> Any:
    """Two hashes into one; not the same the other way round."""
    mixed = (one ^ (other + np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(31))


@njit(cache=True, nogil=True)
def merge(  # noqa: PLR0912, PLR0915  (one pass over the calls; parts would be called per call)
    order: Any, starts: Any, label: Any, method: Any, service: Any, elapsed: Any, time_ms: Any,
    parent_of: Any, rank: Any, label_hash: Any, method_hash: Any, service_count: int, method_count: int,
) -> Any:  # fmt: skip
    """Nodes and trees of all calls: (numbers (7, room), sums in ms (4, room), how many nodes; row of each tree's root,
    identity, whether it is an orphan (room,) each, how many trees; counts (6,)).

    Takes the calls transaction by transaction, as `grouped` gives them (n,), (transactions + 1,); `label`, `method`,
    `service`, `elapsed` in ms and `time_ms` of each call (n,); of each label its `parent_of`, its `rank` in pre-order
    and its hash (labels,); the hash of each method (methods,). `order` is sorted within each transaction."""
    # Nodes: parent, service, method, depth, is outermost, calls, parallel calls · total, self, largest of either.
    numbers = np.zeros((7, 256), np.int64)
    sums = np.zeros((4, 256))
    keys = np.zeros(256, np.int64)
    slots = np.full(512, np.int32(-1), np.int32)
    node_count = 0
    tree_rows = np.zeros(1024, np.int64)
    identities = np.zeros(1024, np.uint64)
    orphans = np.zeros(1024, np.bool_)
    tree_count = 0
    counts = np.zeros(6, np.int64)  # orphans, split and refused transactions, refused, parallel and clipped calls
    place_of = np.zeros(len(parent_of), np.int32)  # of a label: its place among the piece's rows …
    seen_in = np.zeros(len(parent_of), np.int64)  # … in this piece, counted from 1
    piece_number = 0
    room = 64
    below = np.zeros(room)
    node_of = np.zeros(room, np.int64)
    tree_of = np.zeros(room, np.int64)
    whole = np.zeros(1, np.int64)
    for transaction in range(len(starts) - 1):
        rows_of_all = order[starts[transaction] : starts[transaction + 1]]
        if len(rows_of_all) == 0:
            continue
        _sort_by(rows_of_all, rank, label)
        whole[0] = len(rows_of_all)
        ends = whole
        if _is_double(rows_of_all, label):
            ends = _split(rows_of_all, rank, label, time_ms)
            if len(ends) == 0:
                counts[2] += 1
                counts[3] += len(rows_of_all)
                continue
            counts[1] += 1
        if len(rows_of_all) > room:
            room = 2 * len(rows_of_all)
            below = np.zeros(room)
            node_of = np.zeros(room, np.int64)
            tree_of = np.zeros(room, np.int64)
        begin = 0
        for end in ends:
            rows = rows_of_all[begin:end]
            begin = int(end)
            piece_number += 1
            for i in range(len(rows)):
                row = rows[i]
                name = label[row]
                place_of[name] = i
                seen_in[name] = piece_number
                below[i] = 0.0
                above = parent_of[name]
                if above >= 0 and seen_in[above] == piece_number:
                    parent = place_of[above]
                    below[parent] += elapsed[row]
                    node_above = node_of[parent]
                    tree_of[i] = tree_of[parent]
                    key = (node_above + service_count) * method_count + method[row]
                else:
                    node_above = -1
                    if tree_count == len(tree_rows):
                        tree_rows, identities, orphans = _longer(tree_rows), _longer(identities), _longer(orphans)
                    tree_rows[tree_count] = row
                    orphans[tree_count] = above != NO_PARENT_LABEL
                    counts[0] += above != NO_PARENT_LABEL
                    tree_of[i] = tree_count
                    tree_count += 1
                    key = np.int64(service[row]) * method_count + method[row]
                tree = tree_of[i]
                identities[tree] = _stirred(_stirred(identities[tree], label_hash[name]), method_hash[method[row]])
                at = _slot(slots, keys, key)
                if slots[at] < 0:
                    if node_count == len(keys):
                        numbers, sums, keys = _wider(numbers), _wider(sums), _longer(keys)
                        slots = np.full(2 * len(keys), np.int32(-1), np.int32)
                        for node in range(node_count):
                            slots[_slot(slots, keys, keys[node])] = node
                        at = _slot(slots, keys, key)
                    slots[at] = node_count
                    keys[node_count] = key
                    numbers[0, node_count] = node_above
                    numbers[1, node_count] = service[tree_rows[tree]]
                    numbers[2, node_count] = method[row]
                    numbers[3, node_count] = 0 if node_above < 0 else numbers[3, node_above] + 1
                    up = node_above
                    while up >= 0 and numbers[2, up] != method[row]:
                        up = numbers[0, up]
                    numbers[4, node_count] = up < 0
                    node_count += 1
                node_of[i] = slots[at]
            for i in range(len(rows)):
                total, node = elapsed[rows[i]], node_of[i]
                own = total - below[i]
                if own < 0.0:
                    if -own > PARALLEL_RATIO * total:
                        numbers[6, node] += 1
                        counts[4] += 1
                    elif -own > 1e-9 * total:
                        counts[5] += 1
                    own = 0.0
                numbers[5, node] += 1
                sums[0, node] += total
                sums[1, node] += own
                sums[2, node] = max(sums[2, node], total)
                sums[3, node] = max(sums[3, node], own)
    return numbers, sums, node_count, tree_rows, identities, orphans, tree_count, counts
