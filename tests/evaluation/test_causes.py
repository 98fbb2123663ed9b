"""The simulation of causes: reproducible, and the ranking holds what is promised of it."""

from __future__ import annotations

import numpy as np
import pytest

from perfreg_assets.evaluation import causes
from perfreg_assets.evaluation.causes import Kind, as_table, by_ranking, evaluate_causes, make_case


@pytest.fixture
def only_the_ranking(monkeypatch):
    monkeypatch.setattr(causes, "WAYS", {"ranking": by_ranking})


def test_a_case_follows_from_its_seed_and_holds_its_cause():
    one, same, other = make_case(Kind(3.0), 7), make_case(Kind(3.0), 7), make_case(Kind(3.0), 8)
    assert one.cause == same.cause
    np.testing.assert_array_equal(one.now, same.now)
    assert not np.array_equal(one.now, other.now)
    where = one.is_called[:, one.cause]
    grown = one.now[where, one.cause] / np.median(one.history[:, where, one.cause], axis=0)
    assert np.median(grown) == pytest.approx(3, rel=0.5)


def test_a_cause_in_one_service_leaves_the_others_alone():
    for seed in range(50):
        all_of_them, alone = make_case(Kind(9.0), seed), make_case(Kind(9.0, is_in_one_service=True), seed)
        if (alone.is_called[:, alone.cause]).sum() > 1:
            break
    grown = alone.now[:, alone.cause] > 4 * np.median(alone.history[:, :, alone.cause], axis=0)
    assert grown.sum() == 1
    assert (all_of_them.now[:, all_of_them.cause] > 0).sum() > 1


@pytest.mark.parametrize(("factor", "top_1", "top_5"), [(2.0, 0.45, 0.85), (3.0, 0.75, 0.90)])
def test_the_ranking_names_the_cause_as_often_as_promised(only_the_ranking, factor, top_1, top_5):
    (hits,) = evaluate_causes(seed=777, cases=40, kinds=[Kind(factor)])
    assert hits.top_1 >= top_1
    assert hits.top_5 >= top_5


def test_the_table_has_a_line_per_way_and_a_column_per_kind():
    told = []
    kinds = [Kind(2.0), Kind(5.0, smallest_share=0.001)]
    table = as_table(evaluate_causes(seed=3, cases=2, kinds=kinds, progress=lambda *step: told.append(step)))
    assert [step[:2] for step in told] == [(0, 2), (1, 2)]
    head, *lines = table.splitlines()
    assert head.split("  ")[-1].strip() == "×5, ≥ 0.1 %"
    assert [line.split("  ")[0] for line in lines] == list(causes.WAYS)
