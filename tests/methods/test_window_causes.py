"""Causes of a window: against a plain reference, on the same screens, in scope, new, disturbed, of memory, with too few
runs; and what holds whatever the numbers are."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.screens import UNKNOWN, matching_weights, screens_by_second, window_weights
from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.methods.window_causes import Recorded, is_idle, rank_load, rank_memory

S = 1_000_000_000
START = 5 * S
APP = "com.rig.made"


def _beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = _beside("window_causes_reference")


def recorded(rows, screens, memory=None, start_ns=START):
    """`rows`: (process, thread, state) → core seconds per second."""
    keys = list(rows)
    times = ThreadTimes(
        start_ns,
        *(tuple(part) for part in zip(*keys, strict=True)),
        np.array([key[0].startswith(APP) for key in keys]),
        np.array([np.broadcast_to(rows[key], len(screens)) for key in keys], dtype=np.float64),
    )
    return Recorded(times, np.array(screens), {kind: np.array(values) for kind, values in (memory or {}).items()})


MAIN, WORKER, OTHER = (APP, "main", "running"), (APP, "worker-#", "running"), ("system", "ui", "running")
WAIT = (APP, "main", "uninterruptible:read")
LIST, CHART = ["list"] * 6, ["chart"] * 4


def history(count=5, **changed):
    return [
        recorded({MAIN: [0.1 + 0.001 * k] * 6 + [0.5] * 4, WORKER: 0.02, OTHER: 0.2, **changed}, LIST + CHART)
        for k in range(count)
    ]


def rank(run, earlier, start_s=0.0, end_s=6.0, *, is_of_app=True, is_busy_time=True, minimum=5):
    start_ns, end_ns = (START + round(edge * S) for edge in (start_s, end_s))
    how = {"is_of_app": is_of_app, "is_busy_time": is_busy_time, "minimum": minimum}
    return rank_load(start_ns, end_ns, run, earlier, **how)


# ---- screens -------------------------------------------------------------------------------------
def test_a_screen_holds_until_its_action_is_sent_and_the_last_one_leads_where_the_tester_says():
    steps = [(START + 2 * S, "list"), (START + 3 * S + S // 4, "chart")]
    assert screens_by_second(steps, "form", START, 5).tolist() == ["list", "list", "chart", "form", "form"]
    assert screens_by_second(steps, None, START, 5).tolist() == ["list", "list", "chart", UNKNOWN, UNKNOWN]
    assert screens_by_second([], None, START, 2).tolist() == [UNKNOWN, UNKNOWN]


def test_seconds_count_by_their_part_in_the_window():
    assert window_weights(START + S // 2, START + 2 * S, START, 3).tolist() == pytest.approx([1 / 3, 2 / 3, 0])
    assert window_weights(0, S, START, 3).tolist() == [0, 0, 0]


def test_screens_weigh_as_in_the_window_and_the_rest_counts_when_none_of_them_was_shown():
    weights = np.array([0.25, 0.25, 0.5, 0.0])
    own = np.array(["a", "a", "b", "c"])
    found, is_matched = matching_weights(weights, own, np.array(["b", "a", "b", "c"]))
    assert (found.tolist(), is_matched) == ([0.25, 0.5, 0.25, 0.0], True)
    found, is_matched = matching_weights(weights, own, np.array(["a", "z"]))
    assert (found.tolist(), is_matched) == ([1.0, 0.0], True), "b is not shown there: a stands for it"
    found, is_matched = matching_weights(weights, own, np.array(["c", UNKNOWN]))
    assert (found.tolist(), is_matched) == ([0.5, 0.5], False)
    found, is_matched = matching_weights(weights, np.full(4, UNKNOWN), np.full(2, UNKNOWN))
    assert not is_matched, "not knowing is no screen"


# ---- load ----------------------------------------------------------------------------------------
def test_a_busy_screen_is_no_cause_where_it_is_always_busy():
    run = recorded({MAIN: [0.1] * 6 + [0.5] * 4, WORKER: 0.02, OTHER: 0.2}, LIST + CHART)
    assert rank(run, history(), 6.0, 10.0).listed == []
    unmatched = recorded({MAIN: 0.5, WORKER: 0.02, OTHER: 0.2}, ["form"] * 10)
    (cause,) = rank(unmatched, history()).listed
    assert (cause.thread, cause.is_matched, cause.history_median) == ("main", False, pytest.approx(0.2612))


def test_the_numbers_are_those_of_the_formula():
    run = recorded({MAIN: [0.4] * 6 + [0.5] * 4, WORKER: 0.03, OTHER: 0.2}, LIST + CHART)
    found = rank(run, history())
    (cause,) = found.listed
    middle, mad = 0.102, 1.4826 * 0.001
    assert (cause.rank, cause.kind, cause.scope, cause.process, cause.name) == (1, "thread", "app", APP, "main")
    assert (cause.value, cause.history_median, cause.history_mad) == pytest.approx((0.4, middle, mad))
    assert cause.growth == pytest.approx(0.298)
    assert cause.growth_share == pytest.approx(0.298 / 0.308)
    assert cause.z == pytest.approx(0.298 / np.sqrt(mad**2 + (0.1 * middle) ** 2 + 0.01**2))
    assert (cause.is_matched, cause.is_new, cause.history_count) == (True, False, 5)
    assert found.has_history
    assert found.also_grew[0].rank is None


def test_others_grew_apart_and_disturb_the_run():
    run = recorded({MAIN: [0.2] * 6 + [0.5] * 4, WORKER: 0.02, OTHER: 1.1}, LIST + CHART)
    found = rank(run, history())
    assert [one.thread for one in found.listed] == ["main"]
    assert [(one.rank, one.scope, one.thread) for one in found.also_grew] == [(1, "other", "ui")]
    assert found.disturbances == [("system", pytest.approx(0.9))]
    everything = rank(run, history(), is_of_app=False)
    assert [(one.scope, one.thread) for one in everything.listed] == [("other", "ui"), ("app", "main")]
    assert everything.also_grew == ()
    assert everything.disturbances == found.disturbances


def test_a_new_thread_starts_from_0():
    pool = (APP, "pool-#", "running")
    run = recorded({MAIN: [0.1] * 6 + [0.5] * 4, pool: 0.2, OTHER: 0.2}, LIST + CHART)
    (cause,) = rank(run, history()).listed
    assert (cause.rank, cause.thread, cause.is_new, cause.history_median) == (1, "pool-#", True, 0.0)


def waiting(usual):
    """Six runs: the last one waits .8 of each of its first six seconds, the earlier ones as given."""
    earlier = [
        recorded({MAIN: 0.1, OTHER: 0.2, **({WAIT: row} if any(row) else {})}, LIST + CHART) for row in [usual] * 5
    ]
    return recorded({MAIN: 0.1, WAIT: [0.8] * 6 + [0.0] * 4, OTHER: 0.2}, LIST + CHART), earlier


def test_waits_explain_what_takes_long_and_stand_apart_from_what_a_core_was_busy_with():
    run, earlier = waiting([0.0] * 10)
    (wait,) = rank(run, earlier, is_busy_time=False).listed
    assert (wait.rank, wait.kind, wait.thread, wait.name) == (1, "wait", "main", "uninterruptible:read")
    assert (wait.is_new, wait.growth_share, wait.z) == (True, 1.0, pytest.approx(0.8 / 0.01))
    busy = rank(run, earlier)
    assert busy.listed == []
    assert [(one.rank, one.kind, one.scope) for one in busy.also_grew if one.rank] == [(1, "wait", "app")]
    assert busy.disturbances == [], "no other process grew"


def test_a_wait_is_listed_when_no_earlier_run_ever_waited_so_long():
    # The same bursts on another screen: on this one the history never waited.
    elsewhere, longer = [0.0] * 6 + [0.5] * 4, [0.0] * 4 + [1.0] * 6
    run, earlier = waiting(elsewhere)
    (wait,) = rank(run, earlier, is_busy_time=False).listed
    longest = 4 * 0.5 / 6
    assert wait.history_median == 0.0
    assert wait.z == pytest.approx(0.8 / np.hypot(0.01, longest / 3))
    assert rank(*waiting(longer), is_busy_time=False).listed == []


@pytest.mark.parametrize(
    ("state", "idle"),
    [
        *(("sleeping", True), ("sleeping:do_epoll_wait", True), ("sleeping:fuse_wait", False)),
        *(("runnable", False), ("uninterruptible", False), ("uninterruptible:do_poll", False)),
    ],
)
def test_idle_is_waiting_for_nothing_but_work(state, idle):
    assert is_idle(state) is idle


def test_with_too_few_runs_values_stand_without_z():
    run = recorded({MAIN: [0.4] * 6 + [0.5] * 4, WORKER: 0.001, OTHER: 0.2}, LIST + CHART)
    found = rank(run, history(4))
    assert not found.has_history
    assert [(one.rank, one.thread, one.z, one.growth) for one in found.listed] == [(1, "main", None, None)]
    assert found.listed[0].history_median == pytest.approx(0.1015)
    assert found.disturbances == [], "nothing is said to have grown"
    assert rank(run, []).listed[0].history_median is None


def test_nothing_is_said_of_a_window_outside_or_without_thread_times():
    run = recorded({MAIN: 0.4, OTHER: 0.2}, LIST + CHART)
    assert rank(run, history(), 100.0, 110.0).listed == []
    blind = Recorded(None, np.array([], dtype=np.str_), {})
    assert rank(blind, history()).causes == ()
    assert not rank(run, [blind] * 9).has_history


def test_runs_whose_traces_do_not_tell_of_waits_do_not_count_for_them():
    run, earlier = waiting([0.0] * 10)
    told = ("running", "uninterruptible")

    def telling(one):
        return replace(one, times=replace(one.times, recorded=told))

    (wait,) = rank(telling(run), [*map(telling, earlier), *earlier], is_busy_time=False).listed
    assert (wait.kind, wait.history_count) == ("wait", 5)
    assert rank(telling(run), [*map(telling, earlier[:4]), *earlier], is_busy_time=False).listed == []


NAMES = st.sampled_from(["main", "render", "pool-#", "*"])
PROCESSES = st.sampled_from([APP, f"{APP}:push", "system", "*"])
CORES = st.floats(0, 2, width=16)


@st.composite
def runs(draw):
    screens = draw(st.lists(st.sampled_from(["a", "b", "c", UNKNOWN]), min_size=3, max_size=8))
    keys = draw(st.lists(st.tuples(PROCESSES, NAMES, st.just("running")), min_size=1, max_size=6, unique=True))
    times = {key: draw(st.lists(CORES, min_size=len(screens), max_size=len(screens))) for key in keys}
    return recorded(times, screens)


@given(runs(), st.lists(runs(), min_size=5, max_size=7), st.integers(0, 20), st.integers(1, 20), st.booleans())
def test_it_is_the_reference_whatever_ran(run, earlier, begin, length, is_of_app):
    window = START + begin * S // 10, START + (begin + length) * S // 10
    found = rank_load(*window, run, earlier, is_of_app=is_of_app, is_busy_time=True, minimum=5)
    wanted = reference.rank(window, run, earlier, is_of_app=is_of_app)
    assert {(one.process, one.thread, "running") for one in found.causes} == wanted.keys()
    for one in found.causes:
        numbers = one.value, one.history_median, one.history_mad, one.z, one.growth_share
        assert numbers == pytest.approx(wanted[one.process, one.thread, "running"], abs=1e-9)


@given(runs(), st.lists(runs(), min_size=5, max_size=7), st.randoms())
def test_invariants(run, earlier, random):
    found = rank(run, earlier, 0.0, 3.0)
    assert [one.rank for one in found.listed] == list(range(1, len(found.listed) + 1))
    assert all(one.z >= 3 and one.growth_share >= 0.05 for one in found.listed)
    assert [one.z for one in found.listed] == sorted((one.z for one in found.listed), reverse=True)
    assert {one.scope for one in found.causes} <= {"app"}
    assert {one.scope for one in found.also_grew} <= {"other"}
    grown = [one.growth for one in found.causes if one.growth > 0]
    assert sum(one.growth_share for one in found.causes) == pytest.approx(float(sum(grown) > 0), abs=1e-9)
    shuffled = rank(run, random.sample(earlier, len(earlier)), 0.0, 3.0)
    assert {(one.process, one.thread): one.z for one in shuffled.causes} == {
        (one.process, one.thread): pytest.approx(one.z, abs=1e-9) for one in found.causes
    }


@given(runs())
def test_a_run_that_did_what_its_history_did_has_no_cause(run):
    everywhere = Recorded(run.times, np.full(len(run.screens), "a"), {})
    found = rank(everywhere, [everywhere] * 5, 0.0, float(len(run.screens)))
    assert found.listed == []
    assert found.disturbances == []


# ---- memory --------------------------------------------------------------------------------------
def with_memory(**memory):
    return Recorded(None, np.array([], dtype=np.str_), {k: np.array(v, float) for k, v in memory.items()}, START)


def memory(run, earlier, start_s, end_s):
    return rank_memory(START + start_s * S, START + end_s * S, APP, run, earlier, minimum=5)


def test_the_kind_of_memory_that_grew_since_the_onset():
    flat, ramp = [100e6] * 20, [100e6] * 8 + [100e6 + 2e6 * k for k in range(12)]
    found = memory(with_memory(anon=ramp, file=flat), [with_memory(anon=flat, file=flat)] * 5, 8, 20)
    (cause,) = found.listed
    assert (cause.rank, cause.kind, cause.process, cause.name, cause.thread) == (1, "memory", APP, "anon", None)
    assert (cause.value, cause.history_median, cause.growth_share) == pytest.approx((20e6, 0, 1.0))
    assert (cause.z, cause.is_matched) == (pytest.approx(20.0), True)


def test_memory_that_always_grows_is_no_cause_and_short_runs_are_compared_as_a_whole():
    ramp = [100e6 + 2e6 * k for k in range(20)]
    assert memory(with_memory(anon=ramp), [with_memory(anon=ramp)] * 5, 8, 20).listed == []
    short = [with_memory(anon=[100e6] * 5)] * 5
    (cause,) = memory(with_memory(anon=ramp), short, 8, 20).listed
    assert (cause.is_matched, cause.history_count) == (False, 5)
    few = memory(with_memory(anon=ramp), short[:4], 8, 20)
    assert not few.has_history
    assert few.listed[0].z is None


def test_without_kinds_of_memory_nothing_is_said_and_runs_without_them_do_not_count():
    assert memory(with_memory(), [with_memory(anon=[1e6] * 9)] * 5, 0, 5).causes == ()
    assert not memory(with_memory(anon=[1e6] * 9), [with_memory(file=[1e6] * 9)] * 5, 0, 5).has_history
