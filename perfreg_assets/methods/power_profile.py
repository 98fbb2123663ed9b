"""What a device's cores draw at each of their frequencies: a power profile, its plausibility and its fit to a trace.

Charges per time are in mA at the battery's nominal voltage, as Android's power_profile.xml states them: mW = mA · V,
1 mAh = 3.6 C = 3.6 · V J. (Gordienko 2020, 5.2, takes V = 1: charge, not energy.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from perfreg_assets.methods.inputs import Floats

FIT_MINIMUM = 0.99
"""Right files fit their traces to 1.0, files of foreign chips to .80 at most (measured)."""
MAS_PER_MAH = 3600.0
"""mA·s in a mAh."""
STUB_MA = 0.1
"""What the emulator's file and others that nobody filled in say everywhere."""


@dataclass(frozen=True, kw_only=True)
class CoreCluster:
    """Cores that share a clock.

    Attributes:
        khz: (n,) ascending; None where the profile has steps without frequencies (`cpu.scaling_step_power`).
        charge_ma: (n,) of one core that is busy, beyond what cluster and processor draw.
        cluster_ma: while any of its cores is busy.
    """

    khz: Floats | None
    charge_ma: Floats
    cluster_ma: float = 0.0


@dataclass(frozen=True, kw_only=True)
class PowerProfile:
    """Attributes:
    profile_id: SHA-256 of the file.
    dialect: how the file says it, see `traces.power_profile`.
    source: `profile`, or `curve` for power measured per frequency, which includes what cluster and processor draw.
    clusters: in the order of their cores; a single one without `first_cores` holds for every core.
    first_cores: number of the first core of each cluster; None where the file does not say.
    core_count: of the device; None where the file does not say.
    active_ma: while any core is busy.
    base_ma: of the whole device by state, its floor (`suspend`, `idle`).
    capacity_mah: of the battery.
    """

    profile_id: str
    dialect: str
    source: str = "profile"
    clusters: tuple[CoreCluster, ...]
    first_cores: tuple[int, ...] | None = None
    core_count: int | None = None
    active_ma: float = 0.0
    base_ma: Mapping[str, float]
    capacity_mah: float | None = None

    @property
    def has_frequencies(self) -> bool:
        """False of steps without frequencies."""
        return all(one.khz is not None for one in self.clusters)

    @property
    def is_stub(self) -> bool:
        """Whether nobody filled it in: all values of the cores are one, or none is above .1 mA."""
        values = np.concatenate([one.charge_ma for one in self.clusters])
        return bool(values.size < 2 or np.ptp(values) == 0 or values.max() <= STUB_MA)

    def charge_of(self, cluster: int, khz: Floats) -> Floats:
        """mA of a busy core (n,) at frequencies (n,): the stated value, between two of them on the line through both
        [Gordienko 5.2], outside the table its end."""
        table = self.cluster(cluster)
        assert table.khz is not None
        return interpolated(table.khz, table.charge_ma, khz)

    def cluster(self, number: int) -> CoreCluster:
        """What holds for a cluster of the device."""
        return self.clusters[0 if self.first_cores is None and len(self.clusters) == 1 else number]

    def with_frequencies(self, khz: Sequence[Floats]) -> PowerProfile | None:
        """The profile with a frequency for each of its steps; None where there are not as many.

        Args:
            khz: of each cluster (n,), ascending.
        """
        if [len(one) for one in khz] != [len(one.charge_ma) for one in self.clusters]:
            return None
        clusters = [replace(one, khz=np.asarray(own)) for one, own in zip(self.clusters, khz, strict=True)]
        return replace(self, clusters=tuple(clusters))


def interpolated(table_khz: Floats, table_ma: Floats, khz: Floats) -> Floats:
    """mA (n,) at frequencies (n,) by a table of both (m,): p1 + (p2 - p1)(f - f1)/(f2 - f1), outside it its end."""
    found: Floats = np.interp(khz, table_khz, table_ma)
    return found


def layout(profile: PowerProfile | None, cores: Sequence[int], seen: Sequence[int]) -> tuple[int, ...] | None:
    """First core of each cluster of a device; None where profile and trace contradict each other.

    Args:
        cores: numbers of the cores in the trace, ascending.
        seen: first cores of the clusters by the trace: cores that always change together.
    """
    if profile is None:
        return tuple(seen)
    if profile.first_cores is None:
        return tuple(seen) if len(profile.clusters) in (1, len(seen)) else None
    if profile.core_count is not None and cores and cores[-1] >= profile.core_count:
        return None
    return profile.first_cores


def fit_ratio(profile: PowerProfile, clusters: ArrayLike, khz: ArrayLike, counts: ArrayLike) -> float:
    """Share of the frequency samples that the tables of their clusters have, 0 to 1.

    Args:
        clusters: (n,) number of the cluster of each frequency.
        khz: (n,) frequencies.
        counts: (n,) how often each was sampled.
    """
    weights = np.asarray(counts, np.float64)
    is_known = np.zeros(len(weights), bool)
    for place, (number, value) in enumerate(zip(np.asarray(clusters), np.asarray(khz), strict=True)):
        is_single = profile.first_cores is None and len(profile.clusters) == 1
        if is_single or number < len(profile.clusters):
            table = profile.cluster(number).khz
            is_known[place] = table is not None and bool((table == value).any())
    return float(weights[is_known].sum() / weights.sum()) if weights.sum() > 0 else 0.0


def outside_ratio(profile: PowerProfile, clusters: ArrayLike, khz: ArrayLike, weights: ArrayLike) -> float:
    """Share of the weights at frequencies beyond the tables of their clusters, where their ends hold, 0 to 1.

    Args:
        clusters: (n,) number of the cluster of each frequency, all of which the profile has.
        khz: (n,) frequencies.
        weights: (n,) of each, as the time at it.
    """
    amounts = np.asarray(weights, np.float64)
    is_outside = np.zeros(len(amounts), bool)
    for place, (number, value) in enumerate(zip(np.asarray(clusters).tolist(), np.asarray(khz), strict=True)):
        table = profile.cluster(number).khz
        is_outside[place] = table is None or not table[0] <= value <= table[-1]
    return float(amounts[is_outside].sum() / amounts.sum()) if amounts.sum() > 0 else 0.0


def same_frequencies(one: PowerProfile, other: PowerProfile) -> bool:
    """Whether two profiles with frequencies have the same ones, cluster by cluster."""
    return len(one.clusters) == len(other.clusters) and all(
        np.array_equal(mine.khz, theirs.khz)
        for mine, theirs in zip(one.clusters, other.clusters, strict=True)
        if mine.khz is not None and theirs.khz is not None
    )


def same_charges(one: PowerProfile, other: PowerProfile) -> bool:
    """Whether two profiles state the same mA of cores, clusters and processor."""
    return (
        len(one.clusters) == len(other.clusters)
        and one.active_ma == other.active_ma
        and all(
            np.array_equal(mine.charge_ma, theirs.charge_ma) and mine.cluster_ma == theirs.cluster_ma
            for mine, theirs in zip(one.clusters, other.clusters, strict=True)
        )
    )


def same_values(one: PowerProfile, other: PowerProfile) -> bool:
    """Whether two profiles state the same mA of cores at other frequencies, one perhaps more of them: copied, then.

    Devices of one chip share their table, frequencies and all.
    """
    if len(one.clusters) != len(other.clusters):
        return False
    is_same_chip = True
    for mine, theirs in zip(one.clusters, other.clusters, strict=True):
        count = min(len(mine.charge_ma), len(theirs.charge_ma))
        if not np.array_equal(mine.charge_ma[:count], theirs.charge_ma[:count]):
            return False
        if mine.khz is None or theirs.khz is None or not np.array_equal(mine.khz[:count], theirs.khz[:count]):
            is_same_chip = False
    return not is_same_chip
