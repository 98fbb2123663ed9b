"""Events of bundled traces counted by type and window equal those that protobuf's own reader finds."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from contextlib import nullcontext
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods.packet_scanner import BundleScanner, event_key, name_hash, scan_packets
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.event_types import EventType, count_events, most_frequent, survey, type_totals
from perfreg_assets.traces.packets import blocks_of_chunks, flat_blocks, framed
from perfreg_assets.traces.rpc_envelope import field
from perfreg_assets.traces.trace_clock import TraceClock
from tests.traces.long_traces import START_NS, compressed, head, packet_of, write_long_trace

MAX_BYTES = 1 << 34
SECOND = 1_000_000_000
TRACES = sorted((Path(__file__).parents[1] / "data" / "android-traces").glob("*.gz"))


def packets_of(path):
    return proto.Trace.FromString(gzip.decompress(path.read_bytes())).packet


def slow_events(packets):
    """(time, kernel event or what the compact table stands for, thread) of every event; times as written."""
    found = []
    for packet in packets:
        bundle = packet.ftrace_events
        table = bundle.compact_sched
        found += [(ts, "sched_switch", tid) for ts, tid in zip(
            accumulate(table.switch_timestamp), table.switch_next_pid, strict=True
        )]  # fmt: skip
        found += [(ts, "sched_waking", tid) for ts, tid in zip(
            accumulate(table.waking_timestamp), table.waking_pid, strict=True
        )]  # fmt: skip
        shift = bundle.boot_timestamp - bundle.ftrace_timestamp if bundle.ftrace_timestamp else 0
        for event in bundle.event:
            what = event.WhichOneof("event")
            own = getattr(event, what) if what else None
            tid = own.next_pid if what == "sched_switch" else event.pid
            if what in {"sched_waking", "sched_wakeup", "sched_wakeup_new"}:
                tid = own.pid
            found.append((event.timestamp + shift, what, tid))
    return found


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_the_scanner_finds_every_kernel_event_of_the_bundled_traces(path):
    scanner, found, kinds = BundleScanner(), [], Counter()
    numbers = {one.number: one.name for one in proto.FtraceEvent.DESCRIPTOR.fields}
    for block in flat_blocks(path, MAX_BYTES):
        events = scanner.scan(block.data, block.rows[block.rows[:, 2] == 1])
        assert not events.is_broken.any()
        found += zip(events.times.tolist(), events.tids.tolist(), strict=True)
        kinds.update(numbers.get(kind) for kind in events.kinds.tolist())
    slow = slow_events(packets_of(path))
    assert Counter(found) == Counter((ts, tid) for ts, _, tid in slow)
    for name in ("sched_switch", "sched_waking", "cpu_idle", "cpu_frequency"):
        assert kinds[name] == sum(what == name for _, what, _ in slow)


def test_windows_types_and_totals_equal_a_slow_count(tmp_path):
    path = write_long_trace(tmp_path / "t", 20, (10, 12))
    found = survey(path, MAX_BYTES)
    totals = type_totals(path, MAX_BYTES, found, 8 * SECOND)
    windows = count_events(path, MAX_BYTES, found, most_frequent(totals), SECOND // 4)
    events = slow_events(proto.Trace.FromString(path.read_bytes()).packet)
    assert (windows.start_ns, windows.end_ns) == (min(events)[0], max(events)[0])
    names = ["decoder", "sink", "audio", *["worker-#"] * 6, "hog"]
    slow_totals = Counter(
        EventType("sched_switch", "com.rig.media", names[tid - 100])
        for ts, _, tid in events
        if ts < found.start_ns + 8 * SECOND
    )
    assert totals == slow_totals
    assert windows.types[0] == max(slow_totals, key=slow_totals.__getitem__)
    slow = np.zeros_like(windows.counts)
    for ts, _, tid in events:
        kind = EventType("sched_switch", "com.rig.media", names[tid - 100])
        column = windows.types.index(kind) if kind in windows.types else len(windows.types)
        slow[(ts - windows.start_ns) // (SECOND // 4), column] += 1
    assert np.array_equal(windows.counts, slow)
    assert windows.counts[:, -1].sum() > 0  # the hog is unknown to the reference
    assert not windows.strange.any()
    seen = count_events(path, MAX_BYTES, found, windows.types[:2], SECOND // 4, seen=totals)
    assert np.array_equal(seen.strange, slow[:, -1])
    assert (seen.counts[:, -1] > seen.strange).any()  # what is rare there
    assert not windows.is_lossy.any()


def fnv_1a(name):
    """The obvious way, of a name with `#` for every number."""
    value = 0xCBF29CE484222325
    for byte in re.sub(rb"[0-9]+", b"#", name):
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


@given(st.binary(max_size=40) | st.text("ab19-", max_size=12).map(str.encode))
def test_names_are_hashed_as_the_obvious_way_does(name):
    assert name_hash(name) == fnv_1a(name)


def test_names_are_hashed_with_numbers_taken_out():
    assert name_hash(b"worker-12") == name_hash(b"worker-#") == name_hash(b"worker-7")
    assert name_hash(b"a1b22") == name_hash(b"a#b#") != name_hash(b"a#b")
    assert event_key(4, 0, name_hash(b"x")) != event_key(20, 0, name_hash(b"x"))


def test_lost_events_mark_their_window_and_the_first_packet_of_a_sequence_does_not(tmp_path):
    packets = head()
    for number, lost in ((0, False), (1, True), (2, False)):
        packet = proto.TracePacket(trusted_packet_sequence_id=5, previous_packet_dropped=int(number == 0))
        packet.timestamp = START_NS
        packet.ftrace_events.lost_events = lost
        event = packet.ftrace_events.event.add(timestamp=START_NS + number * SECOND, pid=100)
        event.cpu_idle.state = 1
        packets.append(packet)
    path = tmp_path / "t"
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in packets))
    windows = count_events(path, MAX_BYTES, survey(path, MAX_BYTES), (), SECOND)
    assert windows.is_lossy.tolist() == [False, True, False]


def test_a_device_that_slept_is_told_by_the_clocks(tmp_path):
    packets = head()
    slept = proto.TracePacket()
    for clock_id, at in ((6, 30), (3, 10)):
        slept.clock_snapshot.clocks.add(clock_id=clock_id, timestamp=START_NS + at * SECOND)
    packets.append(slept)
    for at in (0, 40):
        packet = proto.TracePacket()
        packet.ftrace_events.event.add(timestamp=START_NS + at * SECOND, pid=100).cpu_idle.state = 1
        packets.append(packet)
    path = tmp_path / "t"
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in packets))
    windows = count_events(path, MAX_BYTES, survey(path, MAX_BYTES), (), SECOND)
    assert windows.is_suspended.tolist() == [True] * 30 + [False] * 11


def test_compressed_packets_are_counted_like_others(tmp_path):
    plain = write_long_trace(tmp_path / "plain", 6, (0, 0))
    packets = list(proto.Trace.FromString(plain.read_bytes()).packet)
    packed = tmp_path / "packed"
    packed.write_bytes(framed(packets[0].SerializeToString()) + compressed(packets[1:4]) + compressed(packets[4:]))
    for path in (plain, packed):
        found = survey(path, MAX_BYTES)
        windows = count_events(
            path, MAX_BYTES, found, most_frequent(type_totals(path, MAX_BYTES, found, SECOND)), SECOND
        )
        if path is plain:
            expected = windows.counts
    assert np.array_equal(windows.counts, expected)


def test_pieces_of_any_size_give_the_same_packets(tmp_path):
    content = write_long_trace(tmp_path / "t", 6, (0, 0)).read_bytes()
    whole = [packet_of(block, n) for block in blocks_of_chunks([content], "t") for n in range(len(block.rows))]
    for size in (1, 7, 4096):
        pieces = [content[i : i + size] for i in range(0, len(content), size)]
        if size == 1:
            pieces = pieces[:3000]
        found = []
        with nullcontext() if size > 1 else pytest.raises(Rejected, match="ends inside the packet"):
            for block in blocks_of_chunks(pieces, "t"):
                found += [packet_of(block, n) for n in range(len(block.rows))]
        assert found == (whole if size > 1 else whole[: len(found)])
        assert found


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x0a\x05\x08\x01", Reason.TRACE_TRUNCATED),
        (b"hello, I am no trace", Reason.TRACE_NOT_PERFETTO),
        (b"\x0a\x02\x40\x01junk", Reason.TRACE_CORRUPT),
        (b"\x0a" + b"\xff" * 12, Reason.TRACE_NOT_PERFETTO),
        (framed(field(50, b"no zlib")), Reason.TRACE_CORRUPT),
        (framed(field(8, 5)), Reason.SOURCE_MISSING),
    ],
)
def test_hostile_framing_and_traces_without_events_get_the_gates_codes(tmp_path, content, reason):
    path = tmp_path / "t"
    path.write_bytes(content)
    with pytest.raises(Rejected) as caught:
        survey(path, MAX_BYTES)
    assert caught.value.reason is reason


def test_a_packet_that_is_no_protobuf_is_told_and_its_neighbours_are_read():
    good = framed(field(8, 7) + field(10, 3))
    data = np.frombuffer(good + framed(b"\x08") + good, np.uint8)
    rows, used, is_broken = scan_packets(data)
    assert (len(rows), used, is_broken) == (3, len(data), False)
    assert rows[:, 5].tolist() == [7, -1, 7]
    assert (rows[:, 8] & 16 != 0).tolist() == [False, True, False]


def test_clocks_of_sequences_and_differences_are_placed_on_the_traces_clock():
    clock = TraceClock()
    snapshot = proto.ClockSnapshot()
    snapshot.clocks.add(clock_id=6, timestamp=1000)
    snapshot.clocks.add(clock_id=3, timestamp=400)
    snapshot.clocks.add(clock_id=64, timestamp=5, is_incremental=True, unit_multiplier_ns=10)
    clock.learn(snapshot.SerializeToString(), 9)
    times = np.array([450, 400, 300])
    assert clock.to_trace(times, 3, 1).tolist() == [1050, 1000, 900]
    assert clock.to_trace(np.array([0, 2, 3]), 64, 9).tolist() == [1000, 1020, 1050]
    assert clock.to_trace(np.array([1]), 64, 9).tolist() == [1060]
    assert clock.to_trace(np.array([1]), 64, 8) is None
    assert clock.to_trace(times, 6, 1) is times


def test_windows_of_more_events_than_two_bytes_count_are_counted_whole(tmp_path):
    """70,000 switches of one thread and 40,000 of another within a second; the counts are wide only because of them."""
    packets, expected = head(), Counter()
    for second, thread, count in ((0, 100, 40_000), (1, 101, 70_000), (1, 100, 40_000), (1, 101, 70_000), (2, 100, 9)):
        packet = proto.TracePacket()
        table = packet.ftrace_events.compact_sched
        table.intern_table.extend(["decoder", "sink"])
        step = SECOND // 2 // count
        table.switch_timestamp.extend([START_NS + second * SECOND, *[step] * (count - 1)])
        table.switch_prev_state.extend([1] * count)
        table.switch_next_pid.extend([thread] * count)
        table.switch_next_prio.extend([120] * count)
        table.switch_next_comm_index.extend([thread - 100] * count)
        packets.append(packet)
        expected[second, thread] += count
    path = tmp_path / "t"
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in packets))
    found = survey(path, MAX_BYTES)
    types = most_frequent(type_totals(path, MAX_BYTES, found, 3 * SECOND))
    assert [one.thread for one in types] == ["sink", "decoder"]
    windows = count_events(path, MAX_BYTES, found, types, SECOND)
    assert windows.counts.tolist() == [[0, 40_000, 0], [140_000, 40_000, 0], [0, 9, 0]]
    assert windows.use.counts.tolist() == windows.counts.tolist()
    assert count_events(path, MAX_BYTES, found, types, SECOND // 1000).counts.dtype == np.uint16
