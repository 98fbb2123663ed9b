"""What grew: entities (methods, threads, …) ranked by how far they are above what earlier recordings did.

`z = (x − med h) / sqrt(MAD² + (0.1 · med)² + s₀²)`, with the MAD scaled to a standard deviation: a tenth of the usual
value and a floor s₀ stand in where few or equal recordings would make any change look large. Listed when z ≥ 3 and the
entity makes up at least 5 % of all growth; sorted by z, then by growth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.calibration import MAD_TO_SD
from perfreg_assets.methods.method_uses import Profile

Z_MINIMUM = 3.0
GROWTH_SHARE_MINIMUM = 0.05
USUAL_RATIO = 0.1
"""This share of the usual value counts as its spread even if all earlier recordings are equal."""
METHOD_FLOOR_RATIO = 0.001
"""s₀ of a method: so much of its service's time per call."""


@dataclass(frozen=True)
class Growth:
    """Of entities that belong together, an array element each; units are those of the values.

    Attributes:
        median, mad: of the history; the MAD scaled by 1.4826.
        growth: value − median. growth_share: of all positive growth, 0 for what did not grow.
        z: see the module.
    """

    median: NDArray[np.float64]
    mad: NDArray[np.float64]
    growth: NDArray[np.float64]
    growth_share: NDArray[np.float64]
    z: NDArray[np.float64]

    @property
    def is_listed(self) -> NDArray[np.bool_]:
        """(n,): what is worth a look."""
        return (self.z >= Z_MINIMUM) & (self.growth_share >= GROWTH_SHARE_MINIMUM)


def growth(values: NDArray[np.float64], history: NDArray[np.float64], floor: float | NDArray[np.float64]) -> Growth:
    """How much entities grew.

    Args:
        values: (n,), one per entity.
        history: (k, n), k ≥ 1 earlier recordings; 0 where an entity was not there.
        floor: s₀, above 0, in the unit of the values; of all alike or (n,) of each.
    """
    median = np.median(history, axis=0)
    mad = MAD_TO_SD * np.median(np.abs(history - median), axis=0)
    difference = values - median
    grown = np.maximum(difference, 0.0)
    spread = np.sqrt(mad**2 + (USUAL_RATIO * median) ** 2 + floor**2)
    return Growth(median, mad, difference, grown / max(float(grown.sum()), np.finfo(float).tiny), difference / spread)


@dataclass(frozen=True)
class MethodCause:
    """A method of a service that took longer than in the baselines; times are self times per call of the service.

    Attributes:
        rank: from 1, of what is listed; None of the rest.
        is_new: no baseline has the method in this service.
        history_count: baselines that have the service.
    """

    rank: int | None
    service: str
    method: str
    before_ms: float
    mad_ms: float
    after_ms: float
    growth_ms: float
    growth_share: float
    z: float
    is_new: bool
    history_count: int


def rank_methods(now: Profile, baselines: Sequence[Profile]) -> list[MethodCause]:
    """All methods of all services that a baseline has too, what is listed first, all by z and then by growth.

    Only baselines that have a service count for it; a method that they lack took 0 ms there.
    """
    found: list[tuple[bool, MethodCause]] = []
    for service in sorted(now.service_calls):
        history = [one for one in baselines if one.service_calls.get(service)]
        if history:
            found += _of_service(service, now, history)
    found.sort(key=lambda pair: (not pair[0], -pair[1].z, -pair[1].growth_ms, pair[1].service, pair[1].method))
    return [
        MethodCause(**{**vars(cause), "rank": place if is_listed else None})
        for place, (is_listed, cause) in enumerate(found, 1)
    ]


def _of_service(service: str, now: Profile, history: Sequence[Profile]) -> list[tuple[bool, MethodCause]]:
    own, *before = [_per_call(profile, service) for profile in (now, *history)]
    methods = sorted({*own, *(method for one in before for method in one)})
    values = np.array([own.get(method, 0.0) for method in methods])
    earlier = np.array([[one.get(method, 0.0) for method in methods] for one in before])
    usual = float(np.median(earlier.sum(axis=1)))
    floor = METHOD_FLOOR_RATIO * (usual or float(values.sum())) or np.finfo(float).tiny
    grown = growth(values, earlier, floor)
    return [
        (
            bool(is_listed),
            MethodCause(
                None, service, method, float(grown.median[i]), float(grown.mad[i]), float(values[i]),
                float(grown.growth[i]), float(grown.growth_share[i]), float(grown.z[i]),
                all(method not in one for one in before), len(history),
            ),
        )
        for i, (method, is_listed) in enumerate(zip(methods, grown.is_listed, strict=True))
    ]  # fmt: skip


def _per_call(profile: Profile, service: str) -> Mapping[str, float]:
    """Self time of each method, ms per call of the service."""
    calls = profile.service_calls[service]
    return {method: ms / calls for method, ms in profile.self_ms.get(service, {}).items()}
