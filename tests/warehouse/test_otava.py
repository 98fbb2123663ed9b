"""The export for Otava: what its CSV importer needs, and the same numbers as in the marts."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path

import pytest

from perfreg_assets.warehouse import otava, runs
from perfreg_assets.warehouse.connection import Warehouse


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _figures(path: Path) -> list[tuple[str, int, float]]:
    """(version, runs, mean) of each row."""
    return [(row["version"], int(row["run_count"]), float(row["mean"])) for row in _read(path)]


def test_every_app_and_series_is_a_file_and_a_test(sample: Warehouse, tmp_path: Path) -> None:
    with sample.reading() as reader:
        *files, config = otava.export(reader, tmp_path / "new" / "folder")
        expected = reader.rows("SELECT DISTINCT app, series, config_hash FROM marts.trends_by_scenario ORDER BY ALL")
        usual = dict(reader.rows("SELECT app, arg_min(config_hash, run_no) FROM marts.counted_runs GROUP BY app"))
    tests = json.loads(config.read_text())["tests"]
    assert set(tests) == {
        f"{app}.{series}{'' if config_hash == usual[app] else f'-{config_hash[:8]}'}"
        for app, series, config_hash in expected
    }
    assert len(tests) == len(expected)
    assert sorted(test["file"] for test in tests.values()) == sorted(map(str, files))
    for test in tests.values():
        rows = _read(Path(test["file"]))
        assert {test["time_column"], *test["attributes"], *test["metrics"]} == set(rows[0])
        for row in rows:
            assert datetime.fromisoformat(row["time"]).utcoffset() is not None
            for metric in test["metrics"]:
                float(row[metric])  # Otava gives up at the first cell that is no number


def test_the_figures_are_those_of_the_marts_in_order_of_the_versions(sample: Warehouse, tmp_path: Path) -> None:
    with sample.reading() as reader:
        otava.export(reader, tmp_path)
        trend = reader.rows(
            "SELECT version_name, run_count, level_median FROM marts.trends_by_scenario "
            "WHERE app = 'com.example.notes' AND series = 'rss_app' "
            "AND config_hash = (SELECT config_hash FROM marts.runs WHERE run_id = 'notes-0000') ORDER BY version_rank"
        )
    assert len(trend) > 1
    assert _figures(tmp_path / "com.example.notes-rss_app.csv") == trend


def test_runs_of_another_scenario_or_device_are_no_change_of_a_version(sample_copy: Warehouse, tmp_path: Path) -> None:
    """They were in one median with the others: the version that first had any looked like a regression."""
    with sample_copy.writing() as writer:
        writer.execute("UPDATE core.runs SET scenario = 'cold / start' WHERE run_id IN ('notes-0016', 'notes-0017')")
        writer.execute("UPDATE core.series_levels SET mean = 10 * mean WHERE run_id IN ('notes-0016', 'notes-0017')")
        runs.exclude(writer, "notes-0018", "charging")
        otava.export(writer, tmp_path)
        trends = {
            (scenario, config_hash): writer.rows(
                "SELECT version_name, run_count, level_median FROM marts.trends_by_scenario "
                "WHERE app = 'com.example.notes' AND series = 'rss_app' AND scenario IS NOT DISTINCT FROM ? "
                "AND config_hash = ? ORDER BY version_rank",
                [scenario, config_hash],
            )
            for scenario, config_hash in writer.rows(
                "SELECT DISTINCT scenario, config_hash FROM marts.counted_runs WHERE app = 'com.example.notes'"
            )
        }
        usual = writer.value("SELECT config_hash FROM marts.runs WHERE run_id = 'notes-0000'")
    (other,) = {config_hash for _, config_hash in trends} - {usual}
    assert {
        "com.example.notes-rss_app.csv": trends[None, usual],
        f"com.example.notes-rss_app-cold%20%2F%20start-{usual[:8]}.csv": trends["cold / start", usual],
        f"com.example.notes-rss_app-{other[:8]}.csv": trends[None, other],
    } == {path.name: _figures(path) for path in tmp_path.glob("com.example.notes-rss_app*.csv")}
    (first, *_) = _read(tmp_path / f"com.example.notes-rss_app-cold%20%2F%20start-{usual[:8]}.csv")
    assert (first["device"], first["scenario"]) == ("Pixel 6a / Android 13", "cold / start")


@pytest.mark.parametrize("name", ["../../escape", 'quote"; , and\nnewline', "Ω/series"])
def test_names_neither_leave_the_folder_nor_break_the_files(sample_module: object, tmp_path: Path, name: str) -> None:
    warehouse = sample_module.build(tmp_path / "perfreg.duckdb", runs=8, series=(name, "rss_app"))
    with warehouse.writing() as writer:
        writer.execute("UPDATE core.runs SET version_name = ? WHERE app = 'com.example.notes'", [name])
    with warehouse.reading() as reader:
        *files, config = otava.export(reader, tmp_path / "out")
    assert {path.parent for path in files} == {tmp_path / "out"}
    test = json.loads(config.read_text())["tests"][f"com.example.notes.{name}"]
    assert [row["version"] for row in _read(Path(test["file"]))] == [name]


def test_a_figure_that_a_version_does_not_have_is_left_out(sample_module: object, tmp_path: Path) -> None:
    warehouse = sample_module.build(tmp_path / "perfreg.duckdb", runs=32, samples=90)
    with warehouse.writing() as writer:  # too short for growth
        writer.execute(
            "UPDATE core.series_levels AS levels SET growth_per_s = NULL FROM core.runs AS runs "
            "WHERE runs.run_id = levels.run_id AND version_name = '1.0.0' AND series = 'cpu_app'"
        )
    with warehouse.reading() as reader:
        otava.export(reader, tmp_path / "out")
    assert "growth_per_s" not in _read(tmp_path / "out" / "com.example.notes-cpu_app.csv")[0]
    assert "growth_per_s" in _read(tmp_path / "out" / "com.example.notes-rss_app.csv")[0]


@pytest.mark.parametrize(("name", "direction"), [("frames_app", 1), ("frames_janky_app", -1), ("unheard_of", -1)])
def test_the_direction_is_that_of_the_catalogue(
    sample_module: object, tmp_path: Path, name: str, direction: int
) -> None:
    warehouse = sample_module.build(tmp_path / "perfreg.duckdb", runs=8, series=(name, "rss_app"))
    with warehouse.reading() as reader:
        *_, config = otava.export(reader, tmp_path / "out")
    test = json.loads(config.read_text())["tests"][f"com.example.notes.{name}"]
    assert {metric["direction"] for metric in test["metrics"].values()} == {direction}
