"""A recording judged while it comes: the same windows as afterwards, nothing lost that was not judged."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.cli import main
from perfreg_assets.model.trace_source import Source
from perfreg_assets.model.watching import STATUS, TraceWatch, require_even
from perfreg_assets.model.window_judging import judge_trace, window_ns
from perfreg_assets.settings import Settings
from perfreg_assets.traces import spool as spool_module
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.packets import framed
from perfreg_assets.traces.reduced import DOCUMENT
from tests.model.judged_as_whole import assert_judged_as_whole, assert_seconds_add_up
from tests.traces.cut_comparison import found_in
from tests.traces.long_traces import BUNDLE_NS, START_NS, USUAL, bundle, head, write_long_trace

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Five minutes, of which one second of disturbance and four without an event."""
    folder = tmp_path_factory.mktemp("recording")
    return write_long_trace(folder / "t", 300, (220, 222), per_bundle=400, silent=range(260, 264))


@pytest.fixture
def quick():
    return Settings(trace_processor="wasm", reduction_reference_s=140)


def watched(recording, folder, settings, *, piece=40_000, app=None, **options):
    content = recording.read_bytes()
    watch = TraceWatch(folder, settings, None, lag_s=4.0, app=app)
    for begin in range(0, len(content), piece):
        watch.append(content[begin : begin + piece])
        watch.step(is_last=begin + piece >= len(content), **options)
    return watch


def test_what_is_judged_while_it_comes_is_what_is_judged_afterwards(recording, quick, tmp_path):
    watch = watched(recording, tmp_path / "a", quick)
    _, told = watch.finish("complete", source="here")
    assert_judged_as_whole(told, recording, quick)


def test_what_is_stored_is_whole_inside_and_the_spool_stays_small(recording, quick, tmp_path):
    watch = watched(recording, tmp_path / "a", quick)
    sizes = [one.bytes for one in watch.files]
    assert len(sizes) == 3  # the disturbance, the hang, and how it ends
    assert sum(sizes) < recording.stat().st_size / 5
    with open_trace(recording, quick) as before:
        for one in watch.files:
            with open_trace(tmp_path / "a" / one.name, quick) as after:
                for start, end in one.stretches:
                    assert found_in(after, start, end) == found_in(before, start, end)
    watch.finish("complete", source="here")
    left = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert left == [*(f"kept-000{number}.perfetto-trace" for number in (1, 2, 3)), STATUS, DOCUMENT]
    assert json.loads((tmp_path / "a" / STATUS).read_text())["state"] == "complete"


def test_the_end_may_be_asked_for_again(recording, quick, tmp_path):
    watch = watched(recording, tmp_path / "a", quick)
    before = list(watch.files)
    watch.step(is_last=True)
    _, told = watch.finish("complete", source="here")
    assert watch.files == before
    assert told["windows"][-1]["reason"] == "unfinished"
    assert told["stretches"][-1] == {"start_ns": told["windows"][-1]["start_ns"], "end_ns": told["end_ns"]}
    assert "not_judged" not in {window["reason"] for window in told["windows"]}


def test_what_was_not_recorded_between_two_recordings_is_told_and_is_no_hang(recording, quick, tmp_path):
    packets = timed_packets(recording.read_bytes())
    head = [content for time, content in packets if time is None]
    watch = TraceWatch(tmp_path / "a", quick, None, lag_s=4.0)
    for first, last in ((0, 170), (180, 200)):
        part = tmp_path / f"{first}"
        inside = [c for t, c in packets if t is not None and first <= (t - START_NS) // SECOND < last]
        part.write_bytes(b"".join([*head, *inside]))
        watch.take_file(part)
    _, told = watch.finish("complete", source="here")
    ((start, end),) = [(one["start_ns"], one["end_ns"]) for one in told["unseen"]]
    assert (start - START_NS) // SECOND == 170
    assert (end - START_NS) // SECOND == 180
    assert "silent" not in {window["reason"] for window in told["windows"]}
    assert told["stretches"] == []


def test_seconds_are_whole_though_recordings_of_their_own_end_within_them(recording, quick, tmp_path):
    """Each begins before the one before has ended, and ends where its last window does: a quarter past a second."""
    packets = timed_packets(recording.read_bytes())
    rng = np.random.default_rng(4)
    watch = TraceWatch(tmp_path / "a", quick.with_values(reduction_window_s=0.25), None, lag_s=4.0)
    ends = [0]
    for number in range(4):
        made = [c for t, c in packets if t is None or t < START_NS + 170 * SECOND] if number == 0 else []
        begin = START_NS + (170 + 10 * number) * SECOND + SECOND // 5 * number
        parts = [bundle(rng, core, begin + n * BUNDLE_NS, 400, USUAL) for n in range(5) for core in range(2)]
        path = tmp_path / f"{number}"
        path.write_bytes(b"".join([*made, *(framed(one.SerializeToString()) for one in [*head(), *parts])]))
        watch.take_file(path)
        ends.append(watch._boundary() - watch._events.start_ns)
    assert any(end % SECOND for end in ends)
    _, told = watch.finish("complete", source="here")
    assert_seconds_add_up(told)
    assert len(told["seconds"]) == -(-ends[-1] // SECOND)


@pytest.mark.parametrize("is_last", [False, True])
def test_of_recordings_one_by_one_only_how_the_last_one_ends_is_kept(recording, quick, tmp_path, is_last):
    """The others go on in the next, from where they end on."""
    packets = timed_packets(recording.read_bytes())
    made = [content for time, content in packets if time is None]
    watch = TraceWatch(tmp_path / "a", quick, None, lag_s=4.0)
    for number, (first, last) in enumerate(((0, 170), (166, 200))):
        path = tmp_path / f"{number}"
        inside = [c for t, c in packets if t is not None and first <= (t - START_NS) // SECOND < last]
        path.write_bytes(b"".join([*made, *inside]))
        watch.take_file(path, is_last=is_last and number == 1)
    _, told = watch.finish("complete", source="here")
    stored = [part for one in told["files"] for part in one["stretches"]]
    assert stored == told["stretches"]
    end = told["windows"][-1]
    assert stored == ([{"start_ns": end["start_ns"], "end_ns": told["end_ns"]}] if is_last else [])
    assert [one["reason"] for one in told["windows"]].count("unfinished") == int(is_last)


def test_a_gap_too_short_to_be_told_is_no_hang_either(recording, quick, tmp_path):
    packets = timed_packets(recording.read_bytes())
    first = tmp_path / "1"
    first.write_bytes(b"".join(c for t, c in packets if t is None or t < START_NS + 170 * SECOND))
    rng = np.random.default_rng(3)
    begin = START_NS + 170 * SECOND + 7 * SECOND // 10
    later = [bundle(rng, core, begin + n * BUNDLE_NS, 400, USUAL) for n in range(10) for core in range(2)]
    second = tmp_path / "2"
    second.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in [*head(), *later]))
    watch = TraceWatch(tmp_path / "a", quick, None, lag_s=4.0)
    watch.take_file(first)
    watch.take_file(second)
    _, told = watch.finish("complete", source="here")
    assert [w["reason"] for w in told["windows"] if w["events"] == 0] == ["empty"] * 2
    assert (told["unseen"], told["stretches"]) == ([], [])


def test_the_spool_holds_no_more_than_what_is_not_decided(recording, quick, tmp_path):
    content = recording.read_bytes()
    watch, largest = TraceWatch(tmp_path / "a", quick, None, lag_s=4.0), 0
    for begin in range(0, len(content), 40_000):
        watch.append(content[begin : begin + 40_000])
        watch.step()
        if begin > len(content) * 0.6:
            largest = max(largest, watch.spool.size)
    assert largest < len(content) / 8


def test_what_there_is_no_time_to_judge_is_kept(recording, quick, tmp_path):
    watch = watched(recording, tmp_path / "a", quick, is_behind=True)
    _, told = watch.finish("complete", source="here")
    later = told["windows"][140 * 4 :]
    assert all(window["is_kept"] and window["reason"] == "not_judged" for window in later)
    inside = sum(end - start for one in watch.files for start, end in one.stretches)
    assert inside >= 159 * SECOND


def test_events_that_come_after_their_windows_were_judged_are_kept(recording, quick, tmp_path):
    content = recording.read_bytes()
    packets = timed_packets(content)
    late = next(n for n, one in enumerate(packets) if one[0] is not None and one[0] >= START_NS + 180 * SECOND)
    order = [one for n, one in enumerate(packets) if n != late]
    order.insert(len(order) - 40, packets[late])
    watch = TraceWatch(tmp_path / "a", quick, None, lag_s=4.0)
    for begin in range(0, len(order), 6):
        watch.append(b"".join(one[1] for one in order[begin : begin + 6]))
        watch.step(is_last=begin + 6 >= len(order))
    _, told = watch.finish("complete", source="here")
    reasons = {
        w["reason"] for w in told["windows"] if START_NS + 180 * SECOND <= w["start_ns"] < START_NS + 181 * SECOND
    }
    assert reasons == {"not_judged"}


def timed_packets(content):
    """(first switch or None, bytes) of each packet."""
    made = []
    for packet in proto.Trace.FromString(content).packet:
        table = packet.ftrace_events.compact_sched
        time = table.switch_timestamp[0] if packet.HasField("ftrace_events") else None
        made.append((time, framed(packet.SerializeToString())))
    return made


def test_a_spool_is_found_again_with_its_offset_wherever_its_writer_was_killed(recording, tmp_path):
    content = recording.read_bytes()
    one = spool_module.new_spool(tmp_path)
    one.append(content[:50_001])
    one.replace(lambda write: write(content[:0]))
    one.append(content[50_001:90_000])
    with one.path.open("ab") as file:
        file.write(content[one.offset : one.offset + 5])  # torn
    found = spool_module.find_spool(tmp_path)
    assert found.offset <= 90_000
    found.append(content[found.offset :])
    assert content.endswith(found.path.read_bytes())
    assert found.offset == len(content)


def test_memory_that_grows_is_kept_though_no_event_tells_and_the_published_method_does_not_see_it(
    recording, quick, tmp_path
):
    """A poll in every second; the app grows by 1 MB in each of twenty seconds, by 10 kB in the others."""
    packets = [(START_NS if time is None else time, content) for time, content in timed_packets(recording.read_bytes())]
    size = 100_000
    for second in range(300):
        size += 1000 if 170 <= second < 190 else 10
        poll = proto.TracePacket(timestamp=START_NS + second * SECOND + SECOND // 2, trusted_packet_sequence_id=3)
        poll.process_stats.processes.add(pid=100, vm_rss_kb=2 * size, rss_anon_kb=size)
        packets.append((poll.timestamp, framed(poll.SerializeToString())))
    path = tmp_path / "t"
    path.write_bytes(b"".join(content for _, content in sorted(packets, key=lambda one: one[0])))

    def loaded(windows):
        starts = windows.events.starts_ns()
        return {int(starts[n] - START_NS) // SECOND for n, reason in enumerate(windows.reason) if reason == "load"}

    whole = judge_trace(Source(path, "com.rig.media"), quick)
    assert set(range(170, 190)) <= loaded(whole) <= set(range(140, 221))  # half minutes with some of it
    assert any(a <= START_NS + 170 * SECOND and b >= START_NS + 190 * SECOND for a, b in whole.stretches)
    assert loaded(judge_trace(Source(path), quick)) == set()  # no app is named
    assert loaded(judge_trace(Source(path, "com.other"), quick)) == set()
    assert loaded(judge_trace(Source(path, "com.rig.media"), quick.with_values(reduction_mode="seed"))) == set()
    watch = watched(path, tmp_path / "a", quick, app="com.rig.media")
    _, told = watch.finish("complete", source="here")
    assert told["stretches"] == [{"start_ns": a, "end_ns": b} for a, b in whole.stretches]
    assert told["load_limits"]["app"] == "com.rig.media"


@pytest.mark.parametrize("window_s", [0.01, 0.04, 0.25, 0.3, 0.033, 1.5, 60])
def test_windows_that_end_with_a_second_now_and_then_are_judged_while_they_come(window_s):
    require_even(window_ns(Settings(reduction_window_s=window_s)))


@pytest.mark.parametrize("window_s", [0.0333, 1 / 30, 0.0401])
def test_windows_that_would_be_judged_at_the_end_alone_are_refused_before_a_device_is_touched(
    window_s, tmp_path, monkeypatch
):
    monkeypatch.setenv("PERFREG_REDUCTION_WINDOW_S", str(window_s))
    warehouse = tmp_path / "w.duckdb"
    asked = ["collect", "--app", "com.rig.notes", "--endurance", "1h", "--warehouse", str(warehouse)]
    told = CliRunner().invoke(main, asked)
    assert told.exit_code == 1
    assert f"windows of {window_s:g} s end with a whole second only every" in told.stderr
