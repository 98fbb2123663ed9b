"""Projects, filled once with the recorded runs the way `perfreg ingest` does it; tests only read from them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.project import Project
from perfreg_assets.automation import jobs
from perfreg_assets.automation.materialise import Materialised, materialise
from perfreg_assets.automation.upkeep import Upkeep, bring_up_to_date
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.collection import registry
from perfreg_assets.partitions import to_key
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.connection import Warehouse
from tests.another_trace import another_trace


@dataclass(frozen=True)
class Site:
    """A project on disk."""

    settings: Settings

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse(self.settings.warehouse, lock_timeout_s=30)

    def rows(self, sql: str, parameters: Any = ()) -> list[dict[str, Any]]:
        with self.warehouse.reading() as reader:
            return reader.dicts(sql, parameters)

    def bring_up_to_date(self) -> Upkeep:
        project = Project.of(self.settings)
        return bring_up_to_date(build_defs(resources={"project": project}), project)

    def page(self, run_id: str) -> str:
        return (self.settings.reports_dir / "runs" / f"{run_id}.html").read_text()

    def ingest(self, *paths: Path) -> tuple[Materialised | None, list[registry.Registration]]:
        project = Project.of(self.settings)
        found = registry.find_run_folders(paths)
        folders, bad = registry.sort_out(found, self.settings, to_key)
        refused = registry.register(bad, self.settings, project.open(), to_key) if bad else []
        if not folders:
            return None, refused
        given = [str(run.folder) for of_key in folders.values() for run in of_key]
        return (
            materialise(
                build_defs(resources={"project": project}),
                jobs.EVERYTHING_JOB,
                list(folders),
                self.settings,
                op_config={"runs": {"folders": given}},
            ),
            refused,
        )


def _site_in(folder: Path) -> Site:
    return Site(Settings(warehouse=folder / "perfreg.duckdb", lock_timeout_s=30))


@pytest.fixture(scope="session")
def make_site(tmp_path_factory) -> Callable[[], Site]:
    def make() -> Site:
        return _site_in(tmp_path_factory.mktemp("project"))

    return make


def _filled(folder: Path, **settings: str) -> None:
    site = _site_in(folder)
    if settings:
        with site.warehouse.writing() as writer:
            for name, value in settings.items():
                settings_table.change(writer, name, value)
    done, refused = site.ingest(demo_runs_dir())
    assert done is not None
    assert (done.failures, refused) == ([], [])


@pytest.fixture(scope="session")
def recorded(made_once: Callable[..., Path]) -> Site:
    """The seventeen bundled runs, from run folders to pages."""
    return _site_in(made_once("recorded", _filled))


@pytest.fixture
def run_folder(tmp_path) -> Callable[..., Path]:
    """A copy of a recorded run's folder with another run.json or another trace."""

    def make(name: str, *, source: str = "notes-020", trace: Path | None = None, **changes: Any) -> Path:
        folder = tmp_path / "inbox" / name
        shutil.copytree(demo_runs_dir() / source, folder)
        document = json.loads((folder / "run.json").read_text())
        document["run_id"] = name
        recorded = trace or folder / document["trace"]
        del document["trace_bytes"], document["trace_sha256"]
        another_trace(recorded, folder / "another", name)
        (folder / document["trace"]).unlink()
        document["trace"] = recorded.name
        (folder / "another").rename(folder / recorded.name)
        document.update(changes)
        (folder / "run.json").write_text(json.dumps({k: v for k, v in document.items() if v is not ...}))
        return folder

    return make


@pytest.fixture(scope="session")
def demo(made_once: Callable[..., Path]) -> Site:
    """The seventeen bundled runs as `perfreg demo` compares them: paths 0.6 similar or more."""
    return _site_in(made_once("demo", lambda folder: _filled(folder, path_similarity_minimum="0.6")))


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[Site], Site]:
    """Copies a project, to change it."""
    return lambda site: _site_in(shutil.copytree(site.settings.warehouse.parent, tmp_path / "copy"))


@pytest.fixture
def demo_copy(demo: Site, copy_of: Callable[[Site], Site]) -> Site:
    """One to change."""
    return copy_of(demo)


@pytest.fixture
def project(filled: Path, tmp_path: Path) -> Project:
    """A project to change: a copy of the one that the test's module filled."""
    shutil.copytree(filled, tmp_path / "project")
    return Project.of(Settings(warehouse=tmp_path / "project" / "perfreg.duckdb", lock_timeout_s=10))
