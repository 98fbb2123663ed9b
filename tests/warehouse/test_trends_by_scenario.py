"""marts.trends_by_scenario and marts.energy_by_version: runs of two scenarios are two rows, not one median."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

import pytest

from perfreg_assets.warehouse.connection import Reader, Warehouse, Writer

APP, VERSION = "com.example.notes", "1.2.0"


def _move_to_scenario(writer: Writer, scenario: str) -> list[str]:
    """Half of a version's runs become those of a scenario, with ten times the level."""
    ids = writer.rows("SELECT run_id FROM core.runs WHERE app = ? AND version_name = ? ORDER BY run_id", [APP, VERSION])
    moved = [run_id for (run_id,) in ids[: len(ids) // 2]]
    assert 0 < len(moved) < len(ids)
    for run_id in moved:
        writer.execute("UPDATE core.runs SET scenario = ? WHERE run_id = ?", [scenario, run_id])
        writer.execute("UPDATE core.series_levels SET mean = 10 * mean WHERE run_id = ?", [run_id])
    return moved


def _groups(reader: Reader) -> dict[tuple[Any, ...], list[tuple[str, float]]]:
    """(app, configuration, scenario, version, series) → runs that count, each with its mean: by loops alone."""
    left_out = {
        run for (run,) in reader.rows("SELECT run_id FROM marts.reviews WHERE is_in_force AND status = 'rejected'")
    }
    of_run = {
        run_id: key
        for run_id, *key in reader.rows(
            "SELECT run_id, app, config_hash, scenario, version_name FROM core.runs "
            "WHERE NOT is_quarantined AND NOT is_excluded"
        )
        if run_id not in left_out
    }
    found = defaultdict(list)
    for run_id, series, mean in reader.rows("SELECT run_id, series, mean FROM marts.series_levels"):
        if run_id in of_run:
            found[*of_run[run_id], series].append((run_id, mean))
    return found


def test_a_row_is_of_one_scenario_and_configuration_and_of_runs_that_count(sample_copy: Warehouse) -> None:
    with sample_copy.writing() as writer:
        _move_to_scenario(writer, "cold-start")
        (excluded,) = writer.rows("SELECT run_id FROM core.runs WHERE scenario IS NULL AND app = ? LIMIT 1", [APP])[0]
        writer.execute("UPDATE core.runs SET is_excluded = true, exclude_reason = 'test' WHERE run_id = ?", [excluded])
        groups = _groups(writer)
        members = defaultdict(set)
        for run_id, member in writer.rows(
            "SELECT sets.run_id, members.history_run_id FROM marts.history_states AS sets "
            "JOIN marts.compared_with AS members ON members.run_no = sets.run_no "
            "WHERE sets.state = 'ready' OR members.way = 'any_path'"
        ):
            members[run_id].add(member)
        means = {(run, series): mean for run, series, mean in writer.rows(
            "SELECT run_id, series, mean FROM marts.series_levels"
        )}  # fmt: skip
        told = {
            (row["app"], row["config_hash"], row["scenario"], row["version_name"], row["series"]): row
            for row in writer.dicts("FROM marts.trends_by_scenario")
        }
        count = writer.value("SELECT count(*) FROM marts.trends_by_scenario")
    assert told.keys() == groups.keys()
    assert count == len(told)
    assert {key[2] for key in told} == {None, "cold-start"}
    banded = 0
    for key, own in groups.items():
        row, levels = told[key], [mean for _, mean in own]
        history = {member for run_id, _ in own for member in members[run_id]}
        band = [means[member, key[-1]] for member in history if (member, key[-1]) in means]
        assert row["run_count"] == len(own)
        assert row["level_median"] == pytest.approx(statistics.median(levels))
        assert (row["level_minimum"], row["level_maximum"]) == (min(levels), max(levels))
        assert row["history_run_count"] == (len(band) or None)
        assert (row["band_low"], row["band_high"]) == ((min(band), max(band)) if band else (None, None))
        if band:
            banded += 1
            assert row["change_ratio"] == pytest.approx(statistics.median(levels) / statistics.median(band) - 1)
    assert banded


def test_two_scenarios_of_a_version_are_not_one_level(sample_copy: Warehouse) -> None:
    ask = (
        "SELECT scenario, level_median FROM marts.trends_by_scenario "
        "WHERE app = ? AND version_name = ? AND series = 'rss_app'"
    )
    with sample_copy.writing() as writer:
        _move_to_scenario(writer, "cold-start")
        levels = dict(writer.rows(ask, [APP, VERSION]))
    assert levels["cold-start"] > 5 * levels[None]


def test_charge_of_two_scenarios_of_a_version_are_two_rows(sample_copy: Warehouse) -> None:
    with sample_copy.writing() as writer:
        moved = _move_to_scenario(writer, "cold-start")
        spent = {
            run_id: rest for run_id, *rest in writer.rows(
                "SELECT run_id, scenario, app_mah_per_h FROM marts.energy_by_run "
                "SEMI JOIN marts.counted_runs USING (run_no) WHERE app = ? AND version_name = ?",
                [APP, VERSION],
            )
        }  # fmt: skip
        told = {
            scenario: (count, value)
            for scenario, count, value in writer.rows(
                "SELECT scenario, sum(run_count), median(app_mah_per_h) FROM marts.energy_by_version "
                "WHERE app = ? AND version_name = ? GROUP BY scenario",
                [APP, VERSION],
            )
        }
    expected = defaultdict(list)
    for run_id, (scenario, value) in spent.items():
        assert (scenario == "cold-start") == (run_id in moved)
        expected[scenario].append(value)
    assert {key: count for key, (count, _) in told.items()} == {key: len(own) for key, own in expected.items()}
    assert len(told) == 2
