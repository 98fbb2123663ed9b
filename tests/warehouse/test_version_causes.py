"""What grew in several runs of a version: of many versions by one query, as each by its own."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from perfreg_assets.reports.loading_causes import told_version_causes
from perfreg_assets.warehouse import causes, runs
from perfreg_assets.warehouse.connection import Parameters, Reader, Warehouse

APP = "com.example.notes"


@pytest.fixture(scope="module")
def many(sample_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return sample_module.build(tmp_path_factory.mktemp("many") / "perfreg.duckdb", runs=120, samples=30)


def _versions(reader: Reader) -> list[str]:
    found = reader.rows("SELECT version_name FROM marts.app_versions WHERE app = ? ORDER BY version_name", [APP])
    return [version for (version,) in found]


@pytest.mark.parametrize("named", [0, 1000])
def test_of_many_versions_as_of_each(many: Warehouse, named: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "_MOST_NAMED", named)
    with many.reading() as reader:
        versions = _versions(reader)
        found = causes.of_versions(reader, APP, [*versions, "of nobody"])
        assert found == {version: causes.of_version(reader, APP, version) for version in [*versions, "of nobody"]}
        assert any(found.values())
        assert found["of nobody"] == []
        some = versions[::2]
        assert causes.of_versions(reader, APP, some) == {version: found[version] for version in some}


def test_no_version_is_asked_for_by_itself(many: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = Reader.dicts

    def dicts(reader: Reader, sql: str, parameters: Parameters = ()) -> list[dict[str, Any]]:
        asked.append(sql)
        return original(reader, sql, parameters)

    with many.reading() as reader:
        versions = _versions(reader)
        monkeypatch.setattr(Reader, "dicts", dicts)
        told = told_version_causes(reader, APP, versions)
    assert len(asked) == 1
    assert set(told) == set(versions)
    assert len(versions) > 1
    assert any(lines and lines[0].startswith("in ") for lines in told.values())


def test_nothing_is_asked_of_no_version(many: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reader, "dicts", None)
    with many.reading() as reader:
        assert causes.of_versions(reader, APP, []) == {}


def test_of_all_apps(many: Warehouse) -> None:
    with many.reading() as reader:
        version = next(version for version, rows in causes.of_versions(reader, APP, _versions(reader)).items() if rows)
        assert {row["app"] for row in causes.of_version(reader, None, version)} >= {APP}


_MORE_WINDOWS = tuple(
    f"INSERT INTO {table} SELECT * REPLACE (window_index + {more} AS window_index) FROM {table} "
    f"WHERE window_index = 0 AND run_no % 3 < {more}"
    for table in ("core.cause_windows", "core.causes")
    for more in (1, 2)
)
_UNEVEN = """
UPDATE core.causes SET history_median = ((run_no * 7 + window_index) % 5 - 2) * 1e6,
    growth = ((run_no * 3 + window_index * 5) % 11 + 1) * 1e6, z = (run_no + window_index) % 6 + 3
"""


def test_a_run_counts_once_and_what_is_told_adds_up(many: Warehouse) -> None:
    with many.writing() as writer:
        for statement in (*_MORE_WINDOWS, _UNEVEN):
            writer.execute(statement)
    with many.reading() as reader:
        rows = reader.dicts("SELECT * FROM marts.causes_by_version ORDER BY ALL")
        windows = reader.dicts("SELECT * FROM marts.causes WHERE z IS NOT NULL")
    assert rows
    assert len(windows) > len({(one["run_id"], one["series"], one["name"]) for one in windows})
    names = ("app", "version_name", "series", "kind", "scope", "process", "thread", "name", "path", "source")
    for row in rows:
        most: dict[str, dict[str, Any]] = {}
        for one in windows:
            if all(one[name] == row[name] for name in names):
                most[one["run_id"]] = max(most.get(one["run_id"], one), one, key=lambda each: each["growth"])
        assert row["run_ids"] == sorted(most)
        assert row["run_count"] == len(most)
        of_runs = {name: median(one[name] for one in most.values()) for name in ("growth", "history_median", "z")}
        assert (row["growth_median"], row["before_median"], row["z_median"]) == pytest.approx(tuple(of_runs.values()))
        assert row["after_median"] == pytest.approx(row["before_median"] + row["growth_median"])


def test_a_run_that_is_left_out_is_no_run_of_it(sample_copy: Warehouse) -> None:
    ask = "SELECT app, version_name, series, kind, name, run_ids FROM marts.causes_by_version ORDER BY ALL"
    with sample_copy.writing() as writer:
        before = writer.rows(ask)
        left_out = before[0][-1][0]
        runs.exclude(writer, left_out, "charging")
        after = writer.rows(ask)
        assert after == [
            (*row, ids)
            for *row, ids in ((*one[:-1], [run for run in one[-1] if run != left_out]) for one in before)
            if len(ids) >= causes.SEVERAL_RUNS
        ]
        runs.include(writer, left_out)
        assert writer.rows(ask) == before
