"""The rule in SQL: the same as in Python at every ω, stored or recomputed; old verdicts stay and stay true."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfreg_assets.settings import SettingError
from perfreg_assets.warehouse import distances, reviews, runs, settings_table, verdicts
from perfreg_assets.warehouse.connection import Writer

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@contextmanager
def _holding(memory: duckdb.DuckDBPyConnection, run_ids: str) -> Iterator[Writer]:
    """A warehouse in memory with these runs; what is written is rolled back."""
    memory.execute("BEGIN TRANSACTION")
    try:
        writer = Writer(memory)
        _register(writer, run_ids)
        yield writer
    finally:
        memory.execute("ROLLBACK")


@pytest.fixture
def writer(memory: duckdb.DuckDBPyConnection) -> Iterator[Writer]:
    """With the runs a, b, c."""
    with _holding(memory, "abc") as writer:
        yield writer


def _register(writer: Writer, run_ids: str) -> None:
    runs.upsert(
        writer,
        [
            runs.RunRow(
                run_id=run_id, folder_name=run_id, content_hash=run_id, app="app", version_name="1", config_hash="c",
                started_at=NOON,
            )
            for run_id in run_ids
        ],
    )  # fmt: skip


def _row(run_id: str, name: str = "x", **changes: object) -> distances.DistanceRow:
    row = distances.DistanceRow(
        run_id=run_id,
        series=name,
        detector="default",
        parameters_hash="p1",
        state="scored",
        distance=3.0,
        q1=1.0,
        q3=2.0,
    )
    return dataclasses.replace(row, **changes)


def _expected(row: distances.DistanceRow, omega: float) -> str:
    """The rule, written a second time."""
    if row.state != "scored":
        return row.state
    threshold = row.q3 + omega * (row.q3 - row.q1)
    if row.distance > threshold and row.is_recheck_passed is not False:
        return "anomalous"
    if row.missing_series:
        return "series_missing"
    uncorrected = row.distance if row.uncorrected_distance is None else row.uncorrected_distance
    if row.improvement is not None and row.improvement > threshold and not uncorrected > threshold:
        return "improved"
    return "normal"


_numbers = st.floats(min_value=-1e9, max_value=1e9)


@st.composite
def _measured(draw: st.DrawFn) -> distances.DistanceRow:
    if draw(st.integers(0, 5)) == 0:
        state = draw(st.sampled_from(["not_enough_history", "incomplete_trace", "series_missing"]))
        return _row("a", state=state, distance=None, q1=None, q3=None)
    q1, q3 = sorted([draw(_numbers), draw(_numbers)])
    near = draw(st.sampled_from([q3, q1, q3 + 0.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)]))
    return _row(
        "a",
        distance=draw(st.one_of(_numbers, st.just(near), st.sampled_from([math.inf, -math.inf]))),
        q1=q1,
        q3=q3,
        improvement=draw(st.none() | _numbers),
        uncorrected_distance=draw(st.none() | _numbers | st.just(near)),
        missing_series=draw(st.sampled_from([None, (), ("rss_app",), ("cpu_app", "rss_app")])),
        is_recheck_passed=draw(st.sampled_from([None, True, False])),
    )


@given(st.lists(_measured(), min_size=1, max_size=30), st.floats(0, 100) | st.sampled_from([0.0, 0.5, 1.0, 1.5]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stored_and_recomputed_verdicts_are_the_rule_at_any_omega(
    memory: duckdb.DuckDBPyConnection, measured: list[distances.DistanceRow], omega: float
) -> None:
    with _holding(memory, "a") as writer:
        rows = [dataclasses.replace(row, series=f"s{i}") for i, row in enumerate(measured)]
        distances.upsert(writer, rows)
        assert verdicts.evaluate(writer, omega, "default") == len(rows)
        expected = {row.series: _expected(row, omega) for row in rows}
        columns = (
            "series, state, is_anomalous, threshold, excess_ratio, critical_omega, explanation, is_current, is_latest"
        )
        stored = writer.rows(f"SELECT {columns} FROM marts.verdicts ORDER BY series")
        recomputed = writer.rows(f"SELECT {columns} FROM marts.verdicts_at(?) ORDER BY series", [omega])
        assert stored == recomputed
        assert {name: state for name, state, *_ in stored} == expected
        judged = ("anomalous", "normal", "improved")
        for _, state, is_anomalous, threshold, excess_ratio, critical_omega, *_ in stored:
            assert is_anomalous is (state == "anomalous" if state in judged else None)
            assert excess_ratio is None or threshold > 0
            assert (critical_omega is None) == (threshold is None)


@given(st.lists(_measured(), min_size=1, max_size=30), st.floats(0, 100) | st.sampled_from([0.0, 0.5, 1.0, 1.5]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rates_at_any_omega_count_what_the_rule_says_of_each(
    memory: duckdb.DuckDBPyConnection, measured: list[distances.DistanceRow], omega: float
) -> None:
    run_ids = "".join(chr(ord("A") + i) for i in range(len(measured)))
    with _holding(memory, run_ids) as writer:
        distances.upsert(
            writer, [dataclasses.replace(row, run_id=run_id) for run_id, row in zip(run_ids, measured, strict=True)]
        )
        states = [_expected(row, omega) for row in measured]
        judged = sum(state in ("anomalous", "normal", "improved") for state in states)
        counted = writer.rows("SELECT judged_count, flagged_count FROM marts.false_alarm_rates_at(?)", [omega])
        assert counted == ([(judged, states.count("anomalous"))] if judged else [])


def test_a_rate_and_the_rule_agree_also_on_the_threshold_itself(writer: Writer) -> None:
    """The rule solved for ω rounds elsewhere than the rule: (distance − q3) / (q3 − q1) is above 1.5 here."""
    q1, q3 = 0.025235078564623814, 1.9554298456006436
    distances.upsert(writer, [_row("a", distance=q3 + 1.5 * (q3 - q1), q1=q1, q3=q3)])
    assert writer.rows("SELECT state FROM marts.verdicts_at(1.5)") == [("normal",)]
    assert writer.rows("SELECT judged_count, flagged_count FROM marts.false_alarm_rates_at(1.5)") == [(1, 0)]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.sampled_from([0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_quantiles_of_sql_are_those_of_numpy(
    memory: duckdb.DuckDBPyConnection, values: list[float], level: float
) -> None:
    (found,) = memory.execute(f"SELECT list_aggregate(?::DOUBLE[], 'quantile_cont', {level})", [values]).fetchall()[0]
    assert found == pytest.approx(float(np.quantile(values, level)), rel=1e-12, abs=1e-9)


def test_the_rule_fires_below_the_critical_omega_only(writer: Writer) -> None:
    distances.upsert(
        writer, [_row("a", distance=2.75), _row("b", distance=2.75, q1=2.0), _row("c", distance=1.0, q1=2.0)]
    )
    critical = dict(writer.rows("SELECT run_id, critical_omega FROM marts.verdicts_at(0)"))
    assert critical == {"a": 0.75, "b": math.inf, "c": -math.inf}
    for omega in (0.0, 0.74, 0.75, 0.76, 50.0):
        flagged = {run for (run,) in writer.rows("SELECT run_id FROM marts.verdicts_at(?) WHERE is_anomalous", [omega])}
        assert flagged == {run for run, limit in critical.items() if omega < limit}


def test_where_a_second_check_takes_every_alarm_away_the_critical_omega_is_minus_infinity(writer: Writer) -> None:
    distances.upsert(writer, [_row("a", is_recheck_passed=False), _row("b", is_recheck_passed=True)])
    for table in ("marts.verdicts_at(0)", "marts.distances"):
        assert dict(writer.rows(f"SELECT run_id, critical_omega FROM {table}")) == {"a": -math.inf, "b": 1.0}


def test_a_distance_has_the_threshold_at_the_omega_in_force(writer: Writer) -> None:
    distances.upsert(writer, [_row("a"), _row("b", state="series_missing", distance=None, q1=None, q3=None)])
    verdicts.make_current(writer, omega=0.25)
    assert dict(writer.rows("SELECT run_id, threshold FROM marts.distances")) == {"a": 2.25, "b": None}


def test_a_run_that_lacks_a_series_of_its_history_is_never_normal_or_improved(writer: Writer) -> None:
    lacking = {"missing_series": ("rss_app",)}
    distances.upsert(
        writer,
        [
            _row("a", "cpu_app", distance=0.0),
            _row("a", "cpu_total", distance=0.0),
            _row("a", "rss_app", state="series_missing", distance=None, q1=None, q3=None),
            _row("a", "*", distance=0.0, **lacking),
            _row("b", "*", distance=0.0, improvement=9.0, **lacking),
            _row("c", "*", distance=9.0, **lacking),
        ],
    )
    verdicts.make_current(writer, omega=0.5, detector="default")
    told = {
        run_id: (state, is_anomalous, explanation)
        for run_id, state, is_anomalous, explanation in writer.rows(
            "SELECT run_id, run_verdict, is_anomalous, run_explanation FROM marts.runs"
        )
    }
    assert {run_id: row[:2] for run_id, row in told.items()} == {
        "a": ("series_missing", None),
        "b": ("series_missing", None),
        "c": ("anomalous", True),
    }
    assert told["a"][2] == (
        "The run as a whole is not judged, missing although the history has it: rss_app; "
        "of what was judged (cpu_app, cpu_total) the score 0 is not above 2.5 = q3 2 + ω 0.5 × (q3 − q1) 1."
    )
    assert told["c"][2].endswith("; missing although the history has it: rss_app.")
    counted = writer.rows("SELECT run_count, judged_count, not_judged_count FROM marts.regressions_by_version")
    assert [row for row in counted if row[0] == 3] == [(3, 1, 2)]
    rates = writer.rows("SELECT judged_count, flagged_count FROM marts.false_alarm_rates_at(0.5) WHERE series = '*'")
    assert rates == [(1, 1)]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"distance": -9.0, "uncorrected_distance": 1.0}, "improved"),
        ({"distance": 1.0, "uncorrected_distance": 2.6}, "normal"),  # a leak that the correction brings below
        ({"distance": 2.6, "uncorrected_distance": 3.0}, "anomalous"),
        ({"distance": 1.0, "uncorrected_distance": None}, "improved"),
        ({"distance": 2.6, "is_recheck_passed": False}, "normal"),
    ],
)
def test_a_run_is_improved_only_while_no_series_is_over_its_uncorrected_threshold(
    writer: Writer, changes: dict[str, object], state: str
) -> None:
    distances.upsert(writer, [_row("a", "*", improvement=9.0, **changes)])
    assert verdicts.evaluate(writer, 0.5, "default") == 1
    ((found, explanation),) = writer.rows("SELECT state, explanation FROM marts.run_verdicts")
    assert found == state
    told = "less load (score 9) is no improvement while more load, not corrected for the number of series (score 2.6)"
    assert (told in explanation) == (state == "normal")


def test_verdicts_at_earlier_omegas_stay(writer: Writer) -> None:
    distances.upsert(writer, [_row("a"), _row("b", distance=0.0)])
    assert verdicts.evaluate(writer, 0.5, "default") == 2
    first = writer.rows("SELECT * FROM core.verdicts ORDER BY distance_id")
    assert verdicts.evaluate(writer, 1.5, "default") == 2
    assert verdicts.evaluate(writer, 0.5, "default") == 2
    assert writer.rows("SELECT * FROM core.verdicts WHERE omega = 0.5 ORDER BY distance_id") == first
    assert writer.value("SELECT count(*) FROM core.verdicts") == 4


def test_only_the_runs_and_the_detector_asked_for_are_evaluated(writer: Writer) -> None:
    distances.upsert(writer, [_row(run, detector=detector) for run in "abc" for detector in ("iqr", "default")])
    assert verdicts.evaluate(writer, 0.5, "iqr", ["a", "b"]) == 2
    assert verdicts.evaluate(writer, 0.5, "iqr", []) == 0
    assert writer.rows("SELECT run_id, detector FROM marts.verdicts ORDER BY run_id") == [("a", "iqr"), ("b", "iqr")]
    assert verdicts.evaluate(writer, 0.5, "iqr") == 3


def test_measuring_again_keeps_the_number_and_corrects_the_verdicts_given_on_it(writer: Writer) -> None:
    distances.upsert(writer, [_row("a"), _row("b")])
    number = writer.value("SELECT distance_id FROM core.distances WHERE run_id = 'a'")
    for omega in (0.5, 1.5):
        verdicts.evaluate(writer, omega, "default")
    distances.upsert(writer, [_row("a", distance=1.0)])
    assert writer.value("SELECT distance_id FROM core.distances WHERE run_id = 'a'") == number
    assert writer.rows("SELECT run_id, omega, state FROM marts.verdicts ORDER BY ALL") == [
        ("a", 0.5, "normal"),
        ("a", 1.5, "normal"),
        ("b", 0.5, "anomalous"),
        ("b", 1.5, "normal"),
    ]


def test_other_parameters_supersede_and_leave_the_earlier_measurement_and_its_verdicts(writer: Writer) -> None:
    distances.upsert(writer, [_row("a")])
    verdicts.make_current(writer, omega=0.5, detector="default")
    distances.upsert(writer, [_row("a", parameters_hash="p2", distance=0.0)])
    assert writer.rows("SELECT parameters_hash FROM marts.verdicts WHERE is_current") == []
    assert verdicts.evaluate_current(writer) == 1
    told = writer.rows("SELECT parameters_hash, state, is_latest, is_current FROM marts.verdicts ORDER BY 1")
    assert told == [("p1", "anomalous", False, False), ("p2", "normal", True, True)]
    distances.upsert(writer, [_row("a", parameters_hash="p1")])  # back to the first
    assert verdicts.evaluate_current(writer) == 1
    assert writer.rows("SELECT parameters_hash FROM marts.verdicts WHERE is_current") == [("p1",)]


def test_distance_numbers_are_unique_however_rows_come_and_go(writer: Writer) -> None:
    for round_number in range(3):
        distances.upsert(writer, [_row(run, f"s{i}") for run in "abc" for i in range(round_number + 2)])
    ids = [number for (number,) in writer.rows("SELECT distance_id FROM core.distances")]
    assert len(ids) == len(set(ids)) == 12


def test_one_verdict_per_run_and_series_is_current(writer: Writer) -> None:
    distances.upsert(writer, [_row(run, name, detector=d) for run in "ab" for name in "xy" for d in ("iqr", "default")])
    for omega in (0.0, 0.5, 1.5):
        for detector in ("iqr", "default"):
            verdicts.evaluate(writer, omega, detector)
    verdicts.make_current(writer, omega=0.5, detector="iqr", note="as in the thesis")
    current = writer.rows("SELECT run_id, series, detector, omega FROM marts.verdicts WHERE is_current ORDER BY ALL")
    assert current == [(run, name, "iqr", 0.5) for run in "ab" for name in "xy"]
    assert settings_table.current(writer)["omega"] == "0.5"
    log = writer.rows("SELECT value FROM marts.settings WHERE name = 'detector' AND note = 'as in the thesis'")
    assert log == [("iqr",)]
    with pytest.raises(SettingError):
        verdicts.make_current(writer, omega=-1.0)


def test_the_second_check_takes_an_alarm_away_and_says_so(writer: Writer) -> None:
    distances.upsert(writer, [_row("a", is_recheck_passed=False), _row("b", is_recheck_passed=True)])
    told = dict(writer.rows("SELECT run_id, explanation FROM marts.verdicts_at(0.5)"))
    assert "is normal" in told["a"]
    assert "second check takes the alarm away" in told["a"]
    assert "is anomalous" in told["b"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "x is anomalous: score 3 is above 2.5 = q3 2 + ω 0.5 × (q3 − q1) 1."),
        (
            {"detector": "iqr", "history_size": 12},
            "distance 3 is above 2.5 = q3 2 + ω 0.5 × (q3 − q1) 1, from 12 comparable",
        ),
        ({"evidence_text": "It grows 0.6 MB/s."}, "It grows 0.6 MB/s. x is anomalous"),
        ({"distance": 1.0}, "x is normal: score 1 is not above 2.5"),
        ({"distance": 1.0, "improvement": 4.0}, "x is improved: score 4 is above 2.5"),
        ({"series": "*"}, "The run as a whole is anomalous"),
        (
            {"state": "not_enough_history", "distance": None, "q1": None, "q3": None, "state_reason": "2 of 5 runs."},
            "2 of 5 runs.",
        ),
        ({"state": "series_missing", "distance": None, "q1": None, "q3": None}, "does not have this series"),
    ],
)
def test_the_explanation_holds_the_numbers_of_the_rule(writer: Writer, changes: dict[str, object], words: str) -> None:
    distances.upsert(writer, [dataclasses.replace(_row("a"), **changes)])
    assert words in writer.value("SELECT explanation FROM marts.verdicts_at(0.5, detector := 'all')")


def test_flips_are_the_verdicts_that_differ_between_two_omegas(writer: Writer) -> None:
    distances.upsert(
        writer,
        [_row("a"), _row("b", distance=0.0), _row("c", distance=9.0), _row("a", "y", distance=0.0, improvement=3.0)],
    )
    flips = writer.rows("SELECT run_id, series, state_a, state_b, flip FROM marts.verdict_flips(1.5, 0.5) ORDER BY ALL")
    assert flips == [
        ("a", "x", "normal", "anomalous", "becomes_anomalous"),
        ("a", "y", "normal", "improved", "other"),
    ]
    assert writer.rows("SELECT * FROM marts.verdict_flips(0.7, 0.7)") == []


def test_the_false_alarm_rate_counts_what_nobody_confirmed_or_accepted(writer: Writer) -> None:
    _register(writer, "abcdefg")
    flagged, quiet = {"distance": 9.0}, {"distance": 0.0}
    blank = {"state": "not_enough_history", "distance": None, "q1": None, "q3": None}
    kinds = {"a": flagged, "b": flagged, "c": flagged, "d": flagged, "e": quiet, "f": quiet, "g": blank}
    distances.upsert(writer, [_row(run, "*", **kind) for run, kind in kinds.items()])
    reviews.add(writer, "a", "confirmed")
    reviews.add(writer, "b", "accepted")
    reviews.add(writer, "c", "confirmed")
    reviews.add(writer, "c", "rejected")  # the last one counts
    reviews.add(writer, "d", "confirmed")
    reviews.withdraw(writer, "d")  # as if nobody had looked
    (row,) = [
        row
        for row in (
            dict(zip(_RATES, values, strict=True))
            for values in writer.rows(f"SELECT {', '.join(_RATES)} FROM marts.false_alarm_rates")
        )
        if row["omega"] == 0.5
    ]
    assert row == {
        "detector": "default", "omega": 0.5, "series": "*", "is_current_setting": False, "judged_count": 6,
        "flagged_count": 4,
        "presumed_normal_count": 4,  # c, d, e, f
        "presumed_false_alarm_count": 2,  # c, d
        "false_alarm_ratio": 0.5,
        "rejected_alarm_count": 1,  # c
        "reviewed_false_alarm_ratio": 0.25,
        "confirmed_count": 1, "confirmed_flagged_count": 1,
    }  # fmt: skip
    for (omega,) in writer.rows("SELECT DISTINCT omega FROM marts.false_alarm_rates"):
        listed = writer.rows(f"SELECT {', '.join(_RATES)} FROM marts.false_alarm_rates WHERE omega = ?", [omega])
        assert writer.rows(f"SELECT {', '.join(_RATES)} FROM marts.false_alarm_rates_at(?)", [omega]) == listed


_RATES = (
    "detector", "omega", "series", "is_current_setting", "judged_count", "flagged_count",
    "presumed_normal_count", "presumed_false_alarm_count", "false_alarm_ratio",
    "rejected_alarm_count", "reviewed_false_alarm_ratio", "confirmed_count", "confirmed_flagged_count",
)  # fmt: skip


def test_a_listing_is_of_the_current_setting_unless_told_otherwise(writer: Writer) -> None:
    distances.upsert(writer, [_row("a"), _row("a", "*", distance=0.0), _row("a", detector="iqr", distance=0.0)])
    verdicts.make_current(writer, omega=0.5, detector="default")
    assert [(row["series"], row["state"]) for row in verdicts.listing(writer)] == [("*", "normal"), ("x", "anomalous")]
    assert verdicts.listing(writer, series="*")[0]["explanation"].startswith("The run as a whole is normal")
    assert [row["state"] for row in verdicts.listing(writer, series="x", omega=3.25)] == ["normal"]
    assert [row["detector"] for row in verdicts.listing(writer, detector="iqr")] == ["iqr"]
    assert verdicts.listing(writer, app="another") == []
    assert verdicts.listing(writer, version_name="2") == []


# ---- what is no ω --------------------------------------------------------------------------------
NO_OMEGA = [math.nan, math.inf, -math.inf, -0.5, 101.0]


@pytest.mark.parametrize("omega", NO_OMEGA)
def test_what_is_no_omega_is_neither_stored_nor_shown(writer: Writer, omega: float) -> None:
    with pytest.raises(SettingError, match="omega = "):
        verdicts.evaluate(writer, omega, "default")
    with pytest.raises(SettingError, match="omega = "):
        verdicts.listing(writer, omega=omega)
    with pytest.raises(SettingError, match=r"^omega = "):
        verdicts.make_current(writer, omega=omega)


@pytest.mark.parametrize("omega", ["'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "-0.5"])
@pytest.mark.parametrize("macro", ["verdicts_at", "axis_verdicts_at", "false_alarm_rates_at"])
def test_macros_refuse_what_is_no_omega(writer: Writer, macro: str, omega: str) -> None:
    distances.upsert(writer, [_row("a")])
    with pytest.raises(duckdb.Error, match="ω is a finite number and not below 0"):
        writer.rows(f"SELECT * FROM marts.{macro}({omega})")


@pytest.mark.parametrize("omega", ["'nan'::DOUBLE", "'inf'::DOUBLE", "-0.5"])
def test_the_table_takes_no_such_omega(writer: Writer, omega: str) -> None:
    with pytest.raises(duckdb.ConstraintException):
        writer.execute(f"INSERT INTO core.verdicts VALUES (1, {omega}, 'normal', false, NULL, now(), 1)")


def test_versions_and_their_runs_agree_also_on_the_threshold_itself(writer: Writer) -> None:
    """As a rate: one run of a version that is anomalous by the rule, where the rule solved for ω rounds to ω."""
    q1, q3 = 0.3, 1.1
    omega = next(
        omega
        for omega in (step / 997 for step in range(1, 100_000))
        for distance in [math.nextafter(q3 + omega * (q3 - q1), math.inf)]
        if (distance - q3) / (q3 - q1) <= omega
    )
    distance = math.nextafter(q3 + omega * (q3 - q1), math.inf)
    distances.upsert(writer, [_row("a", name, distance=distance, q1=q1, q3=q3, detector="iqr") for name in ("*", "x")])
    (state,) = {state for (state,) in writer.rows("SELECT state FROM marts.verdicts_at(?, 'iqr')", [omega])}
    told = writer.rows(
        "SELECT state, anomalous_count, judged_count FROM marts.version_verdicts_at(?, 'iqr') WHERE axis = 'all'",
        [omega],
    )
    assert (state, told) == ("anomalous", [("anomalous", 1, 1)])


def test_the_worst_of_runs_with_the_same_excess_is_the_same_in_any_order(writer: Writer) -> None:
    for run_id in "cab":
        distances.upsert(writer, [_row(run_id, "*", distance=8.0)])
    verdicts.evaluate(writer, 0.5, "default")
    writer.execute("UPDATE core.settings SET value = '0.5' WHERE name = 'omega'")
    worst = "SELECT worst_run_id FROM marts.regressions_by_version WHERE series = '*'"
    first = writer.rows(worst)
    distances.upsert(writer, [_row("b", "*", distance=8.0, input_hash="again")])
    verdicts.evaluate(writer, 0.5, "default")
    assert writer.rows(worst) == first
