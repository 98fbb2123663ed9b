"""From made-up runs to verdicts: an improvement hides no regression, and which direction is worse holds all the way."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import SAMPLES, Project, row, threads, values

from perfreg_assets.traces.gate import TraceHealth
from perfreg_assets.traces.grid import Series
from perfreg_assets.traces.inspection import Inspection

HISTORY = 12
UNITS = {"cpu_app": "core-seconds/s", "cpu_total": "core-seconds/s", "rss_app": "bytes", "frames_app": "frames/s"}
HEALTH = TraceHealth(is_complete=True, reason=None, detail="", start_ns=0, end_ns=SAMPLES * 1_000_000_000)


def project_of(folder, course, targets, **settings):
    """Twelve runs of version 1 and some of version 2, judged. `course(run number, series)` gives samples."""
    runs = [row(number, version="1" if number < HISTORY else "2") for number in range(HISTORY + targets)]

    def inspect(run, settings):
        number = int(run.run_id.removeprefix("made-"))
        found = [(name, course(number, name)) for name in UNITS]
        return Inspection(
            HEALTH, [Series(name, UNITS[name], 1.0, 0, samples) for name, samples in found], [], threads(run.run_id)
        )

    project = Project(folder, inspect, history_size=HISTORY, **settings)
    project.arrive(*runs)
    project.settle()
    return project


def verdicts(project):
    """(run number, series) → its current verdict with what was measured."""
    rows = project.rows(
        "SELECT given.*, measured.uncorrected_distance FROM marts.verdicts AS given JOIN marts.distances AS measured "
        "USING (run_id, series, detector) WHERE given.is_current AND measured.is_latest"
    )
    return {(int(one["run_id"].removeprefix("made-")), one["series"]): one for one in rows}


def test_less_cpu_does_not_make_a_leak_an_improvement(tmp_path):
    """CPU at 60 %, and leaks of all sizes: from none to one that is an alarm of its own."""
    leaks = dict(enumerate(np.linspace(0.0, 0.06, 25), start=HISTORY))

    def course(number, name):
        extra = leaks.get(number, 0.0) if name == "rss_app" else 0.0
        less = 0.6 if number in leaks and name != "rss_app" else 1.0
        return less * values(f"made-{number:03d}", name, extra=extra)

    found = verdicts(project_of(tmp_path, course, len(leaks)))
    states = {number: found[number, "*"]["state"] for number in leaks}
    assert states[min(leaks)] == "improved"
    assert states[max(leaks)] == "anomalous"
    suspicious = {
        number
        for number in leaks
        if found[number, "rss_app"]["uncorrected_distance"] > found[number, "rss_app"]["threshold"]
    }
    assert not {number for number in suspicious if states[number] == "improved"}
    hidden = [number for number in suspicious if states[number] == "normal"]
    assert hidden  # over its own threshold, not over that of the whole run, and CPU much better
    for number in hidden:
        assert found[number, "cpu_app"]["state"] == "improved"
        assert "is no improvement while more load" in found[number, "*"]["explanation"]


@pytest.mark.parametrize("detector", ["default", "iqr"])
def test_falling_frames_are_a_regression_from_trace_to_verdict(tmp_path, detector):
    levels = {HISTORY: 30.0, HISTORY + 1: 75.0, HISTORY + 2: 58.0}

    def course(number, name):
        noise = np.random.default_rng(number).normal(0.0, 0.8, SAMPLES)
        return levels.get(number, 58.0) + noise

    project = project_of(tmp_path, course, len(levels), judged_series=("frames_app",))
    project.change("detector", detector)
    project.settle()
    found = verdicts(project)
    fallen, risen, usual = (found[number, "*"] for number in levels)
    assert (fallen["state"], found[HISTORY, "frames_app"]["state"]) == ("anomalous", "anomalous")
    assert fallen["direction"] == "less"
    if detector == "default":
        assert risen["state"] == "improved"
        assert usual["state"] == "normal"
    axes = {
        one["run_id"]: one["state"]
        for one in project.rows("SELECT run_id, state FROM marts.axis_verdicts WHERE is_current AND axis = 'frames'")
    }
    assert axes[fallen["run_id"]] == "anomalous"
    assert axes[risen["run_id"]] == risen["state"]
