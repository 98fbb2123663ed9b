"""Another ω or detector reaches verdicts, windows and pages of recorded runs, by the commands that people type."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.cli import main
from tests.page_statements import contradictions

ALARMS = """
SELECT run_id, series FROM marts.verdicts WHERE is_current AND is_anomalous AND series <> '*' ORDER BY ALL
"""


def perfreg(site, *arguments):
    done = CliRunner().invoke(main, [*arguments, "--warehouse", str(site.settings.warehouse)])
    assert done.exit_code == 0, done.output
    return done.output


def page_state(site, run_id):
    """What the top of a run's page says."""
    (state,) = re.findall(r'<section class="verdict ([a-z_]+)"', site.page(run_id))
    return state


def assert_all_is_true(site):
    """Nothing is due; windows are those of the alarms; each page says what the verdict in force says, and no page says
    what the marts deny."""
    assert "nothing is due" in perfreg(site, "status")
    assert site.rows("SELECT run_id, series FROM marts.profiles ORDER BY ALL") == site.rows(ALARMS)
    verdicts = site.rows("SELECT run_id, run_verdict FROM marts.runs")
    assert {row["run_id"]: page_state(site, row["run_id"]) for row in verdicts} == {
        row["run_id"]: row["run_verdict"] for row in verdicts
    }
    assert len(verdicts) == len(list(demo_runs_dir().iterdir()))
    with site.warehouse.reading() as reader:
        assert contradictions(reader, site.settings.reports_dir) == []


def test_the_demo_is_true_from_the_start(demo):
    assert_all_is_true(demo)
    assert page_state(demo, "notes-021") == "normal"
    assert "stayed within" in demo.page("notes-021")


def test_readme_says_what_the_demo_ends_with(demo):
    counts = Counter(row["run_verdict"] for row in demo.rows("SELECT run_verdict FROM marts.runs"))
    words = {1: "one", 2: "two", 3: "three", 11: "eleven"}
    assert set(counts) == {"anomalous", "normal", "improved", "not_enough_history"}
    told = (
        f"{words[counts['anomalous']]} anomalous runs, {words[counts['normal']]} normal, "
        f"{words[counts['improved']]} improved, {words[counts['not_enough_history']]} with too little"
    )
    assert told in " ".join((Path(__file__).parents[2] / "README.md").read_text("utf-8").split())


def test_another_omega_and_detector_localise_their_alarms_and_rewrite_their_pages(demo_copy):
    before = demo_copy.rows(ALARMS)
    perfreg(demo_copy, "settings", "set", "omega", "0")
    told = perfreg(demo_copy, "settings", "set", "detector", "iqr")
    alarms = demo_copy.rows(ALARMS)
    assert len(alarms) > len(before)
    assert re.search(r"[1-9][0-9]* series localised, [1-9][0-9]* runs? explained, [1-9][0-9]* pages written", told)
    assert_all_is_true(demo_copy)
    assert page_state(demo_copy, "notes-021") == "anomalous"
    assert "stayed within" not in demo_copy.page("notes-021")
    assert {row["localisation"] for row in demo_copy.rows("SELECT localisation FROM marts.profiles")} == {"thesis"}


@pytest.mark.parametrize("is_kept", [False, True])
def test_alarms_are_counted_between_detectors(demo_copy, is_kept):
    def alarming(detector, omega):
        rows = demo_copy.rows(
            "SELECT run_id FROM marts.verdicts_at($omega, $detector) WHERE is_latest AND is_anomalous AND series = '*'",
            {"detector": detector, "omega": omega},
        )
        return {row["run_id"] for row in rows}

    was, would_be = alarming("default", 0.75), alarming("iqr", 0.0)
    assert was != would_be
    told = perfreg(
        demo_copy, "reevaluate", "--omega", "0", "--detector", "iqr", *(["--make-current"] if is_kept else [])
    )
    assert f"{len(would_be - was)} alarms more, {len(was - would_be)} fewer" in told
    if is_kept:
        assert_all_is_true(demo_copy)
    else:
        assert page_state(demo_copy, "notes-021") == "normal"


def test_a_series_that_nobody_recorded_is_told_and_the_rest_is_judged(demo, demo_copy):
    states = "('normal', 'improved', 'anomalous')"
    judged = f"SELECT run_id, run_verdict FROM marts.runs WHERE run_verdict IN {states} ORDER BY run_id"
    perfreg(demo_copy, "settings", "set", "judged_series", "cpu_app,cpu_total,rss_app,frames_app")
    assert_all_is_true(demo_copy)
    assert demo_copy.rows(judged) == demo.rows(judged)
    page = demo_copy.page("notes-021")
    assert "Frames" in page.split('id="headline">')[1].split("</section>")[0]
