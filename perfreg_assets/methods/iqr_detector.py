"""Detector `iqr`: the thesis, exactly (Mikhaltsov 2023, 4.2).

d = DTW(run, B(H)) against D(H) = {DTW(u, B(H)) : u in H}, Tukey's rule d > Q3 + ω (Q3 - Q1); memory is checked a
second time with DBSCAN and stays anomalous only in no cluster (AND: the check can only take alarms away).

B(H) was fitted to the very runs that D(H) is made of, so D(H) is too small for a new run: 50 to 65 % of normal runs
lie above Q3 instead of 27 % (README, How good is it). That is the thesis' rule and stays here as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.barycenter import Barycenter, dba
from perfreg_assets.methods.dtw import dtw_distance, dtw_distances
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.samples import Kind, Sample, Score, checked_values
from perfreg_assets.methods.verdict import dbscan_is_outlier, direction, iqr_rule


@dataclass(frozen=True)
class IqrDetector:
    """The thesis' rule; see `Detector`.

    Attributes:
        dbscan_eps, dbscan_min_samples: of the second check; the thesis gives none.
        backend, iterations: of the barycenter.
    """

    dbscan_eps: float = 2.0
    dbscan_min_samples: int = 3
    backend: str = "numba"
    iterations: int = 30
    name: str = "iqr"

    def score(
        self,
        history: Sequence[Sample],
        target: Sample,
        *,
        kind: Kind,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> Score:
        """See `Detector.score`; `barycenter` saves averaging the history again."""
        return self.score_all(history, [target], kind=kind, interval_s=interval_s, barycenter=barycenter)[0]

    def score_all(
        self,
        history: Sequence[Sample],
        targets: Sequence[Sample],
        *,
        kind: Kind,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> list[Score]:
        """Several targets against one history: the history is averaged once."""
        if not targets:
            return []
        known = checked_values(history, 1)
        center = barycenter or dba(known, max_iterations=self.iterations, backend=self.backend)
        own = dtw_distances(known, center.values)
        return [self._judge(known, own, center, one, kind) for one in checked_values(targets, 1)]

    def _judge(self, known: list[Floats], own: Floats, center: Barycenter, judged: Floats, kind: Kind) -> Score:
        rule = iqr_rule(own, dtw_distance(judged, center.values))
        recheck = (
            dbscan_is_outlier(judged, known, eps=self.dbscan_eps, min_samples=self.dbscan_min_samples)
            if kind == "memory"
            else None
        )
        low, high = float(own.min()), float(own.max())
        return Score(
            distance=rule.distance,
            q1=rule.q1,
            q3=rule.q3,
            improvement=None,
            is_recheck_passed=recheck,
            p_value=None,
            direction=direction(judged, known),
            history_distances=np.asarray(own),
            evidence={"distance": rule.distance, "history_lowest": low, "history_highest": high},
            sentence=(
                f"is {rule.distance:.4g} away from the typical run; the {len(known)} comparable runs are "
                f"{low:.4g} to {high:.4g} away"
            ),
        )
