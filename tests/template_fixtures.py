"""New warehouses of tests that run in this process are copies of one that was migrated for real, once per process.

Creating the schema takes two CPU seconds, and hundreds of tests want an empty warehouse. What creates one in a process
of its own (the command line, Dagster's workers) creates it for real, as do the tests of the migrations.
"""

from __future__ import annotations

import shutil

import pytest

from perfreg_assets.warehouse import migrations
from perfreg_assets.warehouse.connection import Warehouse


@pytest.fixture(autouse=True, scope="session")
def _copied_warehouses(tmp_path_factory):
    create = Warehouse._create
    made = []

    def template():
        if not made:
            # Not by `writing`, of which a test may have put parts aside.
            warehouse = Warehouse(tmp_path_factory.mktemp("template") / "perfreg.duckdb", lock_timeout_s=10.0)
            create(warehouse)
            connection = warehouse._open()
            migrations.migrate(connection, data=warehouse.data)
            connection.execute("CHECKPOINT")
            connection.close()
            made.append(warehouse.path)
        return made[0]

    def copied(self):
        part = self.path.with_name(f"{self.path.name}.new")
        shutil.copy(template(), part)
        part.rename(self.path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Warehouse, "_create", copied)
        yield
