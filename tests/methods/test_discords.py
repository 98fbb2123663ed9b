"""Discords: thresholds by quantile, skipped ends, merged windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.methods.discords import Window, merge_windows, thesis_discords
from perfreg_assets.methods.matrix_profile import ab_join

CONFIDENCES = {"confidence_low": 0.90, "confidence_high": 0.95}


def merge(profile, low=1.0, high=2.0, cover=(0, 1)):
    return merge_windows(profile, low, high, cover=cover, **CONFIDENCES)


@pytest.fixture
def disturbed():
    """(target, barycenter): a sine with a foreign shape in samples 120 to 135."""
    grid = np.arange(300)
    barycenter = np.sin(grid / 6) + 0.01 * np.cos(grid)
    target = barycenter.copy()
    target[120:135] = np.tile([1.5, -1.5, 0.2], 5)
    return target, barycenter


def test_contiguous_positions_become_one_window_with_its_peak_and_confidence():
    profile = [0, 1.5, 1.8, 0, 0, 2.5, 1.2, 3.0, 0, 1.1]
    assert merge(profile) == (
        Window(1, 3, 2, 1.8, 0.90),
        Window(5, 8, 7, 3.0, 0.95),
        Window(9, 10, 9, 1.1, 0.90),
    )


def test_positions_stand_for_the_samples_they_cover_and_no_sample_lies_in_two_windows():
    profile = [0, 0, 5, 0, 0, 0, 1.5, 0, 0, 0, 0, 0, 1.5]
    assert merge(profile, cover=(0, 6)) == (Window(2, 12, 5, 5, 0.95), Window(12, 18, 15, 1.5, 0.90))
    assert merge(profile, cover=(2, 4)) == (
        Window(4, 6, 5, 5, 0.95),
        Window(8, 10, 9, 1.5, 0.90),
        Window(14, 16, 15, 1.5, 0.90),
    )


def test_nothing_is_above_an_equal_threshold_and_unjudged_positions_are_never_flagged():
    assert merge([1.0, 1.0]) == ()
    assert merge([]) == ()
    assert merge([np.nan, -np.inf]) == ()
    assert merge([9.0, np.nan, 9.0]) == (Window(0, 1, 0, 9, 0.95), Window(2, 3, 2, 9, 0.95))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1.5, 3.0]), max_size=40),
    st.integers(0, 5),
    st.integers(1, 8),
)
def test_windows_cover_exactly_the_samples_of_flagged_positions(profile, first, width):
    windows = merge(profile, cover=(first, first + width))
    expected = {i + first + s for i, value in enumerate(profile) if value > 1.0 for s in range(width)}
    covered = [sample for window in windows for sample in range(window.start, window.end)]
    assert len(covered) == len(set(covered))
    assert set(covered) == expected
    assert [window.start for window in windows] == sorted(window.start for window in windows)
    for window in windows:
        assert window.start <= window.peak < window.end


def test_thresholds_are_the_quantiles_of_the_targets_own_profile(disturbed):
    target, barycenter = disturbed
    found = thesis_discords(target, barycenter, window=10, skip_start=15, skip_end=8)
    profile = ab_join(target, barycenter, 10)
    kept = profile[15 : len(profile) - 8]
    assert found.profile.tobytes() == profile.tobytes()
    assert (found.threshold_low, found.threshold_high) == tuple(np.quantile(kept, [0.9, 0.95]))
    assert found.window == 10
    assert found.examined == (15, 300 - 8)
    flagged = np.flatnonzero(profile > found.threshold_low)
    flagged = flagged[(flagged >= 15) & (flagged < len(profile) - 8)]
    covered = {sample for window in found.windows for sample in range(window.start, window.end)}
    assert covered == {index + step for index in flagged for step in range(10)}


def test_the_foreign_shape_is_found_with_the_higher_confidence(disturbed):
    best = max(thesis_discords(*disturbed, window=10).windows, key=lambda window: window.profile_value)
    assert 115 <= best.peak <= 140
    assert best.confidence == 0.95


def test_start_and_end_of_the_session_are_left_out(disturbed):
    target, barycenter = disturbed
    target[:12] = target[-6:] = 9.0
    target[3] = target[-2] = -40.0
    found = thesis_discords(target, barycenter, window=10, skip_start=15, skip_end=8)
    assert all(window.start >= 15 and window.end <= 300 - 8 for window in found.windows)
    assert any(window.start < 140 and window.end > 115 for window in found.windows)
    unskipped = thesis_discords(target, barycenter, window=10)
    assert unskipped.windows[0].start < 15


def test_a_session_shorter_than_what_is_skipped_has_no_windows(disturbed):
    target, barycenter = disturbed
    found = thesis_discords(target[:30], barycenter, window=10, skip_start=15, skip_end=8)
    assert (found.windows, found.examined) == ((), (0, 0))
    assert len(found.profile) == 21


def test_a_flat_profile_has_no_windows():
    assert thesis_discords(np.ones(50), np.ones(50), window=10).windows == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 301}, "longer than the target"),
        ({"window": 10, "quantile_low": 0.99}, "quantiles"),
        ({"window": 10, "quantile_high": 1.5}, "quantiles"),
        ({"window": 10, "skip_start": -1}, "skip_start"),
        ({"window": 10, "backend": "gpu"}, "backend"),
    ],
)
def test_bad_parameters_are_refused(disturbed, options, message):
    with pytest.raises(ValueError, match=message):
        thesis_discords(*disturbed, **options)


def test_merging_refuses_an_empty_cover_and_falling_thresholds():
    with pytest.raises(ValueError, match="cover"):
        merge([1.0], cover=(3, 3))
    with pytest.raises(ValueError, match="threshold_high"):
        merge([1.0], low=2.0, high=1.0)
