"""Where a run differs: one series that cannot be computed is told as that, and takes nothing else with it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import Project, reader_of, row

from perfreg_assets.methods.omega_rule import FAR_ALARM
from perfreg_assets.model import comparisons, freshness, localising, readiness
from perfreg_assets.model.stopwatch import Stopwatch

BROKEN, WHOLE = "made-008", "made-009"
REGRESSIONS = {BROKEN: ("cpu_app", 1.0), WHOLE: ("cpu_app", 1.0), "made-010": ("rss_app", 1.5)}
_PLACES = """
SELECT run_id, series, localisation_state, window_count, examined_start_s, examined_end_s, reason_code, reason
FROM marts.localisations ORDER BY ALL
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Twelve runs, three of them anomalous, all settled; tests leave it settled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        made = Project(tmp_path_factory.mktemp("project"), reader_of(REGRESSIONS))
        made.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(12)))
        made.settle()
        yield made


def places(project):
    """(run, series) → its row of marts.localisations."""
    return {(one["run_id"], one["series"]): one for one in project.rows(_PLACES)}


def localised_again(project, monkeypatch, localise):
    """What the step says when every anomalous series is due again and `localise` is what finds its windows."""
    due = {"made-008", "made-009", "made-010"}
    monkeypatch.setattr(
        readiness,
        "ready",
        lambda reader, settings, *_: readiness.Ready(due, comparisons.plan(reader, sorted(due), settings)),
    )
    monkeypatch.setattr(localising, "_localise", localise)
    return localising.localise_due(project.warehouse, project.settings, ["any"], Stopwatch())


def test_windows_none_and_the_examined_stretch_are_told_apart(project):
    found = places(project)
    assert {BROKEN, WHOLE, "made-010"} <= {run_id for run_id, _ in found}
    for (run_id, series), one in found.items():
        windows = project.rows(f"SELECT * FROM marts.discords WHERE run_id = '{run_id}' AND series = '{series}'")
        assert one["window_count"] == len(windows)
        assert one["localisation_state"] == ("windows" if windows else "none")
        # 40 s: of memory a fifth is left out at the start
        assert (one["examined_start_s"], one["examined_end_s"]) == (8.0 if series == "rss_app" else 0.0, 40.0)


@pytest.mark.parametrize("fault", ["numerics", "window"])
def test_one_bad_run_fails_by_itself_and_is_named(project, monkeypatch, fault):
    before = places(project)
    real = localising._localise

    def broken(alarm, *others):
        if (alarm.comparison.run_id, alarm.comparison.series) != (BROKEN, "cpu_app"):
            return real(alarm, *others)
        if fault == "numerics":
            raise ValueError("series 3 has no finite values")
        place = real(alarm, *others)
        return replace(place, windows=tuple(replace(window, confidence=1.0000000000000002) for window in place.windows))

    assert before[BROKEN, "cpu_app"]["window_count"], "there are windows to break"
    done = localised_again(project, monkeypatch, broken)
    (failure,) = [one.failure for one in done.failures]
    assert "cpu_app of made-008" in failure
    assert ("series 3 has no finite values" if fault == "numerics" else "confidence 1.0000000000000002") in failure
    after = places(project)
    told = after.pop((BROKEN, "cpu_app"))
    assert (told["localisation_state"], told["window_count"], told["reason_code"]) == (
        *("not_computed", None, "localisation_failed"),
    )
    assert told["reason"] == failure
    assert after == {key: one for key, one in before.items() if key != (BROKEN, "cpu_app")}
    monkeypatch.undo()
    assert not [one for one in project.due() if one.stage < freshness.Stage.CAUSE], "it does not fail again and again"
    done = localised_again(project, monkeypatch, real)
    assert (done.failures, places(project)) == ([], before)


def test_what_was_not_looked_for_yet_is_not_none(project):
    with project.warehouse.writing() as writer:
        writer.execute("CREATE TEMP TABLE kept AS SELECT * FROM core.profiles")
        writer.execute("DELETE FROM core.profiles WHERE run_id = 'made-009'")
        unknown = writer.rows("SELECT localisation_state, window_count, reason FROM marts.localisations "
                              "WHERE run_id = 'made-009'")  # fmt: skip
        writer.execute("INSERT INTO core.profiles SELECT * FROM kept WHERE run_id = 'made-009'")
    assert unknown
    assert set(unknown) == {("not_computed", None, "It was not looked for yet.")}


def test_windows_are_looked_for_by_the_score_of_the_verdict_in_force(project, monkeypatch):
    real, seen = localising._localise, {}

    def told(alarm, *others):
        seen[alarm.comparison.run_id, alarm.comparison.series] = alarm.score
        return real(alarm, *others)

    localised_again(project, monkeypatch, told)
    wanted = project.rows(
        "SELECT run_id, series, distance FROM marts.verdicts WHERE is_current AND is_anomalous AND series <> '*'"
    )
    assert seen == {(one["run_id"], one["series"]): one["distance"] for one in wanted}
    assert max(seen.values()) > FAR_ALARM


def test_windows_hold_until_the_verdict_leaves_doubt(project):
    """A score that changes without crossing the line leaves the windows; one that crosses it makes them due."""

    def due_by(value):
        with project.warehouse.writing() as writer:
            writer.execute(
                "UPDATE core.distances SET distance = ? WHERE is_latest AND detector = 'default' "
                "AND run_id = ? AND series = 'cpu_app'",
                [value, BROKEN],
            )
        return [one.run_id for one in project.due() if one.stage is freshness.Stage.DISCORD]

    (before,) = project.rows(
        f"SELECT distance FROM marts.verdicts WHERE is_current AND run_id = '{BROKEN}' AND series = 'cpu_app'"
    )
    assert before["distance"] > FAR_ALARM
    assert due_by(before["distance"] + 1) == []
    assert due_by(FAR_ALARM - 0.1) == [BROKEN]
    assert due_by(before["distance"]) == []
