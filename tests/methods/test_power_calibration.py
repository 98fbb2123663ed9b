"""Scale and floor against scipy's non-negative least squares, and accuracy by its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from perfreg_assets.methods.power_calibration import accuracy, calibrate, compared
from perfreg_assets.traces.rail_series import Rail


@given(st.integers(0, 10**6), st.floats(-2, 3), st.floats(-200, 200))
@settings(max_examples=80, deadline=None)
def test_the_fit_is_that_of_non_negative_least_squares(seed, scale, floor):
    generator = np.random.default_rng(seed)
    estimated = generator.uniform(1, 300, 25)
    measured = floor + scale * estimated + generator.normal(0, 20, 25)
    found = calibrate(estimated, measured)
    (wanted_scale, wanted_floor), residual = nnls(np.column_stack([estimated, np.ones(25)]), measured)
    assert np.linalg.norm(found.apply(estimated) - measured) == pytest.approx(residual, rel=1e-6)
    assert found.scale_ratio == pytest.approx(wanted_scale, rel=1e-6, abs=1e-6)
    assert found.floor_mw == pytest.approx(wanted_floor, rel=1e-6, abs=1e-4)


def test_a_device_that_keeps_to_the_line_is_found_exactly():
    estimated = np.linspace(10, 200, 30)
    found = calibrate(estimated, 12.5 + 1.4 * estimated)
    assert (found.scale_ratio, found.floor_mw) == pytest.approx((1.4, 12.5))
    told = accuracy(found.apply(estimated), 12.5 + 1.4 * estimated)
    assert (told.energy_ratio, told.correlation) == pytest.approx((1.0, 1.0))
    assert told.mape_ratio == pytest.approx(0.0, abs=1e-9)


def test_accuracy_by_its_definition():
    found = accuracy(np.array([1.0, 2.0, 0.5]), np.array([2.0, 2.0, 0.0]))
    assert (found.energy_ratio, found.mape_ratio) == (3.5 / 4, 0.25)  # a rail at 0 has no share
    assert np.isnan(accuracy(np.ones(3), np.array([1.0, 2.0, 3.0])).correlation)


@pytest.mark.parametrize("start_uj", [7.0, 2.6e12], ids=["fresh counter", "counter of 30 days"])
def test_a_rail_that_was_sampled_twice_does_not_vary(start_uj):
    """Its power per second is a straight line's, which differs by rounding alone."""
    rail = Rail(np.array([10**15, 10**15 + 20 * 10**9]), np.array([start_uj, start_uj + 20 * 333_333.3]))
    energy, _ = rail.energy_mj(10**15 + 10**9 * np.arange(1, 20))
    estimated = np.random.default_rng(1).uniform(100, 500, len(energy))
    assert np.ptp(energy) > 0
    told = accuracy(estimated, energy)
    assert told.energy_ratio == pytest.approx(estimated.sum() / energy.sum())
    assert np.isnan(told.correlation)
    assert np.isnan(told.mape_ratio)
    with pytest.raises(ValueError, match="the measurements do not vary"):
        calibrate(estimated, energy)


def test_what_is_not_known_is_left_out():
    estimated, measured = compared(np.array([1.0, np.nan, 3.0]), np.array([np.nan, 2.0, 4.0]))
    assert (estimated.tolist(), measured.tolist()) == ([3.0], [4.0])


@pytest.mark.parametrize(
    ("estimated", "words"), [(np.ones(9), "9 intervals"), (np.ones(20), "do not vary")], ids=["few", "flat"]
)
def test_what_cannot_be_fitted_is_refused(estimated, words):
    with pytest.raises(ValueError, match=words):
        calibrate(estimated, estimated)


def test_nothing_measured_has_no_accuracy():
    with pytest.raises(ValueError, match="nothing was measured"):
        accuracy(np.ones(3), np.zeros(3))
