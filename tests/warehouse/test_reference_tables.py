"""What SQL knows of detectors, series and reasons is what the code knows, whenever the warehouse was made."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest

from perfreg_assets import catalogue, detection
from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse import distances, migrations, series, verdicts
from perfreg_assets.warehouse.connection import Warehouse
from tests.warehouse.registered import register

ORACLE = detection.DetectorDefinition(
    name="oracle", summary="knows it all", scale="distance", run_rule="any", localisation="default",
    implementation="nowhere:Oracle",
)  # fmt: skip

POLARITIES = {"more": "LOWER_IS_BETTER", "less": "HIGHER_IS_BETTER", "either": "NOT_APPLICABLE"}


@pytest.fixture
def oracle() -> Iterator[str]:
    detection.register(ORACLE)
    yield ORACLE.name
    detection.unregister(ORACLE.name)


def _series(name: str, unit: str = "u") -> series.SeriesRow:
    return series.SeriesRow(
        run_id="a", series=name, unit=unit, interval_s=1.0, start_ns=0, values=np.ones(3), is_missing=False
    )


def test_the_tables_are_those_of_the_code(sample: Warehouse) -> None:
    with sample.reading() as reader:
        known = reader.rows("SELECT detector, scale, run_rule, localisation FROM marts.detectors")
        reasons = dict(reader.rows("SELECT reason_code, sentence FROM marts.reasons"))
        names = reader.rows("SELECT definition_name FROM marts.series_catalogue")
        (in_force,) = reader.rows("SELECT detector FROM marts.detectors WHERE is_current")
    assert sorted(known) == sorted(
        (one.name, one.scale, one.run_rule, one.localisation) for one in detection.detectors().values()
    )
    assert reasons == {reason.code: reason.sentence for reason in Reason}
    assert sorted(name for (name,) in names) == sorted(one.name for one in catalogue.SERIES)
    assert in_force == ("default",)


def test_a_detector_that_is_registered_later_is_known_at_the_next_opening(oracle: str) -> None:
    connection = duckdb.connect()
    detection.unregister(oracle)
    migrations.migrate(connection)
    assert not migrations.migrate(connection)
    detection.register(ORACLE)
    assert migrations.migrate(connection)
    told = connection.execute("SELECT summary FROM marts.detectors WHERE detector = ?", [oracle]).fetchall()
    assert told == [(ORACLE.summary,)]
    assert not migrations.migrate(connection)


def test_a_third_detector_is_stored_judged_and_explained_on_its_scale(warehouse: Warehouse, oracle: str) -> None:
    with warehouse.writing() as writer:
        register(writer, "a")
        row = distances.DistanceRow(
            run_id="a", series="cpu_app", detector=oracle, parameters_hash="p", state="scored",
            distance=3.0, q1=1.0, q3=2.0,
        )  # fmt: skip
        distances.upsert(writer, [row])
        assert verdicts.evaluate(writer, 0.5, oracle) == 1
        told = writer.rows("SELECT state, explanation FROM marts.verdicts WHERE detector = ?", [oracle])
    assert told == [("anomalous", "cpu_app is anomalous: distance 3 is above 2.5 = q3 2 + ω 0.5 × (q3 − q1) 1.")]


@pytest.mark.parametrize("name", ["cpu_app", "cpu_app_core_3", "cpu_freq_0", "frames_app", "rss_anon_app", "net_sent"])
def test_a_name_in_the_warehouse_means_what_the_catalogue_says(warehouse: Warehouse, name: str) -> None:
    definition = catalogue.definition_of(name)
    with warehouse.writing() as writer:
        register(writer, "a")
        series.upsert(writer, [_series(name)])
        (told,) = writer.dicts("SELECT * FROM marts.series_names")
    assert told == {
        "series": name, "unit": "u", "kind": definition.kind, "axis": definition.axis, "worse": definition.worse,
        "polarity": POLARITIES[definition.worse],
        "label": definition.label, "short_label": definition.short, "description": definition.description,
        "is_judged": definition.is_judged, "run_count": 1, "missing_count": 0,
    }  # fmt: skip


def test_a_name_that_nobody_knows_is_listed_without_a_meaning(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        register(writer, "a")
        series.upsert(writer, [_series("xcpu_app", "parsecs")])
        rows = writer.rows("SELECT series, unit, kind, axis, polarity, description, run_count FROM marts.series_names")
    assert rows == [("xcpu_app", "parsecs", None, None, None, None, 1)]


def test_the_catalogue_counts_the_runs_of_a_pattern_once_each(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        register(writer, "a")
        series.upsert(writer, [_series("cpu_core_0"), _series("cpu_core_1")])
        counts = dict(writer.rows("SELECT definition_name, run_count FROM marts.series_catalogue"))
    assert counts.pop("cpu_core_<n>") == 1
    assert len(counts) == len(catalogue.SERIES) - 1
    assert set(counts.values()) == {0}


def test_the_catalogue_counts_the_runs_of_a_metric(warehouse: Warehouse) -> None:
    (metric,) = [one.name for one in catalogue.SERIES if one.name == "startup_initial_display_cold"]
    with warehouse.writing() as writer:
        for run_id, value in (("a", 310.0), ("b", None)):
            writer.execute(
                "INSERT INTO core.measurements (subject_kind, subject_id, metric, app, version_name, unit, worse, "
                "value, reason, measured_at) VALUES ('run', ?, ?, 'app', '1', 'ms', 'more', ?, ?, now())",
                [run_id, metric, value, None if value is not None else "the trace has no startup"],
            )
        counts = dict(writer.rows("SELECT definition_name, run_count FROM marts.series_catalogue"))
    assert counts[metric] == 1


def test_no_name_has_two_definitions(warehouse: Warehouse) -> None:
    names = [one.numbered(7) for one in catalogue.SERIES]
    with warehouse.writing() as writer:
        matches = writer.rows(
            "SELECT name, count(*) FROM unnest(?::VARCHAR[]) AS names(name) "
            "JOIN core.series_definitions AS known ON regexp_full_match(name, known.name_pattern) GROUP BY name",
            [names],
        )
    assert sorted(matches) == sorted((name, 1) for name in names)
