"""Loads every default kernel once, so that a cold cache is paid for, and said, before the work starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfreg_assets.methods.barycenter import dba
from perfreg_assets.methods.dtw import align, dtw_distance, dtw_distances, dtw_pairwise
from perfreg_assets.methods.excess_load import UsualDifferences, find_excess
from perfreg_assets.methods.jit import compilation_notice
from perfreg_assets.methods.leak_onset import find_onset
from perfreg_assets.methods.matrix_profile import ab_join
from perfreg_assets.methods.path_similarity import similarity


def warm_up(write: Callable[[str], None] | None = None) -> None:
    """Compiles (about 8 s on a cold cache) or loads (0.3 s) the kernels of this package.

    Args:
        write: see `jit.compilation_notice`.
    """
    # Every kernel is reached from here (tested).
    some = np.linspace(0.0, 1.0, 64)
    other = some**2
    usual = UsualDifferences([some - other, other - some], [some, other])
    with compilation_notice(write):
        similarity(["a"], ["a"])
        dtw_distance(some, other)
        dtw_distances([some], other)
        dtw_pairwise([some, other])
        align(some, other)
        dba([some, other])
        find_onset(some, 1.0, 0.0)
        find_excess(usual, some - other, some, 1.0)
        ab_join(some, other, 4)
        ab_join(some, other, 4, normalize=False)
