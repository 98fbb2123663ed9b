"""Where does a run carry extra load? Two hidden states, usual and excess, behind the differences to the history.

A sample's difference to what the history had at the same place is usually noise around 0; during a regression it is
the same noise, lifted by some height. The noise is learned from the history's runs, each beside the others, so no
threshold has to be chosen: heavy tails and bursts that normal runs have as well count as noise. The states follow each
other as a Markov chain (a regression lasts for seconds, not for single samples); height, duration and share are the
ones under which the run is most likely (grid search; forward-backward algorithm, Rabiner 1989). The result is a
probability per sample, and the evidence for any excess at all (log likelihood ratio).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.lazy import LazyModule

kernels = LazyModule("perfreg_assets.methods.excess_load_kernels")

BURST_S = (3.0, 6.0)
SHARES = (0.03, 0.1, 0.3)
HEIGHTS = 8
LOAD_CLASSES = 3  # noise is larger where the expected load is; terciles of it have their own density
GRID_HALF_WIDTH = 10.0  # of the density, in arsinh units: e^10 times the typical difference
GRID_STEP = 0.05
SMOOTHING_STEPS = 4.0
SMALLEST_DENSITY = 1e-4  # share of all samples that any grid cell has at least: no difference is impossible


@dataclass(frozen=True)
class Excess:
    """Attributes:
    evidence: log likelihood ratio of "usual and excess" against "usual only", in nats.
    height: of the excess, unit of the series.
    probability: (n,) that the sample is in excess.
    """

    evidence: float
    height: float
    probability: Floats


class Compared(NamedTuple):
    """A run beside what the history had at the same places.

    Attributes:
        differences: (n,) to the usual load, unit of the series.
        usual: (n,) load, unit of the series.
        startup: how many of the first samples belong to the app's start, where runs differ in their own way.
    """

    differences: Floats
    usual: Floats
    startup: int = 0


class UsualDifferences:
    """Density of the differences that normal runs have, per class of expected load, and of the start by itself."""

    def __init__(self, runs: Sequence[Compared]) -> None:
        """From the history's runs, each beside the others."""
        pooled, load = (np.concatenate(parts) for parts in ([one[0] for one in runs], [one[1] for one in runs]))
        size = np.abs(pooled)
        self._typical = max(float(np.median(size)), 1e-9 + 1e-6 * float(size.max()))
        self._borders = np.quantile(load, np.linspace(0, 1, LOAD_CLASSES + 1)[1:-1])
        edges = np.arange(-GRID_HALF_WIDTH - GRID_STEP / 2, GRID_HALF_WIDTH + GRID_STEP, GRID_STEP)
        kernel = np.exp(-0.5 * (np.arange(-16, 17) / SMOOTHING_STEPS) ** 2)
        classes = np.concatenate([self._classes(one) for one in runs])
        position = np.arcsinh(pooled / self._typical)
        rows = []
        for index in range(LOAD_CLASSES + 1):
            counts = np.histogram(position[classes == index], bins=edges)[0].astype(np.float64)
            smooth = np.convolve(counts, kernel / kernel.sum(), mode="same") + SMALLEST_DENSITY * len(pooled) / len(
                counts
            )
            rows.append(np.log(smooth / smooth.sum() / GRID_STEP))
        self._log_density = np.array(rows)
        self._smallest_height = max(float(np.quantile(size, 0.8)), self._typical)
        self._largest_height = max(float(np.quantile(size, 0.999)), 2 * self._typical)

    def heights(self, differences: Floats) -> Floats:
        """Heights to try on a run's differences (n,), in their unit: from what is common among normal runs to what is
        rare, or to its own tallest."""
        tallest = max(self._largest_height, float(np.quantile(differences, 0.99)))
        return np.geomspace(self._smallest_height, tallest, HEIGHTS)

    def log_likelihood(self, run: Compared, lifted: float = 0.0) -> Floats:
        """(n,) of each difference, less `lifted`, in a usual run."""
        classes = self._classes(run)
        differences = run.differences - lifted
        position = (np.arcsinh(differences / self._typical) + GRID_HALF_WIDTH) / GRID_STEP
        position = np.clip(position, 0, self._log_density.shape[1] - 1.001)
        below = position.astype(np.int64)
        share = position - below
        log_density = self._log_density[classes, below] * (1 - share) + self._log_density[classes, below + 1] * share
        return log_density - 0.5 * np.log(differences**2 + self._typical**2)  # d arsinh / d difference

    def _classes(self, run: Compared) -> NDArray[np.int64]:
        """(n,) by expected load, the last class for the start."""
        classes = np.searchsorted(self._borders, run.usual)
        classes[: run.startup] = LOAD_CLASSES
        return classes


def find_excess(usual: UsualDifferences, run: Compared, interval_s: float) -> Excess:
    """The most likely division of a run (n,) into usual and excess samples."""
    plain = usual.log_likelihood(run)
    total = float(plain.sum())
    best: tuple[float, float, NDArray[Any]] = (-np.inf, 0.0, np.zeros(len(plain)))
    for height in usual.heights(run.differences):
        lifted = usual.log_likelihood(run, float(height))
        for burst in BURST_S:
            leave = min(interval_s / burst, 0.9)
            for share in SHARES:
                enter = min(share / (1 - share) * leave, 0.9)
                evidence, probability = kernels.forward_backward(plain, lifted, enter, leave)
                if evidence - total > best[0]:
                    best = (float(evidence - total), float(height), probability)
    return Excess(*best)
