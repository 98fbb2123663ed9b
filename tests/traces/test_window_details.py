"""What a trace tells about stretches of it: against the trace processor's own modules and slow sums."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces import window_details as details
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.memory_growth import memory_growth
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.slices import clusters, frame_times, slice_times
from perfreg_assets.traces.stacks import period, stack_times

SECOND = 1_000_000_000
MS = 1_000_000
APP = "com.rig.app"
BENCHMARK = "androidx.benchmark.integration.macrobenchmark.target"
EVER = (0, 2**62)


def opened(data_folder, settings, name):
    return open_trace(data_folder / "android-traces" / f"{name}.perfetto-trace.gz", settings)


def hashed(text):
    return re.sub(r"\d+", "#", text) if text else "?"


# ---- ranges --------------------------------------------------------------------------------------
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8))
def test_ranges_that_touch_are_asked_for_together(ranges):
    found = list(clusters(ranges))
    covered = {moment for start, end in ranges for moment in range(start, end)}
    assert {moment for first, last, _ in found for moment in range(first, last)} == covered
    assert sorted(k for _, _, members in found for k in members) == [k for k, (a, b) in enumerate(ranges) if a < b]
    assert all(first <= ranges[k][0] and ranges[k][1] <= last for first, last, members in found for k in members)
    assert all(one[1] < other[0] for one, other in pairwise(found))


def test_seconds_of_a_long_run_are_asked_for_in_parts():
    found = list(clusters([(k, k + 1) for k in range(150)]))
    assert [(first, last) for first, last, _ in found] == [(0, 60), (60, 120), (120, 150)]
    assert [k for _, _, members in found for k in members] == list(range(150))


# ---- slices --------------------------------------------------------------------------------------
def test_self_times_of_a_whole_trace_are_those_of_the_standard_library(data_folder, settings):
    with opened(data_folder, settings, "pixel6a_api32_startup_warm") as session:
        found = slice_times(session, Names(load_contents(session, with_sched=False), BENCHMARK), [EVER])
        table = session.query(
            "INCLUDE PERFETTO MODULE slices.self_dur; "
            "SELECT s.name AS name, d.self_dur AS self_ns, s.dur AS dur FROM slice AS s "
            "JOIN thread_track AS t ON t.id = s.track_id JOIN slice_self_dur AS d ON d.id = s.id",
            {"name": "string", "self_ns": "int64", "dur": "int64"},
        )
    library, mine = defaultdict(float), defaultdict(float)
    is_open = {hashed(name) for name, dur in zip(table["name"], table["dur"], strict=True) if dur < 0}
    for name, self_ns in zip(table["name"], table["self_ns"], strict=True):
        library[hashed(name)] += self_ns / 1e9
    for row in found.rows.to_pylist():
        mine[row["path"][-1]] += row["self_s"]
    assert found.clipped_count == 0
    assert set(library) == set(mine)
    assert len(library) > 400
    for name in set(library) - is_open:  # one that is open lasts until the trace ends here, and -1 ns there
        assert mine[name] == pytest.approx(library[name], abs=1e-9)


def test_a_slow_sum_over_stretches_of_a_trace(data_folder, settings):
    with opened(data_folder, settings, "pixel6a_api32_startup_warm") as session:
        contents = load_contents(session, with_sched=False)
        first, last = contents.start_ns, contents.end_ns
        third = (last - first) // 3
        ranges = [
            (first + third, first + 2 * third),
            (first + third - 10 * MS, first + third + 25 * MS),
            (first, first + 1),
            (last - 50 * MS, last),
            (first + third, first + 2 * third),
        ]
        found = slice_times(session, Names(contents, BENCHMARK), ranges)
        table = session.query(
            "SELECT s.id, s.ts, s.dur, s.name, s.parent_id, t.name AS thread, p.name AS process FROM slice AS s "
            "JOIN thread_track AS k ON k.id = s.track_id JOIN thread AS t USING (utid) "
            "LEFT JOIN process AS p USING (upid)",
            {
                "id": "int64", "ts": "int64", "dur": "int64", "name": "string", "parent_id": "Int64",
                "thread": "string", "process": "string",
            },
        )  # fmt: skip
    lists = (column if isinstance(column, np.ndarray) else column.tolist() for column in table.columns.values())
    rows = {row[0]: row for row in zip(*lists, strict=True)}
    slow = defaultdict(lambda: [0, 0])
    for k, (start, end) in enumerate(ranges):

        def inside(row, start=start, end=end):
            until = last if row[2] < 0 else row[1] + row[2]
            return max(0, min(until, end) - max(row[1], start))

        children = defaultdict(int)
        for row in rows.values():
            children[row[4]] += inside(row)
        for number, row in rows.items():
            own, begins = inside(row) - children[number], start <= row[1] < end
            if own or begins:
                path, at = [], row
                while at is not None:
                    path.insert(0, hashed(at[3]))
                    at = rows.get(at[4])
                total = slow[k, hashed(row[6]), hashed(row[5]), tuple(path)]
                total[0] += own
                total[1] += begins
    mine = {
        (row["range"], row["process"], row["thread"], tuple(row["path"])): [round(row["self_s"] * 1e9), row["count"]]
        for row in found.rows.to_pylist()
    }
    assert len(mine) > 500
    assert mine == dict(slow)
    of_app = [row for row in found.rows.to_pylist() if row["is_app"]]
    assert {row["process"] for row in of_app} == {BENCHMARK}
    locks = {row["path"][-1][:12] for row in found.rows.to_pylist() if row["is_lock"]}
    assert locks <= {"Lock content", "monitor cont"}
    assert locks


@pytest.mark.parametrize("name", ["pixel7pro_nowinandroid_compose_slices", "emulator_api31_39s_chrome"])
def test_frames_are_told_by_process_and_kind_of_jank(data_folder, settings, name):
    app = "com.android.systemui"
    with opened(data_folder, settings, name) as session:
        contents = load_contents(session)
        found = frame_times(session, Names(contents, app), [(contents.start_ns, contents.end_ns + 1), (5, 5)])
        table = session.query(
            "SELECT p.name AS process, jank_type, count(*) AS n, "
            "sum(iif(dur < 0, (SELECT end_ts FROM trace_bounds) - ts, dur)) AS dur "
            "FROM actual_frame_timeline_slice LEFT JOIN process AS p USING (upid) GROUP BY 1, 2",
            {"process": "string", "jank_type": "string", "n": "int64", "dur": "int64"},
        )
    library = {
        (hashed(process), jank): (n, dur / 1e9)
        for process, jank, n, dur in zip(*(table[name] for name in table.columns), strict=True)
    }
    mine = {(row["process"], row["jank_type"]): (row["count"], row["total_s"]) for row in found.to_pylist()}
    assert set(mine) == set(library)
    for key, (count, total_s) in mine.items():
        assert (count, total_s) == (library[key][0], pytest.approx(library[key][1]))
    of_app = {row["process"] for row in found.to_pylist() if row["is_app"]}
    assert of_app == ({app} if "emulator" in name else set()), "the other trace does not name its processes"


# ---- stacks --------------------------------------------------------------------------------------
def test_samples_by_stack_are_those_of_the_standard_library(data_folder, settings):
    with opened(data_folder, settings, "emulator_api31_39s_chrome") as session:
        contents = load_contents(session, with_sched=False)
        found = stack_times(session, Names(contents, "com.android.chrome"), [EVER])
        table = session.query(
            "INCLUDE PERFETTO MODULE linux.perf.samples; "
            "SELECT name, mapping_name, self_count FROM linux_perf_samples_summary_tree WHERE self_count > 0",
            {"name": "string", "mapping_name": "string", "self_count": "int64"},
        )
    library, mine = defaultdict(int), defaultdict(int)
    for name, mapping, count in zip(table["name"], table["mapping_name"], table["self_count"], strict=True):
        library[name or f"[{mapping.rpartition('/')[2]}]"] += count
    for row in found.rows.to_pylist():
        mine[row["path"][-1]] += row["count"]
        assert (row["source"], row["unit"]) == ("perf", "sched:sched_switch")
        assert row["self_value"] == 2 * row["count"], "the counter goes on by 2 from sample to sample here"
    assert (found.sample_count, found.without_stack_count) == (5200, 197)
    assert sum(mine.values()) == 5200 - 197
    assert mine == library


def test_a_sample_counts_in_each_range_that_it_is_in(data_folder, settings):
    with opened(data_folder, settings, "emulator_api31_39s_chrome") as session:
        contents = load_contents(session, with_sched=False)
        samples = session.query("SELECT ts FROM perf_sample ORDER BY ts", {"ts": "int64"})["ts"]
        middle = int(samples[2600])
        ranges = [(0, middle), (middle, 2**62), (int(samples[100]), int(samples[3000]))]
        found = stack_times(session, Names(contents, "com.android.chrome"), ranges)
    expected = [((samples >= start) & (samples < end)).sum() for start, end in ranges]
    assert found.sample_count == sum(expected)
    assert sum(found.rows["count"].to_pylist()) == found.sample_count - found.without_stack_count
    assert expected[0] + expected[1] == 5200


class Counters:
    """An engine that has nothing but what perf's counter counted, and a profiler's samples."""

    def __init__(self, **columns):
        self.columns = columns

    def query(self, _, schema):
        return {name: np.array(self.columns.get(name, []), dtype=object if kind == "string" else None)
                for name, kind in schema.items()}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "columns", "expected"),
    [
        ("heap", {}, (1.0, "bytes")),
        ("perf", {}, (1.0, "samples")),
        (
            "perf",
            {"track": [1, 1, 1, 2, 2, 2], "counter": ["cpu-clock"] * 6, "value": [10.0, 1e7, 2e7, 5.0, 1e7, 4e7]},
            (0.01, "s"),
        ),
        (
            "perf",
            {"track": [1, 1, 1], "counter": ["page-faults"] * 3, "value": [100.0, 200.0, 400.0]},
            (150.0, "page-faults"),
        ),
        ("cpu_profile", {"ts": [0, 5 * MS, 10 * MS, 0, 5 * MS], "utid": [1, 1, 1, 2, 2]}, (0.005, "s")),
        ("cpu_profile", {"ts": [7], "utid": [1]}, (1.0, "samples")),
    ],
)
def test_a_sample_stands_for_the_usual_step(source, columns, expected):
    value, unit = period(Counters(**columns), source)
    assert (pytest.approx(value, rel=1e-3), unit) == expected


def test_native_allocations_are_told_in_bytes(make_trace, tmp_path, settings):
    maker = make_trace().clocks().process(10, APP)
    maker.heap_dump(1 * SECOND, 10, allocated=1000, freed=0).heap_dump(3 * SECOND, 10, allocated=5000, freed=500)
    with open_trace(maker.write(tmp_path / "t.perfetto-trace"), settings) as session:
        names = Names(load_contents(session), APP)
        found = stack_times(session, names, [(2 * SECOND, 4 * SECOND)])
    totals = defaultdict(float)
    for row in found.rows.to_pylist():
        assert (row["source"], row["is_app"], row["process"], row["unit"]) == ("heap", True, APP, "bytes")
        totals[tuple(row["path"])] += row["self_value"]
    assert totals == {("malloc",): 3500.0}


# ---- memory --------------------------------------------------------------------------------------
def test_which_process_grew_and_by_what_kind(make_trace, tmp_path, settings):
    maker = make_trace().clocks().process(10, APP).process(20, "other7").process(30, "old").process(40, "still")
    for second, (anon, file, swap) in enumerate([(100, 50, 0), (200, 50, 0), (400, 60, 8)]):
        maker.memory(second * SECOND + 1, 10, rss=anon + file, rss_anon=anon, rss_file=file, swap=swap)
        maker.memory(second * SECOND + 1, 20, rss_anon=7)
        maker.memory(second * SECOND + 1, 30, rss=anon)
    with open_trace(maker.write(tmp_path / "t.perfetto-trace"), settings) as session:
        ranges = [(SECOND // 2, 5 * SECOND // 2), (SECOND // 2, 3 * SECOND // 2)]
        found = memory_growth(session, Names(load_contents(session), APP), ranges)
    told = {
        (row["range"], row["process"], row["kind"]): (row["before_bytes"], row["after_bytes"])
        for row in found.to_pylist()
    }
    kib = 1024.0
    assert told == {
        (0, APP, "anon"): (100 * kib, 400 * kib),
        (0, APP, "file"): (50 * kib, 60 * kib),
        (0, APP, "swap"): (0, 8 * kib),
        (0, "other#", "anon"): (7 * kib, 7 * kib),
        (0, "old", "rss"): (100 * kib, 400 * kib),
        (1, APP, "anon"): (100 * kib, 200 * kib),
        (1, APP, "file"): (50 * kib, 50 * kib),
        (1, "other#", "anon"): (7 * kib, 7 * kib),
        (1, "old", "rss"): (100 * kib, 200 * kib),
    }
    assert {row["process"] for row in found.to_pylist() if row["is_app"]} == {APP}


def test_what_smaps_tells_of_a_process(make_trace, tmp_path, settings):
    maker = make_trace().clocks().process(10, APP)
    for second, grown in enumerate((0, 100)):
        maker.memory(second * SECOND + 1, 10, rss=400, pss_anon=100 + grown, pss_file=50, pss_shmem=5, pss_swap=grown)
    with open_trace(maker.write(tmp_path / "t.perfetto-trace"), settings) as session:
        contents = load_contents(session)
        found = memory_growth(session, Names(contents, APP), [(SECOND // 2, 2 * SECOND)])
    told = {row["kind"]: (row["before_bytes"], row["after_bytes"]) for row in found.to_pylist()}
    kib = 1024.0
    assert told == {
        "rss": (400 * kib, 400 * kib),
        "pss_anon": (100 * kib, 200 * kib),
        "pss_file": (50 * kib, 50 * kib),
        "pss_shmem": (5 * kib, 5 * kib),
        "pss_swap": (0, 100 * kib),
    }
    assert contents.sampled == {"smaps"}


# ---- kept ----------------------------------------------------------------------------------------
def test_details_are_read_once_and_kept_by_what_they_were_made_from(data_folder, settings, tmp_path, monkeypatch):
    path = data_folder / "android-traces" / "emulator_api31_39s_chrome.perfetto-trace.gz"
    settings = settings.with_values(home=tmp_path)
    app, ranges = "com.android.chrome", [(1_800 * SECOND, 1_805 * SECOND), (1_805 * SECOND, 1_806 * SECOND)]
    first = details.window_details(nullcontext(path), "abc", app, ranges, settings)
    assert first.sample_count > 100
    assert first.without_stack_count > 0
    assert first.memory.num_rows > 10
    assert set(first.memory.column("is_app").to_pylist()) == {True}, "of others nothing is compared"
    nowhere = tmp_path / "gone"
    again = details.window_details(nullcontext(nowhere), "abc", app, ranges, settings)
    assert again == first
    for other in (("abd", app, ranges), ("abc", APP, ranges), ("abc", app, ranges[:1])):
        with pytest.raises(Rejected) as caught:
            details.window_details(nullcontext(nowhere), *other, settings)
        assert caught.value.reason is Reason.TRACE_FILE_MISSING
    with monkeypatch.context() as patched:
        patched.setattr(details, "code_version", lambda part: "other")
        with pytest.raises(Rejected):
            details.window_details(nullcontext(nowhere), "abc", app, ranges, settings)
    (kept,) = (tmp_path / details.FOLDER).iterdir()
    for content in (kept.read_bytes()[:-200], b"", b"nonsense"):
        kept.write_bytes(content)
        assert details.window_details(nullcontext(path), "abc", app, ranges, settings) == first


def test_what_nobody_uses_goes(data_folder, settings, tmp_path):
    path = data_folder / "android-traces" / "pixel7a_rails_50mbps_0.perfetto-trace.gz"
    settings = settings.with_values(home=tmp_path)
    for sha256 in ("used", "unused"):
        details.window_details(nullcontext(path), sha256, APP, [EVER], settings)
    assert len(list((tmp_path / details.FOLDER).iterdir())) == 2
    for kept in (tmp_path / details.FOLDER).iterdir():
        os.utime(kept, (0, 0))
    details.window_details(nullcontext(tmp_path / "gone"), "used", APP, [EVER], settings)
    details.window_details(nullcontext(path), "new", APP, [EVER], settings)
    assert len(list((tmp_path / details.FOLDER).iterdir())) == 2
    details.window_details(nullcontext(tmp_path / "gone"), "used", APP, [EVER], settings)
    with pytest.raises(Rejected):
        details.window_details(nullcontext(tmp_path / "gone"), "unused", APP, [EVER], settings)


def test_what_another_thread_put_in_its_place_meanwhile_is_no_failure(data_folder, settings, tmp_path, caplog):
    """Traces are opened side by side: the part that one has just renamed is listed by another and is gone."""
    (tmp_path / details.FOLDER).mkdir()
    (tmp_path / details.FOLDER / ".another.arrow.1.part").symlink_to(tmp_path / "renamed meanwhile")
    path = data_folder / "android-traces" / "pixel7a_rails_50mbps_0.perfetto-trace.gz"
    details.window_details(nullcontext(path), "abc", APP, [EVER], settings.with_values(home=tmp_path))
    assert caplog.text == ""


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(data_folder, settings, tmp_path, caplog):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / details.FOLDER).write_text("a file in the way")
    path = data_folder / "android-traces" / "pixel7a_rails_50mbps_0.perfetto-trace.gz"
    found = details.window_details(nullcontext(path), "abc", APP, [EVER], settings.with_values(home=tmp_path / "home"))
    assert (found.slices.num_rows, found.frames.num_rows, found.stacks.num_rows, found.memory.num_rows) == (0, 0, 0, 0)
    assert "cannot be" in caplog.text
