"""A device that slept: who was on a core as it fell asleep did not run until it woke up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.power_series import drawn
from perfreg_assets.traces.profile_choice import Profiles
from perfreg_assets.traces.row_series import RULES
from perfreg_assets.traces.sched_series import sched_series
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.suspends import awake_parts, silences
from perfreg_assets.traces.thread_times import thread_times

S = 1_000_000_000
APP, T0 = "com.example.app", 100 * S
BOOT, MONOTONIC, REALTIME = 6, 3, 1


def seconds(*values):
    return np.array([round(value * S) for value in values], np.int64)


def told(begin, end):
    return list(zip((begin / S).tolist(), (end / S).tolist(), strict=True))


# ---- where the silences are --------------------------------------------------------------------------
def test_the_sleep_is_the_longest_silence_between_the_snapshots():
    events = seconds(0.5, 1, 1.2, 7.5, 8, 30)
    found = silences(seconds(0, 10, 40), seconds(0, 10, 40), seconds(0, 4, 34), events)
    assert told(*found) == [(1.2, 7.2)]  # of 6.3 s without a word 6 s asleep; the 22 s after it awake


def test_several_sleeps_are_as_long_together_as_the_clocks_say():
    events = seconds(1, 4, 4.5, 9.5)
    found = silences(seconds(0, 10), seconds(0, 10), seconds(0, 3), events)
    assert told(*found) == [(1, 3), (4.5, 9.5)]


@pytest.mark.parametrize(
    ("trace", "boot", "monotonic"),
    [
        ((0, 10), (0, 10), (0, 9.5)),  # half a second is what reading clocks one after the other may take
        ((0, 4), (0, 10), (0, 4)),  # the trace's own clock stood still, too
        ((0, 3610), (0, 10), (0, 10)),  # a trace by the wall clock, which was set
        ((0,), (0,), (0,)),
    ],
    ids=["too short", "monotonic trace", "wall clock", "one snapshot"],
)
def test_no_sleep_is_none(trace, boot, monotonic):
    found = silences(seconds(*trace), seconds(*boot), seconds(*monotonic), seconds(1, 2))
    assert told(*found) == []


# ---- slices ------------------------------------------------------------------------------------------
@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 20)), max_size=12),
    st.lists(st.integers(0, 100), unique=True, max_size=8),
)
@settings(max_examples=300, deadline=None)
def test_what_is_left_is_what_was_while_it_was_awake(stretches, cuts):
    """Against a look at every instant; stretches may overlap, and begin and end in a sleep."""
    start = np.array([begin for begin, _ in stretches], np.int64)
    end = start + np.array([length for _, length in stretches], np.int64)
    sleeps = list(zip(sorted(cuts)[::2], sorted(cuts)[1::2], strict=False))
    asleep = tuple(np.array([one[k] for one in sleeps], np.int64) for k in range(2))
    found = list(zip(*(one.tolist() for one in awake_parts(start, end, asleep)), strict=True))
    assert found == sorted(found)
    assert sorted((moment, row) for row, begin, stop in found for moment in range(begin, stop)) == sorted(
        (moment, row)
        for row, (begin, stop) in enumerate(zip(start.tolist(), end.tolist(), strict=True))
        for moment in range(begin, stop)
        if not any(a <= moment < b for a, b in sleeps)
    )
    empty = [row for row, begin, stop in found if begin == stop]
    assert empty == [
        row for row, (begin, length) in enumerate(stretches) if not length and not any(a < begin < b for a, b in sleeps)
    ]


# ---- from a trace ------------------------------------------------------------------------------------
def snapshot(made, boot, monotonic, real=None):
    packet = made.packet()
    packet.timestamp = boot
    shown = {BOOT: boot, MONOTONIC: monotonic, REALTIME: boot if real is None else real, 2: boot, 4: boot, 5: boot}
    for clock, value in shown.items():
        packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=value)


@pytest.fixture
def slept(make_trace, settings, tmp_path):
    """A scope over 26 s, of which the device sleeps from second 8 to 18 with a thread on core 0."""
    opened = []

    def make(asleep_s):
        made = make_trace()
        made.process(101, APP, {103: "worker"}, ts=T0 - S)
        made.process(202, "system_suspend", ts=T0 - S)
        for at, lost in ((-1, 0), (7.9, 0), (18.1, asleep_s)):
            snapshot(made, T0 + round(at * S), T0 + round((at - lost) * S))
        rows = [(0, 101, at + 0.1, at + 0.4) for at in (*range(8), *range(18, 26))]
        rows += [(0, 202, 8.0, 18.0), (1, 103, 1.0, 2.0), (1, 103, 20.0, 21.0)]
        made.schedule([(core, tid, T0 + round(a * S), T0 + round(b * S)) for core, tid, a, b in rows])
        made.frequency(0, T0, 600_000).frequency(1, T0, 1_000_000)
        made.blocked(T0 + round(19.9 * S), 103, "filemap_fault", cpu=1)
        for tid, at in ((101, 7.5), (101, 18.9), (103, 19.9)):
            woken = {"pid": tid, "comm": "x", "prio": 120, "target_cpu": 1}
            made.told(T0 + round(at * S) + 1, "sched_waking", cpu=1, tid=202, **woken)
        session = open_trace(made.write(tmp_path / f"{len(opened)}.pftrace"), settings)
        opened.append(session)
        return Scope(session, load_contents(session), Grid.covering(T0, T0 + 25 * S, 1.0), APP, Profiles())

    yield make
    for session in opened:
        session.close()


def test_nothing_ran_while_the_device_slept_by_series_threads_and_times_alike(slept):
    asleep, awake = slept(10), slept(0)
    found, before = ({one.name: one.values for one in sched_series(scope)} for scope in (asleep, awake))
    inside = np.arange(25)
    inside = (inside >= 8) & (inside < 18)
    assert before["cpu_total"][inside] == pytest.approx([1.0] * 10)
    assert found["cpu_total"][inside] == pytest.approx([0.0] * 10)
    assert found["cycles_total"][inside] == pytest.approx([0.0] * 10)
    for name, values in found.items():
        assert values[~inside] == pytest.approx(before[name][~inside])
    times = thread_times(asleep)
    assert "system_suspend" not in dict(zip(times.process, times.seconds.sum(axis=1), strict=True))
    assert dict(zip(thread_times(awake).process, thread_times(awake).seconds.sum(axis=1), strict=True))[
        "system_suspend"
    ] == pytest.approx(10.0)
    # By the scopes of states: nothing is anybody's else but the app's.
    for scope, others_s in ((asleep, 0.0), (awake, 10.0)):
        assert scope.once(drawn).times.seconds()[:, :, 1, 0].sum() == pytest.approx(others_s)
    assert asleep.contents.recorded_ns == awake.contents.recorded_ns


def test_nobody_waits_while_the_device_sleeps(slept):
    """Thread main is woken just before and gets its core afterwards; worker waits for a page all along."""
    expected = {"runnable": (0.6 + 0.2 + 0.1, 10.9), "sleeping:filemap_fault": (7.9, 17.9)}
    for scope, night in ((slept(10), 0), (slept(0), 1)):
        times = thread_times(scope)
        seconds = dict.fromkeys(expected, 0.0)
        for state, total in zip(times.state, times.seconds.sum(axis=1).tolist(), strict=True):
            if state in seconds:
                seconds[state] += total
        assert seconds == {state: pytest.approx(both[night], abs=1e-3) for state, both in expected.items()}
        (runnable,) = (one for rule in RULES if rule.series == "runnable_app" for one in rule.extract(scope))
        assert runnable.values.sum() == pytest.approx(expected["runnable"][night], abs=1e-3)


def test_a_wall_clock_that_is_set_is_no_sleep(make_trace, settings, tmp_path):
    made = make_trace().process(101, APP, ts=T0 - S)
    for at, lead in ((-1, 0), (3, 3600), (7, 0)):
        snapshot(made, T0 + at * S, T0 + at * S, T0 + (at + lead) * S)
    made.schedule([(0, 101, T0, T0 + 6 * S)])
    with open_trace(made.write(tmp_path / "t.pftrace"), settings) as session:
        sched = load_contents(session).sched
    assert (sched.end_ns - sched.start_ns).max() == 6 * S
