"""The example questions of sql/examples: each is a question, and has an answer in a filled warehouse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse import runs
from perfreg_assets.warehouse.connection import Warehouse

EXAMPLES = sorted((sql_dir() / "examples").glob("*.sql"))


def test_examples_are_numbered_without_gaps() -> None:
    assert [path.name[:3] for path in EXAMPLES] == [f"{number:02d}_" for number in range(1, 24)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_asks_a_question_and_reads_marts_only(path: Path) -> None:
    text = path.read_text()
    assert re.match(r"-- [A-Z].*\?", text.splitlines()[0])
    assert "marts." in text
    assert "core." not in text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_an_answer(sample: Warehouse, path: Path) -> None:
    # As a data team does it: a plain client on the published file.
    with duckdb.connect(str(sample.published), read_only=True) as client:
        rows = client.execute(path.read_text()).fetchall()
    assert rows
    assert all(any(value is not None for value in row) for row in rows)


def test_detectors_are_compared_where_only_one_of_them_was_evaluated(sample_copy: Warehouse) -> None:
    """As in every warehouse but this one: other detectors' distances are stored, their verdicts are not."""
    with sample_copy.writing() as writer:
        writer.execute(
            "DELETE FROM core.verdicts WHERE distance_id IN "
            "(SELECT distance_id FROM core.distances WHERE detector <> 'default')"
        )
    (path,) = (path for path in EXAMPLES if path.stem.startswith("17_"))
    with duckdb.connect(str(sample_copy.published), read_only=True) as client:
        pairs = {row[:2] for row in client.execute(path.read_text()).fetchall()}
    assert pairs == {("default", "iqr")}


def test_the_share_of_the_app_is_told_by_scenario_and_of_runs_that_count(sample_copy: Warehouse) -> None:
    """Two scenarios of a version were one mean, with runs in it that people had left out."""
    (path,) = (path for path in EXAMPLES if path.stem.startswith("13_"))
    scenario, excluded = "notes-0022", "notes-0023"
    with sample_copy.writing() as writer:
        before = _shares(writer.dicts(path.read_text()))
        writer.execute("UPDATE core.runs SET scenario = 'cold-start' WHERE run_id = ?", [scenario])
        runs.exclude(writer, excluded, "charging")
        after = _shares(writer.dicts(path.read_text()))
        own = dict(writer.rows("SELECT series, round(mean, 3) FROM marts.series_levels WHERE run_id = ?", [scenario]))
        others = writer.value(
            "SELECT round(avg(mean), 3) FROM marts.series_levels SEMI JOIN marts.counted_runs USING (run_no) "
            "WHERE app = 'com.example.notes' AND version_name = '1.2.0' AND series = 'cpu_app' AND run_id <> ?",
            [scenario],
        )
    assert after.keys() - before.keys() == {("com.example.notes", "1.2.0", "cold-start")}
    assert after["com.example.notes", "1.2.0", "cold-start"] == [(own["cpu_app"], own["cpu_total"])]
    assert [app for app, _ in after["com.example.notes", "1.2.0", None]] == [others]


def test_a_run_that_grew_as_its_history_did_is_no_suspect_of_a_leak(sample_copy: Warehouse) -> None:
    """Of the demo's seventeen runs, all of which grow, the example named all."""
    (path,) = (path for path in EXAMPLES if path.stem.startswith("12_"))
    with sample_copy.writing() as writer:
        steady, leaking = (
            run_id
            for (run_id,) in writer.rows("SELECT DISTINCT run_id FROM marts.compared_with ORDER BY run_id LIMIT 2")
        )
        writer.execute("UPDATE core.series_levels SET growth_per_s = 1.2e6")
        writer.execute(
            "UPDATE core.series_levels SET growth_per_s = 2e6 FROM core.runs AS runs "
            "WHERE runs.run_no = series_levels.run_no AND runs.run_id = ?",
            [leaking],
        )
        found = {row["run_id"]: row for row in writer.dicts(path.read_text())}
    assert steady != leaking
    assert set(found) == {leaking}
    assert (found[leaking]["growth_mb_per_s"], found[leaking]["usual_mb_per_s"]) == (2.0, 1.2)


def _shares(rows: list[dict[str, Any]]) -> dict[tuple[str, str, str | None], list[tuple[float, float]]]:
    """(app, version, scenario) → cores of the app and of all, of each configuration."""
    found: dict[tuple[str, str, str | None], list[tuple[float, float]]] = {}
    for row in rows:
        key = row["app"], row["version_name"], row.get("scenario")
        found.setdefault(key, []).append((row["app_cores"], row["all_cores"]))
    return found
