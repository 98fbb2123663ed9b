"""`--protocol benchmarks`: the figures are those of the noise that was simulated."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets.evaluation import benchmarks
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

SIMULATED = Path("simulated")


@pytest.fixture(scope="module")
def told():
    return benchmarks.evaluate(SIMULATED, settings=Settings(), history=12, repeats=8, seed=0)


def test_intervals_over_launches_cover_and_those_of_one_launch_do_not(told):
    for row in told["coverage"]:
        assert 0.925 <= row["mean"] <= 0.985, row
        assert row["test"] >= 0.925, row
    assert np.mean([row["iterations_of_one_launch"] for row in told["coverage"]]) < 0.75


def test_the_same_build_alarms_as_often_as_the_level_says(told):
    for row in told["false_alarms"]:
        assert row["alarms_of_change_minimum"] <= row["alarms"] <= row["level"] * 1.6 + 0.005, row
    assert {row["history"] for row in told["false_alarms"]} == {5, 12}


def test_larger_changes_are_found_more_often(told):
    for way in ("by_history", "by_comparison"):
        found = {(row["change"], row["launches"]): row[way] for row in told["power"]}
        assert found[0.20, 5] > 0.95
        assert found[0.02, 5] < 0.1
        assert found[0.20, 5] >= found[0.10, 5] >= found[0.05, 5]


def test_the_same_seed_gives_the_same_figures(told):
    again = benchmarks.evaluate(SIMULATED, settings=Settings(), history=12, repeats=8, seed=0)
    assert {**again, "seconds": 0} == {**told, "seconds": 0}
    stream = io.StringIO()
    benchmarks.print_report(told, stream)
    assert "hold the truth" in stream.getvalue()
    assert "recorded" not in stream.getvalue()


def test_a_recorded_history(tmp_path):
    random = np.random.default_rng(0)
    rows = [f"b{name},{version},{value:.4f}" for version in range(40)
            for name, value in enumerate(np.exp(random.normal(0, 0.02, 5)))]  # fmt: skip
    path = tmp_path / "nights.csv"
    path.write_text("\n".join(["benchmark,version_name,score", *rows]))
    (at_five, at_one) = benchmarks.evaluate(path, settings=Settings(), history=12, repeats=1, seed=0)["recorded"]
    assert (at_five["cases"], at_five["benchmarks"]) == (5 * 28, 5)
    assert at_one["alarms"] <= at_five["alarms"] <= 0.12


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,b\n1,2", Reason.DATASET_INVALID),
        ("benchmark,version_name,score\na,1,x", Reason.DATASET_INVALID),
        ("benchmark,version_name,score\na,1,-3", Reason.DATASET_INVALID),
        ("benchmark,version_name,score\na,1,3", Reason.DATASET_TOO_SMALL),
        (None, Reason.DATASET_UNREADABLE),
    ],
)
def test_what_is_no_history_is_refused(tmp_path, text, reason):
    path = tmp_path / "nights.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(Rejected) as caught:
        benchmarks.evaluate(path, settings=Settings(), history=12, repeats=1, seed=0)
    assert caught.value.reason is reason
