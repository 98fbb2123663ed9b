"""Splitting slices over a grid: exact, against a slow and obvious reference."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces import grid as grids
from perfreg_assets.traces.contents import SchedSlices, close
from perfreg_assets.traces.core_pieces import cut
from perfreg_assets.traces.frequency import Clock
from perfreg_assets.traces.grid import Grid, add_up, split

slices_of_time = st.lists(st.tuples(st.integers(-500, 1500), st.integers(-5, 700)), max_size=30)


def reference_sums(slices: list[tuple[int, int]], grid: Grid) -> list[int]:
    """Per interval, the overlap of every slice, one by one."""
    sums = []
    for i in range(grid.count):
        left = grid.start_ns + i * grid.interval_ns
        right = left + grid.interval_ns
        sums.append(sum(max(0, min(start + dur, right) - max(start, left)) for start, dur in slices))
    return sums


def sums(slices: list[tuple[int, int]], grid: Grid) -> list[int]:
    starts = np.array([start for start, _ in slices], dtype=np.int64)
    ends = np.array([start + dur for start, dur in slices], dtype=np.int64)
    pieces = split(starts, ends, grid)
    zeros = np.zeros(pieces.bin.size, dtype=np.int64)
    return add_up(pieces.duration_ns, zeros, pieces.bin, (1, grid.count))[0].tolist()


@given(slices_of_time, st.integers(-100, 300), st.integers(1, 120), st.integers(0, 15))
def test_split_sums_equal_the_reference(slices, start, interval, count):
    grid = Grid(start, interval, count)
    assert sums(slices, grid) == reference_sums(slices, grid)


@given(slices_of_time, st.integers(1, 120), st.integers(1, 15))
def test_sum_over_the_grid_is_the_total_within_the_window(slices, interval, count):
    grid = Grid(0, interval, count)
    total = sum(max(0, min(start + dur, grid.end_ns) - max(start, 0)) for start, dur in slices)
    assert sum(sums(slices, grid)) == total


@given(slices_of_time, st.integers(-(10**15), 10**18))
def test_shifting_the_time_origin_changes_nothing(slices, shift):
    moved = [(start + shift, dur) for start, dur in slices]
    assert sums(moved, Grid(shift, 100, 10)) == sums(slices, Grid(0, 100, 10))


def test_sums_stay_exact_where_floats_would_round():
    # 2^53 + 1 ns is not a double
    grid = Grid(0, 2**54, 1)
    assert sums([(0, 2**53 + 1)], grid) == [2**53 + 1]


def test_a_slice_ending_on_a_border_has_no_piece_behind_it():
    pieces = split(np.array([0]), np.array([200]), Grid(0, 100, 5))
    assert pieces.bin.tolist() == [0, 1]


def test_overlapping_slices_of_one_core_are_refused_before_they_take_memory():
    starts, ends = np.zeros(1000, dtype=np.int64), np.full(1000, 10**9, dtype=np.int64)
    with pytest.raises(Rejected) as rejected:
        split(starts, ends, Grid(0, 1000, 10**6), pieces_max=10_000)
    assert rejected.value.reason is Reason.TRACE_CORRUPT


def test_a_last_interval_that_does_not_fit_whole_is_left_out():
    assert Grid.covering(5, 5 + 2_999_999_999, 1.0).count == 2
    assert Grid.covering(5, 5 + 3_000_000_000, 1.0).count == 3
    assert Grid.covering(5, 4, 1.0).count == 0


def test_timestamps_that_span_years_are_refused():
    with pytest.raises(Rejected) as rejected:
        Grid.covering(0, 2**62, 1.0)
    assert rejected.value.reason is Reason.TRACE_CORRUPT


def test_open_slices_end_at_their_cores_next_slice_or_with_the_trace():
    ts = np.array([10, 20, 30, 40])
    dur = np.array([-1, 5, -1, -1])
    cpu = np.array([0, 1, 0, 1])
    assert close(ts, dur, cpu, end_ns=99).tolist() == [30, 25, 99, 99]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(-1, 9), st.integers(0, 3)), max_size=25))
def test_open_slices_end_as_the_definition_says_one_by_one(slices):
    slices.sort(key=lambda one: one[0])
    ts, dur, cpu = (
        (np.array(column, np.int64) for column in zip(*slices, strict=True)) if slices else [np.empty(0, np.int64)] * 3
    )
    expected = [
        start + length
        if length >= 0
        else next((other for other, _, beside in slices[place + 1 :] if beside == core), 99)
        for place, (start, length, core) in enumerate(slices)
    ]
    assert close(ts, dur, cpu, end_ns=99).tolist() == expected


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 40), st.integers(0, 3)), max_size=30),
    st.integers(1, 9),
)
def test_cutting_in_blocks_changes_nothing(drawn, block):
    columns, until = [], {0: 0, 1: 0}
    for place, (pause, length, utid) in enumerate(drawn):
        core = place % 2
        until[core] += pause
        columns.append((until[core], until[core] + length, core, utid))
        until[core] += length
    columns.sort()
    start, end, cpu, utid = np.array(columns, np.int64).reshape(-1, 4).T
    slices, grid = SchedSlices(start, end, cpu, utid, 0), Grid(10, 7, 20)
    app, idle = np.array([1, 2]), np.array([0])
    whole = cut(slices, grid, app, idle)
    with mock.patch.object(grids, "BLOCK", block):
        parts = cut(slices, grid, app, idle)
    for one, other in ((whole, parts), (whole.pieces, parts.pieces)):
        for name, values in vars(one).items():
            if isinstance(values, np.ndarray):
                assert np.array_equal(values, getattr(other, name)), name
    assert not (whole.utid == 0).any()
    assert np.array_equal(whole.is_app, np.isin(whole.utid, app))
    assert np.array_equal(whole.pieces.row, whole.pieces.row[np.argsort(whole.pieces.row, kind="stable")])


@pytest.mark.parametrize("block", [1, 2, 100])
def test_slices_of_one_core_that_overlap_are_refused_in_whatever_blocks(block, monkeypatch):
    """Each border may cut one slice of a core; more pieces than that could ask for any amount of memory."""
    monkeypatch.setattr(grids, "BLOCK", block)
    start = np.zeros(6, np.int64)
    slices = SchedSlices(start, start + 1000, start, start + 1, 0)
    with pytest.raises(Rejected, match="slices of one core overlap"):
        cut(slices, Grid(0, 10, 100), np.array([1]), np.array([0]))


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 4_000_000)), min_size=1, max_size=10),
    st.integers(-200, 1200),
    st.integers(0, 500),
)
def test_a_clocks_integral_equals_the_sum_nanosecond_by_nanosecond(samples, start, length):
    samples = sorted(dict(samples).items())
    clock = Clock(np.array([ts for ts, _ in samples]), np.array([khz for _, khz in samples], dtype=float))

    def khz_at(ts: int) -> int:
        return next((khz for at, khz in reversed(samples) if at <= ts), samples[0][1])

    start_end = clock.integral(np.array([start, start + length]))
    assert start_end[1] - start_end[0] == sum(khz_at(ts) for ts in range(start, start + length))


def test_a_clocks_integral_is_right_beyond_the_range_of_64_bits():
    hour = 3_600_000_000_000
    clock = Clock(np.array([0, hour]), np.array([4e6, 3e6]))
    at = clock.integral(np.array([2 * hour, 2 * hour + 1_000_000_000]))
    assert at[1] - at[0] == 3_000_000 * 1_000_000_000


@pytest.mark.parametrize("khz", [-1.0, 1e9, float("nan"), float("inf")])
def test_frequencies_that_no_core_has_are_refused(khz):
    with pytest.raises(ValueError, match="GHz"):
        Clock(np.array([0]), np.array([khz]))
