"""Times in state against a sweep that asks every instant, and what must hold of any of them."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.methods.power_profile import CoreCluster, PowerProfile
from perfreg_assets.methods.power_states import (
    AWAKE,
    SEGMENT,
    STATE,
    THREAD,
    Events,
    States,
    levels,
    times_in_states,
)

STATES = States(np.array([0, 0, 1, 1]), np.array([300e3, 600e3, 500e3, 1000e3]))
CLUSTER_OF = np.array([0, 0, 0, 1, 1])
OWNERS = np.array([0, 1, 1])


def slow_sweep(events, cluster_of, owner_of, state_count, segment_count, quiet):
    """Every instant between two events, asked one by one, in exact fractions of a ns: ({(segment, state, owner, part):
    time}, {(thread, state, part): time})."""
    cores = range(len(cluster_of))
    rows = list(zip(events.ts.tolist(), events.core.tolist(), events.kind.tolist(), events.value.tolist(), strict=True))
    moments = sorted({ts for ts, *_ in rows})
    times, threads = {}, {}
    for begin, end in pairwise(moments):
        segment, thread, state, awake = -1, [-1] * len(cores), [0] * len(cores), [0] * len(cores)
        for ts, core, kind, value in rows:  # everything that has happened so far, anew for every instant
            if ts > begin:
                continue
            if kind == SEGMENT:
                segment = value
            elif kind == THREAD:
                thread[core] = value
            elif kind == STATE:
                state[core] = value
            elif kind == AWAKE:
                awake[core] = value
        if segment < 0:
            continue
        words = [[row for row in rows if row[1] == core and row[2] in (THREAD, AWAKE)] for core in cores]
        following = [next((row for row in own if row[0] > begin), (moments[-1], 0, THREAD, 0)) for own in words]
        is_off = [
            after[0] - max([row[0] for row in own if row[0] <= begin], default=0) > quiet and after[2:] != (AWAKE, 0)
            for own, after in zip(words, following, strict=True)
        ]
        on = [core for core in cores if (awake[core] and not is_off[core]) or thread[core] >= 0]
        for core in on:
            together = [other for other in on if cluster_of[other] == cluster_of[core]]
            owner = owner_of[thread[core]] if thread[core] >= 0 else 2
            for part, share in enumerate((1, len(together), len(on))):
                amount = Fraction(end - begin, share)
                key = (segment, state[core], int(owner), part)
                times[key] = times.get(key, 0) + amount
                if thread[core] >= 0:
                    own = (thread[core], state[core], part)
                    threads[own] = threads.get(own, 0) + amount
    return times, threads


@st.composite
def recordings(draw):
    """Slices of three threads on five cores, changes of frequency and of idleness, and borders of segments."""
    parts = []
    for core in range(5):
        borders = sorted(draw(st.lists(st.integers(0, 60), max_size=8, unique=True)))
        for begin, end in zip(borders[::2], borders[1::2], strict=False):
            thread = draw(st.integers(0, 2))
            parts += [(begin, core, THREAD, thread), (end, core, THREAD, -1)]
        low = 0 if core < 3 else 2
        parts.append((0, core, STATE, low))
        parts += [
            (ts, core, STATE, low + draw(st.integers(0, 1))) for ts in draw(st.sets(st.integers(1, 60), max_size=4))
        ]
        parts += [(ts, core, AWAKE, draw(st.integers(0, 1))) for ts in draw(st.sets(st.integers(0, 60), max_size=4))]
    cuts = sorted(draw(st.sets(st.integers(0, 60), min_size=2, max_size=5)))
    parts += [(ts, 0, SEGMENT, k if k < len(cuts) - 1 else -1) for k, ts in enumerate(cuts)]
    return parts, len(cuts) - 1


def ordered(parts):
    """Ends of threads before beginnings, as `Events` wants them."""
    rows = sorted(parts, key=lambda row: (row[0], row[2] == THREAD and row[3] >= 0))
    return Events(*(np.array([row[k] for row in rows], np.int64) for k in range(4)))


@given(recordings(), st.sampled_from([5, 20, 10**9]))
@settings(max_examples=100, deadline=None)
def test_the_pass_equals_the_sweep_over_every_instant(recording, quiet):
    parts, segments = recording
    events = ordered(parts)
    found = times_in_states(events, STATES, CLUSTER_OF, OWNERS, segments, quiet)
    times, threads = slow_sweep(events, CLUSTER_OF, OWNERS, len(STATES), segments, quiet)
    unit = np.array([1, found.unit, found.unit])
    for index in np.ndindex(found.segments.shape):
        assert Fraction(int(found.segments[index]), int(unit[index[-1]])) == times.get(index, 0)
    for index in np.ndindex(found.threads.shape):
        assert Fraction(int(found.threads[index]), int(unit[index[-1]])) == threads.get(index, 0)


@given(recordings())
@settings(max_examples=40, deadline=None)
def test_shares_add_up_to_the_time_in_which_anything_was_on_exactly(recording):
    parts, segments = recording
    found = times_in_states(ordered(parts), STATES, CLUSTER_OF, OWNERS, segments)
    # Each instant of the processor is shared by all cores, of the cores themselves by none.
    assert found.segments[..., 2].sum() % found.unit == 0
    for cluster in (0, 1):
        own = STATES.cluster == cluster
        assert found.segments[:, own][..., 1].sum() % found.unit == 0
    # App, others and wake-ups are all there is, and threads are what is not a wake-up.
    assert np.array_equal(found.segments[:, :, :2].sum(axis=(0, 2)), found.threads.sum(axis=0))


@given(recordings())
@settings(max_examples=10, deadline=None)
def test_seconds_of_shares_are_seconds_whatever_the_unit(recording):
    """Of the core itself in ns, of cluster and processor in parts of one."""
    parts, segments = recording
    found = times_in_states(ordered(parts), STATES, CLUSTER_OF, OWNERS, segments)
    assert found.unit == 60  # of five cores
    for times, seconds in ((found.segments, found.seconds()), (found.threads, found.thread_seconds())):
        for index in np.ndindex(times.shape):
            assert seconds[index] == pytest.approx(int(times[index]) / (10**9 if index[-1] == 0 else 60 * 10**9))


@given(recordings(), st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_an_event_that_says_nothing_new_changes_nothing(recording, at):
    """As a slice that is cut in two."""
    parts, segments = recording
    whole = times_in_states(ordered(parts), STATES, CLUSTER_OF, OWNERS, segments)
    state = {
        core: [row for row in sorted(parts) if row[1] == core and row[2] == STATE and row[0] <= at][-1][3]
        for core in range(5)
    }
    cut = parts + [(at, core, STATE, state[core]) for core in range(5)]
    again = times_in_states(ordered(cut), STATES, CLUSTER_OF, OWNERS, segments)
    assert np.array_equal(whole.segments, again.segments)
    assert np.array_equal(whole.threads, again.threads)


@given(recordings(), st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_silence_costs_no_thread_anything(recording, quiet):
    """A core may be busy with one thread for as long as it likes."""
    parts, segments = recording
    found, whole = (
        times_in_states(ordered(parts), STATES, CLUSTER_OF, OWNERS, segments, one) for one in (quiet, 10**9)
    )
    assert np.array_equal(found.threads[..., 0], whole.threads[..., 0])
    assert np.array_equal(found.segments[:, :, :2, 0], whole.segments[:, :, :2, 0])
    assert (found.segments[:, :, 2, 0] <= whole.segments[:, :, 2, 0]).all()


def test_more_cores_than_can_be_shared_exactly_are_refused():
    nothing = Events(*(np.zeros(0, np.int64) for _ in range(4)))
    with pytest.raises(ValueError, match="17 cores, at most 16"):
        times_in_states(nothing, STATES, np.zeros(17, np.int64), OWNERS, 1)


def test_parts_of_one_moment_stay_in_their_order():
    events = Events.ordered(
        [
            (np.array([5]), np.array([3]), THREAD, np.array([-1])),
            (np.array([1, 5]), np.array([0, 4]), STATE, np.array([2, 1])),
        ]
    )
    assert events.ts.tolist() == [1, 5, 5]
    assert events.core.tolist() == [0, 3, 4]
    assert events.kind.tolist() == [STATE, THREAD, STATE]
    assert events.value.tolist() == [2, -1, 1]


def test_levels_scale_with_the_profile():
    def profile(factor):
        clusters = tuple(
            CoreCluster(
                khz=np.array([khz, 2 * khz]), charge_ma=factor * np.array([10.0, 30.0]), cluster_ma=2.0 * factor
            )
            for khz in (300e3, 500e3)
        )
        return PowerProfile(
            profile_id="x", dialect="cores", clusters=clusters, first_cores=(0, 3), core_count=5,
            active_ma=12.0 * factor, base_ma={},
        )  # fmt: skip

    one = levels(profile(1.0), STATES)
    assert one.tolist() == [[10, 2, 12], [30, 2, 12], [10, 2, 12], [30, 2, 12]]
    assert np.allclose(levels(profile(2.5), STATES), 2.5 * one)
