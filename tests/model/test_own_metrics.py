"""`metrics` of run.json: what is usable is taken, what is not becomes one sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.catalogue import SERIES
from perfreg_assets.model.own_metrics import ENTRIES_MAX, own_metrics

OK = {"name": "db.query_ms", "value": 12.5}


def test_entries_are_taken_as_they_are():
    given_entries = [OK, {"name": "fps", "value": 60, "unit": "1/s", "worse": "less", "judged": False, "note": "x"}]
    first, second = own_metrics({"metrics": given_entries, "other": 1})
    assert (first.metric, first.value, first.unit, first.worse, first.reason) == ("db.query_ms", 12.5, "", "more", None)
    assert (second.metric, second.value, second.unit, second.worse) == ("fps", 60.0, "1/s", "less")
    assert second.provenance == {"source": "run.json", "judged": False}


@pytest.mark.parametrize("extra", [None, {}, {"metrics": None}, {"metrics": []}, {"other": 1}])
def test_a_run_may_report_nothing(extra):
    assert own_metrics(extra) == []


@pytest.mark.parametrize(
    ("entry", "name", "told"),
    [
        ({"name": "a", "value": "12"}, "a", "metrics[1].value"),
        ({"name": "a", "value": True}, "a", "metrics[1].value"),
        ({"name": "a", "value": None}, "a", "metrics[1].value"),
        ({"name": "a"}, "a", "metrics[1].value"),
        ({"name": "a", "value": float("nan")}, "a", "finite"),
        ({"name": "a", "value": float("inf")}, "a", "finite"),
        ({"name": "a", "value": 10**400}, "a", "metrics[1].value"),
        ({"name": "a", "value": -1e200}, "a", "beyond 1e+150"),
        ({"name": "a", "value": 1, "worse": "up"}, "a", "metrics[1].worse"),
        ({"name": "a", "value": 1, "unit": 5}, "a", "metrics[1].unit"),
        ({"name": "a", "value": 1, "unit": "m" * 41}, "a", "metrics[1].unit"),
        ({"name": "a", "value": 1, "judged": "no"}, "a", "metrics[1].judged"),
        ({"name": "A b", "value": 1}, "metrics[1]", "metrics[1].name"),
        ({"name": "a\n", "value": 1}, "metrics[1]", "metrics[1].name"),
        ({"name": "", "value": 1}, "metrics[1]", "metrics[1].name"),
        ({"name": "a" * 65, "value": 1}, "metrics[1]", "metrics[1].name"),
        ({"value": 1}, "metrics[1]", "metrics[1].name"),
        ({"name": "cpu_core_12", "value": 1}, "metrics[1]", "cpu_core_12 is a series or metric of the catalogue"),
        ({"name": "startup_full_display_hot", "value": "x"}, "metrics[1]", "metrics[1].value"),
        (5, "metrics[1]", "metrics[1] is not an object"),
        (None, "metrics[1]", "metrics[1] is not an object"),
        ({"name": "db.query_ms", "value": 3}, "db.query_ms", "db.query_ms is there twice"),
    ],
)
def test_an_entry_that_is_not_usable_is_one_sentence_and_the_others_stay(entry, name, told):
    found = {one.metric: one for one in own_metrics({"metrics": [OK, entry, {"name": "z", "value": 1}]})}
    bad = found.pop(name)
    assert bad.value is None
    assert told in bad.reason
    assert bad.reason.endswith("correct it.")
    assert bad.provenance["reason_code"] == "metric_invalid"
    assert found.pop("z").value == 1.0
    assert [one.value for one in found.values()] == ([] if name == "db.query_ms" else [12.5])


@pytest.mark.parametrize("entries", [{}, "a", 5, True])
def test_metrics_that_are_no_list_are_one_sentence(entries):
    (only,) = own_metrics({"metrics": entries})
    assert (only.metric, only.value) == ("metrics", None)


def test_more_entries_than_allowed_are_told_not_taken():
    found = own_metrics({"metrics": [{"name": f"m{i}", "value": i} for i in range(ENTRIES_MAX + 50)]})
    assert sum(one.value is not None for one in found) == ENTRIES_MAX
    assert "150 entries" in found[-1].reason


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(ANYTHING | st.fixed_dictionaries({"name": ANYTHING | st.just("cpu_app"), "value": ANYTHING})))
def test_whatever_stands_there_a_name_is_there_once_and_never_a_series(entries):
    found = own_metrics({"metrics": entries})
    names = [one.metric for one in found]
    assert len(set(names)) == len(names)
    assert not set(names) & {one.name for one in SERIES}
    assert all((one.value is None) == (one.reason is not None) for one in found)
    json.dumps([one.provenance for one in found], allow_nan=False)
