"""What of a trace is kept, by what its windows were judged to be."""

from __future__ import annotations

import pytest

from perfreg_assets.model.window_judging import judge_trace
from perfreg_assets.settings import Settings
from tests.traces.long_traces import START_NS, write_long_trace

SECOND = 1_000_000_000


@pytest.mark.parametrize("mode", ["default", "knn", "seed"])
def test_a_hang_is_kept_however_few_windows_it_is_of(tmp_path, mode):
    """Two seconds without an event are two windows of 0.8 s at most: fewer than vote."""
    path = write_long_trace(tmp_path / "t", 430, (0, 0), per_bundle=100, silent=range(412, 414))
    found = judge_trace(path, Settings(reduction_window_s=0.8, reduction_reference_s=400, reduction_mode=mode))
    empty = [number for number, counts in enumerate(found.events.counts) if not counts.any()]
    assert 1 <= len(empty) <= 2
    assert {found.reason[number] for number in empty} == {"silent"}
    assert found.is_kept[empty].all()
    assert any(a < START_NS + 412 * SECOND and b > START_NS + 414 * SECOND for a, b in found.stretches)
