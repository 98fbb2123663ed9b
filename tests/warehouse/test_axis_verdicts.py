"""A run has a state per axis: missing data is never normal there either, and nothing hides a regression."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import duckdb
import pytest

from perfreg_assets.warehouse import distances, measurements, runs, verdicts
from perfreg_assets.warehouse.connection import Warehouse, Writer

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
BLANK = {"distance": None, "q1": None, "q3": None}


@pytest.fixture
def writer(memory: duckdb.DuckDBPyConnection) -> Iterator[Writer]:
    """A warehouse in memory with the run a; what a test writes is rolled back."""
    memory.execute("BEGIN TRANSACTION")
    writer = Writer(memory)
    row = runs.RunRow(
        run_id="a", folder_name="a", content_hash="a", app="app", version_name="1", config_hash="c", started_at=NOON
    )
    runs.upsert(writer, [row])
    yield writer
    memory.execute("ROLLBACK")


def _row(name: str, **changes: object) -> distances.DistanceRow:
    values = {"state": "scored", "distance": 0.0, "q1": 1.0, "q3": 2.0, "parameters_hash": "p1", **changes}
    return distances.DistanceRow(run_id="a", series=name, detector="default", **values)


def _judge(writer: Writer, *rows: distances.DistanceRow) -> dict[str, tuple[str, bool | None, str]]:
    distances.upsert(writer, rows)
    verdicts.make_current(writer, omega=0.5, detector="default")  # the threshold is 2.5
    columns = "axis, state, is_anomalous, series"
    found = writer.rows(f"SELECT {columns} FROM marts.axis_verdicts WHERE is_current")
    recomputed = writer.rows(f"SELECT {columns} FROM marts.axis_verdicts_at(0.5) WHERE is_latest")
    assert sorted(found) == sorted(recomputed)
    states = writer.value("SELECT axis_states FROM marts.runs WHERE run_id = 'a'")
    assert states == {axis: state for axis, state, *_ in found}
    return {axis: tuple(rest) for axis, *rest in found}


def test_each_axis_has_the_verdict_of_its_worst_series(writer: Writer) -> None:
    found = _judge(
        writer,
        _row("*", distance=9.0),
        _row("cpu_app", distance=3.0),
        _row("cpu_total", distance=9.0),
        _row("cpu_core_11", distance=0.0, improvement=9.0),
        _row("rss_app", distance=1.0),
        _row("frames_app", distance=-5.0, improvement=5.0),
        _row("frames_janky_app", distance=0.0),
        _row("net_sent", state="not_enough_history", **BLANK),
    )
    assert found == {
        "cpu": ("anomalous", True, "cpu_total"),
        "memory": ("normal", False, "rss_app"),
        "frames": ("improved", False, "frames_app"),
        "network": ("not_enough_history", None, "net_sent"),
    }


def test_an_axis_that_lacks_a_series_of_its_history_is_not_normal(writer: Writer) -> None:
    found = _judge(
        writer,
        _row("*", missing_series=("rss_anon_app", "frames_app")),
        _row("cpu_app"),
        _row("rss_app"),
        _row("rss_anon_app", state="series_missing", **BLANK),
        _row("frames_janky_app", distance=9.0),
    )
    assert found == {
        "cpu": ("normal", False, "cpu_app"),
        "memory": ("series_missing", None, "rss_anon_app"),
        "frames": ("anomalous", True, "frames_janky_app"),
    }


def test_a_series_that_the_history_lacks_too_leaves_the_rest_of_its_axis_judged(writer: Writer) -> None:
    found = _judge(
        writer,
        _row("*"),
        _row("rss_app"),
        _row("swap_app", state="series_missing", **BLANK),
        _row("frames_app", state="series_missing", **BLANK),
    )
    assert found == {
        "memory": ("normal", False, "rss_app"),
        "frames": ("series_missing", None, "frames_app"),
    }


def test_what_is_missing_in_the_run_alone_is_told_from_what_its_history_lacks_too(writer: Writer) -> None:
    missing = {"state": "series_missing", **BLANK}
    _judge(
        writer,
        _row("*", missing_series=("rss_app", "frames_janky_app")),
        _row("cpu_app"),
        _row("rss_app", **missing),  # in the history
        _row("swap_app", **missing),  # in neither
        _row("frames_janky_app", **missing),
        _row("frames_app", distance=9.0),  # says more than what is missing
        _row("net_sent", **missing),
        _row("temperature_max", state="not_enough_history", **BLANK),
    )
    found = dict(writer.rows("SELECT axis, (state, missing_in) FROM marts.axis_verdicts WHERE is_current"))
    assert found == {
        "cpu": ("normal", None),
        "memory": ("series_missing", "run"),
        "frames": ("anomalous", None),
        "network": ("series_missing", "run_and_history"),
        "thermal": ("not_enough_history", None),
    }


def test_less_of_one_series_does_not_hide_more_of_another(writer: Writer) -> None:
    found = _judge(
        writer,
        _row("*"),
        _row("rss_app", distance=1.0, uncorrected_distance=2.6),
        _row("rss_file_app", distance=-5.0, improvement=5.0, uncorrected_distance=-5.0),
    )
    assert found == {"memory": ("normal", False, "rss_app")}


def test_names_outside_the_catalogue_are_an_axis_of_their_own(writer: Writer) -> None:
    assert _judge(writer, _row("*"), _row("flux")) == {"other": ("normal", False, "flux")}


def test_measurements_by_earlier_parameters_are_verdicts_of_their_own(writer: Writer) -> None:
    _judge(writer, _row("*", distance=9.0), _row("cpu_app", distance=9.0))
    assert _judge(writer, _row("*", parameters_hash="p2"), _row("cpu_app", parameters_hash="p2")) == {
        "cpu": ("normal", False, "cpu_app")
    }
    rows = writer.rows("SELECT state, is_latest, is_current, parameters_hash FROM marts.axis_verdicts ORDER BY ALL")
    assert rows == [("anomalous", False, False, "p1"), ("normal", True, True, "p2")]


def test_the_explanation_is_that_of_the_deciding_series(sample: Warehouse) -> None:
    with sample.reading() as reader:
        rows = reader.rows(
            "SELECT axes.state, axes.explanation, axes.excess_ratio, verdicts.explanation, verdicts.excess_ratio "
            "FROM marts.axis_verdicts AS axes "
            "JOIN marts.verdicts AS verdicts USING (run_id, series, detector, omega) WHERE axes.is_latest"
        )
        missing = reader.rows(
            "SELECT explanation FROM marts.axis_verdicts WHERE state = 'series_missing' AND is_current"
        )
    assert len(rows) > 100
    for state, explanation, ratio, of_series, ratio_of_series in rows:
        if state != "series_missing":
            assert (explanation, ratio) == (of_series, ratio_of_series)
    assert missing == [("Not judged, missing although the history has it.",)]


def test_what_an_app_reports_of_itself_has_an_axis_as_soon_as_it_is_reported(writer: Writer) -> None:
    rows = (_row("*"), _row("cpu_app"), _row("queue_depth"))
    assert _judge(writer, *rows)["other"] == ("normal", False, "queue_depth")
    one = measurements.MeasurementRow(
        subject_kind="run",
        subject_id="a",
        metric="queue_depth",
        app="app",
        version_name="1",
        unit="1",
        worse="more",
        value=3.0,
    )
    measurements.replace_subjects(writer, "run", ["a"], [one])
    assert "other" not in _judge(writer, *rows)
    assert writer.value("SELECT axis FROM marts.series_axes WHERE series = 'queue_depth'") == "app"


def test_all_that_was_judged_or_is_missing_is_named_once(writer: Writer) -> None:
    _judge(writer, _row("*", missing_series=("rss_app", "queue_depth")), _row("cpu_app"))
    _judge(writer, _row("*"), _row("cpu_app"), _row("rss_app"))  # what was once missing stays named
    named = [name for (name,) in writer.rows("SELECT series FROM core.judged_series ORDER BY series")]
    assert named == ["cpu_app", "queue_depth", "rss_app"]


def test_a_run_that_lacks_nothing_is_told_so_by_an_empty_list(writer: Writer) -> None:
    _judge(writer, _row("*", missing_series=()), _row("cpu_app"))
    assert writer.value("SELECT count(*) FROM core.distances WHERE missing_series IS NOT NULL") == 0
    for mart in ("verdicts", "distances"):
        told = dict(writer.rows(f"SELECT series, missing_series FROM marts.{mart}"))
        assert told == {"*": [], "cpu_app": None}
