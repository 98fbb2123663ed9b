"""Compiled kernels: DTW distance, DTW path, DBA. All in one file, because numba's disk cache looks at one file only:
a kernel that called another file's kernel would stay stale when that one changes.

Series are (d, n) float64, C-contiguous, finite. Local cost = squared Euclidean difference, steps (1,1), (1,0), (0,1),
distance = root of the cheapest path's sum: Sakoe & Chiba 1978 with squared cost, as tslearn has it.

Cells are computed by anti-diagonals: no cell of one depends on another of the same, so LLVM vectorises the inner loop
(4 times the speed of row order). What that needs: the inner loop in its own function, slices taken outside the loop,
`min()` instead of if/else, `error_model="numpy"` and the flags below. Flags that let the compiler reorder or fuse
(`reassoc`, `contract`) are left out: results are then the same bits on every processor, and cost for cost those of
tslearn, so that ties between paths fall alike.

Cell (i, j) is 1-based and lies on diagonal i + j; a diagonal is stored by i in an array of n + 3. `best_1` and `best_2`
are the accumulated costs one and two diagonals back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_FLAGS = {"nnan", "nsz"}  # inputs are finite; +inf is used, so not "ninf"


@njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")
def _accumulate_1d(
    x: Any, y_reversed: Any, best_2: Any, best_1: Any, best: Any, low: int, width: int, shift: int
) -> None:
    """One diagonal in one dimension: `best` = squared difference + cheapest of the three predecessors.

    Apart from `_accumulate`, because reading the local costs from an array as well costs a third (measured).
    """
    xs = x[low - 1 : low - 1 + width]
    ys = y_reversed[shift + low : shift + low + width]
    diagonal = best_2[low - 1 : low - 1 + width]
    up = best_1[low - 1 : low - 1 + width]
    left = best_1[low : low + width]
    out = best[low : low + width]
    for i in range(width):
        difference = xs[i] - ys[i]
        out[i] = difference * difference + min(diagonal[i], up[i], left[i])


@njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")
def _accumulate_1d_with_steps(
    x: Any, y_reversed: Any, best_2: Any, best_1: Any, best: Any, steps: Any, low: int, width: int, shift: int
) -> None:
    """As `_accumulate_1d`; `steps` as in `_accumulate_with_steps`."""
    xs = x[low - 1 : low - 1 + width]
    ys = y_reversed[shift + low : shift + low + width]
    diagonal = best_2[low - 1 : low - 1 + width]
    up = best_1[low - 1 : low - 1 + width]
    left = best_1[low : low + width]
    out = best[low : low + width]
    for i in range(width):
        difference = xs[i] - ys[i]
        cheaper = min(diagonal[i], up[i])
        out[i] = difference * difference + min(cheaper, left[i])
        steps[i] = np.uint8(up[i] < diagonal[i]) + np.uint8(2) * np.uint8(left[i] < cheaper)


@njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")
def _local_costs(x: Any, y_reversed: Any, cost: Any, low: int, width: int, shift: int) -> None:
    """A diagonal's local costs over all dimensions."""
    c = cost[low : low + width]
    for q in range(x.shape[0]):
        xs = x[q, low - 1 : low - 1 + width]
        ys = y_reversed[q, shift + low : shift + low + width]
        if q == 0:
            for i in range(width):
                difference = xs[i] - ys[i]
                c[i] = difference * difference
        else:
            for i in range(width):
                difference = xs[i] - ys[i]
                c[i] += difference * difference


@njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")
def _bounded_costs(x: Any, y_reversed: Any, cost: Any, low: int, width: int, shift: int, largest: Any) -> None:
    """As `_local_costs`, each dimension's squared difference at most `largest` (d,).

    Apart from it, because what is not bounded need not pay for it.
    """
    c = cost[low : low + width]
    for q in range(x.shape[0]):
        xs = x[q, low - 1 : low - 1 + width]
        ys = y_reversed[q, shift + low : shift + low + width]
        most = largest[q]
        if q == 0:
            for i in range(width):
                difference = xs[i] - ys[i]
                c[i] = min(difference * difference, most)
        else:
            for i in range(width):
                difference = xs[i] - ys[i]
                c[i] += min(difference * difference, most)


@njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")
def _accumulate(cost: Any, best_2: Any, best_1: Any, best: Any, low: int, width: int) -> None:
    """One diagonal: `best` = local `cost` + cheapest of the three predecessors."""
    local = cost[low : low + width]
    diagonal = best_2[low - 1 : low - 1 + width]
    up = best_1[low - 1 : low - 1 + width]
    left = best_1[low : low + width]
    out = best[low : low + width]
    for i in range(width):
        out[i] = local[i] + min(diagonal[i], up[i], left[i])


@njit(cache=True, nogil=True, fastmath=_FLAGS, error_model="numpy")
def _accumulate_with_steps(cost: Any, best_2: Any, best_1: Any, best: Any, steps: Any, low: int, width: int) -> None:
    """As `_accumulate`; `steps` = 0 diagonal, 1 up (i - 1), 2 or 3 left (j - 1).

    Ties: diagonal before up before left, as tslearn.
    """
    local = cost[low : low + width]
    diagonal = best_2[low - 1 : low - 1 + width]
    up = best_1[low - 1 : low - 1 + width]
    left = best_1[low : low + width]
    out = best[low : low + width]
    for i in range(width):
        cheaper = min(diagonal[i], up[i])
        out[i] = local[i] + min(cheaper, left[i])
        steps[i] = np.uint8(up[i] < diagonal[i]) + np.uint8(2) * np.uint8(left[i] < cheaper)


@njit(cache=True, nogil=True, error_model="numpy")
def _reach(n: int, m: int, radius: int) -> int:
    """Half width of the band in units of 1 / (n + m) of a cell; -1 for no band.

    The Sakoe-Chiba band follows the scaled diagonal, |i / n - j / m| * max(n, m) <= radius: symmetric in x and y, and
    for equal lengths |i - j| <= radius. A radius too small for a path to exist is raised to the smallest that has one.
    """
    if radius < 0:
        return -1
    short = min(n, m)
    if n != m:
        radius = max(radius, (max(n, m) + short - 1) // short)
    return radius * short


@njit(cache=True, nogil=True, error_model="numpy")
def _bounds(diagonal: int, n: int, m: int, reach: int) -> tuple[int, int]:
    """First and last i of the diagonal's cells inside the matrix and the band (exact, in integers)."""
    low = max(1, diagonal - m)
    high = min(diagonal - 1, n)
    if reach >= 0:
        low = max(low, -((reach - diagonal * n) // (n + m)))
        high = min(high, (diagonal * n + reach) // (n + m))
    return low, high


@njit(cache=True, nogil=True, error_model="numpy")
def _reversed(y: Any) -> Any:
    out = np.empty_like(y)
    for q in range(y.shape[0]):
        out[q] = y[q, ::-1]
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _diagonal_path(n: int, m: int, first: Any, last: Any) -> None:
    """The path along the scaled diagonal: sample i of x meets `first[i]` to `last[i]` of y (0-based). In any band."""
    for i in range(n):
        first[i] = i * m // n
        last[i] = max(first[i], (i + 1) * m // n - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def _path_cost(x: Any, y: Any, first: Any, last: Any, largest: Any) -> float:
    """Cost of a path, added up as `_sweep` does it: the cheapest path is not dearer, to the last bit."""
    dims, n = x.shape
    is_bounded = largest.shape[0] > 0
    cost = 0.0
    for i in range(n):
        for j in range(first[i], last[i] + 1):
            local = 0.0
            for q in range(dims):
                difference = x[q, i] - y[q, j]
                squared = difference * difference
                local += min(squared, largest[q]) if is_bounded else squared
            cost = local + cost
    return cost


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(x: Any, y: Any, reach: int, bound: float, steps: Any, origin: Any, largest: Any) -> float:
    """Squared distance of (d, n) and (d, m), at most `bound`, which must be the cost of some path in the band.

    Cells dearer than the bound are on no cheapest path and are skipped at both ends of each diagonal: the same
    result to the bit, for a part of the work (PrunedDTW, Silva & Batista 2016).

    If `steps` is not empty, the step into cell (i, j) is left in steps[origin[i + j] + i]. If `largest` is not empty,
    no dimension of a cell costs more than its number there (d,).
    """
    dims, n = x.shape
    is_bounded = largest.shape[0] > 0
    is_summed = dims > 1 or is_bounded
    m = y.shape[1]
    y_reversed = _reversed(y)
    x_only, y_only = x[0], y_reversed[0]  # out of the loop: a view costs 4 ns, which is 16 cells
    is_kept = steps.shape[0] > 0
    kept = steps
    cost = np.empty(n + 3 if is_summed else 0)
    best_2 = np.full(n + 3, np.inf)
    best_1 = np.full(n + 3, np.inf)
    best = np.full(n + 3, np.inf)
    best_2[0] = 0.0
    # What is left of the two diagonals before; whatever else is read of `best_1` and `best_2` is infinite.
    low_2, high_2 = 0, 0
    low_1, high_1 = 1, 0
    used = 0
    for diagonal in range(2, n + m + 1):
        low, high = _bounds(diagonal, n, m, reach)
        low = max(low, min(low_1, low_2 + 1))
        high = min(high, max(high_1, high_2) + 1)
        best[low - 1] = np.inf
        best[high + 1] = np.inf
        width = high - low + 1
        shift = m - diagonal
        if width > 0:
            if is_kept:
                kept = steps[used : used + width]
                origin[diagonal] = used - low
                used += width
            if is_summed:
                if is_bounded:
                    _bounded_costs(x, y_reversed, cost, low, width, shift, largest)
                else:
                    _local_costs(x, y_reversed, cost, low, width, shift)
                if is_kept:
                    _accumulate_with_steps(cost, best_2, best_1, best, kept, low, width)
                else:
                    _accumulate(cost, best_2, best_1, best, low, width)
            elif is_kept:
                _accumulate_1d_with_steps(x_only, y_only, best_2, best_1, best, kept, low, width, shift)
            else:
                _accumulate_1d(x_only, y_only, best_2, best_1, best, low, width, shift)
            while low <= high and best[low] > bound:
                best[low] = np.inf
                low += 1
            while low <= high and best[high] > bound:
                best[high] = np.inf
                high -= 1
        low_2, high_2, low_1, high_1 = low_1, high_1, low, high
        best_2, best_1, best = best_1, best, best_2
    return float(best_1[n])


@njit(cache=True, nogil=True, error_model="numpy")
def squared_distance(x: Any, y: Any, radius: int) -> float:
    """Squared DTW distance of (d, n) and (d, m); radius < 0: no band. O(n) memory."""
    n, m = x.shape[1], y.shape[1]
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    _diagonal_path(n, m, first, last)
    nothing, unbounded = np.empty(0, np.uint8), np.empty(0)
    bound = _path_cost(x, y, first, last, unbounded)
    return _sweep(x, y, _reach(n, m, radius), bound, nothing, first, unbounded)


@njit(cache=True, nogil=True, error_model="numpy")
def _cell_count(n: int, m: int, reach: int) -> int:
    if reach < 0:
        return n * m
    count = 0
    for diagonal in range(2, n + m + 1):
        low, high = _bounds(diagonal, n, m, reach)
        count += max(0, high - low + 1)
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _previous(i: int, j: int, steps: Any, origin: Any) -> tuple[int, int]:
    """The cell before (i, j) on the cheapest path; (0, 0) before the first."""
    if i == 1 and j == 1:
        return 0, 0
    if i == 1:
        return i, j - 1
    if j == 1:
        return i - 1, j
    step = steps[origin[i + j] + i]
    if step == 0:
        return i - 1, j - 1
    if step == 1:
        return i - 1, j
    return i, j - 1


@njit(cache=True, nogil=True, error_model="numpy")
def squared_distances(flat: Any, offsets: Any, target: Any, radius: int) -> Any:
    """Squared distances (k,) of packed series to one target (d, m)."""
    dims = target.shape[0]
    out = np.empty(offsets.shape[0] - 1)
    for s in range(out.shape[0]):
        series = flat[dims * offsets[s] : dims * offsets[s + 1]].reshape(dims, offsets[s + 1] - offsets[s])
        out[s] = squared_distance(series, target, radius)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def squared_pairwise(flat: Any, offsets: Any, dims: int, radius: int) -> Any:
    """Squared distances (k, k) between packed series: symmetric, zero on the diagonal."""
    k = offsets.shape[0] - 1
    out = np.zeros((k, k))
    for a in range(k):
        first = flat[dims * offsets[a] : dims * offsets[a + 1]].reshape(dims, offsets[a + 1] - offsets[a])
        for b in range(a + 1, k):
            second = flat[dims * offsets[b] : dims * offsets[b + 1]].reshape(dims, offsets[b + 1] - offsets[b])
            out[a, b] = squared_distance(first, second, radius)
            out[b, a] = out[a, b]
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def align(x: Any, y: Any, radius: int, largest: Any) -> Any:
    """Cheapest path of x (d, n) against y (d, m), per sample of x; `largest` squared differences (d,), (0,) for any.

    Returns (squared distance, mean of the y samples matched to x[i] (d, n), index of the first of them (n,)).
    """
    dims, n = x.shape
    m = y.shape[1]
    reach = _reach(n, m, radius)
    steps = np.empty(_cell_count(n, m, reach), np.uint8)
    origin = np.zeros(n + m + 1, np.int64)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    _diagonal_path(n, m, first, last)
    squared = _sweep(x, y, reach, _path_cost(x, y, first, last, largest), steps, origin, largest)
    total = np.zeros((dims, n))
    count = np.zeros(n)
    i, j = n, m
    while i > 0:
        for q in range(dims):
            total[q, i - 1] += y[q, j - 1]
        count[i - 1] += 1.0
        first[i - 1] = j - 1
        i, j = _previous(i, j, steps, origin)
    return squared, total / count, first


@njit(cache=True, nogil=True, error_model="numpy")
def barycenter(flat: Any, offsets: Any, start: Any, max_iterations: int, tolerance: float, radius: int) -> Any:
    """DBA (Petitjean 2011) in its majorise-minimise form (Schultz & Jain 2018) from `start` (d, length).

    Stops as tslearn 0.10: when the cost changes by less than `tolerance` or rises. The cost is the mean squared
    DTW distance to the barycenter before the last update. Returns (barycenter (d, length), cost, iterations).

    The path of the update before bounds the next search: its cost only falls when the barycenter follows it.
    """
    k = offsets.shape[0] - 1
    dims, length = start.shape
    center = start.copy()
    cells = 0
    longest = 0
    for s in range(k):
        m = offsets[s + 1] - offsets[s]
        longest = max(longest, m)
        cells = max(cells, _cell_count(length, m, _reach(length, m, radius)))
    steps = np.empty(cells, np.uint8)
    origin = np.zeros(length + longest + 1, np.int64)
    first, last = np.empty((k, length), np.int64), np.empty((k, length), np.int64)
    for s in range(k):
        _diagonal_path(length, offsets[s + 1] - offsets[s], first[s], last[s])
    total = np.empty((dims, length))
    count = np.empty(length)
    unbounded = np.empty(0)
    previous_cost = np.inf
    cost = np.inf
    iterations = 0
    while iterations < max_iterations:
        total[:] = 0.0
        count[:] = 0.0
        cost = 0.0
        for s in range(k):
            m = offsets[s + 1] - offsets[s]
            series = flat[dims * offsets[s] : dims * offsets[s + 1]].reshape(dims, m)
            bound = _path_cost(center, series, first[s], last[s], unbounded)
            cost += _sweep(center, series, _reach(length, m, radius), bound, steps, origin, unbounded)
            i, j = length, m
            last[s] = -1
            while i > 0:
                first[s, i - 1] = j - 1
                last[s, i - 1] = max(last[s, i - 1], j - 1)
                for q in range(dims):
                    total[q, i - 1] += series[q, j - 1]
                count[i - 1] += 1.0
                i, j = _previous(i, j, steps, origin)
        cost /= k
        center = total / count
        iterations += 1
        if abs(previous_cost - cost) < tolerance or previous_cost < cost:
            break
        previous_cost = cost
    return center, cost, iterations
