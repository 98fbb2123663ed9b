"""From synthetic and recorded traces to series: every number is known from how the trace was made, or recomputed
slowly from what the engine exports."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from perfreg_assets.reasons import Reason
from perfreg_assets.traces import contents
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.inspection import inspect_trace
from perfreg_assets.traces.series import extract_series

SECOND = 1_000_000_000
KIB = 1024
APP = "com.rig.app"
SLICES = {"ts": "int64", "dur": "int64", "cpu": "int64", "tid": "int64", "name": "string"}


@pytest.fixture
def extract(tmp_path, settings):
    """Series by name of a synthetic trace."""

    def run(maker, *, start, end, app=APP, interval_s=1.0):
        with open_trace(maker.write(tmp_path / "t.perfetto-trace"), settings) as session:
            found = extract_series(session, app=app, start_ns=start, end_ns=end, interval_s=interval_s)
        return {each.name: each for each in found}

    return run


def one_process(make_trace):
    return make_trace().process(10, APP, {11: "worker"})


def test_a_slice_over_three_seconds_is_split_over_all_of_them(make_trace, extract):
    # Perfetto's own cpu_utilization_per_second gives {100: 0.5} here and loses seconds 101 and 102.
    maker = one_process(make_trace).schedule([(0, 10, 100_500_000_000, 102_500_000_000)])
    series = extract(maker, start=100 * SECOND, end=104 * SECOND)
    assert series["cpu_app"].values.tolist() == [0.5, 1.0, 0.5, 0.0]
    assert series["cpu_total"].values.tolist() == [0.5, 1.0, 0.5, 0.0]
    assert series["cpu_app"].unit == "core-seconds/s"
    assert series["cpu_app"].start_ns == 100 * SECOND


def test_cores_and_processes_are_told_apart(make_trace, extract):
    maker = one_process(make_trace).process(20, "com.rig.other").process(30, APP + ":remote")
    maker.schedule(
        [
            (0, 10, 0, SECOND // 2),
            (0, 20, SECOND // 2, SECOND),
            (3, 11, SECOND // 4, SECOND // 2),
            (3, 30, SECOND, 2 * SECOND),
        ]
    )
    series = extract(maker, start=0, end=2 * SECOND)
    assert series["cpu_app"].values.tolist() == [0.75, 1.0]
    assert series["cpu_total"].values.tolist() == [1.25, 1.0]
    assert series["cpu_core_0"].values.tolist() == [1.0, 0.0]
    assert series["cpu_core_3"].values.tolist() == [0.25, 1.0]
    assert series["cpu_app_core_0"].values.tolist() == [0.5, 0.0]
    assert series["threads_running_app"].values.tolist() == [2.0, 1.0]
    assert "cpu_core_1" not in series


def test_a_name_that_only_begins_like_the_app_is_another_process(make_trace, extract):
    maker = (
        one_process(make_trace)
        .process(20, APP + "2")
        .process(30, APP + ".debug")
        .schedule([(0, 20, 0, SECOND), (1, 30, 0, SECOND), (2, 10, 0, SECOND // 2)])
    )
    assert extract(maker, start=0, end=SECOND)["cpu_app"].values.tolist() == [0.5]


def test_a_slice_that_runs_when_the_recording_stops_counts_until_its_end(make_trace, extract):
    maker = one_process(make_trace).schedule([(0, 10, 0, None), (1, 20, 0, 3 * SECOND)])
    assert extract(maker, start=0, end=3 * SECOND)["cpu_app"].values.tolist() == [1.0, 1.0, 1.0]


def test_any_interval_width_gives_the_same_total(make_trace, extract):
    slices = [(0, 10, 7, 1_234_567_891), (1, 11, 500_000_001, 3_999_999_999), (0, 10, 2 * SECOND, 2 * SECOND + 1)]
    expected = (1_234_567_891 - 7) + (3_999_999_999 - 500_000_001) + 1
    for interval_s in (0.1, 0.25, 1.0, 2.0, 4.0):
        maker = one_process(make_trace).schedule(slices)
        values = extract(maker, start=0, end=4 * SECOND, interval_s=interval_s)["cpu_app"].values
        assert round(float(values.sum() * interval_s * 1e9)) == expected


def test_the_time_origin_changes_nothing(make_trace, extract):
    def run(origin):
        maker = one_process(make_trace).schedule(
            [(0, 10, origin + 300_000_000, origin + 2_100_000_000), (1, 11, origin + 5, origin + SECOND)]
        )
        maker.frequency(0, origin, 1_000_000).frequency(1, origin, 2_000_000).frequency(0, origin + SECOND, 500_000)
        maker.memory(origin + 1, 10, rss=100).memory(origin + SECOND + 1, 10, rss=300)
        return extract(maker, start=origin, end=origin + 3 * SECOND)

    early, late = run(SECOND), run(5_000_000 * SECOND)
    assert early.keys() == late.keys()
    for name, series in early.items():
        if series.values is None:
            assert late[name].values is None
        else:
            assert series.values.tolist() == late[name].values.tolist(), name


def test_cycles_are_weighted_by_the_frequency_at_that_moment(make_trace, extract):
    maker = one_process(make_trace).process(20, "other").schedule([(0, 10, 0, 1_500_000_000), (1, 20, 0, SECOND)])
    maker.frequency(0, 0, 1_000_000).frequency(0, SECOND // 2, 2_000_000).frequency(1, 0, 600_000)
    series = extract(maker, start=0, end=2 * SECOND)
    assert series["cycles_app"].values.tolist() == [0.5e9 + 1.0e9, 1.0e9]
    assert series["cycles_total"].values.tolist() == [1.5e9 + 0.6e9, 1.0e9]
    assert series["cpu_freq_0"].values.tolist() == [1_500_000.0, 2_000_000.0]
    assert series["cpu_freq_1"].values.tolist() == [600_000.0, 600_000.0]


def test_a_core_that_ran_without_known_frequency_makes_cycles_missing(make_trace, extract):
    maker = one_process(make_trace).schedule([(0, 10, 0, SECOND), (1, 11, 0, SECOND)]).frequency(0, 0, 1_000_000)
    series = extract(maker, start=0, end=SECOND)
    assert series["cycles_app"].values is None
    assert "core 1" in series["cycles_app"].missing_reason
    assert series["cpu_freq_0"].values is not None
    assert series["cpu_freq_1"].values is None


def test_memory_holds_its_last_value_and_adds_up_over_the_apps_processes(make_trace, extract):
    maker = one_process(make_trace).process(30, APP + ":remote").schedule([(0, 10, 0, 5 * SECOND)])
    maker.memory(0, 10, rss=100, rss_anon=60, rss_file=40, swap=0)
    maker.memory(1_500_000_000, 10, rss=200, rss_anon=150, rss_file=50, swap=8)
    maker.memory(3_200_000_000, 30, rss=1000, rss_anon=600, rss_file=400, swap=0)
    series = extract(maker, start=0, end=5 * SECOND)
    assert (series["rss_app"].values / KIB).tolist() == [100, 200, 200, 1200, 1200]
    assert (series["rss_anon_app"].values / KIB).tolist() == [60, 150, 150, 750, 750]
    assert (series["rss_file_app"].values / KIB).tolist() == [40, 50, 50, 450, 450]
    assert (series["swap_app"].values / KIB).tolist() == [0, 8, 8, 8, 8]


def test_memory_that_begins_late_is_missing_and_not_guessed(make_trace, extract):
    maker = one_process(make_trace).schedule([(0, 10, 0, 10 * SECOND)]).memory(4 * SECOND, 10, rss=100)
    series = extract(maker, start=0, end=10 * SECOND)
    assert series["rss_app"].values is None
    assert "4.0 s late" in series["rss_app"].missing_reason


def end_of(maker, ts, tid):
    return maker.told(ts, "sched_process_free", tid=1, pid=tid, comm="main", prio=120)


def test_an_app_whose_main_thread_ended_goes_on_with_its_other_threads(make_trace, extract):
    def build(*ends):
        maker = one_process(make_trace).process(20, "com.rig.other")
        maker.schedule([(0, 10, 0, 3 * SECOND), (2, 20, 0, 10 * SECOND)])
        maker.schedule([(1, 11, s * SECOND, s * SECOND + SECOND // 2) for s in range(9)])
        for second in range(10):
            maker.memory(second * SECOND + 1000, 10, rss=100 + second)
        for ts, tid in ends:
            end_of(maker, ts, tid)
        return maker

    memory = [(100 + second) * KIB for second in range(10)]
    whole = extract(build(), start=0, end=10 * SECOND)
    assert whole["rss_app"].values.tolist() == memory
    found = extract(build((3 * SECOND + 1, 10)), start=0, end=10 * SECOND)
    assert found["rss_app"].values.tolist() == memory
    assert found["cpu_app"].values.tolist() == whole["cpu_app"].values.tolist()

    ended = extract(build((3 * SECOND + 1, 10), (6 * SECOND - 1, 11)), start=0, end=10 * SECOND)
    assert ended["rss_app"].values.tolist()[:5] == memory[:5]


def test_a_process_ends_with_its_last_thread(make_trace, extract):
    maker = one_process(make_trace).schedule([(0, 10, 0, 2 * SECOND), (1, 11, 0, 4 * SECOND)])
    maker.process(20, "com.rig.other").schedule([(2, 20, 0, 6 * SECOND)])
    maker.memory(0, 10, rss=100).memory(SECOND, 10, rss=200)
    end_of(end_of(maker, 2 * SECOND + 1, 10), 4 * SECOND + 1, 11)
    found = extract(maker, start=0, end=6 * SECOND)["rss_app"]
    assert (found.values / KIB).tolist() == [100, 200, 200, 200, 0, 0]

    maker = one_process(make_trace).schedule([(0, 10, 0, 2 * SECOND), (1, 11, 0, SECOND), (1, 20, SECOND, 4 * SECOND)])
    maker.memory(0, 10, rss=100)
    end_of(end_of(maker, SECOND + 1, 11), 2 * SECOND + 1, 10)
    assert (extract(maker, start=0, end=4 * SECOND)["rss_app"].values / KIB).tolist() == [100, 100, 0, 0]


def test_a_restarted_process_is_found_by_the_next_polls(make_trace, extract):
    def build(first_sample):
        maker = one_process(make_trace).schedule([(0, 10, 0, 4 * SECOND), (0, 40, 5 * SECOND, 10 * SECOND)])
        maker.told(5 * SECOND, "task_newtask", tid=1, pid=40, comm="main", clone_flags=0)
        maker.process(40, APP, ts=5 * SECOND + 1)
        for second in range(4):
            maker.memory(second * SECOND, 10, rss=100)
        for k in range(4):
            maker.memory(first_sample + k * SECOND, 40, rss=300)
        return end_of(maker, 4 * SECOND, 10)

    found = extract(build(6_100_000_000), start=0, end=10 * SECOND)["rss_app"]
    assert (found.values / KIB).tolist() == [100, 100, 100, 100, 0, 300, 300, 300, 300, 300]
    late = extract(build(8 * SECOND), start=0, end=10 * SECOND)["rss_app"]
    assert (late.values, late.reason_code) == (None, "series_missing")
    assert "3.0 s late" in late.missing_reason


def test_what_a_trace_lacks_is_named(make_trace, extract):
    series = extract(
        one_process(make_trace).memory(0, 10, rss=100).memory(3 * SECOND, 10, rss=101), start=0, end=3 * SECOND
    )
    assert series["rss_app"].values is not None
    for name in ("cpu_app", "cpu_total", "cycles_app", "threads_running_app", "frames_app", "io_wait_app", "net_sent"):
        assert series[name].values is None
        assert series[name].missing_reason
        assert series[name].reason_code == "series_missing"
    assert series["rss_app"].reason_code is None


def test_waiting_for_io_is_counted_where_the_kernel_told_the_reason(make_trace, extract):
    def blocked(event):
        event.sched_blocked_reason.pid, event.sched_blocked_reason.io_wait = 10, 1

    def into_disk_sleep(event):
        switch = event.sched_switch
        switch.prev_pid, switch.prev_comm, switch.prev_state = 10, "main", 2
        switch.next_pid, switch.next_comm = 0, "swapper"

    def woken(event):
        event.sched_waking.pid, event.sched_waking.comm, event.sched_waking.target_cpu = 10, "main", 0

    def back(event):
        switch = event.sched_switch
        switch.prev_pid, switch.prev_comm, switch.next_pid, switch.next_comm = 0, "swapper", 10, "main"

    maker = one_process(make_trace).schedule([(0, 10, 0, None), (1, 11, 0, 3 * SECOND)])
    maker.event(0, SECOND // 2, 10, into_disk_sleep)
    maker.event(0, 1_750_000_000, 0, woken).event(0, 1_750_000_001, 0, blocked).event(0, 1_750_000_002, 0, back)
    series = extract(maker, start=0, end=3 * SECOND)["io_wait_app"]
    assert series.values.tolist() == [0.5, 0.75, 0.0]


def test_block_operations_are_averaged_over_each_interval(make_trace, extract):
    def operation(kind, sector):
        def fill(event):
            getattr(event, kind).dev, getattr(event, kind).sector, getattr(event, kind).nr_sector = 271581184, sector, 8

        return fill

    maker = one_process(make_trace).schedule([(0, 10, 0, 3 * SECOND)])
    maker.event(0, SECOND // 2, 10, operation("block_io_start", 1))
    maker.event(0, SECOND + SECOND // 2, 0, operation("block_io_done", 1))
    series = extract(maker, start=0, end=3 * SECOND)["block_io_operations"]
    assert series.values.tolist() == [0.5, 0.5, 0.0]


def test_network_bytes_are_told_by_direction_and_app(make_trace, extract):
    maker = one_process(make_trace).schedule([(0, 10, 0, 3 * SECOND)])
    maker.packages(com__rig__app=10_100, com__other=10_200)
    maker.network_packet(100, 10_100, 1500, sent=False).network_packet(200, 10_200, 400, sent=False)
    maker.network_packet(SECOND + 1, 10_100, 60, sent=True)
    series = extract(maker, start=0, end=3 * SECOND)
    assert series["net_received_app"].values.tolist() == [1500, 0, 0]
    assert series["net_received"].values.tolist() == [1900, 0, 0]
    assert series["net_sent_app"].values.tolist() == [0, 60, 0]
    assert series["net_sent"].values.tolist() == [0, 60, 0]


def slow_sums(slices, start, count, interval, chosen):
    """Sum of the overlaps of every chosen slice with every interval, in whole nanoseconds, one by one."""
    sums = [0] * count
    for ts, end in ((row.ts, row.ts + row.dur) for row in slices.itertuples() if chosen(row)):
        for i in range(max(0, (ts - start) // interval), min(count, (end - start) // interval + 1)):
            left = start + i * interval
            sums[i] += max(0, min(end, left + interval) - max(ts, left))
    return sums


def test_cpu_of_a_recorded_session_equals_a_slow_sum_over_its_slices(session_folder, settings):
    run = json.loads((session_folder / "run.json").read_text())
    start, end = run["exploration"]["start_ns"], run["exploration"]["end_ns"]
    count = (end - start) // SECOND
    with open_trace(session_folder / run["trace"], settings) as session:
        series = {
            each.name: each.values
            for each in extract_series(session, app=run["app"], start_ns=start, end_ns=end, interval_s=1.0)
        }
        slices = session.query(
            "SELECT s.ts, s.dur, s.cpu, t.tid, p.name FROM sched_slice s JOIN thread t USING (utid) "
            "LEFT JOIN process p USING (upid) WHERE s.dur >= 0",
            SLICES,
        )
        totals = session.query(
            f"SELECT cpu, sum(min(ts + dur, {start + count * SECOND}) - max(ts, {start})) AS ns FROM sched_slice "
            f"WHERE dur >= 0 AND ts < {start + count * SECOND} AND ts + dur > {start} AND utid NOT IN "
            "(SELECT utid FROM thread WHERE tid = 0) GROUP BY cpu",
            {"cpu": "int64", "ns": "int64"},
        )
    slices = pd.DataFrame(slices.columns).fillna({"name": ""})

    def is_app(row):
        return row.tid != 0 and (row.name == run["app"] or row.name.startswith(run["app"] + ":"))

    app = np.rint(series["cpu_app"] * SECOND).astype(int)
    assert app.tolist() == slow_sums(slices, start, count, SECOND, is_app)
    total = np.rint(series["cpu_total"] * SECOND).astype(int)
    assert total.tolist() == slow_sums(slices, start, count, SECOND, lambda row: row.tid != 0)
    assert total.sum() == totals["ns"].sum()
    for cpu, ns in zip(totals["cpu"], totals["ns"], strict=True):
        assert np.rint(series[f"cpu_core_{cpu}"] * SECOND).astype(int).sum() == ns


def test_reading_in_many_pages_changes_nothing(session_folder, settings, monkeypatch):
    run = json.loads((session_folder / "run.json").read_text())
    with open_trace(session_folder / run["trace"], settings) as session:
        whole = load_contents(session)
        monkeypatch.setattr(contents, "_PAGE_ROWS", 7000)
        pages = load_contents(session)
    assert whole.sched.count > 190_000
    for name in ("start_ns", "end_ns", "cpu", "utid"):
        assert np.array_equal(getattr(whole.sched, name), getattr(pages.sched, name)), name


def test_a_trace_with_more_slices_than_memory_is_allowed_for_is_not_judged(session_folder, settings):
    """72 million slices, a trace of 500 MB, would take 8 GB and more."""
    run = json.loads((session_folder / "run.json").read_text())
    few = settings.with_values(sched_slices_max=190_554)
    found = inspect_trace(
        session_folder / run["trace"], app=run["app"], exploration=None, time_limit_s=0.1, settings=few
    )
    assert found.health.reason is Reason.TRACE_TOO_DENSE
    assert not found.health.reason.is_damage
    assert found.series == []
    assert str(found.health.detail).startswith("190,555 scheduling slices, 190,554 are allowed")
    enough = settings.with_values(sched_slices_max=190_555)
    found = inspect_trace(
        session_folder / run["trace"], app=run["app"], exploration=None, time_limit_s=0.1, settings=enough
    )
    assert found.health.is_complete


def test_a_real_devices_trace_gives_frequencies_cycles_frames_and_waits(data_folder, settings):
    path = data_folder / "android-traces" / "pixel4_api31_commas_in_slice_names.perfetto-trace.gz"
    with open_trace(path, settings) as session:
        bounds = session.query("SELECT start_ts, end_ts FROM trace_bounds", {"start_ts": "int64", "end_ts": "int64"})
        found = extract_series(
            session,
            app="androidx.benchmark.integration.macrobenchmark.target",
            start_ns=int(bounds["start_ts"][0]),
            end_ns=int(bounds["end_ts"][0]),
            interval_s=0.1,
        )
        frames = session.query(
            "SELECT count(*) AS n FROM actual_frame_timeline_slice JOIN process USING (upid) WHERE process.name = "
            "'androidx.benchmark.integration.macrobenchmark.target'",
            {"n": "int64"},
        )
    series = {each.name: each for each in found}
    for name in ("cpu_app", "cycles_app", "cycles_total", "rss_app", "io_wait_app", "frames_app", "cpu_freq_7"):
        assert series[name].values is not None, series[name].missing_reason
        assert len(series[name].values) == 8
    assert round(series["frames_app"].values.sum() * 0.1) == frames["n"][0] == 2
    assert series["frames_janky_app"].values.sum() <= series["frames_app"].values.sum()
    busiest = series["cpu_freq_7"].values.max()
    assert 1e6 < busiest < 3e6  # kHz
    # No core does more cycles than time times frequency
    ceiling = sum(series[f"cpu_freq_{n}"].values * 1e3 for n in range(8))
    assert (series["cycles_total"].values <= ceiling * 1.001).all()
