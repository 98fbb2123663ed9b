"""The tables by topic: what is stored comes back exactly, and storing it again changes nothing."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets import __version__
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import SettingError
from perfreg_assets.warehouse import (
    barycenters,
    collections,
    discords,
    distances,
    evaluations,
    histories,
    notifications,
    reviews,
    runs,
    series,
    settings_table,
    states,
    timings,
    traces,
    verdicts,
)
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.rows import to_arrow
from tests.warehouse.registered import register

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAUGHTY = [
    "'; DROP TABLE core.runs; --",
    '"; DELETE FROM core.runs; --',
    "a'b\"c`d;e\\f",
    "line\nbreak\r\n\ttab",
    "nul\x00byte",
    "\u202eright-to-left\u202c",
    "👩‍👩‍👧‍👦 ﷽ Ω≈ç√",
    "../../etc/passwd",
    "%s %d {0} ${x} $1 ? ?::VARCHAR",
    "<script>alert(1)</script>",
    "NULL",
    " ",
    "x" * 100_000,
]


def _run(run_id: str, **changes: object) -> runs.RunRow:
    row = runs.RunRow(
        run_id=run_id,
        folder_name="folder",
        content_hash="hash",
        partition_key="app@1",
        app="app",
        version_name="1",
        config_hash="config",
        started_at=NOON,
        path=(runs.PathStep(0, 5, "h0", "list", "tap"), runs.PathStep(1, 6, "h1")),
        step_count=2,
        functional_problem_count=0,
        functional_problems=[],
        extra={"note": [1, 2.5, None, {"a": "b"}]},
    )
    return dataclasses.replace(row, **changes)


def _series(run_id: str, name: str, values: np.ndarray | None) -> series.SeriesRow:
    return series.SeriesRow(
        run_id=run_id, series=name, unit="cores", interval_s=1.0, start_ns=None if values is None else 7,
        values=values, is_missing=values is None, reason="not there" if values is None else None,
    )  # fmt: skip


def _distance(run_id: str, name: str = "x", **changes: object) -> distances.DistanceRow:
    row = distances.DistanceRow(
        run_id=run_id, series=name, detector="default", parameters_hash="p1", state="scored",
        distance=3.0, q1=1.0, q3=2.0,
        history_distances=np.array([1.0, 2.0]), evidence={"mean": 1.5}, measured_at=NOON,
    )  # fmt: skip
    return dataclasses.replace(row, **changes)


def test_runs_come_back_as_they_were(warehouse: Warehouse) -> None:
    rows = [_run("a"), _run("b", started_at=NOON - timedelta(hours=1)), _run("c", partition_key="app@2")]
    with warehouse.writing() as writer:
        assert runs.upsert(writer, rows) == 3
    with warehouse.reading() as reader:
        assert runs.find(reader, ["a", "b", "nobody"]) == {"a": rows[0], "b": rows[1]}
        assert [row.run_id for row in runs.of_partition(reader, "app@1")] == ["b", "a"]
        assert runs.ids_of_partitions(reader, ["app@2", "app@3"]) == {"app@2": ["c"], "app@3": []}


@pytest.mark.parametrize("text", NAUGHTY, ids=range(len(NAUGHTY)))
def test_hostile_names_come_back_exactly_and_run_nothing(warehouse: Warehouse, text: str) -> None:
    run = _run(text, app=text, version_name=text, partition_key=text, folder_name=text, extra={text: text})
    run = dataclasses.replace(
        run, path=(runs.PathStep(0, 1, text, text, text),), functional_problems=[{"message": text}]
    )
    trace = traces.TraceRow(run_id=text, is_complete=True, app_processes=(text,), data_sources=(), health={text: 1})
    with warehouse.writing() as writer:
        runs.upsert(writer, [run, _run("other")])
        traces.upsert(writer, [trace])
        series.upsert(writer, [_series(text, text, np.array([1.0]))])
        distances.upsert(writer, [_distance(text, text, evidence_text=text)])
        verdicts.evaluate(writer, 0.5, "default")
        reviews.add(writer, text, "rejected", note=text, reviewer=text)
        settings_table.change(writer, "detector", "iqr", note=text)
    with warehouse.reading() as reader:
        assert runs.find(reader, [text]) == {text: run}
        assert traces.find(reader, [text]) == {text: trace}
        assert list(series.find(reader, [text], [text])) == [(text, text)]
        assert [fact.run_id for fact in histories.facts(reader, text, with_verdicts=False)] == [text]
        assert reader.rows("SELECT run_id, app, review_note FROM marts.runs WHERE app = ?", [text]) == [
            (text, text, text)
        ]
        (told,) = reader.rows("SELECT series, explanation FROM marts.verdicts WHERE run_id = ?", [text])
        assert told[0] == text
        assert told[1].startswith(text.rstrip(". "))
        assert reader.value("SELECT count(*) FROM core.runs") == 2


def test_giving_a_run_again_keeps_what_people_decided(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        runs.upsert(writer, [_run("a")])
        runs.exclude(writer, "a", "device was charging")
        first = runs.find(writer, ["a"])["a"].registered_at
        runs.upsert(writer, [_run("a", version_name="2")])
        again = runs.find(writer, ["a"])["a"]
        assert (again.version_name, again.registered_at) == ("2", first)
        assert writer.rows("SELECT is_excluded, exclude_reason FROM core.runs") == [(True, "device was charging")]
        runs.include(writer, "a")
        assert writer.rows("SELECT is_excluded, exclude_reason FROM core.runs") == [(False, None)]
        with pytest.raises(Rejected) as caught:
            runs.exclude(writer, "nobody", "x")
        assert caught.value.reason is Reason.RUN_UNKNOWN


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="started_at has no time zone"):
        to_arrow([_run("a", started_at=datetime(2026, 1, 1))], runs.RunRow)


@given(st.lists(st.floats(allow_infinity=True, allow_nan=True, width=64), max_size=50))
@settings(max_examples=25, deadline=None)
def test_series_come_back_to_the_bit(values: list[float]) -> None:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE t ("values" DOUBLE[])')
    array = np.array(values, dtype=np.float64)
    staged = to_arrow([_series("a", "x", array)], series.SeriesRow)
    connection.register("staged", staged)
    connection.execute('INSERT INTO t SELECT "values" FROM staged')
    (back,) = connection.sql("SELECT * FROM t").to_arrow_table().column(0)
    assert back.values.to_numpy(zero_copy_only=False).astype(np.float64).tobytes() == array.tobytes()


def test_series_of_a_run_are_replaced_together(warehouse: Warehouse) -> None:
    ragged = [_series("a", "x", np.arange(3.0)), _series("a", "y", None), _series("b", "x", np.empty(0))]
    with warehouse.writing() as writer:
        register(writer, "a", "b")
        series.upsert(writer, ragged)
        found = series.find(writer, ["a", "b"])
        assert {key: row.values if row.values is None else row.values.tolist() for key, row in found.items()} == {
            ("a", "x"): [0.0, 1.0, 2.0],
            ("a", "y"): None,
            ("b", "x"): [],
        }
        series.upsert(writer, [_series("a", "x", np.zeros(1))])
        assert set(series.find(writer, ["a", "b"])) == {("a", "x"), ("b", "x")}
        assert set(series.find(writer, ["a", "b"], ["nothing"])) == set()


def test_history_sets_are_replaced_with_their_candidates(warehouse: Warehouse) -> None:
    def one(size: int) -> histories.HistoryRow:
        return histories.HistoryRow(
            run_id="c", state="ready", history_size=size, history_maximum=12, history_minimum=1, similarity_minimum=0.8,
            candidate_count=3, excluded_counts={"not_earlier": 1}, parameters_hash="p",
        )  # fmt: skip

    def candidate(other: str, rank: int | None) -> histories.CandidateRow:
        reason = None if rank else "path_dissimilar"
        return histories.CandidateRow(
            run_id="c", history_run_id=other, history_rank=rank, similarity_ratio=0.5, exclude_reason=reason
        )

    with warehouse.writing() as writer:
        register(writer, *"abcd")
        histories.upsert(writer, [one(2)], [candidate("a", 2), candidate("b", 1), candidate("d", None)])
        assert histories.members(writer, ["c", "e"]) == {"c": ("b", "a")}
        histories.upsert(writer, [one(0)], [candidate("a", None)])
        assert histories.members(writer, ["c"]) == {"c": ()}
        assert histories.find(writer, ["c"])["c"].excluded_counts == {"not_earlier": 1}
        assert writer.value("SELECT count(*) FROM core.history_candidates") == 1


def test_facts_hold_all_that_history_selection_needs(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        runs.upsert(
            writer,
            [
                _run("a"),
                _run("b", started_at=NOON - timedelta(hours=1), functional_problem_count=2),
                _run("c", app="else"),
                _run("q", is_quarantined=True, reason_code="key_missing", reason="no"),
            ],
        )
        traces.upsert(writer, [traces.TraceRow(run_id="a", is_complete=True)])
        reviews.add(writer, "a", "confirmed")
        reviews.add(writer, "a", "accepted")
        distances.upsert(writer, [_distance("a", "*")])
        verdicts.make_current(writer, omega=0.5, detector="default")
        first, second = histories.facts(writer, "app", with_verdicts=True)
        assert histories.Paths(writer)([second, dataclasses.replace(second, run_id="nobody")]) == [("h0", "h1"), ()]
    assert (first.run_id, first.has_functional_problems, first.is_complete, first.is_anomalous) == (
        "b",
        True,
        False,
        None,
    )
    assert (second.run_id, second.has_functional_problems, second.is_complete, second.is_anomalous) == (
        "a",
        False,
        True,
        True,
    )
    assert (second.review, second.started_at) == ("accepted", NOON)


def test_a_barycenter_is_stored_once(warehouse: Warehouse) -> None:
    def center(values: float) -> barycenters.BarycenterRow:
        return barycenters.BarycenterRow(
            barycenter_id="b", values=np.full(3, values), inertia=1.0, iteration_count=5, backend="numba", seconds=0.1
        )

    with warehouse.writing() as writer:
        assert barycenters.insert_missing(writer, [center(1.0)]) == 1
        assert barycenters.insert_missing(writer, [center(2.0)]) == 0
        assert barycenters.find(writer, ["b", "c"])["b"].values.tolist() == [1.0] * 3
        register(writer, "r")
        barycenters.assign(writer, ["r"], [barycenters.RunBarycenterRow(run_id="r", series="x", barycenter_id="b")])
        assert barycenters.stored(writer, ["b", "c"]) == {"b"}
        assert states.averaged(writer, ["r"]) == {"r": {"x": "b"}}
        barycenters.assign(writer, ["r"], [])
        assert states.averaged(writer, ["r"]) == {}


def test_windows_of_a_run_that_has_none_any_more_are_gone(warehouse: Warehouse) -> None:
    window = discords.DiscordRow(
        run_id="a", series="x", window_index=0, start_s=1, end_s=3, peak_s=2, start_ns=1, end_ns=3, confidence=0.9,
        profile_value=4.0, screens=("list",),
    )  # fmt: skip
    profile = discords.ProfileRow(
        run_id="a", series="x", localisation="default", window_s=2.0, profile=np.array([np.nan, 1.0]),
        threshold_low=None,
        threshold_high=1.0, parameters_hash="p",
    )  # fmt: skip
    with warehouse.writing() as writer:
        register(writer, "a")
        assert discords.replace_runs(writer, ["a"], [profile], [window]) == 1
        assert discords.replace_runs(writer, ["a"], [profile], [window]) == 1
        assert writer.value("SELECT count(*) FROM core.discords") == 1
        assert discords.replace_runs(writer, ["a", "b"], [], []) == 0
        assert writer.value("SELECT count(*) FROM core.profiles") == 0


def test_reviews_are_added_and_the_last_one_counts(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        runs.upsert(writer, [_run("a")])
        reviews.add(writer, "a", "confirmed", note="leak", reviewer="ada")
        reviews.add(writer, "a", "rejected")
        assert writer.rows("SELECT run_id, status FROM marts.reviews WHERE is_in_force") == [("a", "rejected")]
        assert writer.value("SELECT count(*) FROM core.reviews") == 2
        with pytest.raises(Rejected):
            reviews.add(writer, "nobody", "confirmed")
        with pytest.raises(Rejected):
            reviews.withdraw(writer, "nobody")
        with pytest.raises(ValueError, match="confirmed, rejected, accepted"):
            reviews.add(writer, "a", "fine")


def test_a_withdrawal_is_a_further_row_and_leaves_no_review_in_force(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        runs.upsert(writer, [_run("a")])
        with pytest.raises(Rejected) as caught:
            reviews.withdraw(writer, "a")
        assert caught.value.reason is Reason.REVIEW_MISSING
        reviews.add(writer, "a", "confirmed", note="leak", reviewer="ada")
        reviews.withdraw(writer, "a", note="wrong run", reviewer="bob")
        told = "SELECT status, note, reviewer, is_in_force FROM marts.reviews ORDER BY reviewed_at"
        assert writer.rows(told) == [("confirmed", "leak", "ada", False), ("withdrawn", "wrong run", "bob", False)]
        unreviewed = (None, None, None, None)
        now = "SELECT review_status, review_note, reviewer, reviewed_at FROM marts.runs"
        assert writer.rows(now) == [unreviewed]
        assert reviews.in_force(writer, "a") is None
        with pytest.raises(Rejected, match="none to withdraw"):
            reviews.withdraw(writer, "a")
        reviews.add(writer, "a", "accepted")  # without a note: the one before is not taken for it
        assert writer.rows(now)[0][:3] == ("accepted", None, None)
        assert [one.status for one in reviews.told(writer, "a")] == ["accepted", "withdrawn", "confirmed"]


def test_the_last_word_counts_when_the_clock_was_set_back(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    with warehouse.writing() as writer:
        runs.upsert(writer, [_run("a")])
        for status, hours in (("confirmed", 24), ("rejected", 0), ("accepted", 0)):
            monkeypatch.setattr(reviews, "now_utc", lambda hours=hours: NOON + timedelta(hours=hours))
            reviews.add(writer, "a", status)
        assert writer.rows("SELECT status FROM marts.reviews WHERE is_in_force") == [("accepted",)]
        moments = writer.rows("SELECT reviewed_at FROM core.reviews ORDER BY reviewed_at")
        assert [moment for (moment,) in moments] == [NOON + timedelta(hours=24, microseconds=n) for n in range(3)]


def test_the_setting_that_was_changed_last_is_in_force_when_the_clock_was_set_back(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    with warehouse.writing() as writer:
        for value, hours in (("0.5", 24), ("0.9", 0), ("0.9", 1), ("1", 2)):
            monkeypatch.setattr(settings_table, "now_utc", lambda hours=hours: NOON + timedelta(days=3650, hours=hours))
            settings_table.change(writer, "omega", value)
        assert settings_table.current(writer)["omega"] == "1.0"
        assert settings_table.changes_in_force(writer)["omega"]["value"] == "1.0"
        assert writer.value("SELECT marts.current_value('omega')") == "1.0"
        told = writer.rows("SELECT value FROM marts.settings WHERE name = 'omega' ORDER BY changed_at")
        assert [value for (value,) in told[1:]] == ["0.5", "0.9", "1.0"]


def test_settings_are_logged_and_checked(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        assert settings_table.change(writer, "omega", "0.85", note="fewer alarms")
        assert not settings_table.change(writer, "omega", "0.85")
        assert settings_table.current(writer)["omega"] == "0.85"
        assert writer.rows("SELECT note FROM core.settings WHERE name = 'omega' ORDER BY changed_at")[-1] == (
            "fewer alarms",
        )
        for name, value in [
            ("omega", "-1"),
            ("omega", "much"),
            ("detector", "oracle"),
            ("nothing", "1"),
            ("omega", " "),
        ]:
            with pytest.raises(SettingError):
                settings_table.change(writer, name, value)


def test_an_evaluation_is_stored_once(warehouse: Warehouse) -> None:
    result = {"dataset": "d", "protocol": "thesis", "rows": [{"omega": 0.5}], "localisation": []}
    with warehouse.writing() as writer:
        assert evaluations.latest(writer) is None
        assert evaluations.add(writer, result) == evaluations.add(writer, dict(reversed(result.items())))
        assert evaluations.latest(writer) == result
        assert writer.value("SELECT count(*) FROM core.evaluations") == 1


def test_a_rule_that_is_gone_back_to_and_measured_again_was_measured_last(warehouse: Warehouse) -> None:
    def power(omega: float) -> dict[str, object]:
        row = {"kind": "leak", "unit": "MB/min", "size": 10.0, "repeats": 1, "share": 1.0, "cases": 6}
        return {"dataset": "a", "protocol": "power", "detector": "default", "omega": omega, "runs": 3, "rows": [row]}

    for omega in (0.75, 1.5, 0.75):
        with warehouse.writing() as writer:
            evaluations.add(writer, power(omega))
            latest = writer.rows("SELECT omega FROM marts.detection_power WHERE is_latest_of_app")
        assert latest == [(omega,)]
    with warehouse.writing() as writer:
        writer.execute("UPDATE core.evaluations SET code_version = 'older'")
        evaluations.add(writer, power(1.5))
        rows = writer.rows("SELECT omega, is_latest_of_app FROM marts.detection_power ORDER BY omega")
        versions = writer.rows("SELECT code_version FROM core.evaluations ORDER BY code_version = 'older' DESC")
    assert rows == [(0.75, False), (1.5, True)]
    assert versions == [("older",), (__version__,)]


def test_leftovers_on_devices_are_remembered_until_swept(warehouse: Warehouse) -> None:
    attempt = collections.CollectionRow(
        collection_id="c", run_id="r", app="app", version_name="1", attempt=1, device_serial="d", state="collected",
        leftover_path="/data/x", started_at=NOON, ended_at=NOON,
    )  # fmt: skip
    with warehouse.writing() as writer:
        collections.upsert(writer, [attempt])
        assert collections.leftovers(writer) == [attempt]
        collections.swept(writer, "c")
        assert collections.leftovers(writer) == []


def test_a_notice_is_recorded_once(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        runs.upsert(writer, [_run("a"), _run("b")])
        distances.upsert(writer, [_distance("a", "*"), _distance("b", "*", distance=0.0)])
        verdicts.make_current(writer, omega=0.5, detector="default")
        (notice,) = notifications.pending(writer)
        assert notice["run_id"] == "a"
        assert "is above" in notice["explanation"]
        reviews.add(writer, "a", "rejected")
        assert notifications.pending(writer) == []
        reviews.withdraw(writer, "a")
        assert [one["run_id"] for one in notifications.pending(writer)] == ["a"]
        for _ in range(2):
            notifications.record(writer, notice["notification_key"], "a")
            assert notifications.pending(writer) == []
        assert writer.value("SELECT count(*) FROM marts.notifications") == 1


def test_timings_are_replaced_by_phase(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        register(writer, "a")
        timings.record(writer, "a", {"engine": 1.0, "model": 2.0})
        timings.record(writer, "a", {"engine": 3.0})
        phases = writer.rows("SELECT run_id, phase, seconds FROM core.timings ORDER BY phase")
        assert phases == [("a", "engine", 3.0), ("a", "model", 2.0)]


@pytest.mark.parametrize(
    "row",
    [
        _distance("a", distance=None),
        _distance("a", distance=float("nan")),
        _distance("a", q3=float("nan")),
        _distance("a", improvement=float("nan")),
        _distance("a", q1=3.0),
        _distance("a", state="not_enough_history"),
        _distance("a", uncorrected_distance=float("nan")),
        _distance("a", p_value=1.5),
    ],
    ids=range(8),
)
def test_distances_that_would_judge_wrongly_are_refused(warehouse: Warehouse, row: distances.DistanceRow) -> None:
    def write() -> None:
        with warehouse.writing() as writer:
            distances.upsert(writer, [row])

    with warehouse.writing() as writer:
        register(writer, "a")
    with pytest.raises(duckdb.ConstraintException):
        write()
