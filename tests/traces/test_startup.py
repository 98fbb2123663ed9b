"""Startup times: recorded launches against a slow reading of the slices, and made-up ones of known times."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from perfreg_assets.catalogue import SERIES
from perfreg_assets.traces import startup
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.inspection import inspect_trace
from perfreg_assets.traces.startup import startup_times

MS = 1_000_000
APP = "com.rig.app"
TARGET = "androidx.benchmark.integration.macrobenchmark.target"
SYSTEM_SERVER, MAIN, RENDER = 100, 10, 11
FOREVER = 1 << 62
METRICS = {one.name for one in SERIES if one.axis == "startup"}
SLICES = """
SELECT slice.ts, slice.dur, slice.name, thread.name AS thread, process.name AS process
FROM slice LEFT JOIN thread_track ON slice.track_id = thread_track.id LEFT JOIN thread USING (utid)
LEFT JOIN process USING (upid) ORDER BY slice.ts
"""
SLICE_SCHEMA = {"ts": "int64", "dur": "int64", "name": "string", "thread": "string", "process": "string"}


class Launches:
    """A trace with launches of apps as Android 13 tells them, without frame timeline; times in ms."""

    def __init__(self, maker) -> None:
        self.maker = maker.process(SYSTEM_SERVER, "system_server").process(MAIN, APP, {RENDER: "RenderThread"})
        self.maker.schedule([(0, MAIN, 0, 10_000 * MS)])
        self._count = 0

    def _print(self, pid: int, at_ms: float, text: str) -> None:
        def fill(event):
            event.print.buf = text + "\n"

        self.maker.event(1, int(at_ms * MS), pid, fill)

    def launch(self, at_ms: float, kind: str, *, app: str = APP, took_ms: float = 50) -> Launches:
        self._count += 1
        name = f"launchingActivity#{self._count}"
        self._print(SYSTEM_SERVER, at_ms, f"S|{SYSTEM_SERVER}|{name}|{self._count}")
        self._print(SYSTEM_SERVER, at_ms + took_ms, f"F|{SYSTEM_SERVER}|{name}|{self._count}")
        completed = f"completed-{kind}" if kind else "completed"
        self._print(SYSTEM_SERVER, at_ms + took_ms + 1, f"I|{SYSTEM_SERVER}|{name}:{completed}:{app}")
        return self

    def slice(self, thread: int, at_ms: float, until_ms: float, name: str) -> Launches:
        self._print(thread, at_ms, f"B|{MAIN}|{name}")
        self._print(thread, until_ms, f"E|{MAIN}")
        return self

    def frame(self, at_ms: float, drawn_ms: float, number: int | None = None) -> Launches:
        do, draw = ("Choreographer#doFrame", "DrawFrame") if number is None else (
            f"Choreographer#doFrame {number}", f"DrawFrames {number}",
        )  # fmt: skip
        self.slice(MAIN, at_ms, at_ms + 4, do)
        return self.slice(RENDER, at_ms + 2, drawn_ms, draw)

    def fully_drawn(self, at_ms: float) -> Launches:
        return self.slice(MAIN, at_ms, at_ms + 1, "reportFullyDrawn() for {com.rig.app/.Main}")


@pytest.fixture
def launches(make_trace):
    return Launches(make_trace())


@pytest.fixture
def times(tmp_path, settings):
    """Startup measurements by metric of a synthetic trace."""

    def run(made, *, app=APP, start_ns=0, end_ns=FOREVER):
        with open_trace(made.maker.write(tmp_path / "t.perfetto-trace"), settings) as session:
            found = startup_times(session, app=app, start_ns=start_ns, end_ns=end_ns)
        assert {each.metric for each in found} == METRICS
        assert all((each.value is None) == (each.reason is not None) for each in found)
        return {each.metric: each for each in found}

    return run


def values(found):
    return {name: each.value for name, each in found.items() if each.value is not None}


def by_hand(slices, launch_ns, *, full):
    """Seconds from a launch to the end of the first frame that was drawn after it, or after the app's report."""
    own = slices[slices["process"] == TARGET]
    at = launch_ns
    frames = own[own["name"].str.startswith("Choreographer#doFrame")]
    if full:
        reports = own[own["name"].str.startswith("reportFullyDrawn") & (own["ts"] >= launch_ns)]
        if reports.empty:
            return None
        at = reports["ts"].min()
        frames = frames[frames["ts"] + frames["dur"] > at]
    draws = own[own["name"].str.startswith("DrawFrame") & (own["thread"] == "RenderThread")]
    for frame_ts in sorted(frames.loc[frames["ts"] >= (launch_ns if full else at), "ts"]):
        following = frames.loc[frames["ts"] > frame_ts, "ts"].min()
        drawn = draws[(draws["ts"] >= frame_ts) & ~(draws["ts"] >= following)]
        if not drawn.empty:
            first = drawn.iloc[0]
            return (first["ts"] + first["dur"] - launch_ns) / 1e9
    return None


@pytest.mark.parametrize(
    ("trace", "kind", "launch", "initial_s", "full_s"),
    [
        ("nexus5x_api24_startup_cold", "untyped", r"launching: .*", 0.264869885, 0.715406822),
        (
            "pixel4_api31_commas_in_slice_names",
            "cold",
            r"MetricsLogger:launchObserverNotifyIntentStarted",
            0.174835955,
            None,
        ),
        ("pixel6a_api32_startup_warm", "warm", r"launchingActivity#\d+", 0.154636678, 0.659648153),
    ],
)
def test_recorded_launches_take_as_long_as_their_slices_say(
    data_folder, settings, trace, kind, launch, initial_s, full_s
):
    with open_trace(data_folder / "android-traces" / f"{trace}.perfetto-trace.gz", settings) as session:
        found = {each.metric: each for each in startup_times(session, app=TARGET, start_ns=0, end_ns=FOREVER)}
        slices = pd.DataFrame(session.query(SLICES, SLICE_SCHEMA).columns)
    (launch_ns,) = slices.loc[[bool(re.fullmatch(launch, name)) for name in slices["name"]], "ts"]
    expected = {f"startup_initial_display_{kind}": initial_s, f"startup_full_display_{kind}": full_s}
    assert values(found) == {name: value for name, value in expected.items() if value is not None}
    assert initial_s == by_hand(slices, launch_ns, full=False)
    assert full_s == by_hand(slices, launch_ns, full=True)
    told = found[f"startup_initial_display_{kind}"]
    assert (told.unit, told.worse) == ("s", "more")
    assert told.provenance["launches"] == [{"ts_ns": launch_ns, "seconds": initial_s}]
    if full_s is None:
        assert "reportFullyDrawn" in found[f"startup_full_display_{kind}"].reason


def test_one_look_at_a_trace_brings_series_and_startup_times(data_folder, settings):
    path = data_folder / "android-traces" / "pixel6a_api32_startup_warm.perfetto-trace.gz"
    found = inspect_trace(path, app=TARGET, exploration=None, time_limit_s=1, settings=settings)
    assert found.health.is_complete, found.health.detail
    assert {each.name for each in found.series} >= {"cpu_app", "cpu_total"}
    known = {each.metric: each.value for each in found.measurements if each.value is not None}
    assert known == {"startup_initial_display_warm": 0.154636678, "startup_full_display_warm": 0.659648153}


def test_the_median_over_the_launches_of_a_kind(launches, times):
    for at, took in [(0, 300), (1000, 500), (2000, 400)]:
        launches.launch(at, "cold").frame(at + took - 20, at + took)
    launches.launch(3000, "hot").frame(3030, 3060)
    found = times(launches)
    assert values(found) == {"startup_initial_display_cold": 0.4, "startup_initial_display_hot": 0.06}
    assert [one["seconds"] for one in found["startup_initial_display_cold"].provenance["launches"]] == [0.3, 0.5, 0.4]
    assert found["startup_initial_display_warm"].reason == "the app had no warm launch"


def test_a_frame_or_report_of_a_later_launch_is_not_an_earlier_ones(launches, times):
    # Perfetto's library takes the first report after each launch: 1.3 s for the first one here.
    launches.launch(0, "cold").frame(80, 100)
    launches.launch(1000, "cold").frame(1180, 1200).fully_drawn(1250).frame(1280, 1300)
    found = times(launches)
    assert values(found) == {
        "startup_initial_display_cold": pytest.approx(0.15),
        "startup_full_display_cold": pytest.approx(0.3),
    }
    assert len(found["startup_full_display_cold"].provenance["launches"]) == 1


def test_launches_outside_the_window_and_of_other_apps_do_not_count(launches, times):
    launches.maker.process(30, APP + "2")
    launches.launch(0, "cold").frame(80, 100)
    launches.launch(1000, "warm").frame(1180, 1200)
    launches.launch(2000, "cold", app=APP + "2")
    assert values(times(launches, start_ns=500 * MS)) == {"startup_initial_display_warm": 0.2}
    assert values(times(launches, end_ns=1000 * MS)) == {"startup_initial_display_cold": 0.1}
    reasons = {each.reason for each in times(launches, app="com.rig").values()}
    assert reasons == {"the app was not launched while it was recorded"}


def test_a_trace_without_slices_need_not_be_asked(session_folder, settings):
    with open_trace(session_folder / "trace.perfetto-trace.gz", settings) as session:
        contents = load_contents(session)
        asked, known = (
            startup_times(session, app="com.rig.notes", start_ns=0, end_ns=FOREVER, has_slices=has_slices)
            for has_slices in (True, contents.has_slices)
        )
    assert not contents.has_slices
    assert known == asked


def test_a_launch_without_a_frame_has_no_time_but_a_reason(launches, times):
    found = times(launches.launch(0, "cold"))
    assert values(found) == {}
    assert found["startup_initial_display_cold"].reason.startswith("the trace shows no frame of the app")
    numbered = times(launches.frame(80, 100, number=7))  # as from Android 12 on
    assert numbered["startup_initial_display_cold"].reason.endswith("needs the frame timeline)")
    assert found["startup_initial_display_untyped"].reason == "the trace tells the type of every launch"


def test_a_launch_of_which_the_kind_is_not_told_has_its_own_metric(launches, times):
    assert values(times(launches.launch(0, "").frame(80, 100))) == {"startup_initial_display_untyped": 0.1}


def test_a_trace_without_launches_says_so(session_folder, settings):
    with open_trace(session_folder / "trace.perfetto-trace.gz", settings) as session:
        found = startup_times(session, app="com.rig.notes", start_ns=0, end_ns=FOREVER)
    assert {each.value for each in found} == {None}
    assert {each.reason for each in found} == {"the trace shows no launch of any app (atrace categories am and wm)"}


def test_an_engine_without_the_module_is_a_reason_not_an_error(launches, times, monkeypatch):
    monkeypatch.setattr(startup, "statement", lambda name: "INCLUDE PERFETTO MODULE android.startup.unheard_of;")
    found = times(launches.launch(0, "cold").frame(80, 100))
    assert values(found) == {}
    assert all("the trace processor refuses startups.sql" in each.reason for each in found.values())
