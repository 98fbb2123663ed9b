"""A question about one run or version costs what that run or version holds, not what the warehouse holds.

Told by the rows that leave the operators which make work of them (joins, groups, lists taken apart), as EXPLAIN ANALYZE
counts them: no clock is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from perfreg_assets.reports import loading
from perfreg_assets.reports.run_order import RunOrder
from perfreg_assets.warehouse import energies, run_conditions, runs
from perfreg_assets.warehouse.connection import Reader, Warehouse

RUNS = 400
WORK = {"HASH_JOIN", "HASH_GROUP_BY", "PERFECT_HASH_GROUP_BY", "UNNEST", "WINDOW", "ORDER_BY", "BLOCKWISE_NL_JOIN"}
OF_RUN = (
    *(
        "also_grew",
        "axis_verdicts",
        "barycenters",
        "cause_stacks",
        "cause_windows",
        "causes",
        "change_impact",
    ),
    *("disturbances", "grown", "discords", "distances", "history_candidates", "history_sets", "history_states"),
    *(
        "profiles",
        "run_verdicts",
        "runs",
        "series_arrays",
        "series_levels",
        "thread_time_states",
        "thread_times",
        "time_series",
    ),
    *("timings", "verdicts"),
    *("energies", "energy_by_run", "energy_by_screen", "energy_by_step", "energy_by_thread", "energy_states"),
    *("energy_accuracy", "method_energies", "time_in_state"),
)
OF_VERSION = (
    *("also_grew", "cause_stacks", "cause_windows", "causes", "causes_by_version", "causes_from", "grown"),
    *("axis_verdicts", "discords", "distances", "history_sets", "run_verdicts", "runs"),
    *("series_levels", "trends", "trends_by_scenario", "verdicts", "version_verdicts", "unjudged_versions(NULL)"),
)
# Steps of the path, whose marts take a list apart above a join: see the data folder's own tests.
LISTS_ABOVE_JOINS = {"run_paths", "time_series"}


@pytest.fixture(scope="module")
def many(sample_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A few hundred runs of two apps."""
    return sample_module.build(tmp_path_factory.mktemp("many") / "perfreg.duckdb", runs=RUNS, samples=30)


def _operators(reader: Reader, query: str) -> list[dict[str, Any]]:
    ((_, text),) = reader.rows(f"EXPLAIN (ANALYZE, FORMAT json) {query}")

    def walk(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for node in nodes:
            yield node
            yield from walk(node.get("children", []))

    return list(walk(json.loads(text)["operator"]))


def _work(reader: Reader, query: str) -> int:
    return sum(node["intermediate_rows"] for node in _operators(reader, query) if node["type"] in WORK)


def _ids(reader: Reader) -> tuple[str, str]:
    """A run in the middle that is anomalous, so that every mart says something of it, and its version."""
    rows = reader.rows(
        "SELECT run_id, version_name FROM marts.runs WHERE app = 'com.example.notes' AND is_anomalous "
        "ORDER BY started_at"
    )
    run_id, version_name = rows[len(rows) // 2]
    return run_id, version_name


@pytest.mark.parametrize("mart", OF_RUN)
def test_one_run_is_looked_up_without_the_others(many: Warehouse, mart: str) -> None:
    with many.reading() as reader:
        whole, one = (
            _work(reader, f"FROM marts.{mart}{which}") for which in ("", f" WHERE run_id = '{_ids(reader)[0]}'")
        )
    assert one < whole / 10, (one, whole)


# (marts.runs joins its parts to the left: DuckDB hands a value on to them, but no list of values)
@pytest.mark.parametrize("mart", sorted({*OF_RUN} - {"runs"}))
def test_a_list_of_runs_is_looked_up_without_the_others(many: Warehouse, mart: str) -> None:
    with many.reading() as reader:
        chosen = f"list_contains(['{_ids(reader)[0]}', 'another'], run_id)"
        whole, some = (_work(reader, f"FROM marts.{mart}{which}") for which in ("", f" WHERE {chosen}"))
    assert some < whole / 10, (some, whole)


@pytest.mark.parametrize("mart", sorted({*OF_RUN} - {"disturbances"}))
@pytest.mark.parametrize("count", [1, 2, 5])
def test_runs_are_looked_up_by_number_without_the_others(many: Warehouse, mart: str, count: int) -> None:
    with many.reading() as reader:
        anomalous, _ = _ids(reader)
        others = "SELECT run_id FROM core.runs WHERE NOT is_quarantined AND run_id > ? ORDER BY run_id LIMIT ?"
        chosen = [anomalous, *(run_id for (run_id,) in reader.rows(others, [anomalous, 2 * count - 2]))][::2]
        assert len(chosen) == count
        whole, some = (
            _work(reader, f"FROM marts.{mart}{which}") for which in ("", f" WHERE {run_conditions.of(reader, chosen)}")
        )
    assert some < whole / 5, (some, whole)


@pytest.mark.parametrize("mart", OF_VERSION)
def test_one_version_is_looked_up_without_the_others(many: Warehouse, mart: str) -> None:
    with many.reading() as reader:
        chosen = f"app = 'com.example.notes' AND version_name = '{_ids(reader)[1]}'"
        whole, one = (_work(reader, f"FROM marts.{mart}{which}") for which in ("", f" WHERE {chosen}"))
    assert one < whole / 3, (one, whole)


# What is asked of one run or version again and again while another is taken in.
@pytest.mark.parametrize("mart", ["axis_verdicts", "data_quality", "run_verdicts", "runs", "verdicts"])
def test_no_table_is_read_as_a_whole_for_a_run(many: Warehouse, mart: str) -> None:
    """Not even by what is looked up beside it, such as the axis of a series."""
    with many.reading() as reader:
        run_id, _ = _ids(reader)
        operators = _operators(reader, f"FROM marts.{mart} WHERE run_id = '{run_id}'")
        most = max(operators, key=lambda node: node["intermediate_rows"])
    assert most["intermediate_rows"] < RUNS, most["extra_info"]


@pytest.mark.parametrize("mart", ["axis_verdicts", "run_verdicts", "runs", "verdicts"])
def test_of_a_range_of_runs_their_verdicts_alone_are_read(many: Warehouse, mart: str) -> None:
    """They knew their measurements only, and of many runs DuckDB read them all to find a few."""
    with many.reading() as reader:
        everyone = [run_id for (run_id,) in reader.rows("SELECT run_id FROM core.runs ORDER BY run_no")]
        chosen = run_conditions.of(reader, everyone[100:104])
        assert " BETWEEN " in chosen
        operators = _operators(reader, f"FROM marts.{mart} WHERE {chosen}")
        scans = [
            told for told in (node["extra_info"] for node in operators) if "core.verdicts" in told.get("Table", "")
        ]
    assert scans
    assert all("run_no" in str(told.get("Filters")) for told in scans), scans


def test_what_drifts_of_an_app_is_made_of_its_runs(many: Warehouse) -> None:
    with many.reading() as reader:
        apps = [app for (app,) in reader.rows("SELECT DISTINCT app FROM marts.runs ORDER BY app")]
        whole, *parts = (
            _work(reader, f"FROM marts.drifts_of({app})") for app in ("NULL", *(f"'{app}'" for app in apps))
        )
        assert sum(parts) < 1.5 * whole
        assert reader.rows("FROM marts.drifts ORDER BY ALL") == reader.rows(
            " UNION ALL ".join(f"FROM marts.drifts_of('{app}')" for app in apps) + " ORDER BY ALL"
        )


def test_some_runs_are_shown_without_the_verdicts_of_others(many: Warehouse) -> None:
    """A list does not reach what the mart joins, a range of numbers does."""
    with many.reading() as reader:
        everyone = [run_id for (run_id,) in reader.rows("SELECT run_id FROM marts.runs ORDER BY run_no")]
        chosen = everyone[100:110]
        some, whole = (
            _work(reader, f"FROM marts.runs{which}") for which in (f" WHERE {run_conditions.of(reader, chosen)}", "")
        )
        assert some < 1.5 * whole * len(chosen) / len(everyone) + 50


def test_accuracy_of_runs_without_rails_reads_no_samples(many: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mart looks into every file of samples that there is, to find nothing."""
    asked: list[str] = []
    original = Reader._run

    def noted(self: Reader, sql: str, parameters: Any) -> Any:
        asked.append(sql)
        return original(self, sql, parameters)

    with many.reading() as reader:
        run_id = reader.value("SELECT min(run_id) FROM core.runs")
        rails = (
            "SELECT count(*) FROM core.time_series WHERE series = 'power_rail_cpu' AND NOT is_missing AND run_id = ?"
        )
        assert reader.value(rails, [run_id]) == 0
        monkeypatch.setattr(Reader, "_run", noted)
        assert energies.accuracies(reader, [run_id]) == []
        assert energies.accuracy(reader, run_id) is None
    assert not [sql for sql in asked if "energy_accuracy" in sql]


def test_a_page_looks_at_the_verdicts_of_no_run_but_its_own(many: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its history it says whether there is a trace; marts.runs would look for the verdicts of the whole app."""
    asked: list[Any] = []
    original = Reader._run

    def noted(self: Reader, sql: str, parameters: Any) -> Any:
        if "marts.runs" in sql:
            asked.append(sql)
        return original(self, sql, parameters)

    with many.reading() as reader:
        run_id = reader.value("SELECT max(run_id) FROM marts.history_states WHERE state = 'ready'")
        monkeypatch.setattr(Reader, "_run", noted)
        (detail,) = loading.load_details(reader, [run_id])
        loading.run_fingerprints(reader, {run_id: detail.run}, RunOrder(reader))
        of_run = run_conditions.of(reader, [run_id])
    assert detail.nearest is not None
    assert of_run.startswith("run_no = ")
    assert [of_run in sql for sql in asked] == [True]


def test_whether_a_trace_can_be_opened_is_told_as_by_the_mart(many: Warehouse) -> None:
    with many.writing() as writer:
        gone = writer.value("SELECT min(run_id) FROM marts.runs WHERE has_trace")
        writer.execute("UPDATE core.traces SET is_trace_gone = true WHERE run_id = ?", [gone])
        expected = {
            run_id: (has_trace, start_ns)
            for run_id, has_trace, start_ns in writer.rows(
                "SELECT run_id, has_trace, exploration_start_ns FROM marts.runs"
            )
        }
        assert runs.openable_traces(writer, [*expected, "nobody"]) == expected
        writer.execute("UPDATE core.traces SET is_trace_gone = false WHERE run_id = ?", [gone])
    assert not expected[gone][0]
    assert {has_trace for has_trace, _ in expected.values()} == {True, False}


@pytest.mark.parametrize("mart", ["trends", "trends_by_scenario", "version_verdicts"])
def test_floats_are_summed_in_an_order(many: Warehouse, mart: str) -> None:
    """Else the last digit is another one each time, as threads happen to share the work."""
    told = []
    for _ in range(3):
        with many.reading() as reader:
            told.append(sorted(map(repr, reader.rows(f"FROM marts.{mart}"))))
    assert told[1:] == told[:1] * 2


def test_no_list_is_taken_apart_above_a_join(many: Warehouse) -> None:
    """Filters do not go below it, and DuckDB 2.0 fails on some ("global dictionary column changed identity …")."""

    def joins_below(node: dict[str, Any]) -> bool:
        return any("JOIN" in child["type"] or joins_below(child) for child in node.get("children", []))

    with many.reading() as reader:
        marts = [name for (name,) in reader.rows("SELECT view_name FROM duckdb_views() WHERE schema_name = 'marts'")]
        found = {
            mart
            for mart in marts
            if any(node["type"] == "UNNEST" and joins_below(node) for node in _operators(reader, f"FROM marts.{mart}"))
        }
    assert found <= LISTS_ABOVE_JOINS
