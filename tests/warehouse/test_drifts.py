"""marts.drifts: what gets a little worse with every version is told with rate and beginning, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from perfreg_assets.readable import readable
from perfreg_assets.warehouse import drifts, reviews, runs, settings_table
from perfreg_assets.warehouse.connection import Writer

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LONGEST, SHORTEST = 24, 5


@pytest.fixture
def writer(memory: duckdb.DuckDBPyConnection) -> Iterator[Writer]:
    """A warehouse in memory; what a test writes is rolled back."""
    memory.execute("BEGIN TRANSACTION")
    yield Writer(memory)
    memory.execute("ROLLBACK")


def _store(
    writer: Writer,
    levels: dict[str, np.ndarray],
    *,
    config: str = "c",
    growth: np.ndarray | None = None,
    app: str = "app",
    scores: np.ndarray | None = None,
    detector: str = "default",
    scenario: str | None = None,
    begin: int = 0,
) -> None:
    """Series → the level of each version, three runs of each around it, and how far each was from its history."""
    count = len(next(iter(levels.values())))
    ids = {
        (version, repeat): f"{app}-{config}-{begin + version}-{repeat}"
        for version in range(count)
        for repeat in range(3)
    }
    shared = {
        "folder_name": "f", "app": app, "config_hash": config, "device": f"device of {config}", "scenario": scenario,
    }  # fmt: skip
    runs.upsert(
        writer,
        [
            runs.RunRow(
                run_id=name, content_hash=name, version_name=f"v{begin + version}",
                started_at=NOON + timedelta(hours=begin + version, minutes=repeat), **shared,
            )
            for (version, repeat), name in ids.items()
        ],
    )  # fmt: skip
    rows = [
        {
            "run_id": ids[version, repeat],
            "series": series,
            "mean": float(value) * factor,
            "growth_per_s": None if growth is None else float(growth[version]),
        }
        for series, values in levels.items()
        for version, value in enumerate(values)
        for repeat, factor in enumerate((0.9, 1.0, 1.2))
    ]
    writer.execute_with(
        pa.Table.from_pylist(rows),
        "INSERT INTO core.series_levels BY NAME SELECT staged_rows.*, known.run_no, 'bytes' AS unit, "
        "40 AS sample_count, 40 AS duration_s, 0 AS minimum, 0 AS median, 0 AS percentile_95, 0 AS maximum "
        "FROM staged_rows JOIN core.runs AS known USING (run_id)",
    )
    if scores is None:
        return
    judged = [
        {
            "run_id": ids[version, repeat],
            "series": series,
            "distance": float(score) + beside,
            "distance_id": place * 1000 + version * 3 + repeat,
        }
        for place, series in enumerate(levels)
        for version, score in enumerate(scores)
        for repeat, beside in enumerate((-0.3, 0.0, 0.4))
    ]
    writer.execute_with(
        pa.Table.from_pylist(judged),
        "INSERT INTO core.distances BY NAME SELECT staged_rows.*, known.run_no, $detector AS detector, "
        "'p' AS parameters_hash, true AS is_latest, 'scored' AS state, 0 AS q1, 1 AS q3, now() AS measured_at "
        "FROM staged_rows JOIN core.runs AS known USING (run_id)",
        {"detector": detector},
    )


def _drifts(writer: Writer, where: str = "true") -> dict[tuple[str, str], dict[str, Any]]:
    found = writer.dicts(f"SELECT * FROM marts.drifts WHERE {where} ORDER BY ALL")
    return {(row["series"], row["measure"]): row for row in found}


def _slowly(values: np.ndarray) -> tuple[float, int, float, float, float]:
    """The definition, pair by pair: p, versions, slope, first and last value of the line."""
    latest = values[-LONGEST:]
    counts = range(SHORTEST, len(latest) + 1)
    tested, fits, slopes = [], [], []
    for count in counts:
        s = sum(np.sign(later - earlier) for earlier, later in combinations(latest[-count:], 2))
        tested.append((abs(s - np.sign(s)) / np.sqrt(count * (count - 1) * (2 * count + 5) / 18), count, np.sign(s)))
        bent = np.maximum(0, np.arange(len(latest)) - (len(latest) - count))
        line = stats.linregress(bent, latest)
        fits.append((line.rvalue**2, count))
        slopes.append(np.sign(line.slope))
    highest, surest, direction = max(tested)
    (_, best), slope = max(zip(fits, slopes, strict=True))
    count = best if slope == direction else surest
    line = stats.theilslopes(latest[-count:])
    p_value = min(1.0, 2 * stats.norm.sf(highest) * len(tested)) if np.sign(line.slope) == direction else 1.0
    return p_value, count, line.slope, line.intercept, line.intercept + line.slope * (count - 1)


def test_it_is_what_the_definition_says_pair_by_pair(writer: Writer) -> None:
    generator = np.random.default_rng(4)
    levels = {
        f"s{place}": 100 + generator.normal(size=30).cumsum() * generator.choice([0, 1]) + generator.normal(size=30)
        for place in range(12)
    }
    _store(writer, levels)
    found = _drifts(writer)
    assert len(found) == len(levels)
    for series, values in levels.items():
        row = found[series, "level"]
        p_value, count, slope, first, last = _slowly(values)
        assert row["drift_p_value"] == pytest.approx(p_value, abs=1e-6)
        assert (row["drift_version_count"], row["since_version_name"]) == (count, f"v{30 - count}")
        assert (row["change_per_version_value"], row["fitted_first_value"], row["fitted_last_value"]) == pytest.approx(
            (slope, first, last)
        )
        assert (row["version_count"], row["version_name"]) == (LONGEST, "v29")


@pytest.mark.parametrize("sign", [1, -1])
def test_a_trend_after_one_in_the_other_direction_is_told_as_what_it_is(writer: Writer, sign: int) -> None:
    """Ten versions one way, fourteen slowly back: over all of them the first weighs more, and is not what is sure."""
    course = np.concatenate([100 - np.arange(10.0), 91 + 0.3 * np.arange(1, 15)])
    _store(writer, {"rss_app": 100 + sign * (course - 100)})
    row = _drifts(writer)["rss_app", "level"]
    assert row["drift_state"] == ("worse" if sign > 0 else "better")
    assert row["change_per_version_value"] == pytest.approx(sign * 0.3)
    assert row["drift_version_count"] in (14, 15, 16)
    assert row["drift_p_value"] < 1e-4


@pytest.mark.parametrize("seed", range(10))
def test_direction_and_p_are_of_the_same_trend(writer: Writer, seed: int) -> None:
    generator = np.random.default_rng([17, seed])
    knee = int(generator.integers(6, 18))
    bent = np.abs(np.arange(24) - knee) * generator.choice([-1, 1]) * generator.uniform(0.1, 1)
    _store(writer, {"rss_app": 100 + bent + generator.normal(size=24) * 0.3})
    row = _drifts(writer)["rss_app", "level"]
    if row["drift_state"] in ("worse", "better"):
        latest = np.array([value for (value,) in writer.rows(
            "SELECT median(levels.mean) FROM core.series_levels AS levels JOIN marts.version_ranks AS ranks "
            "ON ranks.version_name = (SELECT version_name FROM core.runs WHERE run_id = levels.run_id) "
            "GROUP BY ranks.version_rank ORDER BY ranks.version_rank"
        )])[-row["drift_version_count"]:]  # fmt: skip
        assert np.sign(stats.kendalltau(np.arange(len(latest)), latest).statistic) == (
            1 if row["drift_state"] == "worse" else -1
        )


def test_one_percent_a_version_is_told_with_its_beginning_and_a_better_one_is_not_worse(writer: Writer) -> None:
    generator = np.random.default_rng(5)
    still, grows = 200e6 * np.ones(6), 200e6 * 1.01 ** np.arange(9)
    memory = np.concatenate([still, grows]) * (1 + 0.001 * generator.normal(size=15))
    _store(writer, {"rss_app": memory, "cpu_app": 0.5 - 0.01 * np.arange(15), "frames_app": 60.0 - np.arange(15)})
    found = _drifts(writer)
    memory_row = found["rss_app", "level"]
    assert memory_row["drift_state"] == "worse"
    assert memory_row["since_version_name"] in {"v4", "v5", "v6", "v7"}
    assert memory_row["drift_change_ratio"] == pytest.approx(
        1.01 ** (memory_row["drift_version_count"] - 1) - 1, abs=0.03
    )
    assert memory_row["explanation"].startswith("level of rss_app: +")
    assert f"% a version since {memory_row['since_version_name']}, +" in memory_row["explanation"]
    assert found["cpu_app", "level"]["drift_state"] == "better"
    assert found["frames_app", "level"]["drift_state"] == "worse"  # fewer frames are worse


def test_growth_of_a_leak_that_gets_faster_is_told_in_its_unit(writer: Writer) -> None:
    _store(writer, {"rss_app": np.full(8, 200e6)}, growth=np.linspace(-1000, 6000, 8))
    found = _drifts(writer)
    assert found["rss_app", "level"]["drift_state"] == "steady"
    growth = found["rss_app", "growth"]
    assert (growth["drift_state"], growth["unit"], growth["drift_change_ratio"]) == ("worse", "bytes/s", None)
    assert growth["explanation"] == (
        "growth of rss_app: +1,000 bytes/s a version since v0, +7,000 bytes/s in all (8 versions, p = 0.0033)."
    )


@pytest.mark.parametrize("slope", [1.2, 142.0, 142.8, -999.4, 999.6, -176_543.2, 0.000_123_4])
def test_numbers_are_told_as_python_tells_them(writer: Writer, slope: float) -> None:
    """What the sentence of a drift has from SQL, that of a verdict has from Python."""
    _store(writer, {"rss_app": np.full(8, 200e6)}, growth=slope * (np.arange(8) - 3.5))
    growth = _drifts(writer)["rss_app", "growth"]
    in_all = growth["fitted_last_value"] - growth["fitted_first_value"]
    one, whole = (readable(value, is_difference=True) for value in (growth["change_per_version_value"], in_all))
    assert f": {one} bytes/s a version since v0, {whole} bytes/s in all (" in growth["explanation"]


@pytest.mark.parametrize(
    ("percent", "told"),
    [
        (-0.02, "-0.02 % a version since v0, -0.14 % in all"),
        (0.04, "+0.04 % a version since v0, +0.28 % in all"),
        (-0.06, "-0.1 % a version since v0, -0.42 % in all"),
        (0.5, "+0.5 % a version since v0, +4 % in all"),
    ],
)
def test_what_changes_by_less_than_the_last_digit_is_not_told_as_nothing(
    writer: Writer, percent: float, told: str
) -> None:
    """ "-0.0 % a version since v0, -0 % in all" said of what it named that it is nothing."""
    _store(writer, {"rss_app": 200e6 * (1 + percent / 100) ** np.arange(8)})
    assert f": {told} (" in _drifts(writer)["rss_app", "level"]["explanation"]


@pytest.mark.parametrize("last", [-2000, -3.0])
def test_a_line_that_ends_below_zero_is_told_in_its_unit(writer: Writer, last: float) -> None:
    """A share of what was there before says nothing then, and a root of it is no number."""
    _store(writer, {"rss_app": np.full(9, 200e6)}, growth=np.linspace(3000, last, 9))
    growth = _drifts(writer)["rss_app", "growth"]
    assert growth["fitted_first_value"] > 0 > growth["fitted_last_value"]
    assert growth["drift_change_ratio"] is None
    assert "nan" not in growth["explanation"]
    assert "bytes/s a version since v0" in growth["explanation"]


def test_runs_that_were_excluded_or_rejected_make_no_drift(writer: Writer) -> None:
    _store(writer, {"rss_app": 200e6 * 1.01 ** np.arange(9)})
    assert _drifts(writer)["rss_app", "level"]["drift_state"] == "worse"
    for version in range(4, 9):
        runs.exclude(writer, f"app-c-{version}-0", "charging")
        for repeat in (1, 2):
            reviews.add(writer, f"app-c-{version}-{repeat}", "rejected")
    assert _drifts(writer)["rss_app", "level"]["version_count"] == 4


def test_a_run_further_from_its_history_with_every_version_is_told_although_its_level_stays(writer: Writer) -> None:
    """What changes its course and not its mean: the distance to the history says so, on the scale of the detector."""
    _store(writer, {"rss_app": np.full(8, 200e6)}, scores=np.linspace(-0.5, 3.0, 8))
    found = _drifts(writer)
    assert found["rss_app", "level"]["drift_state"] == "steady"
    score = found["rss_app", "score"]
    assert (score["drift_state"], score["unit"], score["drift_change_ratio"]) == ("worse", "standard deviations", None)
    assert score["explanation"] == (
        "score of rss_app: +0.5 standard deviations a version since v0, +3.5 standard deviations in all "
        "(8 versions, p = 0.0033)."
    )
    assert [row["measure"] for row in drifts.worth_telling(writer, {"app"}, ("rss_app",))] == ["score"]


def test_closer_to_the_history_is_better_whatever_the_series(writer: Writer) -> None:
    _store(writer, {"frames_app": np.full(8, 60.0)}, scores=np.linspace(3.0, -0.5, 8))
    assert _drifts(writer)["frames_app", "score"]["drift_state"] == "better"


def test_only_the_detector_in_force_has_a_score_and_a_distance_is_none(writer: Writer) -> None:
    """Distances of the thesis' rule have no scale that versions share; those of another detector do not decide."""
    _store(writer, {"rss_app": np.full(8, 200e6)}, scores=np.linspace(-0.5, 3.0, 8), detector="iqr")
    _store(writer, {"rss_app": np.full(8, 200e6)}, scores=np.linspace(-0.5, 3.0, 8), app="other")
    scored = "measure = 'score'"
    assert {row["app"] for row in writer.dicts(f"SELECT app FROM marts.drifts WHERE {scored}")} == {"other"}
    settings_table.change(writer, "detector", "iqr")
    assert _drifts(writer, scored) == {}


def test_few_versions_are_a_state_of_their_own_and_another_device_is_no_drift(writer: Writer) -> None:
    """Five devices in turn, each heavier than the last: under each configuration the app stays what it is."""
    for place in range(3):
        _store(writer, {"rss_app": np.array([1, 1.001, 0.999, 1.0]) * 100e6 * 1.5**place}, config=f"c{place}")
    rows = writer.dicts("SELECT drift_state, version_count, drift_p_value, explanation FROM marts.drifts")
    assert [row["drift_state"] for row in rows] == ["not_enough_versions"] * 3
    assert {row["version_count"] for row in rows} == {4}
    assert {row["drift_p_value"] for row in rows} == {None}
    assert rows[0]["explanation"] == "level of rss_app: 4 of the 5 versions that a drift takes."


@pytest.mark.parametrize("count", [5, 8, 24])
def test_noise_between_versions_is_a_drift_in_five_percent_at_most(writer: Writer, count: int) -> None:
    generator = np.random.default_rng(count)
    _store(writer, {f"s{place}": 100 + generator.normal(size=count) for place in range(200)})
    drifting = [row for row in _drifts(writer).values() if row["drift_state"] != "steady"]
    assert len(drifting) <= stats.binom.ppf(0.99, 200, 0.05)


@pytest.mark.parametrize(("count", "found"), [(8, 0.28), (12, 0.89), (16, 1.0)])
def test_a_change_by_half_of_the_scatter_is_found_as_often_as_the_docs_say(
    writer: Writer, count: int, found: float
) -> None:
    generator = np.random.default_rng(count)
    _store(writer, {f"s{place}": 100 + 0.5 * np.arange(count) + generator.normal(size=count) for place in range(200)})
    drifting = [row for row in _drifts(writer).values() if row["drift_state"] != "steady"]
    assert len(drifting) / 200 == pytest.approx(found, abs=0.1)


def test_a_series_that_many_versions_lack_is_looked_for_in_the_latest_96(writer: Writer) -> None:
    """The latest 24 that have it, however many lack it, as long as they are recent."""
    rising = 100 + np.arange(100.0)
    _store(writer, {"cpu_app": rising, "rss_app": rising, "swap_app": rising})
    for series, kept in (("rss_app", range(4, 100, 4)), ("swap_app", (0, 1, 2, 3, 4, 50, 99))):
        writer.execute(
            "DELETE FROM core.series_levels WHERE series = ? AND run_id NOT IN "
            "(SELECT run_id FROM core.runs WHERE version_name IN (SELECT unnest(?::VARCHAR[])))",
            [series, [f"v{version}" for version in kept]],
        )
    counts = {series: row["version_count"] for (series, measure), row in _drifts(writer).items() if measure == "level"}
    assert counts == {"cpu_app": 24, "rss_app": 24, "swap_app": 3}
    whole = _drifts(writer)["rss_app", "level"]
    assert (whole["version_name"], whole["drift_state"]) == ("v96", "worse")


def test_a_question_about_one_app_is_about_its_versions_alone(writer: Writer) -> None:
    _store(writer, {"rss_app": 100 + np.arange(6.0)})
    _store(writer, {"rss_app": 100 - np.arange(6.0)}, app="other")
    assert _drifts(writer, "app = 'app'")["rss_app", "level"]["drift_state"] == "worse"
    assert _drifts(writer, "app = 'other'")["rss_app", "level"]["drift_state"] == "better"


def test_what_is_told_is_what_got_worse_in_the_series_asked_for(writer: Writer) -> None:
    rising, falling = 100 + np.arange(8.0), 100 - np.arange(8.0)
    _store(writer, {"rss_app": rising, "cpu_app": falling, "cpu_total": rising})
    _store(writer, {"rss_app": rising}, app="other")
    told = drifts.worth_telling(writer, {"app"}, ("rss_app", "cpu_app"))
    assert [(row["app"], row["series"], row["drift_state"]) for row in told] == [("app", "rss_app", "worse")]
    assert drifts.worth_telling(writer, set(), ("rss_app",)) == []


def test_runs_of_another_scenario_are_another_course_of_versions(writer: Writer) -> None:
    """A second script that takes more looked like what got worse with every version."""
    _store(writer, {"cpu_app": np.full(5, 0.2)})
    _store(writer, {"cpu_app": 0.3 + 0.1 * np.arange(6)}, begin=5, scenario="map")
    found = writer.dicts("SELECT * FROM marts.drifts WHERE measure = 'level' ORDER BY scenario NULLS FIRST")
    assert [(row["scenario"], row["config_hash"], row["version_count"]) for row in found] == [
        (None, "c", 5),
        ("map", "c", 6),
    ]
    assert [row["drift_state"] for row in found] == ["steady", "worse"]
    assert found[1]["since_version_name"] == "v5"
    assert found[1]["explanation"].startswith("level of cpu_app in map: ")
