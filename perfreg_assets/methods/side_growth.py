"""What takes more time on the second of two sides of runs: threads, slices or call stacks, beside each other.

Each is a number per run, core seconds or seconds per second; 0 in a run that does not have it. The interval of a
difference is that of the series (Welch over the runs), where there are two runs or more. Nothing is judged by it: of so
many that are looked at, and the largest shown, a small p is no finding by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.side_comparison import welch_of_runs
from perfreg_assets.methods.window_causes import Entity

MOST_SHOWN = 20


@dataclass(frozen=True)
class EntityDifference:
    """Attributes:
    mean_a, mean_b: mean over the runs of a side, (core) seconds per second.
    low, high: of the 95 % interval of `difference`; NaN, as the p-value, where nothing tells the noise.
    """

    entity: Entity
    mean_a: float
    mean_b: float
    low: float
    high: float
    p_value: float

    @property
    def difference(self) -> float:
        """What the second side takes more, (core) seconds per second."""
        return self.mean_b - self.mean_a


def entities_grown(
    a: Sequence[Mapping[Entity, float]], b: Sequence[Mapping[Entity, float]], *, most: int = MOST_SHOWN
) -> list[EntityDifference]:
    """Those that take more on the second side, what grew most first.

    Args:
        a, b: of each run that tells; one at least on each side.
    """
    entities = {entity for run in b for entity in run}
    found = []
    for entity in entities:
        first, second = (np.array([run.get(entity, 0.0) for run in side]) for side in (a, b))
        if (grown := float(second.mean() - first.mean())) > 0:
            found.append((grown, entity, first, second))
    found.sort(key=lambda one: (-one[0], one[1].process, one[1].thread or "", one[1].name, one[1].path))
    return [_difference(entity, first, second) for _, entity, first, second in found[:most]]


def _difference(entity: Entity, a: np.ndarray, b: np.ndarray) -> EntityDifference:
    low = high = p_value = math.nan
    if max(len(a), len(b)) > 1:
        told = welch_of_runs(a, b)
        low, high, p_value = told.low, told.high, told.p_value
    return EntityDifference(entity, float(a.mean()), float(b.mean()), low, high, p_value)
