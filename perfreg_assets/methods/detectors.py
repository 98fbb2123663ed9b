"""The one door to both detectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from perfreg_assets.methods.barycenter import Barycenter
from perfreg_assets.methods.calibrated_detector import CalibratedDetector
from perfreg_assets.methods.iqr_detector import IqrDetector
from perfreg_assets.methods.run_level import combine_run
from perfreg_assets.methods.samples import Kind, Sample, Score

__all__ = ["DETECTORS", "Detector", "Sample", "Score", "combine_run", "kind_of_series", "make_detector"]

DETECTORS = ("default", "iqr")


class Detector(Protocol):
    """Judges one series of one run beside the same series of its history."""

    @property
    def name(self) -> str: ...

    def score(
        self,
        history: Sequence[Sample],
        target: Sample,
        *,
        kind: Kind,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> Score:
        """The score of the target.

        Args:
            history: k runs, in any order.
            kind: of the series, see `kind_of_series`.
            interval_s: between samples.
            barycenter: of the history, if it is at hand.

        Raises:
            ValueError: too few history runs, or a series is too short or not finite.
        """
        ...

    def score_all(
        self,
        history: Sequence[Sample],
        targets: Sequence[Sample],
        *,
        kind: Kind,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> list[Score]:
        """`score` of several targets against one history."""
        ...


def make_detector(
    name: str,
    *,
    dbscan_eps: float = 2.0,
    dbscan_min_samples: int = 3,
    barycenter_backend: str = "numba",
    barycenter_iterations: int = 30,
) -> Detector:
    """The detector of that name; the parameters are settings, and concern `iqr` only.

    Raises:
        ValueError: there is no such detector.
    """
    if name == "default":
        return CalibratedDetector()
    if name == "iqr":
        return IqrDetector(dbscan_eps, dbscan_min_samples, barycenter_backend, barycenter_iterations)
    raise ValueError(f"detector = {name!r}: allowed is {' or '.join(DETECTORS)}")


def kind_of_series(series: str) -> Kind:
    """What a series measures, by its name (contract 4)."""
    if series.startswith(("rss_", "swap_")):
        return "memory"
    if series.startswith(("cpu_", "cycles_")) and not series.startswith("cpu_freq_"):
        return "cpu"
    return "other"
