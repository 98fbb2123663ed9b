"""The marts, the contract with data teams: described to the last column, filled, and right where they compute."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.model import offered_profiles
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import notifications, power_profiles, reviews, runs, series, verdicts
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.series import SeriesRow

MARTS = sorted((sql_dir() / "marts").glob("*.sql"))
# Minimum of the public contract.
PROMISED = {
    "runs": "run_id app version_name version_code device strategy time_limit_s action_interval_s started_at step_count "
    "functional_problem_count state reason_code reason run_verdict",
    "time_series": "run_id app version_name series unit offset_s trace_ts_ns value",
    "history_sets": "run_id history_run_id history_rank similarity_ratio",
    "verdicts": "run_id app version_name series detector omega state is_anomalous distance q1 q3 "
    "threshold excess_ratio "
    "direction explanation is_current evaluated_at",
    "measurements": "subject_kind subject_id metric app version_name unit worse value reason provenance measured_at",
    "call_tree_nodes": "call_log_id service method node_index parent_index self_ms total_ms call_count",
    "method_scores": "method seed_score rms std service_count mean_ms max_ms",
    "change_impact": "method service self_share children_share calls",
    "discords": "run_id series start_s end_s peak_s start_ns end_ns confidence profile_value screens",
    "causes": "run_id series window_index rank kind process thread name path value history_median history_mad growth "
    "growth_share z is_matched history_count source start_ns end_ns scope",
    "also_grew": "run_id series window_index rank process thread growth z scope",
    "cause_sources": "run_id source is_present reason",
    "energies": "run_id component scope source energy_source charge_mah energy_mj is_estimated profile_id",
    "trace_windows": "run_id start_ns end_ns event_count kl score threshold is_anomalous is_kept reason",
    "energy_by_version": "app version_name run_count app_mah_per_h battery_ratio_per_h app_change_ratio",
    "energy_accuracy": "run_id energy_ratio correlation mape_ratio",
    "power_profiles": "profile_id device_name dialect energy_source",
    "causes_by_version": "app version_name series kind process thread name run_count growth_median",
}
NUMBERS_WITHOUT_UNIT = re.compile(
    # counts, positions, and figures in the unit that another column names
    r".*(_count|_no|_index|_rank|_position|_ratio|_ns|_s|_bytes|_median|_mean|_minimum|_maximum|_max|_low|_high|_value|_omega|_size|_ms|_share|_per_s)$"
    r"|omega|distance|distance_no|uncorrected_distance|bytes|q1|q3|threshold|p_value|improvement|k|step|attempt|launch|score|version_code|level|value|mean|median|minimum|maximum"
    r"|.*(_mah|_ma|_mj|_mw|_khz|_v|_per_h)|correlation|cluster|percentile_95|inertia|seconds|engine_seconds|bytes_per_minute|confidence|lift|flagged_per_clean_run|growth_per_s"
    r"|kl|bytes_before|bytes_after|growth|history_mad|rank|z|rms|std|seed_score|calls|tp|tn|fp|fn|precision|recall|f1|false_positive_rate|mcc|roc_auc|average_precision|repeats|history|seed|omega_[ab]"
)


@pytest.mark.parametrize("path", MARTS, ids=lambda path: path.stem)
def test_a_file_makes_the_one_object_it_is_named_after_and_says_what_a_row_is(path: Path) -> None:
    text = path.read_text()
    created = re.findall(r"^CREATE (?:VIEW|MACRO) marts\.(\w+)", text, re.MULTILINE)
    assert created == [path.stem]
    assert re.match(r"-- \S.{20,}\n", text)
    assert not re.search(r"\bperfreg\.", text), "a catalog name would break the views for clients who attach the file"


@pytest.mark.parametrize("path", MARTS, ids=lambda path: path.stem)
def test_the_header_names_every_object_that_is_used(path: Path) -> None:
    text = path.read_text()
    used = set(re.findall(r"\bmarts\.(\w+)", re.sub(r"COMMENT ON .*|^--.*", "", text, flags=re.MULTILINE))) - {
        path.stem
    }
    header = re.search(r"^-- depends: (.*)$", text, re.MULTILINE)
    assert used == (set(header[1].split(", ")) if header else set())


def test_every_table_view_macro_and_column_is_described(sample: Warehouse) -> None:
    with sample.reading() as reader:
        silent = reader.rows(
            "SELECT schema_name, view_name, NULL FROM duckdb_views() WHERE schema_name IN ('core', "
            "'marts') AND comment IS NULL "
            "UNION ALL SELECT schema_name, table_name, NULL FROM duckdb_tables() WHERE schema_name "
            "IN ('core', 'marts') AND comment IS NULL "
            "UNION ALL SELECT schema_name, table_name, column_name FROM duckdb_columns() "
            "WHERE schema_name IN ('core', 'marts') AND (comment IS NULL OR length(comment) < 5) "
            "UNION ALL SELECT schema_name, function_name, NULL FROM duckdb_functions() WHERE "
            "schema_name = 'marts' AND comment IS NULL"
        )
        assert silent == []
        described = reader.value("SELECT count(*) FROM duckdb_columns() WHERE schema_name = 'marts'")
    assert described > 300


def test_promised_objects_and_columns_are_there(sample: Warehouse) -> None:
    with sample.reading() as reader:
        for name, columns in PROMISED.items():
            there = {
                column
                for (column,) in reader.rows(
                    "SELECT column_name FROM duckdb_columns() WHERE schema_name = 'marts' AND table_name = ?", [name]
                )
            }
            assert set(columns.split()) <= there, name
        stored = reader.dicts("SELECT * FROM marts.verdicts LIMIT 1")[0]
        recomputed = reader.dicts("SELECT * FROM marts.verdicts_at(0.5) LIMIT 1")[0]
    assert set(stored) <= set(recomputed)


def test_names_follow_the_conventions(sample: Warehouse) -> None:
    with sample.reading() as reader:
        columns = reader.rows(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name = 'marts'"
        )
    for table, column, kind in columns:
        where = f"{table}.{column}"
        assert re.fullmatch(r"[a-z][a-z0-9_]*", column), where
        assert (kind == "BOOLEAN") == column.startswith(("is_", "has_")), where
        assert (kind == "TIMESTAMP WITH TIME ZONE") == column.endswith("_at"), where
        assert kind == "VARCHAR" or not column.endswith("_id"), where
        if kind in ("DOUBLE", "BIGINT", "INTEGER", "HUGEINT"):
            assert NUMBERS_WITHOUT_UNIT.fullmatch(column), f"{where} is a number without a unit in its name"


def test_every_mart_has_rows_in_a_filled_warehouse(sample: Warehouse) -> None:
    with sample.reading() as reader:
        views = [name for (name,) in reader.rows("SELECT view_name FROM duckdb_views() WHERE schema_name = 'marts'")]
        empty = [name for name in views if not reader.rows(f"SELECT * FROM marts.{name} LIMIT 1")]
    assert len(views) > 20
    assert empty == []


def test_a_sample_in_long_form_is_the_element_of_the_array(sample: Warehouse) -> None:
    with sample.reading() as reader:
        (whole,) = reader.dicts("SELECT * FROM marts.series_arrays WHERE run_id = 'notes-0003' AND series = 'cpu_app'")
        long = reader.rows(
            "SELECT offset_s, trace_ts_ns, value FROM marts.time_series WHERE run_id = 'notes-0003' "
            "AND series = 'cpu_app' ORDER BY offset_s"
        )
    assert [value for _, _, value in long] == whole["values"]
    assert [offset for offset, _, _ in long] == [i * whole["interval_s"] for i in range(len(long))]
    assert [ns for _, ns, _ in long] == [whole["start_ns"] + i * 10**9 for i in range(len(long))]


def test_levels_are_those_of_numpy(sample: Warehouse) -> None:
    with sample.reading() as reader:
        rows = reader.dicts(
            'SELECT levels.*, arrays."values" AS samples FROM marts.series_levels AS levels '
            "JOIN marts.series_arrays AS arrays USING (run_id, series) ORDER BY run_id, series LIMIT 20"
        )
    assert len(rows) == 20
    for row in rows:
        values = np.array(row["samples"])
        quarter = len(values) // 4
        growth = (values[-quarter:].mean() - values[:quarter].mean()) / (len(values) - quarter)
        expected = [values.mean(), values.min(), np.median(values), np.quantile(values, 0.95), values.max(), growth]
        found = [row[name] for name in ("mean", "minimum", "median", "percentile_95", "maximum", "growth_per_s")]
        assert found == pytest.approx(expected, rel=1e-9)


def test_quartiles_can_be_checked_from_the_stored_distances(sample: Warehouse) -> None:
    with sample.reading() as reader:
        rows = reader.rows(
            "SELECT q1, q3, list_aggregate(history_distances, 'quantile_cont', 0.25), "
            "list_aggregate(history_distances, 'quantile_cont', 0.75) "
            "FROM marts.distances WHERE detector = 'iqr' AND state = 'scored' AND series <> '*'"
        )
    assert rows
    for q1, q3, again_q1, again_q3 in rows:
        assert (q1, q3) == pytest.approx((again_q1, again_q3), rel=1e-12)


def test_windows_are_shown_of_series_that_are_anomalous_now(sample_module: object, tmp_path: Path) -> None:
    warehouse = sample_module.build(tmp_path / "perfreg.duckdb")
    with warehouse.writing() as writer:
        shown = writer.value("SELECT count(*) FROM marts.discords")
        assert shown > 0
        assert (
            writer.rows(
                "SELECT windows.run_id FROM marts.discords AS windows LEFT JOIN marts.verdicts AS verdicts "
                "ON verdicts.run_id = windows.run_id AND verdicts.series = windows.series AND "
                "verdicts.is_current AND verdicts.is_anomalous "
                "WHERE verdicts.run_id IS NULL"
            )
            == []
        )
        # A stricter ω that was not evaluated yet has no current verdicts, and so no windows.
        writer.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'omega', '1000')")
        assert writer.value("SELECT count(*) FROM marts.discords") == 0


def test_versions_are_ranked_by_code_or_else_by_first_run(
    sample: Warehouse, sample_module: object, tmp_path: Path
) -> None:
    with sample.reading() as reader:
        ranks = reader.rows(
            "SELECT version_name, version_rank FROM marts.app_versions WHERE app = ? ORDER BY version_rank",
            ["com.example.notes"],
        )
        assert ranks == [("1.0.0", 1), ("1.1.0", 2), ("1.2.0", 3)]
    warehouse = sample_module.build(tmp_path / "perfreg.duckdb")
    with warehouse.writing() as writer:
        writer.execute("UPDATE core.runs SET version_code = 1 WHERE version_name = '1.2.0'")
        ranked = "SELECT version_name FROM marts.app_versions WHERE app = 'com.example.shop' ORDER BY version_rank"
        assert writer.rows(ranked) == [("1.2.0",), ("1.0.0",), ("1.1.0",)]
        writer.execute("UPDATE core.runs SET version_code = NULL WHERE version_name = '1.1.0'")
        assert writer.rows(ranked) == [("1.0.0",), ("1.1.0",), ("1.2.0",)]


def test_the_last_version_stands_out_in_regressions_and_trends(sample: Warehouse) -> None:
    with sample.reading() as reader:
        ratios = dict(
            reader.rows(
                "SELECT version_name, anomalous_ratio FROM marts.regressions_by_version WHERE app = "
                "'com.example.notes' AND series = '*'"
            )
        )
        changes = dict(
            reader.rows(
                "SELECT version_name, change_ratio FROM marts.trends WHERE app = 'com.example.notes' "
                "AND series = 'rss_app'"
            )
        )
    assert ratios["1.0.0"] is None  # nothing to compare the first version with
    assert ratios["1.2.0"] > ratios["1.1.0"]
    assert changes["1.2.0"] > changes["1.1.0"]


def test_a_trend_says_how_many_configurations_it_pools(sample: Warehouse) -> None:
    """A row is a version's, whatever its runs were recorded with: levels of two devices are then one median."""
    with sample.reading() as reader:
        told = reader.rows("SELECT app, version_name, series, config_count FROM marts.trends")
        known = reader.rows(
            "SELECT runs.app, runs.version_name, levels.series, count(DISTINCT runs.config_hash) "
            "FROM core.series_levels AS levels JOIN core.runs AS runs USING (run_id) GROUP BY ALL"
        )
        keys = reader.value("SELECT count(DISTINCT (app, version_name, series)) FROM marts.trends")
    assert sorted(told) == sorted(known)
    assert {count for *_, count in told} == {1, 2}  # one of the sample's runs is of another configuration
    assert keys == len(told)  # its readers rely on one row per version and series


def test_a_script_has_no_time_limit_to_miss(sample_copy: Warehouse) -> None:
    late = "SELECT count(*) FROM marts.data_quality WHERE reason_code = 'time_limit_missed'"
    with sample_copy.writing() as writer:
        writer.execute("UPDATE core.runs SET time_limit_s = 1")
        assert writer.value(late) > 3
        writer.execute("UPDATE core.runs SET scenario = 'tour'")
        assert writer.value(late) == 0


def test_a_run_that_is_dated_after_it_was_taken_in_is_named(sample_copy: Warehouse) -> None:
    """A device's clock was ahead: until then no run is later, and every history begins with it."""
    named = "SELECT run_id, is_blocking, detail FROM marts.data_quality WHERE reason_code = 'dated_ahead'"
    with sample_copy.writing() as writer:
        assert writer.rows(named) == []
        later = "UPDATE core.runs SET started_at = registered_at + INTERVAL {} WHERE run_id = {}"
        writer.execute(later.format("30 MINUTE", "'notes-0002'"))
        writer.execute(later.format("400 DAY", "'notes-0001'"))
        ((run_id, is_blocking, detail),) = writer.rows(named)
    assert (run_id, is_blocking) == ("notes-0001", False)
    assert detail.startswith("It is said to have begun 9,600 hours after it was taken in")


def test_data_quality_names_every_bad_run(sample: Warehouse) -> None:
    with sample.reading() as reader:
        found = dict(reader.rows("SELECT reason_code, count(*) FROM marts.data_quality GROUP BY reason_code"))
        bad = {run for (run,) in reader.rows("SELECT run_id FROM marts.runs WHERE state <> 'complete'")}
        named = {run for (run,) in reader.rows("SELECT run_id FROM marts.data_quality WHERE is_blocking")}
    assert set(found) >= {
        "time_without_zone", "trace_truncated", "functional_problems", "series_missing",
        "not_enough_history", "leftover_on_device",
    }  # fmt: skip
    assert bad <= named


def test_samples_that_are_not_finite_are_a_finding_and_left_out_of_levels(
    sample_module: object, tmp_path: Path
) -> None:
    warehouse = sample_module.build(tmp_path / "perfreg.duckdb", runs=8)
    with warehouse.writing() as writer:
        stored = series.find(writer, ["notes-0000"])
        odd = replace(stored["notes-0000", "cpu_app"], values=np.array([np.nan, np.inf, 1.0, 3.0]))
        series.upsert(writer, [*(stored | {("notes-0000", "cpu_app"): odd}).values()])
        assert writer.rows("SELECT detail FROM marts.data_quality WHERE reason_code = 'not_finite'") == [
            ("2 of 4 samples are not finite.",)
        ]
        assert writer.rows(
            "SELECT mean FROM marts.series_levels WHERE run_id = 'notes-0000' AND series = 'cpu_app'"
        ) == [(2.0,)]
        assert writer.rows(  # a value that is not known is none: NaN would make every sum and mean over it NaN
            "SELECT value FROM marts.time_series WHERE run_id = 'notes-0000' AND series = 'cpu_app' ORDER BY offset_s"
        ) == [(None,), (math.inf,), (1.0,), (3.0,)]


def test_evaluations_are_flat_rows(sample: Warehouse) -> None:
    with sample.reading() as reader:
        rows = reader.dicts("SELECT * FROM marts.evaluations WHERE is_latest_evaluation ORDER BY detector, omega")
        places = reader.dicts("SELECT * FROM marts.evaluation_localisations")
    assert len(rows) == 8
    assert (rows[0]["detector"], rows[0]["omega"], rows[0]["level"], rows[0]["tp"]) == ("default", 0.0, None, 80.0)
    assert [(place["localised_runs"], place["lift"]) for place in places] == [
        ("all", 4.0),
        ("alarmed", 5.0),
        (None, 3.0),
    ]


def test_clients_may_attach_the_published_file_under_any_name(sample: Warehouse) -> None:
    client = duckdb.connect()
    client.execute(f"ATTACH '{sample.published}' AS theirs (READ_ONLY)")
    views = client.execute(
        "SELECT view_name FROM duckdb_views() WHERE schema_name = 'marts' AND database_name = 'theirs'"
    ).fetchall()
    assert len(views) > 20
    for (name,) in views:
        client.execute(f"SELECT * FROM theirs.marts.{name} LIMIT 1").fetchall()
    client.execute("USE theirs")  # table macros look tables up where the client is
    for call in ("verdicts_at(0.5)", "verdict_flips(1.5, 0.5)", "false_alarm_rates_at(1)", "axis_verdicts_at(1)"):
        assert client.execute(f"SELECT * FROM marts.{call}").fetchall()
    client.close()


def test_a_missing_series_blocks_only_where_it_is_judged(sample_module: object, tmp_path: Path) -> None:
    warehouse = sample_module.build(tmp_path / "perfreg.duckdb", runs=32)
    with warehouse.writing() as writer:
        row = SeriesRow(
            run_id="notes-0000", series="frames_app", unit="frames/s", interval_s=1.0, start_ns=None, values=None,
            is_missing=True, reason="the trace has no frame timeline",
        )  # fmt: skip
        series.upsert(writer, [*series.find(writer, ["notes-0000"]).values(), row])
        rows = writer.rows(
            "SELECT scope, series, is_blocking, detail FROM marts.data_quality WHERE reason_code = 'series_missing' "
            "ORDER BY ALL"
        )
    assert rows == [
        ("run", None, False, "Missing although the history has it: rss_app."),  # anomalous without it
        ("series", "frames_app", False, "the trace has no frame timeline"),
        ("series", "rss_app", True, "the trace has no memory counters"),
    ]


def test_a_run_that_is_anomalous_without_a_series_is_judged(sample_copy: Warehouse) -> None:
    findings = (
        "SELECT detail, is_blocking FROM marts.data_quality "
        "WHERE reason_code = 'series_missing' AND scope = 'run' AND run_id = ?"
    )
    with sample_copy.writing() as writer:
        (run_id,) = writer.rows("SELECT run_id FROM marts.runs WHERE is_anomalous ORDER BY run_id LIMIT 1")[0]
        writer.execute(
            "UPDATE core.distances SET missing_series = ['frames_app'] WHERE run_id = ? AND series = '*' AND is_latest",
            [run_id],
        )
        assert writer.value("SELECT run_verdict FROM marts.runs WHERE run_id = ?", [run_id]) == "anomalous"
        # Of the detector in force alone, although another one's measurement lacks it, too.
        assert writer.rows(findings, [run_id]) == [("Missing although the history has it: frames_app.", False)]


def test_a_run_that_was_quarantined_after_its_verdict_has_none(sample_copy: Warehouse) -> None:
    """Read again, its trace was damaged: it stayed an alarm, was counted, and its windows were shown."""
    with sample_copy.writing() as writer:
        run_id, app, version = writer.rows(
            "SELECT run_id, app, version_name FROM marts.runs WHERE is_anomalous ORDER BY run_id LIMIT 1"
        )[0]
        counted = (
            f"SELECT run_count, anomalous_count FROM marts.regressions_by_version WHERE app = '{app}' "
            f"AND version_name = '{version}' AND series = '*'"
        )
        rates = (
            "SELECT judged_count, flagged_count FROM marts.false_alarm_rates "
            "WHERE is_current_setting AND detector = 'default' AND series = '*'"
        )
        before = writer.rows(counted), writer.rows(rates)
        runs.quarantine(writer, run_id, "trace_truncated", "cut off")
        assert writer.rows("SELECT state, run_verdict, is_anomalous FROM marts.runs WHERE run_id = ?", [run_id]) == [
            ("quarantined", None, None)
        ]
        for mart in ("verdicts", "run_verdicts", "axis_verdicts"):
            assert writer.rows(f"SELECT * FROM marts.{mart} WHERE is_current AND run_id = ?", [run_id]) == []
        for mart in ("discords", "localisations", "causes"):
            assert writer.rows(f"SELECT * FROM marts.{mart} WHERE run_id = ?", [run_id]) == []
        assert writer.rows("SELECT * FROM marts.verdicts WHERE run_id = ?", [run_id])  # given they were
        assert run_id not in {one["run_id"] for one in notifications.pending(writer)}
        after = writer.rows(counted), writer.rows(rates)
    assert after == tuple([tuple(count - 1 for count in rows[0])] for rows in before)


def test_a_run_that_was_quarantined_after_it_was_read_is_in_no_level(sample_copy: Warehouse) -> None:
    """What was read of it stays: it went on to move the level of its version."""
    level = (
        "SELECT run_count, level_maximum FROM marts.trends "
        "WHERE app = 'com.example.shop' AND version_name = '1.2.0' AND series = 'rss_app'"
    )
    with sample_copy.writing() as writer:
        (before,) = writer.rows(level)
        (highest,) = writer.rows(
            "SELECT arg_max(run_id, mean) FROM marts.series_levels "
            "WHERE app = 'com.example.shop' AND version_name = '1.2.0' AND series = 'rss_app'"
        )[0]
        runs.quarantine(writer, highest, "trace_truncated", "cut off")
        (after,) = writer.rows(level)
    assert after[0] == before[0] - 1
    assert after[1] < before[1]


def test_a_run_that_was_quarantined_after_it_was_read_is_not_counted(sample_copy: Warehouse) -> None:
    """It went on to count as one that has its series, and that was estimated by its power profile."""
    with sample_copy.writing() as writer:
        run_id, profile_id = writer.rows(
            "SELECT run_id, profile_id FROM core.energy_runs WHERE profile_id IS NOT NULL ORDER BY run_id LIMIT 1"
        )[0]
        counts = (
            "SELECT run_count FROM marts.series_names WHERE series = 'cpu_app'",
            "SELECT run_count FROM marts.series_catalogue WHERE definition_name = 'cpu_app'",
            f"SELECT run_count FROM marts.power_profiles WHERE profile_id = '{profile_id}'",
        )
        before = [writer.value(one) for one in counts]
        runs.quarantine(writer, run_id, "trace_truncated", "cut off")
        after = [writer.value(one) for one in counts]
        listed = {row.profile_id: count for row, count in power_profiles.listing(writer)}
        outdated = offered_profiles.remove(writer, Settings(), next(row for row, _ in power_profiles.listing(writer)))
    assert after == [count - 1 for count in before]
    assert listed[profile_id] == after[2]
    assert run_id not in outdated


@pytest.mark.parametrize(("detector", "way"), [("screens", "any_path"), ("iqr", "path")])
def test_a_history_says_the_way_in_which_the_detector_in_force_compares(
    sample_copy: Warehouse, detector: str, way: str
) -> None:
    """It said what `default` does, whatever was in force: another way than marts.compared_with."""
    with sample_copy.writing() as writer:
        writer.execute("UPDATE core.history_sets SET way = 'any_path' WHERE run_no % 2 = 0")
        assert writer.rows("SELECT DISTINCT way FROM marts.history_states ORDER BY way") == [("any_path",), ("path",)]
        verdicts.make_current(writer, detector=detector)
        assert writer.rows("SELECT DISTINCT way FROM marts.history_states") == [(way,)]


def test_a_version_is_told_by_the_runs_that_count(sample_copy: Warehouse) -> None:
    """As its verdict is: examples named a version that only an excluded run and a rejected alarm spoke against."""
    counted = (
        "SELECT run_count, judged_count, anomalous_count FROM marts.regressions_by_version "
        "WHERE app = 'com.example.shop' AND version_name = '1.2.0' AND series = '*'"
    )
    with sample_copy.writing() as writer:
        alarms = [
            run_id
            for (run_id,) in writer.rows(
                "SELECT run_id FROM marts.runs WHERE is_anomalous AND app = 'com.example.shop' "
                "AND version_name = '1.2.0' AND review_status IS NULL ORDER BY run_id"
            )
        ]
        before = writer.rows(counted)[0]
        runs.exclude(writer, alarms[0], "charging")
        reviews.add(writer, alarms[1], "rejected")
        assert writer.rows(counted) == [tuple(count - 2 for count in before)]
        assert alarms[0] not in {one["run_id"] for one in notifications.pending(writer)}
        whole = writer.rows(
            "SELECT run_count FROM marts.version_verdicts WHERE is_current AND axis = 'all' "
            "AND app = 'com.example.shop' AND version_name = '1.2.0'"
        )
    assert whole == [(before[0] - 2,)]


def test_too_small_a_history_blocks_only_runs_that_nothing_else_judged(sample_module: object, tmp_path: Path) -> None:
    warehouse = sample_module.build(tmp_path / "perfreg.duckdb", runs=32)
    blocking = "SELECT run_id, is_blocking FROM marts.data_quality WHERE reason_code = 'not_enough_history'"
    with warehouse.writing() as writer:
        before = dict(writer.rows(blocking))
        judged = [run_id for (run_id,) in writer.rows("SELECT run_id FROM marts.runs WHERE is_anomalous IS NOT NULL")]
        writer.execute("UPDATE core.history_sets SET state = 'not_enough_history' WHERE run_id = ?", [judged[0]])
        after = dict(writer.rows(blocking))
    assert before
    assert set(before.values()) == {True}
    assert after == {**before, judged[0]: False}  # judged beside runs of any path


def test_a_finding_without_detail_has_the_sentence_of_its_reason(warehouse: Warehouse) -> None:
    with warehouse.writing() as writer:
        writer.execute(
            "INSERT INTO core.runs (run_id, folder_name, content_hash, app, version_name, started_at, config_hash, "
            "is_quarantined, registered_at, run_no) VALUES ('a', 'a', 'a', 'app', '1', now(), 'c', false, now(), 1)"
        )
        found = dict(writer.rows("SELECT reason_code, detail FROM marts.data_quality"))
    codes = (Reason.NOT_CHECKED, Reason.FUNCTIONAL_PROBLEMS_UNKNOWN)
    assert found == {code.code: code.sentence for code in codes}
