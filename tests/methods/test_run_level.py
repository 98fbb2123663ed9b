"""From series to run."""

import numpy as np
import pytest

from perfreg_assets.methods.calibration import QUARTILE, p_of_score
from perfreg_assets.methods.run_level import combine_run
from perfreg_assets.methods.samples import Score


def calibrated(distance, improvement=-1.0, sentence="told"):
    direction = "more" if distance >= improvement else "less"
    return Score(
        distance, -QUARTILE, QUARTILE, improvement, None, p_of_score(distance), direction, np.zeros(3), {}, sentence
    )


def thesis(distance, q1, q3, recheck=None):
    return Score(distance, q1, q3, None, recheck, None, "more", np.array([q1, q3]), {}, "told")


def test_default_is_bonferroni_over_the_judged_series():
    scores = {"cpu_app": calibrated(2.5), "cpu_total": calibrated(0.3), "rss_app": calibrated(-1.0)}
    whole = combine_run(scores, "default")
    assert whole.p_value == pytest.approx(3 * p_of_score(2.5))
    assert whole.sentence == "cpu_app: told"
    assert (whole.q1, whole.q3) == (-QUARTILE, QUARTILE)
    assert whole.evidence == {"series_count": 3.0, "cpu_app_score": 2.5, "cpu_total_score": 0.3, "rss_app_score": -1.0}


def test_one_series_alone_needs_no_correction():
    assert combine_run({"rss_app": calibrated(1.7)}, "default").distance == 1.7


def test_the_corrected_p_never_exceeds_one():
    whole = combine_run({name: calibrated(-3.0) for name in "abc"}, "default")
    assert whole.p_value == pytest.approx(1.0)
    assert not whole.is_anomalous(0.0)


def test_an_improvement_is_told_where_nothing_got_worse():
    whole = combine_run({"a": calibrated(-1.0, 3.0, "better"), "b": calibrated(0.0, 0.1, "usual")}, "default")
    assert whole.direction == "less"
    assert whole.sentence == "a: better"
    assert whole.improvement > whole.q3


def test_the_correction_holds_its_level_for_independent_series():
    generator = np.random.default_rng(0)
    alarms = [
        combine_run({name: calibrated(z) for name, z in zip("abc", generator.normal(size=3), strict=True)}, "default")
        for _ in range(2000)
    ]
    assert np.mean([one.p_value <= 0.1 for one in alarms]) == pytest.approx(0.0967, abs=0.02)


@pytest.mark.parametrize("omega", [0.0, 0.5, 1.0, 1.5, 3.0, 10.0])
def test_iqr_is_any_series_at_every_omega(omega):
    generator = np.random.default_rng(1)
    for _ in range(200):
        scores = {
            name: thesis(
                generator.uniform(0, 6), 1.0, generator.uniform(1.0, 2.0), generator.choice([None, True, False])
            )
            for name in "abc"
        }
        scores["flat"] = thesis(generator.choice([1.0, 1.5]), 1.2, 1.2)
        expected = any(score.is_anomalous(omega) for score in scores.values())
        assert combine_run(scores, "iqr").is_anomalous(omega) == expected


def test_nothing_to_combine_and_unknown_detectors_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        combine_run({}, "default")
    with pytest.raises(ValueError, match="default or iqr"):
        combine_run({"a": calibrated(0.0)}, "magic")
