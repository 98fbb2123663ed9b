"""Measurements: what is stored comes back exactly, and storing a subject again replaces all of it."""

from __future__ import annotations

import duckdb
import pytest

from perfreg_assets.warehouse import measurements
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.measurements import RUN, MeasurementRow
from tests.warehouse.registered import register


def _row(subject_id: str, metric: str, value: float | None = 1.5, **changes: object) -> MeasurementRow:
    given = {
        "subject_kind": RUN, "subject_id": subject_id, "metric": metric, "app": "com.rig.shop", "version_name": "1.5.0",
        "unit": "s", "worse": "more", "value": value, "reason": None if value is not None else "not measured",
    }  # fmt: skip
    return MeasurementRow(**{**given, **changes})


def test_measurements_come_back_as_they_were(warehouse: Warehouse) -> None:
    rows = [
        _row("r1", "startup_initial_display_cold", 0.1 + 0.2, provenance={"launches": [{"ts_ns": 1, "seconds": 0.3}]}),
        _row("r1", "a'; DROP TABLE core.runs; --", None, reason="it's <b>missing</b>", worse="either", unit=""),
    ]
    with warehouse.writing() as writer:
        register(writer, "r1")
        assert measurements.replace_subjects(writer, RUN, ["r1"], rows) == 2
    with warehouse.reading() as reader:
        assert measurements.find(reader, RUN, ["r1", "r2"]) == {(row.subject_id, row.metric): row for row in rows}


def test_a_subject_is_replaced_whole_and_others_stay(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        register(writer, "r1", "r2")
        measurements.replace_subjects(
            writer, RUN, ["r1", "r2"], [_row("r1", "a"), _row("r1", "b"), _row("r2", "a", 2.0)]
        )
        measurements.replace_subjects(writer, "suite", ["r1"], [_row("r1", "a", 9.0, subject_kind="suite")])
        measurements.replace_subjects(writer, RUN, ["r1"], [_row("r1", "b", 3.0)])
        measurements.replace_subjects(writer, RUN, ["r3"], [])
    with warehouse.reading() as reader:
        found = measurements.find(reader, RUN, ["r1", "r2", "r3"])
        assert {key: row.value for key, row in found.items()} == {("r1", "b"): 3.0, ("r2", "a"): 2.0}
        of_suite = measurements.find(reader, "suite", ["r1", "r2", "r3"])
        assert {key: row.value for key, row in of_suite.items()} == {("r1", "a"): 9.0}


@pytest.mark.parametrize(
    "changes",
    [
        {"value": float("nan")},
        {"value": float("inf")},
        {"value": float("-inf")},
        {"value": None, "reason": None},
        {"value": 1.0, "reason": "and yet missing"},
        {"worse": "bigger"},
    ],
)
def test_what_could_not_be_judged_is_refused(warehouse: Warehouse, changes: dict[str, object]) -> None:
    with warehouse.writing() as writer:
        register(writer, "r1")
    with pytest.raises(duckdb.Error), warehouse.writing() as writer:
        measurements.replace_subjects(writer, RUN, ["r1"], [_row("r1", "a", **changes)])
