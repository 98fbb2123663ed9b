"""Regressions injected into an app's own normal runs, judged by what judges its real ones."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import APP, Project, reader_of, row

from perfreg_assets.cli import main
from perfreg_assets.cli.power import sentences
from perfreg_assets.model import detection_power, inputs
from perfreg_assets.model.detection_power import _wilson, measure
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse import judged_runs

REGRESSIONS = {"made-010": ("cpu_app", 9.0)}


def metrics(number):
    """What a run reports of itself: a dozen numbers that scatter."""
    scatter = np.random.default_rng([7, number]).normal(size=12)
    return {"metrics": [{"name": f"own_{place}", "value": 100 + 5 * one} for place, one in enumerate(scatter)]}


def settled(folder, **of_run):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        project = Project(folder / "project", reader_of(REGRESSIONS))
        changes = [{name: tell(number) for name, tell in of_run.items()} for number in range(12)]
        project.arrive(*(row(number, version=str(number // 3), **changes[number]) for number in range(12)))
        project.settle()
    return project


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return settled(tmp_path_factory.mktemp("power"))


@pytest.fixture(scope="module")
def measuring_itself(tmp_path_factory):
    """Its runs report metrics, too."""
    return settled(tmp_path_factory.mktemp("power_metrics"), extra=metrics)


@pytest.fixture(autouse=True)
def few_sizes(monkeypatch):
    monkeypatch.setattr(detection_power, "SIZES", {"memory": (0.001, 200.0), "load": (0.01, 300.0)})
    monkeypatch.setattr(detection_power, "VERSIONS_DRAWN", 20)


def normal_runs(project):
    with project.warehouse.reading() as reader:
        return judged_runs.normal(reader, APP, limit=50)


def test_only_judged_runs_that_nobody_takes_for_a_regression_are_injected(project):
    judged = project.rows("SELECT run_id, run_verdict FROM marts.runs ORDER BY run_id DESC")
    assert normal_runs(project) == [one["run_id"] for one in judged if one["run_verdict"] in ("normal", "improved")]
    assert "made-010" not in normal_runs(project)


def test_nearly_nothing_is_as_good_as_nothing_and_much_is_always_found(project):
    with project.warehouse.reading() as reader:
        told = measure(reader, project.settings, APP, onsets=1)
        again = measure(reader, project.settings, APP, onsets=1)
    assert told == again
    assert told["runs"] == len(normal_runs(project)) >= 3
    assert told["missing"] == {}
    share = {(one["kind"], one["size"], one["repeats"]): one["share"] for one in told["rows"]}
    for (kind, size, repeats), found in share.items():
        if size < 1:
            assert found == 0, (kind, repeats)  # these runs were normal
        elif kind != "sawtooth":
            assert found == 1, (kind, repeats)
    assert {repeats for _, _, repeats in share} == {1, 3} | ({5} if told["runs"] >= 5 else set())
    assert all(one["low"] <= one["share"] <= one["high"] for one in told["rows"])
    cases = {row["cases"] for row in told["rows"] if row["repeats"] == 1 and row["kind"] == "leak"}
    assert f"leak: from 200 MB/min in 9 of 10 runs ({cases.pop()} cases)" in sentences(told)[0]
    assert not cases


def test_after_an_update_it_needs_no_catching_up(project, monkeypatch):
    """The averages of histories are stored by the code that made them: an update ended it with a bare KeyError."""
    with project.warehouse.reading() as reader:
        before = measure(reader, project.settings, APP, onsets=1)
        monkeypatch.setattr(inputs, "code_version", lambda part: f"{part} of the next release")
        assert measure(reader, project.settings, APP, onsets=1) == before


@pytest.mark.parametrize("name", ["project", "measuring_itself"])
def test_what_nothing_is_injected_into_scores_what_the_product_gave_it(name, request, monkeypatch):
    """The metrics, too: an alarm is corrected for all that is judged in a run."""
    project = request.getfixturevalue(name)
    runs = []
    monkeypatch.setattr(detection_power, "_rows", lambda found, *_: runs.extend(found) or [])
    with project.warehouse.reading() as reader:
        measure(reader, project.settings, APP, onsets=1)
    told = {(run.run_id, series): score.distance for run in runs for series, score in run.plain.items()}
    ids = {run.run_id for run in runs}
    stored = project.rows("SELECT run_id, series, distance FROM marts.verdicts WHERE is_current AND series <> '*'")
    assert told == pytest.approx(
        {(one["run_id"], one["series"]): one["distance"] for one in stored if one["run_id"] in ids}
    )
    assert {len(run.plain) for run in runs} == {15 if name == "measuring_itself" else 3}


def test_versions_are_different_ones_and_of_too_few_runs_nothing_is_told(project, monkeypatch):
    """Three runs make one version of three, however often it is drawn."""
    monkeypatch.setattr(detection_power, "MOST_RUNS", 3)
    with project.warehouse.reading() as reader:
        told = measure(reader, project.settings, APP)
    assert {one["repeats"] for one in told["rows"]} == {1}
    assert {(one["repeats"], one["why"]) for one in told["few_versions"]} == {
        (3, "3 normal runs make 1 different one, 10 are needed"),
        (5, "3 normal runs make none, 10 are needed"),
    }
    monkeypatch.setattr(detection_power, "MOST_RUNS", 5)
    monkeypatch.setattr(detection_power, "VERSIONS_DRAWN", 1000)
    with project.warehouse.reading() as reader:
        told = measure(reader, project.settings, APP)
    assert {one["cases"] for one in told["rows"] if one["repeats"] == 3} == {10 * 2**3}
    assert {one["repeats"] for one in told["few_versions"]} == {5}


def test_the_thesis_rule_is_measured_run_by_run_and_what_is_not_judged_is_named(project, monkeypatch):
    monkeypatch.setattr(detection_power.settings_table, "in_force", lambda reader, settings: settings)
    settings = project.settings.with_values(judged_series=("cpu_app",))
    with project.warehouse.reading() as reader:
        told = measure(reader, settings.with_values(detector="iqr"), APP, onsets=1)
    assert told["detector"] == "iqr"
    assert {one["repeats"] for one in told["rows"]} == {1}
    assert told["missing"] == dict.fromkeys(("leak", "sawtooth"), "none of rss_app is judged in these runs")


def test_too_few_runs_are_a_named_refusal(project):
    with project.warehouse.reading() as reader, pytest.raises(Rejected) as refused:
        measure(reader, project.settings, "com.rig.other", onsets=1)
    assert refused.value.reason is Reason.NOT_ENOUGH_HISTORY


def test_the_command_keeps_what_it_tells(project, tmp_path, monkeypatch):
    monkeypatch.setenv("PERFREG_HISTORY_MINIMUM", "3")
    monkeypatch.setenv("PERFREG_HISTORY_SIZE", "4")
    chosen = ["power", "--app", APP, "--onsets", "1", "--warehouse", str(project.settings.warehouse)]
    done = CliRunner().invoke(main, [*chosen, "--format", "json", "--picture", str(tmp_path / "power.png")])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    kept = project.rows("SELECT * FROM marts.detection_power WHERE is_latest_of_app")
    assert len(kept) == len(told["rows"])
    assert {one["found_ratio"] for one in kept} == {one["share"] for one in told["rows"]}
    assert project.rows("SELECT * FROM marts.evaluations") == []
    assert (tmp_path / "power.png").read_bytes().startswith(b"\x89PNG")
    shown = CliRunner().invoke(main, chosen)
    assert f"{APP}: {told['runs']} normal runs" in shown.stdout
    assert shown.stdout.splitlines()[-1].split()[-1] == str(told["runs"]), "a case is a run where it has one onset"
    (header,) = [line for line in shown.stdout.splitlines() if line.split()[:2] == ["kind", "size"]]
    assert header.split()[-1] == "cases"
    monkeypatch.setattr(detection_power, "MOST_RUNS", 3)
    shown = CliRunner().invoke(main, chosen)
    why = "not tried, 3 normal runs make 1 different one, 10 are needed"
    assert f"versions of 3 runs (leak, sawtooth, load, periodic load, bursts): {why}" in shown.stderr
    assert CliRunner().invoke(main, ["power", "--app", "com.rig.mad"]).exit_code == 1


def test_the_interval_is_wilsons():
    for found, cases in [(0, 7), (3, 10), (10, 10)]:
        theirs = binomtest(found, cases).proportion_ci(method="wilson")
        assert _wilson(found / cases, cases) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
