"""What a barycenter is stored under: the history's series as a set, and whatever else changes the result."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.detection import detectors
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


def test_a_measurement_is_told_by_every_setting_of_its_detector():
    one, iqr = comparison([[1.0], [2.0]]), detectors()["iqr"]

    def key(detector, **settings):
        own = inputs.own_parameters(detector, Settings(**settings))
        return inputs.measurement_hash(one, detector, [one], own)

    others = {
        "recheck": "lof",
        "dbscan_eps": 3.0,
        "dbscan_min_samples": 4,
        "lof_neighbors": 4,
        "lof_threshold": 2.0,
        "barycenter_iterations": 31,
    }
    assert {*others, "barycenter_backend"} == set(iqr.parameters)
    keys = {key(iqr, **{name: value}) for name, value in others.items()}
    assert len(keys | {key(iqr)}) == len(others) + 1
    assert key(iqr, barycenter_backend="tslearn") == key(iqr)
    assert key(detectors()["default"], **others) == key(detectors()["default"])  # it has none of them
