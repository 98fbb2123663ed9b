"""What tests of made-up projects share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perfreg_assets.methods import empirical_null

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import REGRESSIONS, RUNS, Project, reader_of


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Project]:
    """(name, settings) → a project in a folder of that name, whose traces are read with the regressions of `RUNS`."""

    def build(name: str, **settings: Any) -> Project:
        return Project(tmp_path / name, reader_of(REGRESSIONS), **settings)

    return build


@pytest.fixture
def make_settled(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Callable[[], Project]:
    """A project like that, to which all of `RUNS` arrived and in which nothing is due: a copy of one made once."""

    def fill(folder: Path) -> None:
        project = Project(folder, reader_of(REGRESSIONS))
        project.arrive(*RUNS)
        project.settle()

    return lambda: Project(made_once("made-runs", fill), reader_of(REGRESSIONS))


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What survives a loss of power is tested where it is written (tests/warehouse/test_crash.py)."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="module")
def three_is_far() -> Iterator[None]:
    """A score above 3 tells what is normal only after a review; no waiting for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(empirical_null, "UNLIKELY_SCORE", 3.0)
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield
