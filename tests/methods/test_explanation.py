"""Numbers as people read them."""

import numpy as np
import pytest

from perfreg_assets.catalogue import definition_of
from perfreg_assets.methods.explanation import Explainer
from perfreg_assets.readable import readable

TOLD = {
    **{0.0: "0", 0.0004: "0.0004", 1.234: "1.23", 99.96: "100", 999.4: "999", 999.5: "1,000", 999.6: "1,000"},
    **{0.000512: "0.000512", -0.000949: "-0.000949", 1.25e-09: "1.25e-09"},
    **{-999.6: "-1,000", 1000.0: "1,000", 1234567.8: "1,234,568"},
}


@pytest.mark.parametrize("value", TOLD)
def test_no_number_is_told_with_an_exponent_that_is_readable_without(value):
    """Nor with another value than the table beside it: 0.000512 and 0.000543 were both 0.0005, and a change."""
    assert readable(value) == TOLD[value]


@pytest.mark.parametrize("series", ["cpu_app", "rss_app", "frames_janky_app"])
def test_beside_each_number_of_a_run_stand_the_lowest_and_highest_of_its_history(series):
    """Those that the history's runs have when they are told themselves."""
    draw = np.random.default_rng(3)
    history = [1e6 * draw.uniform(0, 1 + number, 200) for number in range(6)]
    explainer = Explainer(definition_of(series), history, 0.5, set_aside=2)
    own = [explainer.explain(run, 1.0)[0] for run in history]
    evidence, sentence = explainer.explain(1e6 * draw.uniform(0, 3, 200), 1.5)
    names = [name.removesuffix("_history_lowest") for name in evidence if name.endswith("_history_lowest")]
    assert names
    for name in names:
        told = [one[name] for one in own]
        assert len(set(told)) == len(history)
        assert evidence[f"{name}_history_lowest"] == min(told) < max(told) == evidence[f"{name}_history_highest"]
    assert [evidence[name] for name in ("history_size", "history_set_aside", "distance_ratio")] == [8, 2, 1.5]
    assert sentence.endswith("; 2 disturbed ones set aside")
