"""New warehouses of tests that run in this process are copies of one that was migrated for real, once per process.

Creating the schema takes two CPU seconds, and hundreds of tests want an empty warehouse. What creates one in a process
of its own (the command line, Dagster's workers) creates it for real, as do the tests of the migrations.
"""

from __future__ import annotations

import shutil

import pytest

from perfreg_assets.warehouse.connection import Warehouse


@pytest.fixture(autouse=True, scope="session")
def _copied_warehouses(tmp_path_factory):
    create = Warehouse._create
    made = []

    def template():
        if not made:
            warehouse = Warehouse(tmp_path_factory.mktemp("template") / "perfreg.duckdb", lock_timeout_s=10.0)
            with pytest.MonkeyPatch.context() as real:
                real.setattr(Warehouse, "_create", create)
                with warehouse.writing():
                    pass
            made.append(warehouse.published)
        return made[0]

    def copied(self):
        part = self.path.with_name(f"{self.path.name}.new")
        shutil.copy(template(), part)
        part.rename(self.path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Warehouse, "_create", copied)
        yield
