"""Which windows of a long trace are unlike a reference: gate, score, calibration, and what is kept.

After Emteu Tchagou et al., Reducing trace size in multimedia applications endurance tests (DATE 2015). A window is how
often each type of event occurs in it, c (d,); p = c / N. Its Kullback-Leibler divergence to the past, a running mean,
opens the gate or does not; similar windows are merged into the past (so slow drift is followed), the others are scored
against the windows of a reference. In the document the score is LOF with K = 20 and a window is anomalous from 1.2 on:
mode `seed`. The other modes differ where that breaks (`local_outlier` says why): they compare √p, whose Euclidean
distance is √2 times Hellinger's and of one noise whatever the type; no distance counts as less than one event; and
the threshold is just above the .999 quantile of the scores of reference windows that were not fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.local_outlier import Neighbourhood, fit_neighbourhood, kernels

NEIGHBOURS = 20  # the document's K; 5 to 40 differ by .005 in precision (measured)
SEED_ALPHA = 1.2
EPSILON = 0.5  # events added per type, for KL alone: .01 to 1 differ by .01 in recall (measured)
GATE_QUANTILE = 0.99
# Not at a loose gate: at the .999 quantile a weight of .1 learns the anomaly and passes half of all windows (measured).
MERGE_WEIGHT = 0.001
ALPHA_QUANTILE = 0.999
# The threshold is above the quantile by more than rounding: windows of a very regular reference all have one score.
_ABOVE = 1.0 + 1e-9
HELD_OUT = 3  # one in three reference windows is not fitted
FEWEST_WINDOWS = 500
VOTES, OF_WINDOWS = 3, 12
LEAST_EXCESS = 6.0
"""By so much in all, in parts of the threshold, have the windows that vote together to be above it. What drifts is a
little above it for a while, again and again in hours; what is perturbed is at twice to five times of it. Chosen among 2
to 8 on streams of 20 s in 30 and 60 minutes and of 1 s in 3, seeds 5000 and 5100 on."""
OTHERS_AT_MOST = 0.5
"""Of a trace's, or a window's, events so much may be of types that its reference has none of."""

Bools = NDArray[np.bool_]


class ReferenceTooShortError(ValueError):
    """A reference has too few windows with events."""


@dataclass(frozen=True)
class Mode:
    """How windows are scored.

    Attributes:
        is_factor: by LOF; else by the mean distance to the neighbours.
        is_root: √p is compared instead of p.
        is_floored: no distance counts as less than one event.
        alpha: anomalous from this score on; None: calibrated.
        has_votes: a window with events counts only where VOTES of OF_WINDOWS consecutive ones are anomalous, and far
            enough.
        has_load: a window counts as well where the app uses more than in the reference (`app_load`).
    """

    name: str
    is_factor: bool
    is_root: bool
    is_floored: bool
    alpha: float | None
    has_votes: bool
    has_load: bool


MODES = {
    mode.name: mode
    for mode in (
        Mode("default", is_factor=True, is_root=True, is_floored=True, alpha=None, has_votes=True, has_load=True),
        Mode("knn", is_factor=False, is_root=True, is_floored=True, alpha=None, has_votes=True, has_load=True),
        Mode(
            "seed", is_factor=True, is_root=False, is_floored=False, alpha=SEED_ALPHA, has_votes=False, has_load=False
        ),
    )
}


@dataclass(frozen=True)
class Reference:
    """What is usual: made of the windows of a correct run.

    Attributes:
        past: (d,) mean of the smoothed distributions; the gate's starting point.
        theta: of the gate, in nats.
        alpha: windows are anomalous from this score on.
        has_empty: windows without any event are usual.
        window_count: with events, fitted and held out.
    """

    mode: Mode
    around: Neighbourhood
    past: Floats
    theta: float
    alpha: float
    has_empty: bool
    window_count: int


@dataclass(frozen=True)
class Judgement:
    """Of m windows.

    Attributes:
        kl: (m,) divergence from the past in nats, NaN without events.
        score: (m,) NaN where the gate let the window pass.
        is_anomalous: (m,).
        is_silent: (m,) no event, which the reference never has: a hang. These are anomalous as well.
    """

    kl: Floats
    score: Floats
    is_anomalous: Bools
    is_silent: Bools


def smoothed(counts: Floats) -> Floats:
    """(m, d) counts → distributions without zeros, (c + ε) / (N + ε d)."""
    smooth: Floats = (counts + EPSILON) / (counts.sum(axis=1, keepdims=True) + EPSILON * counts.shape[1])
    return smooth


def divergences(counts: Floats, past: Floats) -> Floats:
    """(m,) KL(q ‖ past) of windows with counts (m, d), in nats."""
    smooth = smoothed(counts)
    kl: Floats = (smooth * np.log(smooth / past)).sum(axis=1)
    return kl


def learn(counts: Floats, mode: Mode) -> Reference:
    """From the windows (m, d) of a correct run, in order of time.

    Raises:
        ReferenceTooShortError: under 500 of them have events.
    """
    counts = np.asarray(counts, np.float64)
    sizes = counts.sum(axis=1)
    used = counts[sizes > 0]
    if len(used) < FEWEST_WINDOWS:
        raise ReferenceTooShortError(f"{len(used)} of {len(counts)} windows have events, {FEWEST_WINDOWS} are needed")
    points = _points(used, mode)
    fitted = len(used) if mode.alpha is not None else len(used) - len(used) // HELD_OUT
    around = fit_neighbourhood(points[:fitted], neighbours=NEIGHBOURS, floor=_floor(sizes[sizes > 0], mode))
    if mode.alpha is not None:
        alpha = mode.alpha
    else:
        held_out = points[fitted:]
        found = around.outlier_factors(held_out) if mode.is_factor else around.mean_distances(held_out)
        alpha = float(np.quantile(found, ALPHA_QUANTILE)) * _ABOVE
    past = smoothed(used).mean(axis=0)
    theta = float(np.quantile(divergences(used, past), GATE_QUANTILE))
    return Reference(mode, around, past, theta, alpha, bool((sizes == 0).any()), len(used))


def _points(counts: Floats, mode: Mode) -> Floats:
    share = counts / counts.sum(axis=1, keepdims=True)
    points: Floats = np.sqrt(share) if mode.is_root else share
    return points


def _floor(sizes: Floats, mode: Mode) -> float:
    """The distance that one event more or less makes in a window of mean size."""
    if not mode.is_floored:
        return 0.0
    mean = float(sizes.mean())
    return 1.0 / np.sqrt(mean) if mode.is_root else float(np.sqrt(2.0)) / mean


class Judge:
    """Judges the windows of a stream, in their order and in blocks of any size; remembers the past."""

    def __init__(self, reference: Reference, *, rim_windows: int = 0) -> None:
        """
        Args:
            rim_windows: so many after an anomalous one are stored with it, and what is stored is not merged.
        """
        self.reference = reference
        self.past = reference.past.copy()
        self._rim = rim_windows
        self._held = 0

    @property
    def held(self) -> int:
        """So many of the windows that follow are stored with an anomalous one."""
        return self._held

    def take_up(self, past: Floats, held: int) -> None:
        """Goes on where another one was, with its `past` (d,) and `held`."""
        self.past, self._held = np.array(past, np.float64), held

    def judge(self, counts: Floats, *, scores_all: bool = False) -> Judgement:
        """Counts (m, d) of the next windows.

        Args:
            scores_all: also those that the gate lets pass, for evaluation.
        """
        known, around, mode = self.reference, self.reference.around, self.reference.mode
        counts = np.ascontiguousarray(counts, np.float64)
        kl, score, anomalous, self._held = kernels.judge(
            counts, around.points, around.k_distance, around.density, self.past, self._held, around.neighbours,
            around.floor, mode.is_factor, mode.is_root, EPSILON, known.theta, MERGE_WEIGHT, known.alpha, self._rim,
            scores_all,
        )  # fmt: skip
        silent = np.zeros(len(counts), np.bool_) if known.has_empty else counts.sum(axis=1) <= 0
        return Judgement(kl, score, anomalous | silent, silent)


def voted(is_anomalous: Bools, excess: Floats, is_silent: Bools) -> Bools:
    """(m,) Those anomalous windows that lie among 12 consecutive ones of which 3 are, and these far enough: single ones
    go, and those that are hardly above the threshold. What is silent needs no votes: that a window is without an event
    where none of the reference's is has no noise that others could confirm, and a hang may be of one window.

    Args:
        excess: see `excess_of`.
        is_silent: (m,) these are anomalous as well.
    """
    flags = np.asarray(is_anomalous, np.int64)
    if len(flags) == 0:
        return flags.astype(np.bool_)
    width = np.ones(min(OF_WINDOWS, len(flags)), np.int64)
    above = np.convolve(np.where(flags > 0, excess, 0.0), width, mode="valid") >= LEAST_EXCESS
    together = (np.convolve(flags, width, mode="valid") >= VOTES) & above
    near = np.convolve(together.astype(np.int64), width, mode="full") > 0
    return (near & (flags > 0)) | is_silent


def foreign(strange: NDArray[np.uint32], sizes: NDArray[np.int64]) -> Bools:
    """(m,) Windows most of whose events are of types that the reference never had, where there are as many as vote. To
    the score such events are one type beside 63: where that varies in the reference, it may be all of a window.

    Args:
        strange: (m,) events of such types. sizes: (m,) all events.
    """
    found = strange > OTHERS_AT_MOST * sizes
    return voted(found, np.full(len(found), LEAST_EXCESS), np.zeros(len(found), np.bool_))


def excess_of(score: Floats, alpha: float, is_silent: Bools) -> Floats:
    """(m,) By how many times the threshold windows are above it; 0 of those below and of those without a score. Three
    that are silent are enough for what is beside them."""
    above = np.maximum(np.nan_to_num(score, nan=0.0, posinf=np.finfo(np.float64).max) / alpha - 1.0, 0.0)
    found: Floats = np.where(is_silent, LEAST_EXCESS / VOTES, np.minimum(above, LEAST_EXCESS))
    return found


def kept_stretches(
    spans: Sequence[tuple[int, int]] | NDArray[np.int64], *, rim_ns: int, gap_ns: int, within: tuple[int, int]
) -> list[tuple[int, int]]:
    """What is kept around anomalous windows: with a rim before and after, gaps under `gap_ns` closed.

    Args:
        spans: [start, end) of each, ascending, in nanoseconds.
        within: the trace; nothing outside is kept.
    """
    kept: list[list[int]] = []
    for start, end in spans:
        begin, stop = max(int(start) - rim_ns, within[0]), min(int(end) + rim_ns, within[1])
        if begin >= stop:
            continue
        if kept and begin - kept[-1][1] < gap_ns:
            kept[-1][1] = max(kept[-1][1], stop)
        else:
            kept.append([begin, stop])
    return [(begin, stop) for begin, stop in kept]
