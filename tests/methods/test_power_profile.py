"""Power profiles: interpolation, layout of clusters, fit, stubs and copies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.power_profile import CoreCluster, PowerProfile, fit_ratio, interpolated, layout, same_values


def profile(*tables, first_cores=(0, 4), core_count=8, **more):
    clusters = tuple(CoreCluster(khz=np.array(khz, float), charge_ma=np.array(ma, float)) for khz, ma in tables)
    return PowerProfile(
        profile_id=str(tables), dialect="cores", clusters=clusters, first_cores=first_cores, core_count=core_count,
        base_ma={}, **more,
    )  # fmt: skip


TWO = profile(([300, 600], [10, 20]), ([500, 1000], [30, 80]))
SINGLE = profile(([300, 600], [10, 20]), first_cores=None, core_count=None)


def test_between_two_values_the_line_through_both_holds_and_outside_the_end():
    table = np.array([300e3, 600e3, 1200e3]), np.array([10.0, 20.0, 60.0])
    assert interpolated(*table, np.array([900e3])).tolist() == [40.0]  # without p1 it were 20
    assert interpolated(*table, np.array([300e3, 100e3, 2e6])).tolist() == [10.0, 10.0, 60.0]


@given(st.lists(st.floats(1, 1e4), min_size=2, max_size=8), st.floats(0, 5e6))
def test_interpolation_stays_within_the_table(charges, khz):
    speeds = np.arange(1, len(charges) + 1) * 250e3
    (found,) = interpolated(speeds, np.array(charges), np.array([khz]))
    assert min(charges) * (1 - 1e-12) <= found <= max(charges) * (1 + 1e-12)


def test_the_layout_is_the_profiles_or_what_was_seen():
    cores = tuple(range(8))
    assert layout(None, cores, (0, 6)) == (0, 6)
    assert layout(TWO, cores, (0,)) == (0, 4)
    assert layout(TWO, (0, 1, 4), (0,)) == (0, 4)  # the others are unplugged
    assert layout(TWO, tuple(range(9)), (0, 4)) is None  # a core that the device has not
    assert layout(SINGLE, cores, (0, 4, 7)) == (0, 4, 7)
    without_counts = profile(([300, 600], [10, 20]), ([500, 1000], [30, 80]), first_cores=None, core_count=None)
    assert layout(without_counts, cores, (0, 4)) == (0, 4)
    assert layout(without_counts, cores, (0, 4, 7)) is None


def test_fit_is_the_share_of_samples_that_the_tables_have():
    assert fit_ratio(TWO, [0, 0, 1], [300, 600, 1000], [5, 3, 2]) == 1.0
    assert fit_ratio(TWO, [0, 0, 1], [300, 601, 1000], [5, 3, 2]) == pytest.approx(0.7)
    assert fit_ratio(TWO, [0, 2], [300, 300], [1, 1]) == 0.5  # a cluster that it has not
    assert fit_ratio(SINGLE, [0, 2], [300, 600], [1, 1]) == 1.0
    assert fit_ratio(TWO, [], [], []) == 0.0


@pytest.mark.parametrize(
    ("values", "is_stub"),
    [([0.1, 0.1], True), ([0.05, 0.1], True), ([12, 12], True), ([0.1], True), ([0.05, 0.2], False)],
)
def test_a_stub_says_the_same_everywhere_or_next_to_nothing(values, is_stub):
    assert profile((list(range(1, len(values) + 1)), values), first_cores=(0,)).is_stub is is_stub


def test_copied_values_are_those_of_other_frequencies():
    longer = profile(([320, 640, 700], [10, 20, 25]), ([510, 1010], [30, 80]))
    assert same_values(TWO, longer)
    assert same_values(longer, TWO)
    assert not same_values(TWO, profile(([300, 600], [10, 20]), ([500, 1000], [30, 80])))  # the same chip's
    assert not same_values(TWO, profile(([320, 640], [10, 21]), ([510, 1010], [30, 80])))
    assert not same_values(TWO, SINGLE)


def test_steps_take_frequencies_where_there_are_as_many():
    steps = PowerProfile(
        profile_id="d", dialect="steps", first_cores=(0, 4), base_ma={},
        clusters=tuple(CoreCluster(khz=None, charge_ma=np.array(own)) for own in ([10.0, 20], [25.0])),
    )  # fmt: skip
    assert not steps.has_frequencies
    found = steps.with_frequencies([np.array([300.0, 1000]), np.array([500.0])])
    assert found is not None
    assert found.charge_of(0, np.array([1000.0])).tolist() == [20.0]
    assert steps.with_frequencies([np.array([300.0]), np.array([500.0])]) is None
