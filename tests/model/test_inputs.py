"""What a barycenter is stored under: the history's series as a set, and whatever else changes the result."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.model import inputs
from perfreg_assets.model.comparisons import SCORED, Comparison
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.series import SeriesHash, content_hash


def comparison(series, *, run_id="new"):
    rows = tuple(
        SeriesHash(f"run-{n}", "cpu_app", 1.0, len(values), content_hash(np.array(values, float), 1.0, 0), "path", None)
        for n, values in enumerate(series)
    )
    versions = ("1",) * len(rows)
    return Comparison(
        run_id, definition_of("cpu_app"), SCORED, None, rows[0], rows, True, None, history_versions=versions
    )


def key(series, *, run_id="new", **settings):
    return inputs.barycenter_id(comparison(series, run_id=run_id), Settings(**settings))


def test_every_order_of_the_history_and_every_run_that_has_it_share_one_barycenter():
    history = [[0.0, 1.0, 2.0], [3.0], [3.0], [4.0, 5.0]]
    assert {key(order, run_id=f"run-{n}") for n, order in enumerate(permutations(history))} == {key(history)}


def test_the_key_tells_apart_everything_that_changes_the_result(monkeypatch):
    base = [[0.0, 1.0, 2.0], [3.0]]
    keys = {
        key(base),
        key(base, barycenter_iterations=31),
        key([*base, [3.0]]),
        key([[0.0, 1.0], [2.0, 3.0]]),
        key([[0.0, 1.0, 2.0], [np.nextafter(3.0, 4)]]),
    }
    monkeypatch.setattr(inputs, "code_version", lambda package: f"another {package}")
    assert len(keys | {key(base)}) == 6


def test_the_backends_are_equal_and_share_it():
    assert key([[1.0], [2.0]], barycenter_backend="tslearn") == key([[1.0], [2.0]])
