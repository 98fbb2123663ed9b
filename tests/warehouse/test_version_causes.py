"""What grew in several runs of a version: of many versions by one query, as each by its own."""

from __future__ import annotations

from typing import Any

import pytest

from perfreg_assets.reports.loading_causes import told_version_causes
from perfreg_assets.warehouse import causes
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
