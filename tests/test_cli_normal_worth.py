"""Where a verdict is normal it stands beside what it would have found: as measured, or that nobody measured it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.warehouse import evaluations
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parent / "warehouse"))

import sample_warehouse

APP = sample_warehouse.APPS[0]


def measured(omega):
    """Loads from 30 % on are found in 9 of 10 runs, and all in versions of three."""
    cases = {1: 20, 3: 200}
    shares = {1: ((10.0, 0.2), (30.0, 0.9)), 3: ((10.0, 0.95), (30.0, 1.0))}
    rows = [
        {"kind": "load", "unit": "%", "size": size, "repeats": repeats, "found": round(cases[repeats] * share),
         "cases": cases[repeats], "share": share, "low": 0.0, "high": 1.0}
        for repeats, found in shares.items()
        for size, share in found
    ]  # fmt: skip
    return {
        "dataset": APP, "protocol": "power", "detector": "default", "omega": omega, "seed": 0, "runs": 9,
        "history_sizes": [5, 12], "rows": rows, "missing": {},
    }  # fmt: skip


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    path = tmp_path_factory.mktemp("worth") / "perfreg.duckdb"
    sample_warehouse.build(path, runs=48, samples=40)
    return path


def shown(warehouse, *more):
    result = CliRunner().invoke(main, ["verdicts", "--app", APP, "--warehouse", str(warehouse), *more])
    assert result.exit_code in (0, 3, 4), result.output
    return " ".join(result.stdout.replace("\\", "").split())


def test_it_is_told_that_nobody_measured_it_then_what_was_measured_and_by_which_rule(warehouse):
    assert f"is not known: `perfreg power --app {APP}`" in shown(warehouse)
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        evaluations.add(writer, measured(0.5))
    told = "(measured by another detector or ω), by regressions injected into 9 normal runs: found are load"
    assert f"{APP} {told}" in shown(warehouse)
    with Warehouse(warehouse, lock_timeout_s=5).writing() as writer:
        evaluations.add(writer, measured(sample_warehouse.OMEGAS[-1]))
    sentence = (
        f"hat normal is worth for {APP}, by regressions injected into 9 normal runs: found are load: "
        "from 30 % in 9 of 10 runs (20 cases); from 10 % in 9 of 10 versions of 3 runs (200 cases)"
    )
    assert sentence in shown(warehouse)
    assert f"W{sentence}." in shown(warehouse, "--by", "version", "--format", "markdown")


def test_nothing_is_said_where_no_version_is_normal(warehouse):
    assert "normal is worth" not in shown(warehouse, "--app-version", "1.0.0")
