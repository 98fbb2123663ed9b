"""Our kernels against the libraries they stand in for, on this machine: what `perfreg doctor` shows.

The kernels are compiled here for this processor; that they are right on another one is no proof. tslearn (DTW, DBA) and
stumpy (matrix profile) compute the same on small random series.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from perfreg_assets.methods.barycenter import dba
from perfreg_assets.methods.dtw import dtw_distance
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.matrix_profile import ab_join

TOLERANCE = 1e-8  # of values about 1; the two add up in another order
PAIRS = 4
WINDOW = 8


@dataclass(frozen=True)
class KernelCheck:
    """Attributes:
    name: of the kernel, and of the library it was compared with.
    largest_difference: between the two, over all values; no unit. NaN where one of them is no number.
    is_ok: it is at most `tolerance`.
    """

    name: str
    largest_difference: float
    tolerance: float
    is_ok: bool


def check_kernels(seed: int = 0) -> list[KernelCheck]:
    """Compares every kernel with its library; 10 to 60 s where the libraries are compiled first.

    Args:
        seed: of the random series, walks of 60 to 90 samples.
    """
    generator = np.random.default_rng(seed)
    pairs = [(_walk(generator), _walk(generator)) for _ in range(PAIRS)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="h5py not installed")  # tslearn could read HDF5 too
        dtw = import_module("tslearn.metrics").dtw
        checks: tuple[tuple[str, Callable[[Floats, Floats], Floats], Callable[[Floats, Floats], Floats]], ...] = (
            ("DTW, tslearn", lambda a, b: np.array([dtw_distance(a, b)]), lambda a, b: np.array([dtw(a, b)])),
            ("DBA, tslearn", lambda a, b: dba([a, b]).values, lambda a, b: dba([a, b], backend="tslearn").values),
            ("matrix profile, stumpy", _profile("numba", True), _profile("stumpy", True)),
            ("raw matrix profile, stumpy", _profile("numba", False), _profile("stumpy", False)),
        )
        rows = []
        for name, own, theirs in checks:
            largest = float(np.max([np.max(np.abs(own(a, b) - theirs(a, b))) for a, b in pairs]))
            rows.append(KernelCheck(name, largest, TOLERANCE, largest <= TOLERANCE))
    return rows


def _walk(generator: np.random.Generator) -> Floats:
    return generator.normal(size=int(generator.integers(60, 90))).cumsum() / 10


def _profile(backend: str, normalize: bool) -> Callable[[Floats, Floats], Floats]:
    return lambda a, b: ab_join(a, b, WINDOW, normalize=normalize, backend=backend)
