"""Measurements of a run beside its history: every state, and what is judged."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from perfreg_assets.catalogue import definition_of
from perfreg_assets.model.measurements import definition_of_metric, load, rows_of_run
from perfreg_assets.traces.measurement import Measurement, measured, missing
from perfreg_assets.warehouse import measurements as table
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.measurements import RUN
from perfreg_assets.warehouse.runs import RunRow
from tests.warehouse.registered import register

COLD = "startup_initial_display_cold"
MEMBERS = tuple(f"h{i}" for i in range(6))


def run(run_id: str, extra: dict | None = None) -> RunRow:
    return RunRow(
        run_id=run_id, folder_name=run_id, content_hash=run_id, app="com.rig.shop", version_name="1.5.0", extra=extra
    )


def own(name: str, value: object, **more: object) -> dict:
    return {"metrics": [{"name": name, "value": value, **more}]}


def cold(value: float) -> Measurement:
    return measured(COLD, value, {})


@pytest.fixture
def compared(tmp_path):
    """Comparisons of run `r` by metric, given what was measured in each run and what its run.json reports."""
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=10.0)

    def compare(
        measured_in: Mapping[str, list[Measurement]], extras: Mapping[str, dict] | None = None, *, minimum: int = 5
    ):
        extras = extras or {}
        with warehouse.writing() as writer:
            register(writer, *sorted({*measured_in, *extras}))
            for run_id in {*measured_in, *extras}:
                rows = rows_of_run(run(run_id, extras.get(run_id)), measured_in.get(run_id, []), code_version="t")
                table.replace_subjects(writer, RUN, [run_id], rows)
        with warehouse.reading() as reader:
            found = load(reader, ["r"], {"r": MEMBERS}, history_minimum=minimum)
        assert all((one.state == "scored") == (one.state_reason is None) for one in found)
        assert all(one.run_id == "r" for one in found)
        return {one.metric: one for one in found}

    return compare


def test_a_metric_is_beside_the_values_of_the_history_latest_first(compared):
    one = compared({"r": [cold(0.9)], **{name: [cold(0.5 + i / 10)] for i, name in enumerate(MEMBERS)}})[COLD]
    assert (one.state, one.value) == ("scored", 0.9)
    assert one.history.tolist() == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert one.definition is definition_of(COLD)


def test_what_nobody_has_is_not_judged(compared):
    assert compared({name: [missing(COLD, "no launch")] for name in ("r", *MEMBERS)}) == {}


def test_a_run_without_a_value_that_its_history_has_is_missing_it(compared):
    known = {name: [cold(0.5)] for name in MEMBERS}
    one = compared({**known, "r": [missing(COLD, "the app had no cold launch")]})[COLD]
    assert (one.state, one.value) == ("series_missing", None)
    told = "6 of the 6 comparable runs have this metric, this run has not: the app had no cold launch."
    assert one.state_reason == told
    one = compared(known | {"r": []})[COLD]
    assert one.state == "series_missing"
    assert one.state_reason.endswith("the run does not report it.")


@pytest.mark.parametrize("target", [[cold(0.9)], [missing(COLD, "no launch")]])
def test_too_few_values_are_no_history_whether_the_run_has_one_or_not(compared, target):
    # A value that could not be judged is none whose lack makes a run unjudged.
    one = compared({"r": target, **{name: [cold(0.5)] for name in MEMBERS[:4]}})[COLD]
    assert one.state == "not_enough_history"
    assert one.state_reason == "Only 4 of the 6 comparable runs have this metric, 5 are needed."


def test_the_first_run_that_has_a_metric_has_no_history_of_it(compared):
    one = compared({"r": [cold(0.9)]})[COLD]
    assert (one.state, one.history.size) == ("not_enough_history", 0)


def test_the_apps_own_metrics_are_judged_unless_it_says_otherwise(compared):
    extras = {name: own("db.query", 12, unit="ms", worse="less") for name in MEMBERS}
    one = compared({}, {**extras, "r": own("db.query", 15.0, unit="ms", worse="less")})["db.query"]
    assert (one.state, one.value, one.history.tolist()) == ("scored", 15.0, [12.0] * 6)
    assert (one.definition.unit, one.definition.worse, one.definition.kind) == ("ms", "less", "scalar")
    assert (one.definition.axis, one.definition.label) == ("app", "db.query")
    assert compared({}, {**extras, "r": own("db.query", 15.0, unit="ms", judged=False)}) == {}


def test_an_own_metric_that_is_not_usable_any_more_is_missing_with_its_sentence(compared):
    extras = {name: own("db.query", 12, unit="ms") for name in MEMBERS}
    one = compared({}, {**extras, "r": own("db.query", "fast", unit="ms")})["db.query"]
    assert (one.state, one.definition.unit) == ("series_missing", "ms")
    assert "metrics[0].value" in one.state_reason


def test_values_in_another_unit_are_not_compared(compared):
    extras = {name: own("db.query", 12, unit="ms") for name in MEMBERS}
    one = compared({}, {**extras, "r": own("db.query", 0.012, unit="s")})["db.query"]
    assert (one.state, one.history.size) == ("not_enough_history", 0)


def test_rows_carry_run_trace_and_report(compared):
    rows = rows_of_run(run("r", own("db.query", 3)), [cold(0.9), missing("cpu_app", "why")], code_version="1+abc")
    assert [(row.metric, row.value, row.reason) for row in rows] == [
        (COLD, 0.9, None), ("cpu_app", None, "why"), ("db.query", 3.0, None)
    ]  # fmt: skip
    assert {(row.subject_kind, row.subject_id, row.app, row.version_name, row.code_version) for row in rows} == {
        (RUN, "r", "com.rig.shop", "1.5.0", "1+abc")
    }
    assert definition_of_metric(rows[0]) is definition_of(COLD)
    assert definition_of_metric(rows[2]).is_judged
