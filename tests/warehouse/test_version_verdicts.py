"""marts.version_verdicts: the runs of a build in one verdict, the same at any ω as methods/repeats.py says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pytest

from perfreg_assets.methods.multiple_testing import sidak, version_score
from perfreg_assets.methods.repeats import combined_score
from perfreg_assets.warehouse import distances, notifications, reviews, runs, traces, verdicts, version_verdicts
from perfreg_assets.warehouse.connection import Warehouse, Writer

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NORMAL = {"q1": -0.6744897501960817, "q3": 0.6744897501960817}
BLANK = {"distance": None, "q1": None, "q3": None}


@pytest.fixture
def writer(memory: duckdb.DuckDBPyConnection) -> Iterator[Writer]:
    """A warehouse in memory with runs a to j of version 2; what a test writes is rolled back."""
    memory.execute("BEGIN TRANSACTION")
    writer = Writer(memory)
    rows = [
        runs.RunRow(
            run_id=name, folder_name=name, content_hash=name, app="app", version_name="2", config_hash="c",
            started_at=NOON + timedelta(minutes=place),
        )
        for place, name in enumerate("abcdefghij")
    ]  # fmt: skip
    runs.upsert(writer, rows)
    yield writer
    memory.execute("ROLLBACK")


def _scored(run_id: str, series: str, score: float, *, of: int, **changes: Any) -> distances.DistanceRow:
    """A series' score as the pipeline stores it: corrected for `of` series, with what it was before."""
    values = {
        "distance": sidak(score, of), "improvement": sidak(-score, of), "uncorrected_distance": score, **NORMAL,
        "evidence": {"score_degrees": 11.0, "repeat_correlation": 0.2, "series_improvement": -score}, **changes,
    }  # fmt: skip
    return distances.DistanceRow(
        run_id=run_id, series=series, detector="default", parameters_hash="p", state="scored", **values
    )


def _judged(writer: Writer, scores: dict[str, list[float]], omega: float = 0.75) -> dict[str, dict[str, Any]]:
    """Axis → the verdict on version 2, whose runs a, b, … have these scores."""
    for place in range(max(map(len, scores.values()))):
        there = {series: row[place] for series, row in scores.items() if place < len(row)}
        rows = [_scored("abcdefghij"[place], series, score, of=len(there)) for series, score in there.items()]
        worst = max(rows, key=lambda row: row.distance)
        distances.upsert(
            writer, [*rows, _scored(worst.run_id, "*", 0, of=1, distance=worst.distance, uncorrected_distance=None)]
        )
    verdicts.make_current(writer, omega=omega, detector="default")
    return _current(writer)


def _current(writer: Writer) -> dict[str, dict[str, Any]]:
    found = writer.dicts("SELECT * FROM marts.version_verdicts WHERE is_current")
    again = writer.dicts("SELECT * FROM marts.version_verdicts_at(marts.current_value('omega')::DOUBLE)")
    assert {row["axis"]: row["state"] for row in found} == {row["axis"]: row["state"] for row in again}
    return {row["axis"]: row for row in found}


@pytest.mark.parametrize(
    "scores", [[1.0], [1.3, 1.1, 1.5], [0.2, -0.4, 9.0, 0.1], [4.5, 5.0, 4.8], [-1.0, 0.4] * 5, [-2.0, -1.5]]
)
def test_the_warehouse_says_what_the_method_says(writer: Writer, scores: list[float]) -> None:
    found = _judged(writer, {"rss_app": scores})
    wanted = combined_score(np.array(scores), 11, 0.2)
    assert found["all"]["score"] == pytest.approx(wanted, abs=1e-6)
    assert found["memory"]["improvement"] == pytest.approx(combined_score(-np.array(scores), 11, 0.2), abs=1e-4)
    assert found["all"]["is_anomalous"] == (wanted > found["all"]["threshold"])
    assert found["all"]["run_count"] == 10
    assert found["all"]["judged_count"] == len(scores)


def test_runs_with_histories_of_different_sizes_are_all_taken_at_the_smallest(writer: Writer) -> None:
    """A score becomes a t and comes back as a score by the same degrees of freedom, else each loses on the way."""
    scores, degrees = [1.6, 1.9, 1.7], [4.0, 11.0, 8.0]
    for run_id, score, own in zip("abc", scores, degrees, strict=True):
        evidence = {"score_degrees": own, "repeat_correlation": 0.2, "series_improvement": -score}
        distances.upsert(writer, [_scored(run_id, "rss_app", score, of=1, evidence=evidence)])
    verdicts.make_current(writer, omega=0.75, detector="default")
    found = _current(writer)["all"]
    assert found["score"] == pytest.approx(combined_score(np.array(scores), 4, 0.2), abs=1e-6)
    assert found["improvement"] == pytest.approx(combined_score(-np.array(scores), 4, 0.2), abs=1e-4)


@pytest.mark.parametrize("runs", [1, 3, 6, 7])
def test_a_whole_version_is_anomalous_where_the_method_says_so_by_the_mean_or_by_the_number(
    writer: Writer, runs: int
) -> None:
    """What quality and detection power are measured with decides as the warehouse does."""
    draw = np.random.default_rng(runs)
    told = []
    for _ in range(8):
        shift = draw.choice([-1.0, 0.5], size=(3, 1)) + draw.choice([0.0, 2.5], size=(3, runs), p=[0.8, 0.2])
        scores = dict(zip(("rss_app", "cpu_app", "cpu_total"), draw.normal(shift), strict=True))
        found = _judged(writer, {series: row.tolist() for series, row in scores.items()})["all"]
        whole = version_score(scores, dict.fromkeys(scores, 11.0), dict.fromkeys(scores, 0.2))
        assert found["is_anomalous"] == (whole > found["threshold"])
        told.append(found["is_anomalous"])
    assert 0 < sum(told) < 8


def test_runs_that_are_normal_each_may_be_a_regression_together_and_one_message_says_so(writer: Writer) -> None:
    found = _judged(writer, {"rss_app": [1.5] * 5, "cpu_app": [0.1, -0.3, 0.2, 0.0, -0.1]})
    assert [found[axis]["state"] for axis in ("all", "cpu", "memory")] == ["anomalous", "normal", "anomalous"]
    assert found["all"]["anomalous_count"] == 0
    assert found["all"]["series"] == "rss_app"
    assert "rss_app of 5 judged runs together score" in found["all"]["explanation"]
    (pending,) = notifications.pending_versions(writer)
    assert (pending["version_name"], pending["axes"]) == ("2", ["memory"])
    notifications.record(writer, pending["notification_key"], pending["run_id"])
    assert notifications.pending_versions(writer) == []


def test_when_most_runs_are_anomalous_each_in_its_own_way_the_version_is(writer: Writer) -> None:
    """The demo's 1.5.0: three of five runs alarm, in CPU or memory, and the version was told as normal."""
    found = _judged(writer, {"rss_app": [4.2, 2.7, -1.5, 0.2, -0.4], "cpu_app": [-1.2, -0.9, 3.1, 0.1, -1.0]})
    assert [found[axis]["state"] for axis in ("all", "cpu", "memory")] == ["anomalous", "normal", "normal"]
    assert found["all"]["score"] < found["all"]["threshold"]
    assert "is anomalous: 3 of 5 judged runs are, each by itself; " in found["all"]["explanation"]


def test_half_of_the_runs_are_not_most_of_them(writer: Writer) -> None:
    assert _judged(writer, {"rss_app": [4.2, 2.7, -2.5, -2.2]})["all"]["state"] == "normal"


def test_half_of_six_runs_are_enough(writer: Writer) -> None:
    """Six runs with faults of different kinds, three of which alarmed, were told as a normal version."""
    found = _judged(
        writer, {"rss_app": [4.2, 2.7, -1.5, 0.2, -0.4, -2.0], "cpu_app": [-1.2, -0.9, 3.1, 0.1, -1.0, -1.9]}
    )
    assert found["all"]["score"] < found["all"]["threshold"]
    assert found["all"]["state"] == "anomalous"
    assert "is anomalous: 3 of 6 judged runs are, each by itself; " in found["all"]["explanation"]


def test_a_version_is_corrected_for_its_series_so_one_run_keeps_its_verdict(writer: Writer) -> None:
    found = _judged(writer, {"rss_app": [1.9], "cpu_app": [0.3], "cpu_total": [-0.4]})
    assert found["all"]["score"] == pytest.approx(sidak(1.9, 3), abs=1e-6)
    assert found["all"]["score"] == pytest.approx(
        writer.value("SELECT distance FROM marts.run_verdicts WHERE is_current AND run_id = 'a'"), abs=1e-6
    )


def test_less_load_in_all_runs_is_an_improvement(writer: Writer) -> None:
    assert _judged(writer, {"rss_app": [-2.0, -2.2, -1.9]})["all"]["state"] == "improved"


@pytest.mark.parametrize("series_count", [1, 9, 10, 25, 40])
def test_an_improvement_is_that_of_the_runs_however_many_series_are_judged(writer: Writer, series_count: int) -> None:
    """Of 20 series an improvement of -2 is -8 once corrected, as is one of -1, and came back as -0.9: two such runs
    beside a better one were an improved version."""
    scores = {f"own_{place:02}": [2.0, 2.5, -2.4, 1.8] for place in range(series_count)}
    found = _judged(writer, scores)["all"]
    one = combined_score(-np.array([2.0, 2.5, -2.4, 1.8]), 11, 0.2)
    assert found["improvement"] == pytest.approx(sidak(one, series_count), abs=1e-4)


def test_an_improvement_of_before_is_taken_back_from_the_corrected_one(writer: Writer) -> None:
    rows = [
        _scored(run_id, series, score, of=2, evidence={"score_degrees": 11.0, "repeat_correlation": 0.2})
        for run_id, score in (("a", -1.0), ("b", -1.4))
        for series in ("rss_app", "cpu_app")
    ]
    distances.upsert(writer, [*rows, *(_scored(run_id, "*", 0, of=1) for run_id in "ab")])
    verdicts.make_current(writer, omega=0.75, detector="default")
    wanted = combined_score(np.array([1.0, 1.4]), 11, 0.2)
    assert _current(writer)["memory"]["improvement"] == pytest.approx(sidak(wanted, 2), abs=1e-4)


def test_beside_an_improvement_that_does_not_decide_the_told_score_is_that_of_the_told_series(writer: Writer) -> None:
    """Memory alone is over its limit, corrected for two series it is not: no improvement, and not CPU's score."""
    found = _judged(writer, {"rss_app": [1.8], "cpu_app": [-4.0]})
    whole = found["all"]
    assert whole["state"] == "normal"
    assert whole["improvement"] > whole["threshold"]  # CPU's
    assert whole["series"] == "rss_app"
    assert whole["score"] == found["memory"]["score"]
    assert f"rss_app of 1 judged run together score {whole['score']:.4g}, not above" in whole["explanation"]


def test_what_is_excluded_or_rejected_says_nothing_at_once(writer: Writer) -> None:
    assert _judged(writer, {"rss_app": [4.0, 4.0, 0.0]})["all"]["state"] == "anomalous"
    runs.exclude(writer, "a", "charging")
    reviews.add(writer, "b", "rejected", note="battery saver", reviewer=None)
    reviews.add(writer, "c", "rejected")
    reviews.withdraw(writer, "c")
    found = _current(writer)["all"]
    assert (found["state"], found["run_count"], found["judged_count"]) == ("normal", 8, 1)


def test_a_version_with_a_regression_that_somebody_confirmed_is_not_improved_and_says_so(writer: Writer) -> None:
    """It was an improved one, by other load that there was less of."""
    scores = {"rss_app": [2.6, -0.5, -0.6], "cpu_total": [-3.0, -3.2, -2.9]}
    assert _judged(writer, scores)["all"]["state"] == "improved"
    reviews.add(writer, "a", "confirmed")
    found = _judged(writer, scores)
    assert {axis: one["state"] for axis, one in found.items()} == {
        "all": "normal",
        "cpu": "improved",
        "memory": "normal",
    }
    assert (found["all"]["is_anomalous"], found["all"]["confirmed_count"]) == (False, 1)
    assert found["all"]["explanation"].endswith("; 7 more not judged; a review confirmed a run of it as a regression.")
    assert "review" not in found["memory"]["explanation"]
    reviews.add(writer, "b", "confirmed")
    assert "; a review confirmed 2 runs of it as regressions." in _judged(writer, scores)["all"]["explanation"]
    for name in "ab":
        reviews.add(writer, name, "accepted")
    assert _judged(writer, scores)["all"]["state"] == "improved"


def test_missing_data_is_never_normal(writer: Writer) -> None:
    _judged(writer, {"cpu_app": [0.0, 0.1]})
    for run_id in "ab":
        missing = distances.DistanceRow(
            run_id=run_id, series="rss_app", detector="default", parameters_hash="p", state="series_missing"
        )
        whole = _scored(run_id, "*", 0, of=1, uncorrected_distance=None, missing_series=("rss_app",))
        distances.upsert(writer, [_scored(run_id, "cpu_app", 0.0, of=1), missing, whole])
    verdicts.evaluate_current(writer)
    found = _current(writer)
    assert {axis: row["state"] for axis, row in found.items()} == {
        "all": "series_missing", "cpu": "normal", "memory": "series_missing",
    }  # fmt: skip
    assert found["all"]["is_anomalous"] is None
    assert (
        "rss_app is missing in all runs; of the rest cpu_app of 2 judged runs together" in found["all"]["explanation"]
    )
    assert (found["all"]["series"], found["all"]["repeat_correlation_ratio"]) == ("rss_app", 0.2)


def _unjudged_trace(run_id: str, reason_code: str) -> traces.TraceRow:
    return traces.TraceRow(
        run_id=run_id, trace_sha256=run_id * 64, trace_bytes=1, is_complete=False, reason_code=reason_code,
        reason="It cannot be judged.",
    )  # fmt: skip


def test_nothing_judged_says_why(writer: Writer) -> None:
    rows = [
        distances.DistanceRow(
            run_id="a", series=name, detector="default", parameters_hash="p", state="not_enough_history"
        )
        for name in ("*", "rss_app")
    ]
    distances.upsert(writer, rows)
    verdicts.make_current(writer, omega=0.5, detector="default")
    found = _current(writer)["all"]
    assert (found["state"], found["judged_count"], found["score"]) == ("not_enough_history", 0, None)


@pytest.mark.parametrize(
    ("states", "told"),
    [
        (
            {"cpu_app": ("series_missing", "series_missing"), "startup_ms": ("not_enough_history",) * 2},
            "startup_ms has too little history in every run",
        ),
        (
            {"cpu_app": ("incomplete_trace", "incomplete_trace")},
            "cpu_app has in no run a trace that can be judged (package_missing, trace_truncated)",
        ),
        (
            {"cpu_app": ("incomplete_trace", "series_missing"), "rss_app": ("series_missing", "series_missing")},
            "cpu_app is judged in no run: no trace that can be judged (package_missing), or it is missing",
        ),
    ],
)
def test_why_nothing_is_judged_is_said_of_a_series_of_which_it_is_true(
    writer: Writer, states: dict[str, tuple[str, str]], told: str
) -> None:
    """`No whole trace` was said, too, of whole ones without a process of the app."""
    traces.upsert(writer, [_unjudged_trace("a", "package_missing"), _unjudged_trace("b", "trace_truncated")])
    rows = [
        distances.DistanceRow(run_id=run_id, series=name, detector="default", parameters_hash="p", state=state)
        for name, of_runs in {"*": min(states.values()), **states}.items()
        for run_id, state in zip("ab", of_runs, strict=True)
    ]
    distances.upsert(writer, rows)
    verdicts.make_current(writer, omega=0.5, detector="default")
    found = _current(writer)["all"]
    assert found["state"] == min(state for of_runs in states.values() for state in of_runs)
    assert found["explanation"].startswith(f"The version as a whole is not judged: {told}")


@pytest.mark.parametrize(("worse", "state"), [(2, "normal"), (3, "anomalous")])
def test_by_a_rule_without_a_level_more_than_half_of_the_runs_decide(writer: Writer, worse: int, state: str) -> None:
    for place, name in enumerate("abcd"):
        value = 9.0 if place < worse else 1.0
        rows = [
            distances.DistanceRow(
                run_id=name,
                series=series,
                detector="iqr",
                parameters_hash="p",
                state="scored",
                distance=value,
                q1=1,
                q3=2,
            )
            for series in ("*", "rss_app")
        ]
        distances.upsert(writer, rows)
    verdicts.make_current(writer, omega=1.5, detector="iqr")
    assert _current(writer)["all"]["state"] == state


def test_the_listing_is_in_the_order_of_versions_and_of_those_asked_for(sample: Warehouse) -> None:
    with sample.reading() as reader:
        rows = version_verdicts.listing(reader, app="com.example.shop")
        asked = version_verdicts.of_versions(reader, [("com.example.shop", "1.2.0")], 1.5, "default")
        some = version_verdicts.listing(reader, versions=["1.1.0"])
    assert [row["version_name"] for row in rows if row["axis"] == "all"] == ["1.0.0", "1.1.0", "1.2.0"]
    assert [row["axis"] for row in rows[:3]] == ["all", "cpu", "memory"]
    assert list(asked) == [("com.example.shop", "1.2.0")]
    assert {row["version_name"] for row in some} == {"1.1.0"}


def _taken_out(writer: Writer) -> None:
    """Of version 2 no run counts: three are quarantined, one is excluded, the others' reviews reject them."""
    writer.execute("UPDATE core.runs SET is_quarantined = true, reason_code = 'wrong_type' WHERE run_id IN ('a', 'b')")
    writer.execute("UPDATE core.runs SET is_quarantined = true, reason_code = 'key_missing' WHERE run_id = 'c'")
    runs.exclude(writer, "d", "charging")
    for run_id in "efghij":
        reviews.add(writer, run_id, "rejected")


def test_a_version_of_which_no_run_counts_says_so_and_is_in_every_listing(writer: Writer) -> None:
    _judged(writer, {"rss_app": [1.0] * 4})
    _taken_out(writer)
    assert list(_current(writer)) == ["all"]
    found = _current(writer)["all"]
    assert (found["state"], found["is_anomalous"], found["run_count"], found["judged_count"]) == (
        "not_judged", None, 0, 0,
    )  # fmt: skip
    assert found["explanation"] == (
        "The version as a whole is not judged: 3 runs are quarantined (key_missing, wrong_type), 1 is excluded, 6 are "
        "rejected in a review."
    )
    (listed,) = version_verdicts.listing(writer, app="app", version_name="2")
    assert listed == found
    assert version_verdicts.listing(writer, versions=["2"]) == [found]
    assert list(version_verdicts.of_versions(writer, [("app", "2")], 0.75, "default")) == [("app", "2")]
    assert writer.value("SELECT count(*) FROM marts.version_verdicts_at(0.5, 'iqr') WHERE state = 'not_judged'") == 1


def test_a_version_whose_folders_were_all_refused_is_quarantined(writer: Writer) -> None:
    verdicts.make_current(writer, omega=0.75, detector="default")
    writer.execute("UPDATE core.runs SET is_quarantined = true, reason_code = 'wrong_type'")
    (found,) = version_verdicts.listing(writer)
    assert (found["state"], found["is_anomalous"]) == ("quarantined", None)
    assert found["explanation"].endswith(" is not judged: all 10 runs are quarantined (wrong_type).")


def test_runs_that_wait_for_their_verdict_are_no_verdict(writer: Writer) -> None:
    verdicts.make_current(writer, omega=0.75, detector="default")
    runs.exclude(writer, "a", "charging")
    (found,) = version_verdicts.listing(writer)
    assert (found["state"], found["run_count"]) == ("not_judged", 9)
    assert "1 run is excluded, 9 are not measured yet (perfreg status says what is due)." in found["explanation"]
