"""Compiled kernels of `local_outlier` and `reduction`, in a file of their own: numba is loaded when they run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# scikit-learn's guard against division by a mean reach of 0: without a floor, copies of a window get a density of 1e10.
_GUARD = 1e-10


@njit(cache=True, nogil=True)
def nearest(points: Any, query: Any, skipped: int, best: Any, index: Any) -> None:
    """The k nearest points (n, d) of a query (d,): their distances, ascending, and numbers, into best and index (k,).

    `skipped` is the number of the query itself among the points, or -1.
    """
    k = best.shape[0]
    best[:] = np.inf
    index[:] = -1
    for i in range(points.shape[0]):
        if i == skipped:
            continue
        limit = best[k - 1]
        square = 0.0
        for j in range(points.shape[1]):
            difference = points[i, j] - query[j]
            square += difference * difference
            if square >= limit:
                break
        if square >= limit:
            continue
        at = k - 1
        while at > 0 and best[at - 1] > square:
            best[at] = best[at - 1]
            index[at] = index[at - 1]
            at -= 1
        best[at] = square
        index[at] = i
    for at in range(k):
        best[at] = np.sqrt(best[at])


@njit(cache=True, nogil=True)
def fit(points: Any, k: int, floor: float) -> Any:
    """k-distance (n,) and local reachability density (n,) of points (n, d) among themselves."""
    n = points.shape[0]
    distances = np.empty((n, k))
    indices = np.empty((n, k), np.int64)
    for i in range(n):
        nearest(points, points[i], i, distances[i], indices[i])
    reach_from = np.empty(n)
    for i in range(n):
        reach_from[i] = max(distances[i, k - 1], floor)
    density = np.empty(n)
    for i in range(n):
        total = 0.0
        for at in range(k):
            total += max(distances[i, at], floor, reach_from[indices[i, at]])
        density[i] = 1.0 / (total / k + _GUARD)
    return reach_from, density


@njit(cache=True, nogil=True)
def outlier_factor(best: Any, index: Any, reach_from: Any, density: Any, floor: float) -> Any:
    """LOF of a query by its k nearest points."""
    k = best.shape[0]
    reach = 0.0
    around = 0.0
    for at in range(k):
        reach += max(best[at], floor, reach_from[index[at]])
        around += density[index[at]]
    return (around / k) * (reach / k + _GUARD)


@njit(cache=True, nogil=True)
def mean_distance(best: Any, floor: float) -> Any:
    """Mean distance to the k nearest points."""
    total = 0.0
    for at in range(best.shape[0]):
        total += max(best[at], floor)
    return total / best.shape[0]


@njit(cache=True, nogil=True)
def scores(queries: Any, points: Any, reach_from: Any, density: Any, k: int, floor: float, is_factor: bool) -> Any:
    """(m,) LOF, or mean distance to the k nearest, of queries (m, d)."""
    best = np.empty(k)
    index = np.empty(k, np.int64)
    found = np.empty(queries.shape[0])
    for i in range(queries.shape[0]):
        nearest(points, queries[i], -1, best, index)
        if is_factor:
            found[i] = outlier_factor(best, index, reach_from, density, floor)
        else:
            found[i] = mean_distance(best, floor)
    return found


@njit(cache=True, nogil=True)
def divergence(smooth: Any, past: Any) -> float:
    """Kullback-Leibler divergence of two distributions without zeros, in nats."""
    total = 0.0
    for j in range(smooth.shape[0]):
        total += smooth[j] * np.log(smooth[j] / past[j])
    return total


@njit(cache=True, nogil=True)
def judge(
    counts: Any, points: Any, reach_from: Any, density: Any, past: Any, held: int, k: int, floor: float,
    is_factor: bool, is_root: bool, epsilon: float, theta: float, weight: float, alpha: float, rim: int,
    scores_all: bool,
) -> Any:  # fmt: skip
    """Windows one after the other: gate, merge, score. `past` (d,) is changed.

    Returns KL (m,), score (m,; NaN where the gate let a window pass), whether anomalous (m,), and for how many more
    windows nothing is merged. Windows without events get NaN and are not anomalous.
    """
    m, d = counts.shape
    kl = np.full(m, np.nan)
    score = np.full(m, np.nan)
    anomalous = np.zeros(m, np.bool_)
    smooth = np.empty(d)
    query = np.empty(d)
    best = np.empty(k)
    index = np.empty(k, np.int64)
    for i in range(m):
        n = 0.0
        for j in range(d):
            n += counts[i, j]
        if n <= 0:
            held = max(held - 1, 0)
            continue
        for j in range(d):
            smooth[j] = (counts[i, j] + epsilon) / (n + epsilon * d)
        kl[i] = divergence(smooth, past)
        is_similar = kl[i] <= theta
        if scores_all or not is_similar:
            for j in range(d):
                query[j] = counts[i, j] / n
                if is_root:
                    query[j] = np.sqrt(query[j])
            nearest(points, query, -1, best, index)
            if is_factor:
                score[i] = outlier_factor(best, index, reach_from, density, floor)
            else:
                score[i] = mean_distance(best, floor)
        if is_similar:
            if held > 0:
                held -= 1
            else:
                for j in range(d):
                    past[j] = (1.0 - weight) * past[j] + weight * smooth[j]
        else:
            anomalous[i] = score[i] >= alpha
            held = rim if anomalous[i] else max(held - 1, 0)
    return kl, score, anomalous, held
