"""The kernels against the libraries, as `perfreg doctor` runs it."""

from __future__ import annotations

import pytest

from perfreg_assets.methods import self_check


@pytest.mark.filterwarnings("ignore:A large number of values in `P`")  # stumpy's advice for self-joins
def test_the_kernels_agree_here_and_a_broken_one_is_named(monkeypatch):
    rows = self_check.check_kernels(seed=3)
    assert [row.name.split(",")[0] for row in rows] == ["DTW", "DBA", "matrix profile", "raw matrix profile"]
    assert all(row.is_ok and row.largest_difference <= row.tolerance for row in rows)
    right = self_check.dtw_distance
    monkeypatch.setattr(self_check, "dtw_distance", lambda a, b: right(a, b) + 1e-6)
    assert [row.is_ok for row in self_check.check_kernels(seed=3)] == [False, True, True, True]
    monkeypatch.setattr(self_check, "dtw_distance", lambda a, b: float("nan"))
    assert not self_check.check_kernels(seed=3)[0].is_ok
