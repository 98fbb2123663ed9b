"""AB-join against stumpy, warm: compiled code is loaded before the clock starts (start-up is a topic of its own)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numba
import numpy as np
from measuring import Row, at_least, medians

from perfreg_assets.methods.matrix_profile import ab_join


def rows(quick: bool) -> Iterator[Row]:
    source = np.random.default_rng(0)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)  # ours has one; stumpy's threads would mostly wait for each other on so little work
    try:
        for n in (600,) if quick else (600, 1800):
            target, reference = source.normal(size=(2, n)).cumsum(axis=1)
            for window in (10, 60):
                for normalize, name in ((True, "stumpy.stump"), (False, "stumpy.aamp")):
                    join = partial(ab_join, target, reference, window, normalize=normalize)
                    ours, theirs = medians(join, partial(join, backend="stumpy"), rounds=5 if quick else 15)
                    kind = "z-normalised" if normalize else "raw"
                    yield at_least("profile", f"n={n}, window {window}, {kind}", ours, f"{name}, 1 thread", theirs)
    finally:
        numba.set_num_threads(threads)
