"""Profiles beside a trace: what they tell is placed by the monotonic clock, and what cannot be read says why."""

from __future__ import annotations

import gzip
import os
import signal
import struct
import sys
from collections import Counter
from contextlib import nullcontext, suppress
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from made_profiles import LOAD, ON_CREATE, method_blocks, method_trace, perf_data, report, text_report

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces import window_details as details
from perfreg_assets.traces.clock_snapshots import ClockSnapshots
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.method_traces import method_times
from perfreg_assets.traces.profile_files import HEAD_BYTES, ProfileFile, profile_kind
from perfreg_assets.traces.simpleperf import read_report
from perfreg_assets.traces.simpleperf_text import read_text_report

SECOND = 1_000_000_000
MS = 1_000_000
US = 1_000_000
"""A second in µs."""
APP = "com.rig.app"
AHEAD = 7 * SECOND
"""So much further is the trace's clock than the monotonic one."""


@pytest.fixture
def trace(make_trace, tmp_path):
    """A trace of ten seconds from 20 s on in which the app's thread 11 is called render-1."""
    maker = make_trace().process(10, APP, {11: "render-1"}).process(20, "other", {21: "worker"})
    snapshot = maker._builder.add_packet().clock_snapshot
    for clock_id in (1, 2, 3, 4, 5, 6):
        snapshot.clocks.add(clock_id=clock_id, timestamp=20 * SECOND - (AHEAD if clock_id in (3, 5) else 0))
    return maker.schedule([(0, 11, 20 * SECOND, 30 * SECOND)]).write(tmp_path / "t.perfetto-trace")


@pytest.fixture
def look(trace, tmp_path, settings):
    """Seconds 20 to 29 of the trace with some profiles beside it: name → content."""
    home = settings.with_values(home=tmp_path / "home")

    def look(files, sha256="abc"):
        beside = []
        for name, content in files.items():
            path = tmp_path / name
            if content is not None:
                path.write_bytes(content)
            kind = profile_kind(content[:HEAD_BYTES]) if content else "method_trace"
            beside.append(ProfileFile(name, nullcontext(path), kind or "method_trace", f"{name}-{hash(content)}"))
        ranges = [(k * SECOND, (k + 1) * SECOND) for k in range(20, 29)]
        return details.window_details(nullcontext(trace), sha256, APP, ranges, home, profiles=beside)

    return look


CALLS = [(1, 4, 0, 4 * US), (1, 8, US // 2, 3 * US // 2), (1, 8, 2 * US, 2 * US + US // 4), (2, 8, 0, US)]


def _self_times(calls, thread, second):
    """Per microsecond: the innermost method on a thread; slow and plain."""
    step = 1000
    found: Counter[tuple[str, ...]] = Counter()
    for at in range(second * US, (second + 1) * US, step):
        on = sorted((one for one in calls if one[0] == thread and one[2] <= at < one[3]), key=lambda one: one[2])
        if on:
            found[tuple({4: ON_CREATE, 8: LOAD}[one[1]] for one in on)] += step
    return {path: time / US for path, time in found.items()}


START_NS = 22 * SECOND - AHEAD
FORMATS = {
    "file": lambda clock: method_trace(START_NS // 1000, CALLS, clock=clock),
    "streamed": lambda clock: method_trace(START_NS // 1000, CALLS, clock=clock, streamed=True),
    "blocks": lambda clock: method_blocks(START_NS, CALLS, clock=clock),
    "blocks by a counter": lambda clock: method_blocks(START_NS, CALLS, clock=clock, rate_hz=24_000_000),
}


@pytest.mark.parametrize("clock", ["dual", "wall"])
@pytest.mark.parametrize("form", FORMATS)
def test_self_times_of_methods_by_second_of_the_trace(look, clock, form):
    found = look({"cpu.trace": FORMATS[form](clock)})
    assert found.unread == ()
    assert found.covered == {"method_trace": [(22 * SECOND, 26 * SECOND)]}
    told = {
        (row["range"], row["thread"], tuple(row["path"])): row["self_s"]
        for row in found.methods.to_pylist()
        if row["self_s"]
    }
    expected = {
        (2 + second, name, path): pytest.approx(time)
        for number, name in ((1, "main"), (2, "pool-#"))
        for second in range(4)
        for path, time in _self_times(CALLS, number, second).items()
    }
    assert told == expected
    assert {(row["process"], row["is_app"]) for row in found.methods.to_pylist()} == {(APP, True)}
    assert found.method_clock == "wall"
    assert found.slices.num_rows == 0, "methods are no slices of the trace"


CPU_FORMATS = {
    "file": method_trace(START_NS // 1000, CALLS, clock="thread-cpu", elapsed_us=8 * US),
    "streamed": method_trace(START_NS // 1000, CALLS, clock="thread-cpu", elapsed_us=8 * US, streamed=True),
    "blocks": method_blocks(START_NS, CALLS, clock="thread-cpu", elapsed_ns=8 * SECOND),
}


@pytest.mark.parametrize("form", CPU_FORMATS)
def test_time_on_a_core_is_shared_by_the_seconds_of_the_trace(look, form):
    """The clock does not tell when: of four seconds with on_create at its core within eight, each second has half."""
    found = look({"cpu.trace": CPU_FORMATS[form]})
    assert found.unread == ()
    assert found.method_clock == "thread-cpu"
    assert found.covered == {"method_trace": [(22 * SECOND, 30 * SECOND)]}
    told = {
        (row["range"], row["thread"], tuple(row["path"])): row["self_s"]
        for row in found.methods.to_pylist()
        if row["self_s"]
    }
    spent = {("main", (ON_CREATE,)): 2.75, ("main", (ON_CREATE, LOAD)): 1.25, ("pool-#", (LOAD,)): 1.0}
    assert told == {(second, *what): pytest.approx(time / 8) for what, time in spent.items() for second in range(2, 9)}


def test_microseconds_that_run_over_after_71_minutes():
    """32 bits of them; each thread runs over by itself."""
    over = 1 << 32
    calls = [(1, 4, over - 3 * US, over + 2 * US), (2, 8, over - 2 * US, over - US)]
    content = method_trace(1000, [])
    content += b"".join(
        struct.pack("<HIII", thread, method | action, 0, at % over)
        for thread, method, start, end in calls
        for action, at in ((0, start), (1, end))
    )
    times, covered, clock = method_times(content, "a.trace", APP, [(0, 2 * over * 1000)])
    told = {(row["thread"], row["path"][0]): row["self_s"] for row in times.rows.to_pylist()}
    assert told == {("main", ON_CREATE): pytest.approx(5), ("pool-#", LOAD): pytest.approx(1)}
    assert (covered[1] - covered[0], clock) == (5 * SECOND, "wall")


def test_times_by_different_clocks_are_not_put_together(look):
    found = look({"a.trace": FORMATS["file"]("wall"), "b.trace": CPU_FORMATS["file"]})
    assert [(one.name, one.why.partition(";")[0]) for one in found.unread] == [
        ("b.trace", "b.trace tells thread-cpu, another one wall: Method traces by the clock thread-cpu and by wall time"
         " tell different things")
    ]  # fmt: skip
    assert {row["range"] for row in found.methods.to_pylist()} == {2, 3, 4, 5}


def test_blocks_byte_by_byte(look):
    """Version 4 by hand: thread 9 enters method 0x10 at 0.5 s, leaves it by an exception at 1 s."""
    content = bytes.fromhex(
        "534c4f57 f400 00d2496b03000000 0000000000000000 0000000000000000 0000"  # SLOW, 4 streamed, 14.68 s
        "00 09000000 0400 6d61696e"  # main
        "01 1000000000000000 0900 6309 6d09 28295609 0a"  # c, m, ()V
        "02 09000000 020000 0c000000 10 80cab5ee01 02 80cab5ee01"
        "03 2200 2a76657273696f6e0a 340a 636c6f636b3d77616c6c0a 766d3d6172740a 2a656e640a"
    )
    found = look({"cpu.trace": content})
    assert [one.why for one in found.unread] == []
    told = {row["range"]: (row["thread"], row["path"], row["self_s"]) for row in found.methods.to_pylist()}
    start = 0x36B49D200 + AHEAD
    assert found.covered == {"method_trace": [(start + SECOND // 2, start + SECOND)]}
    assert told == {(start + SECOND // 2) // SECOND - 20: ("main", ["c.m: ()V"], pytest.approx(0.5))}


@hypothesis.settings(deadline=None, max_examples=150)
@given(st.sampled_from(sorted(FORMATS)), st.integers(0, 400), st.integers(0, 255), st.integers(0, 400))
def test_a_damaged_method_trace_is_read_or_refused(form, at, value, cut):
    content = bytearray(FORMATS[form]("dual"))
    content[at % len(content)] = value
    with suppress(Rejected):
        method_times(bytes(content[: len(content) - cut % 40]), "a.trace", APP, [(START_NS, START_NS + SECOND)])


@pytest.mark.parametrize("written", [report, text_report], ids=["protobuf", "text"])
def test_stacks_of_a_report_by_thread_of_the_trace(look, written):
    moments = [25 * SECOND - AHEAD + k * MS for k in range(200)]
    samples = [(at, 11, ["inner", "?", "outer"]) for at in moments] + [(at, 21, ["idle"]) for at in moments[:50]]
    samples += [(moments[0], 99, ["outer"]), (moments[0], 11, [])]
    found = look({"simpleperf.trace": written(samples)})
    told = {
        (row["range"], row["is_app"], row["process"], row["thread"], tuple(row["path"])): (
            row["count"],
            row["self_value"],
        )
        for row in found.stacks.to_pylist()
    }
    assert told == {
        (5, True, APP, "render-#", ("outer", "[libapp.so]", "inner")): (200, pytest.approx(0.2)),
        (5, False, "other", "worker", ("idle",)): (50, pytest.approx(0.05)),
        (5, False, "?", "thread-#", ("outer",)): (1, pytest.approx(0.001)),
    }
    assert set(found.stacks.column("unit").to_pylist()) == {"s"}
    assert (found.sample_count, found.without_stack_count) == (252, 1)
    assert found.covered == {"call_stacks": [(25 * SECOND, 25 * SECOND + 199 * MS)]}


@pytest.mark.parametrize("written", [report, text_report], ids=["protobuf", "text"])
def test_a_report_of_the_app_knows_whose_unknown_threads_are(look, written):
    found = look({"r": written([(25 * SECOND - AHEAD, 99, ["run"])], app=APP)})
    (row,) = found.stacks.to_pylist()
    assert (row["is_app"], row["process"], row["thread"]) == (True, APP, "thread-#")


def test_stacks_of_perf_data_by_thread_of_the_trace(look):
    samples = [(25 * SECOND - AHEAD + k * MS, 11, [0x10, 0x20]) for k in range(100)]
    found = look({"perf.data": perf_data(samples)})
    assert found.unread == ()
    (row,) = found.stacks.to_pylist()
    assert (row["range"], row["is_app"], row["process"], row["thread"]) == (5, True, APP, "render-#")
    assert (row["path"], row["count"], row["unit"]) == (["[libapp.so]", "[libapp.so]"], 100, "s")
    assert row["self_value"] == pytest.approx(0.1)


def test_a_profile_whose_engine_something_else_ended_is_read_once_more(look, monkeypatch):
    """It would be looked at again only when it is another file."""
    original, killed = TraceSession.load, []

    def load(self, chunks, *, name=None):
        if name == "perf.data" and not killed:
            killed.append(self._process.pid)
            os.kill(self._process.pid, signal.SIGKILL)
        original(self, chunks, name=name)

    monkeypatch.setattr(TraceSession, "load", load)
    samples = [(25 * SECOND - AHEAD + k * MS, 11, [0x10, 0x20]) for k in range(100)]
    found = look({"perf.data": perf_data(samples)})
    assert (len(killed), found.unread) == (1, ())


def test_samples_of_cycles_are_no_times_and_say_so(look):
    samples = [(25 * SECOND - AHEAD + k * MS, 11, ["run"]) for k in range(9)]
    found = look({"r": report(samples, event="cpu-cycles:u")})
    assert found.stacks.num_rows == 0
    assert found.unread[0].why.startswith("r counts cpu-cycles:u")
    assert "cpu-clock" in found.unread[0].why


def test_perf_data_that_does_not_tell_what_it_counts(look):
    samples = [(25 * SECOND - AHEAD + k * MS, 11, [0x10]) for k in range(9)]
    found = look({"perf.data": perf_data(samples, event="")})
    assert found.unread[0].why.startswith("perf.data counts events without a name")


def test_packed_profiles_and_several_of_a_kind(look):
    one = method_trace((22 * SECOND - AHEAD) // 1000, [(1, 4, 0, US)])
    other = method_trace((24 * SECOND - AHEAD) // 1000, [(1, 8, 0, US)])
    found = look({"a.trace.gz": gzip.compress(one), "b.trace": other})
    assert [(row["range"], row["path"], row["self_s"]) for row in found.methods.to_pylist() if row["self_s"]] == [
        (2, [ON_CREATE], 1.0),
        (4, [LOAD], 1.0),
    ]
    assert found.covered["method_trace"] == [(22 * SECOND, 23 * SECOND), (24 * SECOND, 25 * SECOND)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gone.trace", None),
        ("empty.trace", b""),
        ("text.trace", b"no profile at all\n"),
        ("cut.trace", method_trace(1000, CALLS, streamed=True)[:-9]),
        ("cpu.trace", method_trace(1000, CALLS).replace(b"clock=dual", b"clock=thread-cpu")),
        ("clock.trace", method_trace(1000, CALLS).replace(b"clock=dual", b"clock=sundial")),
        ("elapsed.trace", method_trace(1000, CALLS, clock="thread-cpu", elapsed_us=0)),
        ("newer.trace", b"SLOW\x06\0" + bytes(26)),
        ("head.trace", b"SLOW\xf5\0"),
        ("cut-blocks.trace", method_blocks(START_NS, CALLS)[:-9]),
        ("more-blocks.trace", method_blocks(START_NS, CALLS) + b"\0"),
        ("version.trace", method_blocks(START_NS, CALLS).replace(b"clock=dual", b"clock=wall")),
        ("draft.trace", method_blocks(START_NS, CALLS).replace(b"\x02\1\0\0\0\x06", b"\x02\1\0\0\0\x07")),
        ("counter.trace", method_blocks(START_NS, CALLS, clock="thread-cpu", rate_hz=1_000_000)),
        ("nothing.trace", method_trace(1000, [])),
    ],
)
def test_a_method_trace_that_cannot_be_read_says_why_and_is_tried_again(look, name, content):
    good = report([(25 * SECOND - AHEAD, 11, ["run"])])
    found = look({name: content, "r": good})
    ((unread, kind, why),) = ((one.name, one.kind, one.why) for one in found.unread)
    assert (unread, kind) == (name, "method_trace")
    assert why
    assert found.stacks.num_rows == 1, "the other one counts"
    fine = method_trace((22 * SECOND - AHEAD) // 1000, [(1, 4, 0, US)])
    assert look({name: fine, "r": good}).unread == ()


@pytest.mark.parametrize("cut", [5, 11, 14, 40, -1])
def test_a_report_that_is_cut_is_refused(look, cut):
    whole = report([(25 * SECOND - AHEAD, 11, ["run"])])
    with pytest.raises(Rejected) as caught:
        read_report([whole[:cut]], "r")
    assert caught.value.reason is Reason.PROFILE_DAMAGED
    with pytest.raises(Rejected):
        read_report([whole.replace(b"SIMPLEPERF\1", b"SIMPLEPERF\2")], "r")


@pytest.mark.parametrize("cut", [30, 60, 170, 250, -1, -20])
def test_a_text_report_that_is_cut_is_refused(cut):
    whole = text_report([(25 * SECOND - AHEAD, 11, ["run", "outer"])])
    with pytest.raises(Rejected) as caught:
        read_text_report([whole[: cut if cut != -1 else whole.index(b"lost_situation")]], "r")
    assert caught.value.reason is Reason.PROFILE_DAMAGED


def test_a_text_report_names_what_is_wrong():
    whole = text_report([(7, 11, ["a::b(int): c", "outer"])])
    assert read_text_report([whole[:50], whole[50:]], "r").symbols == {0: ["a::b(int): c", "outer"]}
    assert read_text_report([whole.replace(b"\n", b"\r\n")], "r").app == ""
    for old, new, words in (
        (b"  time: 7", b"  time: soon", "lacks"), (b"  time: 7\n", b"", "lacks 'time'"),
        (b"  time: 7", b"  time: 99999999999999999999", "out of range"), (b"  time: 7", b"nonsense", "'nonsense'"),
        (b"  vaddr_in_file: 10\n", b"", "before an address"),
    ):  # fmt: skip
        with pytest.raises(Rejected, match=words):
            read_text_report([whole.replace(old, new, 1)], "r")


@hypothesis.settings(deadline=None)
@given(st.lists(st.integers(1, 40), max_size=20))
def test_a_report_in_any_pieces_is_the_same(lengths):
    whole = report([(k, 11, ["a", "b"][: k % 3]) for k in range(9)])
    pieces, at = [], 0
    for length in lengths:
        pieces.append(whole[at : at + length])
        at += length
    found, expected = read_report([*pieces, whole[at:]], "r"), read_report([whole], "r")
    assert (found.stacks, found.symbols, found.threads) == (expected.stacks, expected.symbols, expected.threads)
    assert found.stack.tolist() == expected.stack.tolist()


def test_without_the_clock_nothing_is_placed(make_trace, tmp_path, settings):
    maker = make_trace().process(10, APP, {11: "render"}).schedule([(0, 11, SECOND, 2 * SECOND)])
    path = maker.write(tmp_path / "t.perfetto-trace")
    (tmp_path / "a.trace").write_bytes(method_trace(1_000_000, CALLS))
    beside = [ProfileFile("a.trace", nullcontext(tmp_path / "a.trace"), "method_trace", "1")]
    home = settings.with_values(home=tmp_path / "home")
    found = details.window_details(nullcontext(path), "abc", APP, [(SECOND, 2 * SECOND)], home, profiles=beside)
    assert "monotonic clock" in found.unread[0].why
    assert found.methods.num_rows == 0


def test_what_profiles_told_is_kept_by_their_content(look, trace):
    first = look({"a.trace": method_trace((22 * SECOND - AHEAD) // 1000, CALLS)})
    trace.unlink()
    again = look({"a.trace": method_trace((22 * SECOND - AHEAD) // 1000, CALLS)})
    assert again == first
    with pytest.raises(Rejected):
        look({"a.trace": method_trace((23 * SECOND - AHEAD) // 1000, CALLS)})


@hypothesis.settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 100), st.integers(0, 50)), min_size=1, max_size=5),
    st.lists(st.integers(0, 600), max_size=9),
)
def test_moments_of_the_clock_and_back(steps, moments):
    """The trace's clock runs on while the device sleeps, the monotonic one does not."""
    awake = np.cumsum([length for length, _ in steps])
    clock = ClockSnapshots(awake + np.cumsum([asleep for _, asleep in steps]), awake)
    at = np.array(moments, np.int64)
    assert clock.to_clock(clock.to_trace(at)).tolist() == at.tolist()
    assert (np.diff(clock.to_clock(np.sort(at))) >= 0).all()


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"*version\n3\n", "method_trace"),
        (b"SLOW\xf3\0", "method_trace"),
        (b"SIMPLEPERF\1\0", "call_stacks"),
        (b"PERFILE2", "call_stacks"),
        (text_report([])[:HEAD_BYTES], "call_stacks"),
        (text_report([(1, 2, ["a"])]).partition(b"sample:")[2].join([b"sample:", b""]), "call_stacks"),
        (b"sample: of text", None),
        (gzip.compress(b"SLOW" + bytes(9_000), mtime=0)[:HEAD_BYTES], "method_trace"),
        (b"\x1f\x8bnonsense", None),
        (b"", None),
        (b"\x0a\x20", None),
        (b"slow", None),
    ],
)
def test_kinds_by_first_bytes(head, kind):
    assert profile_kind(head) == kind
