"""What is said of runs whose traces were reduced: whose they are, and whether the whole one is there again."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from house import House
from made_folders import TRACE, Made
from made_reading import inspect_made

from perfreg_assets.model import inspecting
from perfreg_assets.warehouse import runs

RUN = Made(run_id="made-000", hour=0, version="1", content="made-000")


@pytest.fixture(autouse=True)
def made_reading(monkeypatch, no_waiting_for_the_disk):
    monkeypatch.setattr(inspecting, "inspect_trace", inspect_made)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_reduction_is_of_the_run_with_the_trace_whichever_came_first(tmp_path, is_first):
    house = House(tmp_path)
    folder = RUN.write(tmp_path / "given" / "a")
    sha256 = hashlib.sha256((folder / TRACE).read_bytes()).hexdigest()
    if is_first:
        house.reduce(sha256)
    house.register([folder])
    if not is_first:
        house.reduce(sha256)
    assert house.rows("SELECT run_id, app, version_name FROM marts.reductions") == [
        {"run_id": "made-000", "app": RUN.app, "version_name": "1"}
    ]
    for mart in ("trace_windows", "trace_seconds"):
        assert {row["run_id"] for row in house.rows(f"FROM marts.{mart}")} == {"made-000"}


@pytest.mark.parametrize("how", ["its trace was deleted", "a screenshot came along", "it was corrected"])
def test_a_trace_that_is_whole_again_is_said_to_be(tmp_path, how):
    """Its run's folder was given again, and taken in anew: settings that traces are read with hold for it, too."""
    house = House(tmp_path)
    folder = RUN.write(tmp_path / "given" / "a")
    house.register([folder])
    house.settle()
    kept = house.archive(["made-000"])
    if how == "its trace was deleted":
        kept.unlink()
    elif how == "a screenshot came along":
        (folder / "screen.png").write_bytes(b"\x89PNG")
    else:
        with house.warehouse.writing() as writer:
            runs.exclude(writer, "made-000", "because")
        replace(RUN, version="2").write(folder)
    house.register([folder])
    assert kept.read_bytes() == RUN.trace()
    assert house.rows("SELECT is_trace_reduced FROM marts.runs") == [{"is_trace_reduced": False}]
    assert house.rows("FROM marts.reductions WHERE is_in_place") == []
    house.change("interval_s", "2")
    house.settle()
    (interval,) = house.rows("SELECT DISTINCT interval_s FROM marts.series_arrays WHERE series = 'rss_app'")
    assert interval == {"interval_s": 2.0}
