"""Detector `iqr`: the thesis, exactly (Mikhaltsov 2023, 4.2).

d = DTW(run, B(H)) against D(H) = {DTW(u, B(H)) : u in H}, Tukey's rule d > Q3 + ω (Q3 - Q1); memory is checked a
second time with DBSCAN and stays anomalous only in no cluster (AND: the check can only take alarms away).

B(H) was fitted to the very runs that D(H) is made of, so D(H) is too small for a new run: 50 to 65 % of normal runs
lie above Q3 instead of 27 % (docs/quality.md). That is the thesis' rule and stays here as it is. So does that
a distance has no direction: a run far on the better side is anomalous as well, and none is an improvement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfreg_assets.catalogue import SeriesDefinition
from perfreg_assets.methods.barycenter import Barycenter, dba
from perfreg_assets.methods.detectors import Detector
from perfreg_assets.methods.dtw import dtw_distance, dtw_distances
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.memory_recheck import dbscan_is_outlier, lof_is_outlier
from perfreg_assets.methods.samples import Sample, Score, checked_values
from perfreg_assets.methods.scalar_values import tukey


@dataclass(frozen=True)
class IqrDetector(Detector):
    """The thesis' rule; see `Detector`.

    Attributes:
        recheck: which second check, "dbscan" (the thesis) or "lof".
        dbscan_eps, dbscan_min_samples, lof_neighbors, lof_threshold: of the second check; the thesis gives none.
        barycenter_backend, barycenter_iterations: see `dba`.
    """

    recheck: str = "dbscan"
    dbscan_eps: float = 2.0
    dbscan_min_samples: int = 3
    lof_neighbors: int = 3
    lof_threshold: float = 1.5
    barycenter_backend: str = "numba"
    barycenter_iterations: int = 30
    name: str = "iqr"

    def score_all(
        self,
        history: Sequence[Sample],
        targets: Sequence[Sample],
        *,
        series: SeriesDefinition,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> list[Score]:
        """Several targets against one history: the history is averaged once.

        Raises:
            ValueError: no history, a series is too short or not finite, or it has no time axis.
        """
        if series.kind == "scalar":
            raise ValueError(f"{series.name} is one value per run; score_value judges it")
        if not targets:
            return []
        known = checked_values(history, 1)
        center = barycenter or dba(known, max_iterations=self.barycenter_iterations, backend=self.barycenter_backend)
        own = dtw_distances(known, center.values)
        return [self._judge(known, own, center, one, series) for one in checked_values(targets, 1)]

    def score_value(self, history: Floats, value: float, *, series: SeriesDefinition) -> Score:
        """See `Detector.score_value`: Tukey's rule on the values themselves, (k,) of the history.

        Raises:
            ValueError: no values in the history, or one is not finite.
        """
        return tukey(history, value, series)

    def _judge(
        self, known: list[Floats], own: Floats, center: Barycenter, judged: Floats, series: SeriesDefinition
    ) -> Score:
        distance = dtw_distance(judged, center.values)
        # Interpolated linearly, as DuckDB's quantile_cont does.
        q1, q3 = (float(quartile) for quartile in np.quantile(own, [0.25, 0.75], method="linear"))
        recheck = self._is_outlier(judged, known) if series.kind == "memory" else None
        low, high = float(own.min()), float(own.max())
        # Means, not medians: extra work shows as short bursts, which a median does not see.
        is_higher = judged.mean() >= np.median([run.mean() for run in known])
        return Score(
            distance=distance,
            q1=q1,
            q3=q3,
            improvement=None,
            is_recheck_passed=recheck,
            p_value=None,
            direction="more" if is_higher else "less",
            history_distances=own,
            evidence={"distance": distance, "history_lowest": low, "history_highest": high},
            sentence=(
                f"is {distance:.4g} away from the typical run; the {len(known)} comparable runs are "
                f"{low:.4g} to {high:.4g} away"
            ),
        )

    def _is_outlier(self, judged: Floats, known: list[Floats]) -> bool:
        if self.recheck == "lof":
            return lof_is_outlier(judged, known, neighbors=self.lof_neighbors, threshold=self.lof_threshold)
        return dbscan_is_outlier(judged, known, eps=self.dbscan_eps, min_samples=self.dbscan_min_samples)
