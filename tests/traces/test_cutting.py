"""A cut trace is byte for byte what was recorded, and inside the kept parts the trace processor finds the same."""

from __future__ import annotations

import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.cutting import cut_trace
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.event_types import count_events, survey
from perfreg_assets.traces.packets import flat_blocks, framed
from perfreg_assets.traces.reduced import is_reduced, mark
from perfreg_assets.traces.rpc_envelope import field
from tests.traces.cut_comparison import MAX_BYTES, cut, found_in, losses
from tests.traces.long_traces import START_NS, compressed, head, packet_of, write_long_trace

DATA = Path(__file__).parents[1] / "data"
TRACES = [*sorted((DATA / "android-traces").glob("*.gz")), DATA / "sessions" / "notes-000" / "trace.perfetto-trace.gz"]
SECOND = 1_000_000_000


def packets(path):
    return [packet_of(block, n) for block in flat_blocks(path, MAX_BYTES) for n in range(len(block.rows))]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_inside_the_kept_parts_of_every_bundled_trace_nothing_differs(path, settings, tmp_path):
    target = tmp_path / "cut.perfetto-trace"
    done, stretches = cut(path, target, (0.3, 0.4), (0.7, 0.75))
    original = packets(path)
    kept = packets(target)[1:]
    assert done.packet_count == len(original)
    assert len(kept) == done.kept_count
    assert len(set(kept) - set(original)) <= done.stripped_count  # all others byte for byte
    assert sum(map(len, kept)) < 0.6 * sum(map(len, original))
    with open_trace(path, settings) as before, open_trace(target, settings) as after:
        for start, end in stretches:
            assert found_in(after, start, end) == found_in(before, start, end)
        lost_before, lost_after = losses(before), losses(after)
        assert all(value <= lost_before.get(name, 0) for name, value in lost_after.items())


def track_event(ts, kind, *, uuid=0, sequence=7, name=None, iid=None, interned=None, flags=2):
    packet = proto.TracePacket(timestamp=ts, trusted_packet_sequence_id=sequence, sequence_flags=flags)
    packet.track_event.type = kind
    if uuid:
        packet.track_event.track_uuid = uuid
    if name:
        packet.track_event.name = name
    if iid:
        packet.track_event.name_iid = iid
    for number, text in (interned or {}).items():
        packet.interned_data.event_names.add(iid=number, name=text)
    return packet


def interned_trace(path):
    """Slices with interned names that cross the kept part's borders, on two tracks; one clear of the names between."""
    described = proto.TracePacket(trusted_packet_sequence_id=7, sequence_flags=1)
    described.track_descriptor.uuid = 1
    described.track_descriptor.thread.pid, described.track_descriptor.thread.tid = 100, 100
    described.trace_packet_defaults.track_event_defaults.track_uuid = 1
    other = proto.TracePacket(trusted_packet_sequence_id=7)
    other.track_descriptor.uuid = 2
    other.track_descriptor.name = "queue"
    made = [*head(), described, other]

    def at(seconds):
        return START_NS + int(seconds * SECOND)

    made += [
        track_event(at(1), 1, iid=1, interned={1: "outer"}),  # open until after the kept part
        track_event(at(2), 1, iid=2, interned={2: "early"}),
        track_event(at(3), 2),
        track_event(at(4), 1, uuid=2, iid=3, interned={3: "on the queue"}),
        track_event(at(5), 3, iid=1),
        track_event(at(11), 1, iid=2),
        track_event(at(12), 2),
        track_event(at(13), 2, uuid=2),
        track_event(at(14), 1, iid=3),
        track_event(at(25), 2),
        track_event(at(26), 2),
        track_event(at(27), 1, iid=2),
        track_event(at(28), 2),
        track_event(at(29), 3, iid=4, interned={4: "cleared"}, flags=3),
        track_event(at(30), 3, iid=4),
    ]
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in made))
    return path, (at(10), at(20)), made


SLICES = """
    SELECT max(ts, {start}) AS begin, min(iif(dur < 0, {end}, ts + dur), {end}) AS behind, depth AS cpu, 0 AS tid,
           ifnull(slice.name, '') AS thread, ifnull(track.name, '') AS process
    FROM slice JOIN track ON track.id = slice.track_id WHERE ts < {end} AND (dur < 0 OR ts + dur >= {start})"""
SCHEMA = {
    "begin": "int64", "behind": "int64", "cpu": "int64", "tid": "int64", "thread": "string", "process": "string",
}  # fmt: skip


def slices(session, start, end):
    table = session.query(SLICES.format(start=start, end=end), SCHEMA)
    return sorted(zip(*(table[name].tolist() for name in SCHEMA), strict=True))


def test_track_events_keep_names_nesting_and_what_crosses_the_border(settings, tmp_path):
    path, (start, end), made = interned_trace(tmp_path / "t")
    target = tmp_path / "cut"
    windows = count_events(path, MAX_BYTES, survey(path, MAX_BYTES), (), SECOND)
    with target.open("wb") as file:
        done = cut_trace(path, MAX_BYTES, [(start, end)], windows.bundles, file.write)
    with open_trace(path, settings) as before, open_trace(target, settings) as after:
        expected = slices(before, start, end)
        assert slices(after, start, end) == expected
        assert [row[4] for row in expected] == ["on the queue", "outer", "early", "on the queue"]
        assert losses(after) == losses(before) == {}
    left = {packet.timestamp for packet in proto.Trace.FromString(target.read_bytes()).packet}
    assert START_NS + 30 * SECOND not in left  # after the clear nothing is needed
    assert START_NS + 27 * SECOND not in left
    assert done.stripped_count == 1  # the name "early", which is used inside
    assert done.kept_count < len(made)


def test_differences_of_a_sequences_clock_are_kept_up(settings, tmp_path):
    """Chrome's way: every timestamp is a difference, so the packets between are needed for it."""
    clocks = proto.TracePacket(trusted_packet_sequence_id=9, sequence_flags=1)
    clocks.clock_snapshot.clocks.add(clock_id=6, timestamp=START_NS)
    clocks.clock_snapshot.clocks.add(clock_id=64, timestamp=0, is_incremental=True, unit_multiplier_ns=1)
    clocks.trace_packet_defaults.timestamp_clock_id = 64
    described = proto.TracePacket(trusted_packet_sequence_id=9)
    described.track_descriptor.uuid = 5
    described.track_descriptor.name = "steps"
    made = [*head(), clocks, described]
    for number in range(40):
        if number % 2:
            made.append(track_event(SECOND, 2, uuid=5, sequence=9))
        else:
            made.append(track_event(SECOND, 1, uuid=5, sequence=9, name=f"step {number}"))
    path, target = tmp_path / "t", tmp_path / "cut"
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in made))
    windows = count_events(path, MAX_BYTES, survey(path, MAX_BYTES), (), SECOND)
    assert (windows.start_ns, windows.end_ns) == (START_NS + SECOND, START_NS + 40 * SECOND)
    start, end = START_NS + 20 * SECOND, START_NS + 25 * SECOND
    with target.open("wb") as file:
        done = cut_trace(path, MAX_BYTES, [(start, end)], windows.bundles, file.write)
    assert done.stripped_count > 10
    with open_trace(path, settings) as before, open_trace(target, settings) as after:
        assert slices(after, start, end) == slices(before, start, end) != []


def test_polls_keep_the_value_that_holds_when_a_part_begins(settings, tmp_path):
    made = head()
    for second in range(0, 40, 4):
        packet = proto.TracePacket(timestamp=START_NS + second * SECOND, trusted_packet_sequence_id=3)
        packet.process_stats.processes.add(pid=100, vm_rss_kb=1000 + second)
        made.append(packet)
    path, target = tmp_path / "t", tmp_path / "cut"
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in made))
    windows = count_events(path, MAX_BYTES, survey(path, MAX_BYTES), (), SECOND)
    with target.open("wb") as file:
        cut_trace(path, MAX_BYTES, [(START_NS + 21 * SECOND, START_NS + 25 * SECOND)], windows.bundles, file.write)
    left = [p for p in proto.Trace.FromString(target.read_bytes()).packet if p.HasField("process_stats")]
    assert [(p.timestamp - START_NS) // SECOND for p in left] == [0, 20, 24]


def test_each_process_keeps_the_value_that_its_memory_holds_when_a_part_begins(tmp_path):
    """A poll tells what has changed since the one before: the last poll says nothing of a process that was still."""
    path, target = tmp_path / "t", tmp_path / "cut"
    made = [*head()]
    for second, pid, size in ((1, 100, 10), (2, 101, 20), (3, 101, 30), (4, 102, 40), (12, 102, 50), (22, 101, 60)):
        packet = proto.TracePacket(timestamp=START_NS + second * SECOND, trusted_packet_sequence_id=3)
        packet.process_stats.processes.add(pid=pid, vm_rss_kb=size)
        made.append(packet)
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in made))
    windows = count_events(path, MAX_BYTES, survey(path, MAX_BYTES), (), SECOND)
    kept = [(START_NS + 10 * SECOND, START_NS + 11 * SECOND), (START_NS + 20 * SECOND, START_NS + 21 * SECOND)]
    with target.open("wb") as file:
        cut_trace(path, MAX_BYTES, kept, windows.bundles, file.write)
    left = [p for p in proto.Trace.FromString(target.read_bytes()).packet if p.HasField("process_stats")]
    assert [(p.timestamp - START_NS) // SECOND for p in left] == [1, 3, 4, 12]


def test_compressed_packets_are_cut_inside_and_packed_again(settings, tmp_path):
    plain = write_long_trace(tmp_path / "plain", 20, (0, 0))
    content = list(proto.Trace.FromString(plain.read_bytes()).packet)
    packed, target = tmp_path / "packed", tmp_path / "cut"
    packed.write_bytes(framed(content[0].SerializeToString()) + compressed(content[1:12]) + compressed(content[12:]))
    done, ((start, end),) = cut(packed, target, (0.4, 0.5))
    assert 0 < done.kept_count < done.packet_count == len(content)
    assert target.stat().st_size < packed.stat().st_size
    with open_trace(plain, settings) as before, open_trace(target, settings) as after:
        assert found_in(after, start, end) == found_in(before, start, end)
        assert sum(found_in(after, start, end)["sched"].values()) > 100


def test_packets_compressed_with_zstd_are_read_and_come_out_as_every_perfetto_reads_them(settings, tmp_path):
    plain = write_long_trace(tmp_path / "plain", 20, (0, 0))
    content = list(proto.Trace.FromString(plain.read_bytes()).packet)
    inside = b"".join(framed(packet.SerializeToString()) for packet in content[1:])
    packed, target = tmp_path / "packed", tmp_path / "cut"
    zstd = framed(field(133, pa.compress(inside, "zstd", asbytes=True)))
    packed.write_bytes(framed(content[0].SerializeToString()) + zstd)
    done, ((start, end),) = cut(packed, target, (0.4, 0.5))
    assert 0 < done.kept_count < done.packet_count == len(content)
    with open_trace(plain, settings) as before, open_trace(target, settings) as after:
        assert found_in(after, start, end) == found_in(before, start, end)
        assert sum(found_in(after, start, end)["sched"].values()) > 100


@pytest.mark.parametrize("number", [50, 133])
def test_compressed_packets_that_are_torn_are_told(number, tmp_path):
    inside = b"".join(framed(packet.SerializeToString()) for packet in head()) * 50
    whole = zlib.compress(inside) if number == 50 else pa.compress(inside, "zstd", asbytes=True)
    path = tmp_path / "t"
    path.write_bytes(framed(field(number, whole[:-9])))
    with pytest.raises(Rejected) as caught:
        packets(path)
    assert caught.value.reason is Reason.TRACE_CORRUPT


def test_what_is_not_known_is_kept_and_counted(tmp_path):
    made = [*head()]
    strange = proto.TracePacket(timestamp=START_NS + SECOND)
    strange.for_testing.str = "odd"
    event = proto.TracePacket()
    event.ftrace_events.event.add(timestamp=START_NS + 9 * SECOND, pid=1).cpu_idle.state = 1
    path, target = tmp_path / "t", tmp_path / "cut"
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in [*made, strange, event]))
    windows = count_events(path, MAX_BYTES, survey(path, MAX_BYTES), (), SECOND)
    with target.open("wb") as file:
        done = cut_trace(path, MAX_BYTES, [], windows.bundles, file.write)
    assert done.unknown == {900: 1}
    assert [p.WhichOneof("data") for p in proto.Trace.FromString(target.read_bytes()).packet] == [
        "clock_snapshot", "process_tree", "for_testing",
    ]  # fmt: skip


def test_the_mark_is_told_and_the_trace_processor_passes_over_it(settings, tmp_path):
    plain = write_long_trace(tmp_path / "plain", 4, (0, 0))
    marked = tmp_path / "marked"
    marked.write_bytes(mark() + plain.read_bytes())
    assert is_reduced(marked.read_bytes()[:64])
    assert not is_reduced(plain.read_bytes()[:64])
    span = START_NS, START_NS + 4 * SECOND
    with open_trace(plain, settings) as before, open_trace(marked, settings) as after:
        assert found_in(after, *span) == found_in(before, *span)
        assert losses(after) == {}
