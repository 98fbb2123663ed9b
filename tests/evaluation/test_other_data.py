"""Data that nothing was tuned on: another generator, other apps, other sessions."""

import pytest

from perfreg_assets.evaluation.evaluate import evaluate


@pytest.mark.parametrize(("noise", "reached"), [pytest.param(1.0, 0.88, marks=pytest.mark.nightly), (2.0, 0.75)])
def test_default_keeps_its_level_and_beats_the_thesis_rule_on_data_of_another_generator(
    write, other_generator, noise, reached
):
    result = evaluate(write(other_generator(seed=int(noise), noise=noise).rows()), repeats=2, localisation_repeats=1)
    totals = [row for row in result["rows"] if row["series"] == row["anomaly_kind"] == row["severity"] == "all"]
    (ours,) = [row for row in totals if row["detector"] == "default" and row["omega"] is None and row["level"] == 0.05]
    thesis = [row for row in totals if row["detector"] == "iqr"]
    assert ours["false_positive_rate"] == pytest.approx(0.05, abs=0.04)
    assert ours["f1"] > reached
    assert ours["mcc"] > max(row["mcc"] for row in thesis)
    places = {
        (row["detector"], row["series"]): row
        for row in result["localisation"]
        if row["unit"] == "seconds" and row["runs"] == "all"
    }
    for series in ("cpu_app", "rss_app"):
        assert places["default", series]["f1"] > places["iqr", series]["f1"]
        assert places["default", series]["flagged_per_clean_run"] < places["iqr", series]["flagged_per_clean_run"] / 10
