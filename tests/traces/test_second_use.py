"""What processes used by second equals what the obvious way, and the trace processor, find."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods.thread_times import UNKNOWN, entity_name
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.event_types import count_events, survey
from perfreg_assets.traces.packets import framed
from tests.traces.long_traces import START_NS, head, write_long_trace

MAX_BYTES = 1 << 34
SECOND = 1_000_000_000
DATA = Path(__file__).parents[1] / "data"


def use_of(path):
    windows = count_events(path, MAX_BYTES, survey(path, MAX_BYTES), (), SECOND // 4)
    return windows.start_ns, windows.use


def test_running_time_is_what_lies_between_switches_of_a_core(tmp_path):
    path = write_long_trace(tmp_path / "t", 12, (4, 8), per_bundle=40)
    start, use = use_of(path)
    slow = defaultdict(float)
    for core in range(2):
        switches = []
        for packet in proto.Trace.FromString(path.read_bytes()).packet:
            table = packet.ftrace_events.compact_sched
            if packet.HasField("ftrace_events") and packet.ftrace_events.cpu == core:
                switches += accumulate(table.switch_timestamp)
        for begin, end in pairwise(switches):
            for second in range((begin - start) // SECOND, (end - start) // SECOND + 1):
                low = start + second * SECOND
                slow[second] += (min(end, low + SECOND) - max(begin, low)) / 1e9
    for second, told in enumerate(use.running_s):
        assert set(told) <= {"com.rig.media"}
        assert told.get("com.rig.media", 0.0) == pytest.approx(slow[second], abs=2e-3)


@pytest.mark.parametrize("name", ["pixel6a_api32_startup_warm", "microsoft_test_trace"])
def test_running_time_of_processes_is_the_trace_processors(name, settings):
    path = next((DATA / "android-traces").glob(f"{name}*"))
    _, use = use_of(path)
    found = defaultdict(float)
    for second in use.running_s:
        for process, seconds in second.items():
            found[process] += seconds
    with open_trace(path, settings) as session:
        table = session.query(
            """SELECT ifnull(process.name, '') AS name, sum(dur) / 1e9 AS seconds FROM sched
               JOIN thread USING (utid) LEFT JOIN process USING (upid)
               WHERE dur > 0 AND tid > 0 GROUP BY 1""",
            {"name": "string", "seconds": "float64"},
        )
    expected = defaultdict(float)
    for process, seconds in zip(table["name"].tolist(), table["seconds"].tolist(), strict=True):
        expected[entity_name(process) if process else UNKNOWN] += seconds
    assert sum(found.values()) == pytest.approx(sum(expected.values()), rel=0.02)
    for process, seconds in expected.items():
        # Processes that live shorter than a poll may be named otherwise.
        if process != UNKNOWN and seconds > 0.3:
            assert found[process] == pytest.approx(seconds, rel=0.05, abs=0.02), process


def test_memory_is_the_last_poll_of_each_second(tmp_path):
    made = head()
    for tenth in range(0, 30, 4):
        packet = proto.TracePacket(timestamp=START_NS + tenth * SECOND // 10, trusted_packet_sequence_id=3)
        packet.process_stats.processes.add(pid=100, vm_rss_kb=1000 + tenth)
        made.append(packet)
    path = tmp_path / "t"
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in made))
    _, use = use_of(path)
    assert use.rss_bytes == tuple({"com.rig.media": (1000 + tenth) * 1024} for tenth in (8, 16, 28))


def test_rises_of_memory_are_anonymous_where_told_from_the_poll_before_and_without_falls(tmp_path):
    """A process that is first seen has not risen; polls before the first second are what memory rises from."""
    made = head()
    polls = [(0, 100, 500, 100), (9, 100, 400, 90), (12, 100, 700, 120), (15, 101, 900, 900), (21, 100, 710, 150)]
    for tenth, pid, resident, anonymous in polls:
        packet = proto.TracePacket(timestamp=START_NS + tenth * SECOND // 10, trusted_packet_sequence_id=3)
        packet.process_stats.processes.add(pid=pid, vm_rss_kb=resident, rss_anon_kb=anonymous)
        made.append(packet)
    path = tmp_path / "t"
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in made))
    _, use = use_of(path)
    found = survey(path, MAX_BYTES)
    assert use.rise_bytes == ({}, {"com.rig.media": 30 * 1024}, {"com.rig.media": 30 * 1024})
    later = count_events(path, MAX_BYTES, replace(found, start_ns=START_NS + SECOND), (), SECOND)
    assert later.use.rise_bytes == use.rise_bytes[1:]
