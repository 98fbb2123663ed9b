"""What many tests begin with is made once and copied.

New warehouses of tests that run in this process are copies of one that was migrated for real, once per process:
creating the schema takes two CPU seconds, and hundreds of tests want an empty warehouse. What creates one in a process
of its own (the command line, Dagster's workers) creates it for real, as do the tests of the migrations. The same holds
of the databases of Dagster's home, which take half a second.

Filled projects take up to forty seconds: the first of the processes that tests are spread over makes one for all.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perfreg_assets import bundled
from perfreg_assets.automation import home_storage
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
            opened = warehouse._open()
            migrations.migrate(opened.connection, data=warehouse.data)
            opened.connection.execute("CHECKPOINT")
            opened.close()
            made.append(warehouse.path)
        return made[0]

    def copied(self):
        part = self.path.with_name(f"{self.path.name}.new")
        shutil.copy(template(), part)
        part.rename(self.path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Warehouse, "_create", copied)
        yield


@pytest.fixture(autouse=True, scope="session")
def _copied_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    create = home_storage._create
    made: list[Path] = []

    def copied(home: Path, aside: Path) -> None:
        if (home / "dagster.yaml").read_bytes() != bundled.dagster_yaml().read_bytes():
            create(home, aside)
            return
        if not made:
            template = tmp_path_factory.mktemp("home")
            create(home, template)
            made.append(template)
        shutil.copytree(made[0], aside, dirs_exist_ok=True)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(home_storage, "_create", copied)
        yield


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """(name, what fills a folder) → an own copy of that folder, filled once for all processes of a run of the tests."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def copy(name: str, fill: Callable[[Path], object]) -> Path:
        whole, part = shared / f"once-{name}", shared / f"once-{name}.part"
        with (shared / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not whole.exists():
                shutil.rmtree(part, ignore_errors=True)  # of a process that failed
                part.mkdir()
                fill(part)
                part.rename(whole)
        return shutil.copytree(whole, tmp_path_factory.mktemp(name), dirs_exist_ok=True)

    return copy
