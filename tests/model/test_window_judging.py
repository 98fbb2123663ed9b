"""What of a trace is kept, by what its windows were judged to be."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods.app_load import LoadLimits
from perfreg_assets.model.reduction_document import per_second
from perfreg_assets.model.trace_source import Source
from perfreg_assets.model.window_judging import Windows, judge_trace
from perfreg_assets.settings import Settings
from perfreg_assets.traces.event_types import count_events, most_frequent, survey, type_totals
from perfreg_assets.traces.second_use import SecondUse
from tests.traces.long_traces import START_NS, write_long_trace

SECOND = 1_000_000_000
MAX_BYTES = 1 << 34


@pytest.mark.parametrize("mode", ["default", "knn", "seed"])
def test_a_hang_is_kept_however_few_windows_it_is_of(tmp_path, mode):
    """Two seconds without an event are two windows of 0.8 s at most: fewer than vote."""
    path = write_long_trace(tmp_path / "t", 430, (0, 0), per_bundle=100, silent=range(412, 414))
    found = judge_trace(Source(path), Settings(reduction_window_s=0.8, reduction_reference_s=400, reduction_mode=mode))
    empty = [number for number, counts in enumerate(found.events.counts) if not counts.any()]
    assert 1 <= len(empty) <= 2
    assert {found.reason[number] for number in empty} == {"silent"}
    assert found.is_kept[empty].all()
    assert any(a < START_NS + 412 * SECOND and b > START_NS + 414 * SECOND for a, b in found.stretches)


@pytest.mark.parametrize("window_s", [0.04, 0.25, 0.3, 0.7, 1.0, 1.5, 2.0, 60.0])
def test_seconds_are_told_whatever_the_length_of_windows(tmp_path, window_s):
    path = write_long_trace(tmp_path / "t", 61, (0, 0), per_bundle=90, silent=range(20, 24))
    found = survey(path, MAX_BYTES)
    types = most_frequent(type_totals(path, MAX_BYTES, found, 10 * SECOND))
    events = count_events(path, MAX_BYTES, found, types, round(window_s * SECOND))
    times = [
        time
        for packet in proto.Trace.FromString(path.read_bytes()).packet
        for time in accumulate(packet.ftrace_events.compact_sched.switch_timestamp)
    ]
    begin, end = events.start_ns + 30 * SECOND + 1, events.start_ns + 32 * SECOND
    none = np.zeros(len(events.counts))
    judged = Windows(events, None, none, none, none > 0, none > 0, (None,) * len(none), ((begin, end),))  # type: ignore[arg-type]
    told = per_second(judged)
    slow = Counter((time - events.start_ns) // SECOND for time in times)
    assert [sum(second["counts"].values()) for second in told] == [slow[number] for number in range(max(slow) + 1)]
    assert [second["start_ns"] - events.start_ns for second in told] == [n * SECOND for n in range(len(told))]
    assert [number for number, second in enumerate(told) if second["is_kept"]] == [30, 31]
    by_type = Counter[str]()
    for second in told:
        by_type.update(second["counts"])
    assert [by_type[str(n)] for n in range(events.counts.shape[1])] == events.counts.sum(axis=0, dtype=int).tolist()
    ran = sum(second["running_s"].get("com.rig.media", 0.0) for second in told)
    assert ran == pytest.approx(2 * (times[-1] - times[0]) / 1e9, rel=0.02)


def test_a_window_has_the_load_of_the_busiest_second_that_it_is_in(tmp_path):
    path = write_long_trace(tmp_path / "t", 12, (0, 0))
    found = survey(path, MAX_BYTES)
    use = count_events(path, MAX_BYTES, found, (), SECOND).use
    running = tuple({"com.a": 3.0 if second == 5 else 0.1} for second in range(12))
    busy = replace(use, running_s=running, rise_bytes=({},) * 12)
    limits = LoadLimits("com.a", 0.3, np.nan)  # the mean of three seconds is above it from second 4 to 6

    def heavy(window_s):
        events = count_events(path, MAX_BYTES, found, (), round(window_s * SECOND))
        return np.flatnonzero(replace(events, use=busy).load_excess(limits) > 1).tolist()

    assert heavy(0.25) == list(range(16, 28))
    assert heavy(1.0) == [4, 5, 6]
    assert heavy(1.5) == [2, 3, 4]
    assert heavy(5.0) == [0, 1]
    assert heavy(0.7) == list(range(5, 10))
    assert not count_events(path, MAX_BYTES, found, (), SECOND).load_excess(None).any()


def test_what_is_read_in_parts_is_joined_by_second_of_which_one_may_be_shared():
    def use(start_s, *seconds):
        counts = np.array([[count] for count, _, _ in seconds], np.uint32).reshape(-1, 1)
        named = [tuple({"a": one} if one else {} for one in column) for column in zip(*seconds, strict=True)]
        running, memory = named[1:] if seconds else ((), ())
        return SecondUse(start_s * SECOND, counts, running, memory, memory)

    first = use(7, (1, 0.25, 10), (2, 0.5, 0))
    shared = first.followed_by(use(8, (4, 0.125, 30), (8, 0, 50)))
    assert shared.counts.ravel().tolist() == [1, 6, 8]
    assert shared.running_s == ({"a": 0.25}, {"a": 0.625}, {})
    assert shared.rss_bytes == ({"a": 10}, {"a": 30}, {"a": 50})
    apart = first.followed_by(use(10, (4, 0.125, 30)))
    assert apart.counts.ravel().tolist() == [1, 2, 0, 4]
    assert apart.running_s == ({"a": 0.25}, {"a": 0.5}, {}, {"a": 0.125})
    for one in (first.followed_by(use(8)), first.followed_by(use(9))):
        assert (one.start_ns, one.counts.ravel().tolist(), len(one)) == (7 * SECOND, [1, 2], 2)
