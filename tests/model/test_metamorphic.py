"""What must not change what is told of runs: how things are called, what time it is, and what other apps do."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from house import House
from made_folders import Made, eleven
from made_reading import inspect_made
from synthetic import APP

from perfreg_assets.model import inspecting

MARTS = {
    **{"verdicts": "is_current", "run_verdicts": "is_current", "axis_verdicts": "is_current"},
    **{"version_verdicts": "is_current", "distances": "is_latest"},
    **dict.fromkeys(("discords", "causes", "cause_windows", "compared_with", "measurements", "energies"), "true"),
    **dict.fromkeys(("history_states", "drifts", "disturbances", "also_grew", "regressions_by_version"), "true"),
}
"""Mart → which of its rows are told."""
OF_COMPUTING = re.compile(r".*(_hash|_at|_ns|_no)|distance_id|barycenter_id|seconds|.*code_version")
"""Columns of when and from what a row was computed, and moments of the trace's clock."""


@pytest.fixture(scope="module", autouse=True)
def made_reading(three_is_far):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspecting, "inspect_trace", inspect_made)
        yield


def judged(folder: Path, runs: Mapping[str, Made]) -> House:
    house = House(folder)
    house.register([made.write(folder / "given" / name) for name, made in runs.items()])
    house.settle()
    return house


def told(house: House) -> dict[str, list[dict[str, str]]]:
    """Mart → its rows, without what is of computing them."""
    found = {}
    for name, condition in MARTS.items():
        rows = house.rows(f"FROM marts.{name} WHERE {condition}")
        kept = [{k: repr(v) for k, v in row.items() if not OF_COMPUTING.fullmatch(k)} for row in rows]
        found[name] = sorted(kept, key=lambda row: sorted(row.items()))
    return found


def in_words_of(found: dict[str, list[dict[str, str]]], names: Mapping[str, str]) -> dict[str, list[dict[str, str]]]:
    """The same, each of these names in place of another."""

    def said(text: str) -> str:
        for one, other in names.items():
            text = text.replace(one, other)
        return text

    renamed = {mart: [{k: said(v) for k, v in row.items()} for row in rows] for mart, rows in found.items()}
    return {mart: sorted(rows, key=lambda row: sorted(row.items())) for mart, rows in renamed.items()}


@pytest.fixture(scope="module")
def usual(tmp_path_factory, made_reading):
    found = told(judged(tmp_path_factory.mktemp("usual"), eleven()))
    assert {row["state"] for row in found["run_verdicts"]} >= {"'anomalous'", "'normal'"}
    assert all(found[mart] for mart in ("discords", "cause_windows", "energies"))
    return found


def assert_same(found, usual):
    for mart, rows in usual.items():
        assert found[mart] == rows, mart


def test_no_name_no_date_and_no_clock_matters(tmp_path, usual):
    """Of apps, devices, their units, runs, folders and versions, where their order stays; the traces' clocks differ."""
    others = {
        f"x{name}": replace(
            made, app="org.example.shop", model="Pixel 6a", unit=f"SN-{made.unit}", version=f"v.{made.version}",
            run_id=f"night.{made.run_id}", hour=made.hour + 1000, clock_ns=(1 + n) * 10**15,
        )
        for n, (name, made) in enumerate(eleven().items())
    }  # fmt: skip
    found = told(judged(tmp_path, others))
    names = {"org.example.shop": APP, "Pixel 6a": "d", "SN-": "", "night.": "", "'v.": "'"}
    assert_same(in_words_of(found, names), usual)


def test_another_app_changes_nothing(tmp_path, usual):
    """Not even one of the same versions, devices and scenarios, whose runs came before, between and after."""
    others = {
        f"x{name}": replace(made, app="com.rig.zzz", run_id=f"zzz-{n}", content=f"zzz-{n}", hour=made.hour - 0.5)
        for n, (name, made) in enumerate(eleven().items())
    }
    found = told(judged(tmp_path, {**others, **eleven()}))
    own = {mart: [row for row in rows if "zzz" not in str(row)] for mart, rows in found.items()}
    assert_same(own, usual)
