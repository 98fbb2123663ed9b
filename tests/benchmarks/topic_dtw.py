"""DBA and DTW distances against tslearn: 12 series of equal, unequal and several-dimensional kind."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from measuring import Row, at_least, medians

from perfreg_assets.methods.barycenter import dba
from perfreg_assets.methods.dtw import dtw_distances
from perfreg_assets.methods.inputs import Floats

HISTORY = 12
PROMISED = 15  # times tslearn, at n = 600 and 1800


def history(length: int, *, spread: int = 0, dims: int = 1, seed: int = 0) -> list[Floats]:
    """Sessions of one app: phases of load, each stretched differently, with noise."""
    source = np.random.default_rng(seed)
    levels = source.random((12, dims))
    series = []
    for _ in range(HISTORY):
        n = length + int(source.integers(-spread, spread + 1))
        borders = np.sort(np.linspace(0.08, 0.92, 11) + 0.1 * source.random(11))
        phase = np.searchsorted(borders, np.linspace(0, 1, n))
        series.append(levels[phase] + 0.2 * source.random((n, dims)))
    return [values[:, 0] if dims == 1 else values for values in series]


average = partial(dba, max_iterations=10, tolerance=0.0)


def rows(quick: bool) -> Iterator[Row]:
    from tslearn.metrics import cdist_dtw  # noqa: PLC0415  (4 s, and only when this topic is measured)
    from tslearn.utils import to_time_series_dataset  # noqa: PLC0415

    cases = {f"n={n}": history(n) for n in ((300, 600) if quick else (300, 600, 1800))}
    cases["n=600±100"] = history(600, spread=100)
    cases["n=600, 3 dimensions"] = history(600, dims=3)
    cases["n=600, white noise"] = list(np.random.default_rng(0).random((HISTORY, 600)))  # the least that can be skipped
    for kind, series in cases.items():
        n = max(len(values) for values in series)
        rounds = 3 if n > 1000 or quick else 5
        ours, theirs = medians(partial(average, series), partial(average, series, backend="tslearn"), rounds=rounds)
        promise = PROMISED if n >= 600 else None
        yield at_least("DBA", f"12 series, {kind}, 10 updates", ours, "tslearn", theirs, times=promise)
        target = dba(series, max_iterations=1).values
        dataset, goal = to_time_series_dataset(series), to_time_series_dataset([target])
        ours, theirs = medians(
            partial(dtw_distances, series, target), partial(cdist_dtw, dataset, goal), rounds=2 * rounds
        )
        yield at_least("DTW", f"12 distances, {kind}", ours, "tslearn cdist_dtw", theirs)
