"""A series whose values nothing vouches for is kept and shown: it is not judged, and no history of another."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import synthetic
from synthetic import Project, reader_of, row

from perfreg_assets.cli.reading import show_verdicts
from perfreg_assets.reasons import Reason

POWER = "power_cpu_app"


def test_estimates_by_a_profile_that_nothing_confirms_are_kept_and_not_judged(tmp_path, monkeypatch):
    monkeypatch.setitem(synthetic.SERIES, POWER, "mW")
    plain = reader_of({"made-007": (POWER, 3.0), "made-008": (POWER, 3.0)})
    doubted = {"made-005", "made-008"}

    def inspect(run, settings):
        found = plain(run, settings)
        series = [
            one.not_judged(Reason.PROFILE_UNCONFIRMED, "no profile of it is known")
            if one.name == POWER and run.run_id in doubted
            else one
            for one in found.series
        ]
        return found._replace(series=series)

    made = Project(tmp_path / "p", inspect, judged_series=("cpu_app", POWER))
    made.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
    made.settle()
    rows = made.rows(f"SELECT run_id, state, explanation FROM marts.verdicts WHERE is_current AND series = '{POWER}'")
    found = {one["run_id"]: one for one in rows}
    assert found["made-007"]["state"] == "anomalous"
    assert found["made-008"]["state"] == "series_missing"
    (kept,) = made.rows(
        f"SELECT is_missing, reason_code, reason, len(values) AS count FROM marts.series_arrays "
        f"WHERE run_id = 'made-008' AND series = '{POWER}'"
    )
    assert (kept["is_missing"], kept["reason_code"]) == (False, "profile_unconfirmed")
    assert kept["count"] == synthetic.SAMPLES
    assert "perfreg profiles add" in kept["reason"]
    (distance,) = made.rows(
        f"SELECT DISTINCT history_size FROM core.distances "
        f"WHERE run_id = 'made-007' AND series = '{POWER}' AND is_latest"
    )
    members = made.rows("SELECT history_run_id FROM marts.history_sets WHERE run_id = 'made-007'")
    assert "made-005" in [one["history_run_id"] for one in members]
    usable = [one for one in members if one["history_run_id"] not in doubted]
    assert distance["history_size"] == len(usable)


def _short(run_ids):
    """What reads traces, those of some runs with three samples of everything."""
    plain = reader_of({})

    def inspect(run, settings):
        found = plain(run, settings)
        if run.run_id not in run_ids:
            return found
        return found._replace(series=[replace(one, values=one.values[:3]) for one in found.series])

    return inspect


def test_a_session_of_few_samples_is_told_and_nothing_of_it_stays_due(tmp_path):
    """The detectors refused it as an error, and the run was due for ever."""
    made = Project(tmp_path / "p", _short({"made-005", "made-008"}), judged_series=("cpu_app",))
    made.arrive(*(row(number, version="1" if number < 7 else "2") for number in range(9)))
    made.settle()
    assert made.due() == []
    whole, series = made.rows(
        "SELECT series, state, explanation FROM marts.verdicts WHERE is_current AND run_id = 'made-008' ORDER BY series"
    )
    assert (whole["state"], series["state"]) == ("series_missing", "series_missing")
    assert "3 samples of 1 s, 8 are needed to judge; a smaller interval_s gives more" in series["explanation"]
    (found,) = made.rows(
        "SELECT * FROM marts.data_quality WHERE run_id = 'made-008' AND scope = 'series' AND is_blocking"
    )
    assert (found["series"], found["reason_code"]) == ("cpu_app", "series_too_short")
    (judged,) = made.rows(
        "SELECT state, history_size FROM marts.verdicts WHERE is_current AND run_id = 'made-007' AND series = 'cpu_app'"
    )
    members = made.rows("SELECT history_run_id FROM marts.history_sets WHERE run_id = 'made-007'")
    assert judged["state"] in ("normal", "anomalous", "improved")
    assert judged["history_size"] == len([one for one in members if one["history_run_id"] != "made-005"])


def test_sessions_that_are_all_short_are_not_judged_and_say_why(tmp_path):
    ids = {f"made-{number:03}" for number in range(7)}
    made = Project(tmp_path / "p", _short(ids), judged_series=("cpu_app",))
    made.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(7)))
    made.settle()
    assert made.due() == []
    (whole,) = made.rows(
        "SELECT state, explanation FROM marts.verdicts WHERE is_current AND run_id = 'made-006' AND series = '*'"
    )
    assert whole["state"] == "series_missing"


def test_who_takes_short_sessions_in_is_told_what_no_history_will_help(tmp_path, capsys):
    """The first build's runs wait for a history: nothing but a table of one version said that it would be in vain."""
    made = Project(tmp_path / "p", _short({"made-001"}), judged_series=("cpu_app",))
    made.arrive(*(row(number, version="1") for number in range(2)))
    made.settle()
    show_verdicts(made.settings, {"made-000"})
    assert "too short" not in capsys.readouterr().err
    show_verdicts(made.settings, {"made-000", "made-001"})
    assert capsys.readouterr().err.splitlines() == [
        "too short to be judged by cpu_app: 1 run, the first made-001: The session has 3 samples of 1 s, 8 are needed "
        "to judge; a smaller interval_s gives more. `perfreg settings set interval_s 0.25`, or less, has traces "
        "read on a finer grid"
    ]


def test_only_what_a_run_is_judged_by_blocks_it(tmp_path):
    """A series that another app is judged by said of every run that it could not be judged."""
    blocking = "SELECT is_blocking FROM marts.data_quality WHERE run_id = 'made-008' AND series = 'rss_app'"
    made = Project(tmp_path / "p", reader_of({}, missing={("made-008", "rss_app")}))
    made.arrive(*(row(number, version="1" if number < 7 else "2") for number in range(9)))
    made.settle()
    assert made.rows(blocking) == [{"is_blocking": True}]
    made.change("judged_series", "cpu_app")
    made.settle()
    assert made.rows(blocking) == [{"is_blocking": False}]


def test_a_run_that_lacks_what_its_few_earlier_runs_have_is_named_alike_by_every_view(tmp_path):
    """It was not_enough_history as a run, and series_missing as an axis and as a version."""
    lacking = [("made-002", "rss_app")]
    made = Project(tmp_path / "p", reader_of({}, lacking))
    made.arrive(*(row(number, version="1" if number < 2 else "2") for number in range(3)))
    made.settle()
    of_run = {
        one["series"]: one for one in made.rows("SELECT * FROM marts.verdicts WHERE is_current AND run_id = 'made-002'")
    }
    assert of_run["cpu_app"]["state"] == "not_enough_history"
    whole = of_run["*"]
    (axis,) = made.rows(
        "SELECT state FROM marts.axis_verdicts WHERE is_current AND run_id = 'made-002' AND axis = 'memory'"
    )
    (version,) = made.rows(
        "SELECT state FROM marts.version_verdicts WHERE is_current AND version_name = '2' AND axis = 'all'"
    )
    assert (whole["state"], axis["state"], version["state"]) == ("series_missing",) * 3
    assert whole["explanation"].startswith("Not judged, missing although the history has it: rss_app.")
    assert "Of the rest nothing can be judged: There are 2 earlier runs of " in whole["explanation"]
    (first,) = made.rows("SELECT state FROM marts.run_verdicts WHERE is_current AND run_id = 'made-001'")
    assert first["state"] == "not_enough_history"


def test_metrics_that_cannot_be_used_are_among_what_should_be_looked_at(tmp_path):
    """The run's page alone told of a metric that stands twice in run.json and has no value for it."""
    entries = [{"name": "db.query", "value": 3}, {"name": "db.query", "value": 4}, {"name": "errors", "value": "none"}]
    made = Project(tmp_path / "p", reader_of({}))
    made.arrive(
        *(row(number, version="1", extra={"metrics": entries[:1]}) for number in range(6)),
        row(6, version="2", extra={"metrics": entries}),
    )
    made.settle()
    found = made.rows(
        "SELECT run_id, scope, series, is_blocking, detail FROM marts.data_quality "
        "WHERE reason_code = 'metric_invalid' ORDER BY series"
    )
    assert [(one["run_id"], one["scope"], one["series"]) for one in found] == [
        ("made-006", "series", "db.query"),
        ("made-006", "series", "errors"),
    ]
    assert [one["is_blocking"] for one in found] == [True, False], "the history has only one of them"
    assert "metrics[1].name (db.query is there twice)" in found[0]["detail"]
    assert "metrics[2].value" in found[1]["detail"]
