"""Fixtures: a filled warehouse, built once per session and never written to again, and an empty one per test."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

from perfreg_assets.warehouse import migrations
from perfreg_assets.warehouse.connection import Warehouse


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def sample_module() -> ModuleType:
    return _load("sample_warehouse")


@pytest.fixture(scope="session")
def sample(sample_module: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A filled warehouse. Read it only."""
    return sample_module.build(tmp_path_factory.mktemp("sample") / "perfreg.duckdb")


@pytest.fixture
def sample_copy(sample: Warehouse, new_warehouse: Warehouse) -> Warehouse:
    """The filled warehouse for a test to change."""
    shutil.copyfile(sample.path, new_warehouse.path)
    shutil.copyfile(sample.published, new_warehouse.published)
    shutil.copytree(sample.data.root, new_warehouse.data.root)
    return new_warehouse


@pytest.fixture
def new_warehouse(tmp_path: Path) -> Warehouse:
    """A warehouse of the test's own that has no file yet."""
    return Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=10.0)


@pytest.fixture(scope="session")
def _migrated(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse(tmp_path_factory.mktemp("empty") / "perfreg.duckdb", lock_timeout_s=10.0)
    with warehouse.writing():
        pass
    return warehouse


@pytest.fixture
def warehouse(new_warehouse: Warehouse, _migrated: Warehouse) -> Warehouse:
    """An empty warehouse of the test's own, written and published once."""
    shutil.copyfile(_migrated.path, new_warehouse.path)
    shutil.copyfile(_migrated.published, new_warehouse.published)
    shutil.copytree(_migrated.data.root, new_warehouse.data.root)
    return new_warehouse


@pytest.fixture(scope="module")
def memory() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty warehouse in memory, in which a test rolls back what it writes."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    migrations.migrate(connection)
    yield connection
    connection.close()
