"""Truths and figures of `--protocol endurance` against their definitions, on a short stream and on bundled sessions."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets.evaluation import endurance
from perfreg_assets.evaluation.endurance_stream import Stream, simulate
from perfreg_assets.methods.reduction import MODES
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

SESSIONS = Path(__file__).parents[1] / "data" / "sessions"


def made(perturbed, late):
    n = len(perturbed)
    return Stream(np.ones((1, 2)), np.ones((n, 2)), np.array(perturbed, bool), np.array(late))


def test_the_seeds_truth_is_late_windows_between_the_mean_delays():
    #                    0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
    perturbed = np.array([0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0])
    late = np.array([0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0])
    # delays: first late 2 and 2 after the begin, last late 1 and 1 behind the end
    truth = endurance.seed_truth(made(perturbed, late))
    assert np.flatnonzero(truth).tolist() == [4, 5, 6, 12, 14]
    whole, counted = endurance.whole_truth(made(perturbed, late))
    assert np.array_equal(whole, perturbed > 0)
    assert np.flatnonzero(~counted).tolist() == [6, 14]


def test_precision_and_recall_count_windows():
    flagged, truth = np.array([1, 1, 1, 0, 0], bool), np.array([1, 0, 1, 1, 1], bool)
    assert endurance.precision_recall(flagged, truth) == (2 / 3, 2 / 4)
    assert endurance.precision_recall(~truth & False, truth) == (0.0, 0.0)


def test_a_stream_is_the_same_for_the_same_seed_and_has_a_perturbation_at_each_periods_end():
    first, second = (simulate(5, seconds=500, period_s=100, length_s=10) for _ in range(2))
    assert np.array_equal(first.counts, second.counts)
    assert len(first.reference) == 7500
    assert len(first.counts) == 5000
    edges = np.flatnonzero(np.diff(first.is_perturbed.astype(int)) == 1) + 1
    assert edges.tolist() == [90 * 25, 190 * 25]
    assert first.late_count.sum() > 0


def test_a_held_out_stream_is_reduced_as_the_goals_say():
    """Every perturbation found, precision and recall .95 on the whole perturbation, .005 of clean windows kept."""
    stream = simulate(901, seconds=700, period_s=200, length_s=20)
    row = endurance.row_of("short", [endurance.judge_stream(stream, MODES["default"])], MODES["default"])
    assert row["found"] == row["perturbations"] == 2
    assert row["precision"] >= 0.95
    assert row["recall"] >= 0.95
    assert row["clean_kept"] <= 0.005
    assert row["kept_volume"] <= row["wanted_volume"]
    seed = endurance.row_of("short", [endurance.judge_stream(stream, MODES["seed"])], MODES["seed"])
    assert seed["kept_volume"] > row["kept_volume"]


@pytest.fixture
def dataset(tmp_path):
    truth = {}
    for name in ("notes-000", "notes-001", "notes-003", "notes-011"):
        shutil.copytree(SESSIONS / name, tmp_path / name)
        truth[name] = {"label": "normal", "intervals": []}
    run = json.loads((SESSIONS / "notes-011" / "run.json").read_text())
    start = run["exploration"]["start_ns"]
    truth["notes-011"] = {"label": "busy", "intervals": [{"t0_ns": start, "t1_ns": start + 10 * 10**9}]}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    return tmp_path


def test_sessions_are_judged_by_others_and_seconds_are_counted(dataset):
    told = endurance.evaluate(dataset, settings=Settings(), history=2, repeats=2, seed=0)
    json.dumps(told, allow_nan=False)
    rows = {(row["label"], row["mode"]): row for row in told["rows"]}
    assert {mode for _, mode in rows} == set(MODES)
    busy, usual, every = (rows[label, "default"] for label in ("busy", "normal", "all"))
    assert 9.5 <= busy["injected_s"] <= 10.5
    assert usual["injected_kept"] is None
    assert every["clean_s"] == pytest.approx(busy["clean_s"] + usual["clean_s"], abs=0.2)
    assert all(0 <= row["clean_kept"] <= 1 for row in told["rows"])
    curve = {(row["label"], row["mode"]): row for row in told["curve"] if "auc" in row}
    assert {label for label, _ in curve} == {"busy", "all"}
    assert {mode for _, mode in curve} == {*MODES, "load"}
    points = [row for row in told["curve"] if "auc" not in row and row["mode"] == "default"]
    shares = [(row["injected_kept"], row["clean_kept"]) for row in points]
    assert len(shares) == 6
    assert shares == sorted(shares, reverse=True)
    assert shares[2] == (every["injected_kept"], every["clean_kept"])
    for row in curve.values():
        assert 0 <= row["auc"] <= 1
        assert row["at_0.01"] <= row["at_0.05"] <= row["at_0.5"]
    shown = io.StringIO()
    endurance.print_report(told, shown)
    assert "busy" in shown.getvalue()


def test_too_few_normal_runs_and_a_missing_truth_are_refused(dataset):
    with pytest.raises(Rejected) as caught:
        endurance.evaluate(dataset, settings=Settings(), history=3, repeats=1, seed=0)
    assert caught.value.reason is Reason.DATASET_TOO_SMALL
    (dataset / "truth.json").unlink()
    with pytest.raises(Rejected) as caught:
        endurance.evaluate(dataset, settings=Settings(), history=2, repeats=1, seed=0)
    assert caught.value.reason is Reason.DATASET_UNREADABLE
