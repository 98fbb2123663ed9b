"""Series that are made of one statement's rows, on traces of known content and on real ones, against slow sums."""

from __future__ import annotations

import ast
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from perfreg_assets import bundled, catalogue
from perfreg_assets.traces import row_series, series, statements
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.row_series import RowRule
from perfreg_assets.traces.series import EXTRACTORS, extract_series

SECOND = 1_000_000_000
MS = 1_000_000
APP = "com.rig.app"
BENCHMARK = "androidx.benchmark.integration.macrobenchmark.target"
NOT_IDLE = 2**32 - 1


@pytest.fixture
def maker(make_trace):
    return make_trace().process(10, APP, {11: "worker"}).process(20, "other").schedule([(0, 10, 0, 4 * SECOND)])


@pytest.fixture
def extract(tmp_path, settings):
    def run(maker, *, end=4 * SECOND, app=APP):
        with open_trace(maker.write(tmp_path / "t.perfetto-trace"), settings) as session:
            found = extract_series(session, app=app, start_ns=0, end_ns=end, interval_s=1.0)
        return {each.name: each for each in found}

    return run


def step_by_step(samples, end_s, before=None):
    """Mean over each second of what holds from each sample on, looked at in every millisecond."""
    means = []
    for second in range(end_s):
        seen = []
        for ms in range(1000):
            now = second * SECOND + ms * MS
            past = [value for ts, value in samples if ts <= now]
            seen.append(past[-1] if past else samples[0][1] if before is None else before)
        means.append(sum(seen) / 1000)
    return means


# ---- made traces -------------------------------------------------------------------------------------
def test_the_hottest_of_the_zones_that_measure_a_temperature(maker, extract):
    zones = {"cpu": [(0, 40.0), (1500 * MS, 52.5)], "skin": [(200 * MS, 45.0), (3 * SECOND, 60.0)]}
    for zone, samples in zones.items():
        for ts, celsius in samples:
            maker.told(ts, "thermal_temperature", thermal_zone=zone, temp=round(celsius * 1000))
    maker.told(SECOND, "thermal_temperature", thermal_zone="switched_off", temp=-274_000)
    maker.told(SECOND, "thermal_temperature", thermal_zone="soc", temp=4_000_000)
    found = extract(maker)["temperature_max"]
    hottest = [(0, 45.0), (1500 * MS, 52.5), (3 * SECOND, 60.0)]
    assert found.unit == "celsius"
    assert found.values.tolist() == pytest.approx(step_by_step(hottest, 4))


def test_temperatures_that_begin_late_are_missing(maker, extract):
    found = extract(maker.told(2 * SECOND, "thermal_temperature", thermal_zone="cpu", temp=40_000))["temperature_max"]
    assert (found.values, found.reason_code) == (None, "series_missing")
    assert "2.0 s late" in found.missing_reason


def test_throttling_is_the_highest_level_of_a_cooling_device_and_none_before_the_first(maker, extract):
    for ts, kind, level in [
        (500 * MS, "cpu-0", 2),
        (SECOND, "gpu", 3),
        (2 * SECOND, "gpu", 0),
        (3 * SECOND, "cpu-0", 0),
    ]:
        maker.told(ts, "cdev_update", type=kind, target=level)
    found = extract(maker)["throttling_level"]
    levels = [(500 * MS, 2), (SECOND, 3), (2 * SECOND, 2), (3 * SECOND, 0)]
    assert found.values.tolist() == pytest.approx(step_by_step(levels, 4, before=0))


def test_system_calls_of_the_apps_threads_count_where_they_begin(maker, extract):
    calls = [(100 * MS, 10), (999 * MS, 11), (SECOND, 10), (2 * SECOND, 20), (2500 * MS, 20)]
    for ts, tid in calls:
        maker.told(ts, "sys_enter", tid=tid, id=63).told(ts + MS, "sys_exit", tid=tid, id=63, ret=0)
    found = extract(maker)
    assert found["syscalls_app"].values.tolist() == [2, 1, 0, 0]
    assert found["syscalls_app"].unit == "calls/s"
    assert extract(maker, app="none.of.them")["syscalls_app"].values.tolist() == [0, 0, 0, 0]


def test_an_atrace_section_that_is_named_like_a_system_call_is_none(maker, extract):
    maker.told(SECOND, "print", tid=10, buf="B|10|sys_read\n").told(SECOND + MS, "print", tid=10, buf="E|10\n")
    assert extract(maker)["syscalls_app"].values is None


def test_heap_is_what_was_allocated_and_not_freed_at_each_dump(maker, extract):
    maker.clocks()
    for ts, allocated, freed in [(500 * MS, 1000, 0), (1500 * MS, 5000, 500), (2500 * MS, 9000, 8000)]:
        maker.heap_dump(ts, 10, allocated=allocated, freed=freed)
    found = extract(maker)["heap_app"]
    assert found.values.tolist() == [1000, 4500, 1000, 1000]
    assert found.unit == "bytes"
    assert extract(maker, app="other")["heap_app"].values is None  # it was not sampled: unknown, not 0


def test_frequencies_of_gpus_are_kilohertz_whatever_the_driver_calls_them(maker, extract):
    maker.told(0, "gpu_frequency", gpu_id=0, state=434_000).told(500 * MS, "gpu_frequency", gpu_id=0, state=0)
    maker.told(0, "kgsl_gpu_frequency", gpu_id=1, gpu_freq=600_000)
    found = extract(maker)
    assert found["gpu_freq_0"].values.tolist() == step_by_step([(0, 434_000), (500 * MS, 0)], 4)
    assert found["gpu_freq_1"].values.tolist() == [600_000] * 4
    assert found["gpu_freq_1"].unit == "kHz"


def test_gpu_work_is_the_apps_by_its_user_and_spread_over_its_period(maker, extract):
    maker.clocks().packages(com__rig__app=10_100, other=10_200)
    for uid, start, end, busy in [
        (10_100, 900 * MS, 1100 * MS, 50 * MS),
        (10_100, 2 * SECOND, 2100 * MS, 100 * MS),
        (10_200, 0, SECOND, SECOND),
    ]:
        maker.told(
            end + MS,
            "gpu_work_period",
            gpu_id=0,
            uid=uid,
            start_time_ns=start,
            end_time_ns=end,
            total_active_duration_ns=busy,
        )
    found = extract(maker)
    assert found["gpu_busy_app"].values.tolist() == pytest.approx([0.025, 0.025, 0.1, 0])
    assert extract(maker, app="idle.app")["gpu_busy_app"].values.tolist() == [0, 0, 0, 0]


def test_gpu_memory_adds_up_over_the_apps_processes(maker, extract):
    maker.process(30, APP + ":remote")
    for ts, pid, size in [(0, 10, 1000), (0, 30, 500), (1500 * MS, 10, 4000), (0, 20, 9)]:
        maker.told(ts, "gpu_mem_total", gpu_id=0, pid=pid, size=size)
    assert extract(maker)["gpu_memory_app"].values.tolist() == [1500, 4500, 4500, 4500]


def test_deep_idle_is_a_share_of_all_cores(maker, extract):
    states = {0: [(0, NOT_IDLE), (500 * MS, 1), (1500 * MS, NOT_IDLE)], 1: [(250 * MS, 0), (2 * SECOND, 3)]}
    for cpu, samples in states.items():
        for ts, state in samples:
            maker.told(ts, "cpu_idle", cpu=cpu, cpu_id=cpu, state=state)
    courses = [
        step_by_step([(ts, state not in (0, NOT_IDLE)) for ts, state in samples], 4, 0) for samples in states.values()
    ]
    assert extract(maker)["idle_deep_ratio"].values.tolist() == pytest.approx(np.mean(courses, axis=0).tolist())


def test_waiting_for_a_core_needs_the_wake_ups(make_trace, extract):
    def build(wakes):
        maker = make_trace().process(10, APP).process(20, "other")
        maker.schedule([(0, 20, 0, 1500 * MS), (0, 10, 1500 * MS, 1600 * MS)])
        maker.schedule([(0, 20, 1600 * MS, 3 * SECOND), (0, 10, 3 * SECOND, 4 * SECOND)])
        for ts in wakes:
            maker.told(ts, "sched_waking", tid=20, pid=10, comm="main", target_cpu=0, prio=120)
        return maker

    assert extract(build([]))["runnable_app"].values is None
    found = extract(build([1200 * MS, 2500 * MS]))["runnable_app"]
    assert found.values.tolist() == pytest.approx([0, 0.3, 0.5, 0])


# ---- real devices ------------------------------------------------------------------------------------
def of_device(data_folder, settings, name, app, wanted, sql, schema, interval_s=0.1):
    """One series of a whole recorded trace, and the rows of a query to make it anew from."""
    with open_trace(data_folder / "android-traces" / f"{name}.perfetto-trace.gz", settings) as session:
        contents = load_contents(session)
        start, end = contents.start_ns, contents.end_ns
        found = extract_series(session, app=app, start_ns=start, end_ns=end, interval_s=interval_s, contents=contents)
        rows = pd.DataFrame(session.query(sql, schema).columns)
    return next(each for each in found if each.name == wanted), rows, start, end


def test_waits_for_a_core_on_a_device_equal_a_slow_sum(data_folder, settings):
    found, rows, start, end = of_device(
        data_folder, settings, "pixel4_api31_commas_in_slice_names", BENCHMARK, "runnable_app",
        "SELECT s.ts, s.dur, s.utid, s.state FROM thread_state s JOIN thread USING (utid) JOIN process p USING (upid) "
        f"WHERE p.name = '{BENCHMARK}' ORDER BY s.utid, s.ts",
        {"ts": "int64", "dur": "int64", "utid": "int64", "state": "string"},
    )  # fmt: skip
    step = 100 * MS
    sums = [0] * len(found.values)
    records = list(rows.itertuples(index=False))
    for here, following in zip(records, [*records[1:], None], strict=True):
        if here.state not in ("R", "R+"):
            continue
        stop = here.ts + here.dur
        if here.dur < 0:
            stop = following.ts if following is not None and following.utid == here.utid else end
        for k in range(len(sums)):
            left = start + k * step
            sums[k] += max(0, min(stop, left + step) - max(here.ts, left))
    assert sum(sums) > 0
    assert np.rint(found.values * step).astype(int).tolist() == sums


def test_deep_idle_on_a_device_equals_a_slow_sum(data_folder, settings):
    found, rows, start, end = of_device(
        data_folder, settings, "pixel4_api31_commas_in_slice_names", BENCHMARK, "idle_deep_ratio",
        "SELECT c.ts, t.cpu, c.value FROM counter c JOIN cpu_counter_track t ON t.id = c.track_id "
        "WHERE t.name = 'cpuidle' ORDER BY t.cpu, c.ts",
        {"ts": "int64", "cpu": "int64", "value": "float64"},
    )  # fmt: skip
    step = 100 * MS
    sums = [0] * len(found.values)
    for _, core in rows.groupby("cpu"):
        for ts, until, state in zip(core.ts, [*core.ts[1:], end], core.value, strict=True):
            for k in range((ts - start) // step, min(len(sums), (until - start) // step + 1)):
                left = start + k * step
                sums[k] += (state not in (0, NOT_IDLE)) * max(0, min(until, left + step) - max(ts, left))
    assert found.values.tolist() == pytest.approx([total / step / rows.cpu.nunique() for total in sums])
    assert 0 < found.values.max() <= 1


def test_gpu_frequency_on_a_device_equals_a_slow_sum(data_folder, settings):
    found, rows, start, end = of_device(
        data_folder, settings, "pixel6_api32_odpm_rails", BENCHMARK, "gpu_freq_1",
        "SELECT c.ts, c.value FROM counter c JOIN gpu_counter_track t ON t.id = c.track_id WHERE gpu_id = 1 "
        "ORDER BY c.ts",
        {"ts": "int64", "value": "float64"},
    )  # fmt: skip
    step = 100 * MS
    times = [start, *rows.ts[1:], end]  # the first value holds before its time, too
    for k, mean in enumerate(found.values):
        left = start + k * step
        parts = zip(times, times[1:], rows.value, strict=False)
        total = sum(value * max(0, min(b, left + step) - max(a, left)) for a, b, value in parts)
        assert mean == pytest.approx(total / step)
    assert 0 < found.values.max() <= 251_000  # kHz


# ---- the bar: what a series costs --------------------------------------------------------------------
def test_every_series_of_the_catalogue_has_exactly_one_extractor():
    made = [name for extractor in EXTRACTORS for name in extractor.names]
    over_time = [one.name for one in catalogue.SERIES if one.kind != "scalar"]
    assert sorted(made) == sorted(over_time)


def test_an_extractor_makes_the_series_it_states(data_folder, settings):
    """On a trace that has most of them; the units are the catalogue's."""
    path = data_folder / "android-traces" / "pixel4_api31_commas_in_slice_names.perfetto-trace.gz"
    with open_trace(path, settings) as session:
        contents = load_contents(session)
        scope = series.Scope(
            session, contents, series.Grid.covering(contents.start_ns, contents.end_ns, 0.1), BENCHMARK
        )
        for extractor in EXTRACTORS:
            stated = "|".join(catalogue.definition_of(name).pattern for name in extractor.names)
            for each in extractor.extract(scope):
                assert re.fullmatch(stated, each.name)
                assert each.unit == catalogue.definition_of(each.name).unit != ""


def test_no_unit_and_no_label_stands_in_an_extractor():
    facts = {text for one in catalogue.SERIES for text in (one.unit, one.label, one.description)}
    facts -= {"bytes"}  # also the name of a column
    folder = Path(row_series.__file__).parent
    for name in ("row_series", "event_series", "memory_series", "sched_series", "series", "grid"):
        tree = ast.parse((folder / f"{name}.py").read_text())
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not texts & facts, name


def test_a_new_series_is_a_row_a_statement_and_a_rule(maker, extract, tmp_path, monkeypatch):
    folder = tmp_path / "sql"
    shutil.copytree(bundled.sql_dir() / "perfetto", folder / "perfetto")
    (folder / "perfetto" / "wakes.sql").write_text(
        "-- Wake-ups of the app.\nSELECT NULL AS ts UNION ALL SELECT ts FROM thread_state WHERE state = 'Running' "
        "AND utid IN (:utids);"
    )
    row = replace(catalogue.SERIES[0], name="starts_app", unit="starts/s", label="Starts of the app", short="Starts")
    rule = RowRule("starts_app", "wakes", row_series.EVENTS_PER_SECOND, "the trace has no threads")
    monkeypatch.setattr(statements.bundled, "sql_dir", lambda: folder)
    monkeypatch.setattr(catalogue, "SERIES", (*catalogue.SERIES, row))
    monkeypatch.setattr(series, "EXTRACTORS", (*EXTRACTORS, series.Extractor((rule.series,), rule.extract)))
    catalogue.definition_of.cache_clear()
    try:
        found = extract(maker)["starts_app"]
    finally:
        catalogue.definition_of.cache_clear()
    assert (found.values.tolist(), found.unit) == ([1, 0, 0, 0], "starts/s")
