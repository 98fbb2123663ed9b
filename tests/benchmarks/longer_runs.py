"""Recorded runs played several times in a row as one longer run: what sessions of half an hour cost."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto


def longer_document(document: dict[str, Any], times: int, repeat_ns: int) -> dict[str, Any]:
    """run.json of a run that goes the same way `times` times, beginning again every `repeat_ns`."""
    begin, end = document["exploration"]["start_ns"], document["exploration"]["end_ns"]
    path = [
        {**step, "step": number * len(document["path"]) + place, "ts_ns": step["ts_ns"] + number * repeat_ns}
        for number in range(times)
        for place, step in enumerate(document["path"])
    ]
    last = end + (times - 1) * repeat_ns
    return {
        **document,
        "config": {**document["config"], "time_limit_s": (last - begin) / 1e9},
        "exploration": {"start_ns": begin, "end_ns": last},
        "path": path,
    }


def write_longer_trace(source: Path, target: Path, times: int) -> int:
    """Writes a packed trace with everything of the packed trace `source` `times` times, later each time.

    Returns:
        After how many ns it begins again.
    """
    trace = proto.Trace.FromString(gzip.decompress(source.read_bytes()))
    moments = [moment for packet in trace.packet for moment in _moments(packet)]
    repeat_ns = max(moments) - min(moments) + 1_000_000_000
    _end_what_began(trace, max(moments))
    with gzip.open(target, "wb", compresslevel=1) as packed:
        packed.write(trace.SerializeToString())
        repeated = [packet for packet in trace.packet if not packet.HasField("trace_uuid")]
        for _ in range(times - 1):
            for packet in repeated:
                _delay(packet, repeat_ns)
            packed.write(proto.Trace(packet=repeated).SerializeToString())
    return repeat_ns


def _end_what_began(trace: proto.Trace, at_ns: int) -> None:
    """Ends the threads that began and did not end: the next time their ids are given to others."""
    events = [event for packet in trace.packet for event in packet.ftrace_events.event]
    began = {event.task_newtask.pid for event in events if event.HasField("task_newtask")}
    ended = {event.sched_process_free.pid for event in events if event.HasField("sched_process_free")}
    last = next(packet for packet in reversed(trace.packet) if packet.HasField("ftrace_events"))
    for tid in sorted(began - ended):
        last.ftrace_events.event.add(timestamp=at_ns, pid=tid).sched_process_exit.pid = tid
        last.ftrace_events.event.add(timestamp=at_ns, pid=tid).sched_process_free.pid = tid


def _moments(packet: proto.TracePacket) -> Iterator[int]:
    if packet.timestamp:
        yield packet.timestamp
    yield from (event.timestamp for event in packet.ftrace_events.event)
    if packet.ftrace_events.compact_sched.switch_timestamp:
        yield sum(packet.ftrace_events.compact_sched.switch_timestamp)


def _delay(packet: proto.TracePacket, by_ns: int) -> None:
    if packet.timestamp:
        packet.timestamp += by_ns
    if packet.HasField("clock_snapshot"):
        for clock in packet.clock_snapshot.clocks:
            clock.timestamp += by_ns
    if packet.process_stats.collection_end_timestamp:
        packet.process_stats.collection_end_timestamp += by_ns
    if packet.process_tree.collection_end_timestamp:
        packet.process_tree.collection_end_timestamp += by_ns
    for event in packet.ftrace_events.event:
        event.timestamp += by_ns
    compact = packet.ftrace_events.compact_sched
    if compact.switch_timestamp:
        compact.switch_timestamp[0] += by_ns  # the first is a moment, those after it are steps
    if compact.waking_timestamp:
        compact.waking_timestamp[0] += by_ns
