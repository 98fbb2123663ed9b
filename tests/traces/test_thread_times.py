"""What threads did by second: adds up to the CPU series exactly, and each entity equals a slow sum."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.methods.thread_times import REST, RUNNABLE, RUNNING, SLEEPING, UNINTERRUPTIBLE
from perfreg_assets.reasons import Reason
from perfreg_assets.traces.columns import Nullable, QueryResult, Table
from perfreg_assets.traces.contents import SchedSlices, TraceContents, load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.inspection import inspect_trace
from perfreg_assets.traces.sched_series import sched_series
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.thread_times import NoThreadTimes, thread_times

SECOND = 1_000_000_000
MS = 1_000_000
APP = "com.rig.app"


class Empty:
    """An engine whose trace has nothing but what was loaded already."""

    def query(self, _, schema):
        return QueryResult((), "", ()).table(schema)


def numbers(values):
    return Nullable(np.array([value or 0 for value in values]), np.array([value is None for value in values]))


def made(slices, threads, processes, *, count, interval_s=1.0, start=0):
    """A scope of made-up slices (core, utid, start, end), threads (name, upid) from utid 1 on, and process names."""
    slices = sorted(slices, key=lambda one: one[2])
    cpu, utid, begin, end = (np.array([one[k] for one in slices], dtype=np.int64) for k in range(4))
    nobody = [None] * len(processes)
    contents = TraceContents(
        0,
        10**12,
        Table(
            {
                "upid": np.arange(1, len(processes) + 1),
                "pid": numbers(range(100, 100 + len(processes))),
                "name": np.array(processes, dtype=object),
                "start_ts": numbers(nobody),
                "end_ts": numbers(nobody),
            }
        ),
        Table(
            {
                "utid": np.arange(len(threads) + 1),
                "tid": numbers([0, *range(1000, 1000 + len(threads))]),
                "upid": numbers([None, *(upid for _, upid in threads)]),
                "end_ts": numbers([None] * (len(threads) + 1)),
                "name": np.array(["swapper", *(name for name, _ in threads)], dtype=object),
            }
        ),
        SchedSlices(begin, end, cpu, utid, int(end.max(initial=0))),
        False,
    )
    return Scope(Empty(), contents, Grid(start, round(interval_s * SECOND), count), APP)


def check_sums(scope):
    """Running times add up to the series, to the nanosecond."""
    found = thread_times(scope)
    series = {one.name: one.values for one in sched_series(scope)}
    running = found.of_state(RUNNING)
    for chosen, name in ((running, "cpu_total"), (running & found.is_app, "cpu_app")):
        summed_ns = np.rint(found.seconds[chosen] * SECOND).astype(np.int64).sum(axis=0)
        assert summed_ns.tolist() == np.rint(series[name] * SECOND).astype(np.int64).tolist(), name
    return found


PROCESSES = [APP, APP + ":remote", "system_server", "com.rig.other12", None]
THREADS = st.lists(
    st.tuples(st.sampled_from(["main", "pool-1", "pool-22", "Binder:713_2", REST, None]), st.integers(0, 5)),
    min_size=1,
    max_size=12,
)


@hypothesis.settings(deadline=None)
@given(st.data(), THREADS, st.integers(0, 90))
def test_running_times_add_up_to_the_series_whoever_runs(data, threads, others):
    threads = [(name, upid or None) for name, upid in threads]
    threads += [(f"other {chr(97 + k % 26)}{chr(97 + k // 26)}", 3) for k in range(others)]
    slices = [(0, 0, 9 * SECOND, 10 * SECOND)]  # there was a scheduler
    for core in range(3):
        borders = sorted(set(data.draw(st.lists(st.integers(0, 6 * SECOND), max_size=60))))
        slices += [
            (core, data.draw(st.integers(0, len(threads))), begin, end)
            for begin, end in zip(borders[::2], borders[1::2], strict=False)
        ]
    found = check_sums(made(slices, threads, PROCESSES, count=4, start=SECOND))
    keys = list(zip(found.state, found.is_app.tolist(), found.process, found.thread, strict=True))
    assert len(set(keys)) == len(keys)
    slow = defaultdict(lambda: np.zeros(4, dtype=np.int64))
    for _, utid, begin, end in slices:
        if utid == 0:
            continue
        name, upid = threads[utid - 1]
        process = PROCESSES[upid - 1] if upid else None
        key = (
            process in (APP, APP + ":remote"),
            re.sub(r"[0-9]+", "#", process or "?"),
            re.sub(r"[0-9]+", "#", name or "?"),
        )
        for second in range(4):
            left = (1 + second) * SECOND
            slow[key][second] += max(0, min(end, left + SECOND) - max(begin, left))
    for (_, *key), seconds in zip(keys, found.seconds, strict=True):
        if key[2] != REST:
            assert np.rint(seconds * SECOND).astype(int).tolist() == slow[tuple(key)].tolist()
    told = {tuple(key[1:]) for key in keys}
    for (is_app, process, thread), times in slow.items():  # what is a cause anywhere is told apart
        if times.sum() >= 10 * MS and len(slow) <= 60:
            assert (is_app, process, thread) in told


def test_the_rest_is_one_per_process_of_the_app_and_one_of_all_others():
    names = [chr(97 + k // 26) + chr(97 + k % 26) for k in range(300)]
    threads = [(f"o{name}", 3) for name in names[:100]] + [(f"a{name}", 1) for name in names] + [("tiny", 2)]
    slices, at = [], 0
    for utid in range(1, len(threads)):
        duration = (20 if utid <= 100 else 12) * MS + utid
        slices.append((0, utid, at, at + duration))
        at += duration
    slices.append((0, len(threads), at, at + MS))
    found = check_sums(made(slices, threads, PROCESSES, count=7))
    told = list(zip(found.process, found.thread, found.is_app.tolist(), strict=True))
    rests = {(process, is_app) for process, thread, is_app in told if thread == REST}
    assert rests == {(APP, True), (APP + ":remote", True), (REST, False)}
    processes = [process for process, thread, _ in told if thread != REST]
    assert processes.count("system_server") == 60
    assert processes.count(APP) == 200
    assert APP + ":remote" not in processes, "1 ms in the whole run is no cause"


@pytest.mark.parametrize("interval_s", [0.1, 0.25, 2.0])
def test_seconds_are_seconds_whatever_the_interval_of_the_series(interval_s):
    slices = [(0, 1, 0, 1500 * MS), (1, 2, 300 * MS, 3999 * MS)]
    scope = made(slices, [("main", 1), ("x", 3)], PROCESSES, count=round(4 / interval_s), interval_s=interval_s)
    found = thread_times(scope)
    assert found.seconds.tolist() == [[0.7, 1.0, 1.0, 0.999], [1.0, 0.5, 0.0, 0.0]]
    assert (found.start_ns, found.end_ns) == (0, 4 * SECOND)


# ---- recorded ------------------------------------------------------------------------------------
def test_a_recorded_run(settings, session_folder):
    run = json.loads((session_folder / "run.json").read_text())
    window = run["exploration"]
    found = inspect_trace(
        session_folder / run["trace"],
        app=run["app"],
        exploration=(window["start_ns"], window["end_ns"]),
        time_limit_s=run["config"]["time_limit_s"],
        settings=settings,
    )
    times, series = found.threads, {one.name: one for one in found.series}
    assert times.start_ns == series["cpu_total"].start_ns
    running = times.of_state(RUNNING)
    assert times.seconds[running].sum(axis=0) == pytest.approx(series["cpu_total"].values, abs=1e-12)
    assert times.seconds[running & times.is_app].sum(axis=0) == pytest.approx(series["cpu_app"].values, abs=1e-12)
    assert times.recorded == (RUNNING, UNINTERRUPTIBLE), "without sched_waking nobody knows who could run"
    assert {times.process[k] for k in np.flatnonzero(times.is_app)} >= {run["app"], run["app"] + ":browser"}


def test_waits_on_a_device_equal_slow_sums(data_folder, settings):
    app = "com.android.chrome"
    path = data_folder / "android-traces" / "emulator_api31_39s_chrome.perfetto-trace.gz"
    with open_trace(path, settings) as session:
        contents = load_contents(session)
        grid = Grid.covering(*contents.recorded_ns, 1.0)
        scope = Scope(session, contents, grid, app)
        found = check_sums(scope)
        table = session.query(
            "SELECT s.ts, s.dur, s.state, t.name AS thread, p.name AS process FROM thread_state s "
            "JOIN thread t USING (utid) JOIN process p USING (upid) WHERE p.name GLOB 'com.android.chrome*' "
            "AND s.state IN ('R', 'R+', 'D')",
            {"ts": "int64", "dur": "int64", "state": "string", "thread": "string", "process": "string"},
        )
    slow = defaultdict(float)
    for ts, dur, state, thread, process in zip(*(table[name] for name in table.columns), strict=True):
        assert dur >= 0
        for second in range(grid.count):
            left = grid.start_ns + second * SECOND
            cut = min(ts + dur, left + SECOND) - max(ts, left)
            if cut > 0:
                kind = UNINTERRUPTIBLE if state == "D" else RUNNABLE
                slow[kind, re.sub(r"\d+", "#", process), re.sub(r"\d+", "#", thread), second] += cut / 1e9
    assert found.recorded == (RUNNING, RUNNABLE, UNINTERRUPTIBLE)
    waits = [k for k, state in enumerate(found.state) if state != RUNNING]
    assert len(waits) > 10
    for state in (RUNNABLE, UNINTERRUPTIBLE):
        mine = found.seconds[found.of_state(state)].sum()
        assert mine == pytest.approx(sum(s for key, s in slow.items() if key[0] == state))
    for k in waits:
        if found.thread[k] != REST:
            expected = [slow[found.state[k], found.process[k], found.thread[k], second] for second in range(grid.count)]
            assert found.seconds[k] == pytest.approx(expected, abs=1e-12)


def test_a_blocked_thread_waits_until_it_runs_again(make_trace, tmp_path, settings):
    maker = make_trace().process(10, APP, {11: "worker"}).process(20, "other")

    def blocks(ts, tid):  # in uninterruptible sleep from ts on
        def fill(event):
            switch = event.sched_switch
            switch.prev_pid, switch.next_pid, switch.prev_comm, switch.next_comm = tid, 0, "x", "swapper"
            switch.prev_prio = switch.next_prio = 120
            switch.prev_state = 2

        maker.event(0, ts, tid, fill)

    def runs(ts, tid):
        def fill(event):
            switch = event.sched_switch
            switch.prev_pid, switch.next_pid, switch.prev_comm, switch.next_comm = 0, tid, "swapper", "worker"
            switch.prev_prio = switch.next_prio = 120

        maker.event(0, ts, 0, fill)

    runs(0, 11)
    blocks(SECOND // 2, 11)
    runs(5 * SECOND // 2, 11)
    blocks(3 * SECOND, 11)
    with open_trace(maker.write(tmp_path / "t.perfetto-trace"), settings) as session:
        contents = load_contents(session)
        found = thread_times(Scope(session, contents, Grid(0, SECOND, 4), APP))
    ((thread, seconds),) = [
        (found.thread[k], found.seconds[k].tolist())
        for k in np.flatnonzero(found.of_state(UNINTERRUPTIBLE) & found.is_app)
    ]
    assert thread == "worker"
    assert seconds[:3] == [0.5, 1.0, 0.5]


def test_the_function_that_blocked_a_thread_is_read_from_a_trace(make_trace, tmp_path, settings):
    """sched_blocked_reason as the kernel writes it and the trace processor reads it."""
    maker = make_trace().process(10, APP, {11: "worker", 12: "reader"}).process(20, "other")

    def switches(ts, previous, following, state):
        maker.told(
            ts, "sched_switch", tid=previous, prev_pid=previous, next_pid=following, prev_comm="x", next_comm="y",
            prev_prio=120, next_prio=120, prev_state=state,
        )  # fmt: skip

    def wakes(ts, tid, function):
        maker.blocked(ts, tid, function).told(ts + 1, "sched_waking", pid=tid, comm="x", prio=120, target_cpu=0)

    switches(0, 0, 11, 0)
    switches(SECOND // 2, 11, 12, 2)  # in uninterruptible sleep
    switches(SECOND, 12, 0, 1)  # asleep
    wakes(3 * SECOND // 2, 11, "f2fs_wait_on_page_writeback")
    switches(2 * SECOND, 0, 11, 0)
    switches(5 * SECOND // 2, 11, 0, 1)
    wakes(3 * SECOND, 12, "rwsem_down_read_slowpath")
    switches(7 * SECOND // 2, 0, 12, 0)
    switches(4 * SECOND, 12, 0, 1)
    with open_trace(maker.write(tmp_path / "t.perfetto-trace"), settings) as session:
        found = thread_times(Scope(session, load_contents(session), Grid(0, SECOND, 4), APP))
    told = {
        (found.thread[k], found.state[k]): found.seconds[k].tolist()
        for k in range(len(found.thread))
        if found.is_app[k] and ":" in found.state[k]
    }
    assert told == {
        ("worker", f"{UNINTERRUPTIBLE}:f2fs_wait_on_page_writeback"): pytest.approx([0.5, 0.5, 0, 0], abs=1e-8),
        ("reader", f"{SLEEPING}:rwsem_down_read_slowpath"): pytest.approx([0, 1.0, 1.0, 0], abs=1e-8),
    }
    assert {UNINTERRUPTIBLE, SLEEPING} <= set(found.recorded)


def test_what_blocked_a_thread_is_told_where_the_kernel_says_it():
    class Blocked(Empty):
        def query(self, sql, schema):
            if "blocked_function" not in sql:
                return super().query(sql, schema)
            rows = [
                (0, 2 * SECOND, 1, "D", "f2fs_wait_on_page"),
                (2 * SECOND, SECOND // 2, 1, "DK", None),
                (3 * SECOND, -1, 2, "S", "futex_wait"),
                (5 * SECOND, 9 * MS, 2, "D", "too_short"),
            ]
            columns = [np.array([row[k] for row in rows], dtype=object if k > 2 else np.int64) for k in range(5)]
            return Table(dict(zip(schema, columns, strict=True)))

    scope = made([(0, 1, 0, 1)], [("main", 1), ("pool-7", 2)], PROCESSES, count=4)
    found = thread_times(Scope(Blocked(), scope.contents, scope.grid, APP))
    told = {(found.state[k], found.process[k], found.thread[k]): found.seconds[k].tolist() for k in range(1, 4)}
    assert told == {
        (f"{UNINTERRUPTIBLE}:f2fs_wait_on_page", APP, "main"): [1.0, 1.0, 0.0, 0.0],
        (UNINTERRUPTIBLE, APP, "main"): [0.0, 0.0, 0.5, 0.0],
        (f"{SLEEPING}:futex_wait", APP + ":remote", "pool-#"): [0.0, 0.0, 0.0, 1.0],
    }
    assert found.recorded == (RUNNING, UNINTERRUPTIBLE, SLEEPING)
    assert found.of_state(UNINTERRUPTIBLE).sum() == 2


def test_a_trace_without_scheduling_says_so(make_trace, tmp_path, settings):
    maker = make_trace().clocks().process(10, APP)
    for second in range(5):
        maker.memory(second * SECOND + 1, 10, rss=100)
    found = inspect_trace(
        maker.write(tmp_path / "t.perfetto-trace"),
        app=APP,
        exploration=(0, 4 * SECOND),
        time_limit_s=4,
        settings=settings,
    )
    assert found.health.is_complete
    assert isinstance(found.threads, NoThreadTimes)
    assert found.threads.reason_code == Reason.SERIES_MISSING
    assert "sched_switch" in found.threads.reason
