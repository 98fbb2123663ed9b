"""Atrace sections in a cut trace are those of the whole one, wherever their begin and end lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.methods.atrace_pairs import BEGIN, END, VALUE, MarkPairs
from perfreg_assets.traces.cutting import cut_trace
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.event_types import count_events, survey
from perfreg_assets.traces.packets import framed
from tests.traces.cut_comparison import MAX_BYTES
from tests.traces.long_traces import START_NS, head

SECOND = 1_000_000_000
PART = START_NS + 10 * SECOND, START_NS + 20 * SECOND


def slow_needed(marks, starts, ends):
    """The obvious way: a list per key, and every section looked at."""
    stretches = list(zip(starts, ends, strict=True))

    def overlaps(first, last):
        return any(start <= last and first < end for start, end in stretches)

    needed, stacks = set(), {}

    def add(one):
        if not overlaps(one[0], one[0]):
            needed.add((one[3], one[4]))

    for one in marks:
        stack = stacks.setdefault(one[1], [])
        if one[2] == BEGIN or (one[2] == VALUE and not stack):
            stack.append(one)
        elif stack:
            begun = stack.pop()
            if overlaps(begun[0], one[0]):
                add(begun)
                if one[2] == END:
                    add(one)
            if one[2] == VALUE:
                stack.append(one)
    for stack in stacks.values():
        for begun in stack:
            if stretches and overlaps(begun[0], stretches[-1][1]):
                add(begun)
    return needed


MARKS = st.lists(st.tuples(st.integers(0, 50), st.integers(-3, 3), st.booleans()), max_size=60)


@given(MARKS, st.lists(st.integers(0, 50), max_size=6, unique=True), st.integers(1, 7))
@settings(deadline=None)
def test_what_is_needed_is_what_the_obvious_way_finds(drawn, borders, pieces):
    rows = [
        (time, key, VALUE if key == 0 else BEGIN if is_begin else END, number // 3, number % 3, 0, 0)
        for number, (time, key, is_begin) in enumerate(sorted(drawn, key=lambda one: one[0]))
    ]
    borders = sorted(borders)[: len(borders) // 2 * 2]
    starts, ends = np.array(borders[::2], np.int64), np.array(borders[1::2], np.int64)
    pairs = MarkPairs(starts, ends)
    for part in np.array_split(np.array(rows, np.int64).reshape(-1, 7), pieces):
        pairs.add(np.ascontiguousarray(part))
    assert pairs.finish() == slow_needed(rows, starts.tolist(), ends.tolist())


def bundle(core, *events):
    packet = proto.TracePacket()
    packet.ftrace_events.cpu = core
    for second, tid, text in events:
        event = packet.ftrace_events.event.add(timestamp=START_NS + round(second * SECOND), pid=tid)
        event.print.buf = text
    return packet


@pytest.fixture
def crossing(tmp_path):
    """Sections of two threads on two cores that begin, end and lie on either side of the part."""
    made = [
        *head(),
        bundle(0, (1, 100, "B|100|outer\n"), (2, 101, "B|100|gone\n")),
        bundle(1, (3, 101, "E|100\n"), (4, 100, "B|100|inner\n"), (4.5, 100, "C|100|level|3\n")),
        bundle(0, (5, 101, "S|100|request|7\n"), (6, 101, "B|100|also gone\n")),
        bundle(1, (9, 101, "E|100\n"), (11, 101, "B|100|within\n"), (12, 101, "E|100\n"), (19, 101, "B|100|late\n")),
        bundle(0, (15, 100, "E|100\n"), (16, 100, "B|100|second\n"), (21, 100, "B|100|behind\n")),
        bundle(1, (22, 100, "E|100\n"), (23, 101, "E|100\n"), (24, 101, "B|100|open\n")),
        bundle(0, (25, 100, "E|100\n"), (26, 101, "F|100|request|7\n"), (27, 100, "B|100|more\n")),
        bundle(1, (30, 100, "E|100\n"), (31, 100, "E|100\n"), (32, 100, "C|100|level|4\n")),
    ]
    path = tmp_path / "t"
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in made))
    return path


def seen(session):
    start, end = PART
    table = session.query(
        f"""SELECT max(ts, {start}) AS begin, min(iif(dur < 0, {end}, ts + dur), {end}) AS behind, depth,
                   slice.name AS name, ifnull(tid, 0) AS tid
            FROM slice LEFT JOIN thread_track ON track_id = thread_track.id LEFT JOIN thread USING (utid)
            WHERE ts < {end} AND (dur < 0 OR ts + dur > {start})""",
        {"begin": "int64", "behind": "int64", "depth": "int64", "name": "string", "tid": "int64"},
    )
    level = session.query(
        f"SELECT value FROM counter JOIN track ON track.id = track_id "
        f"WHERE track.name = 'level' AND ts <= {start} ORDER BY ts DESC LIMIT 1",
        {"value": "float64"},
    )
    rows = zip(*(table[name].tolist() for name in ("begin", "behind", "depth", "name", "tid")), strict=True)
    return sorted(rows), level["value"].tolist()


def test_sections_and_how_deep_they_lie_are_the_same_across_the_borders(crossing, tmp_path, settings):
    target = tmp_path / "cut"
    windows = count_events(crossing, MAX_BYTES, survey(crossing, MAX_BYTES), (), SECOND)
    with target.open("wb") as file:
        done = cut_trace(crossing, MAX_BYTES, [PART], windows.bundles, file.write)
    with open_trace(crossing, settings) as before, open_trace(target, settings) as after:
        expected = seen(before)
        assert seen(after) == expected
        assert {row[3] for row in expected[0]} == {"outer", "inner", "request", "within", "late", "second"}
        assert max(row[2] for row in expected[0]) == 1
        assert expected[1] == [3.0]
    left = proto.Trace.FromString(target.read_bytes()).packet
    texts = [event.print.buf.strip() for packet in left for event in packet.ftrace_events.event]
    assert not {"B|100|gone", "B|100|also gone", "B|100|behind", "B|100|open", "B|100|more"} & set(texts)
    assert done.bundle_count == sum(packet.HasField("ftrace_events") for packet in left)
