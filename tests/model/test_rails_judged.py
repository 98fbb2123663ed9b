"""What a device measured on its rails is judged of the runs that have it; other runs hear nothing of it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import synthetic
from synthetic import Project, reader_of, row

RUNS = [row(number, version="1" if number < 6 else "2") for number in range(9)]
RAIL = "power_rail_cpu"


def project(folder, monkeypatch, missing):
    monkeypatch.setitem(synthetic.SERIES, RAIL, "mW")
    made = Project(folder, reader_of({"made-007": (RAIL, 3.0)}, [(run, RAIL) for run in missing]))
    made.arrive(*RUNS)
    made.settle()
    return made


def test_a_rail_is_judged_where_the_run_and_its_history_have_it(tmp_path, monkeypatch):
    made = project(tmp_path / "p", monkeypatch, ["made-008"])
    rows = made.rows(f"SELECT run_id, state FROM marts.verdicts WHERE is_current AND series = '{RAIL}' ORDER BY run_id")
    states = {one["run_id"]: one["state"] for one in rows}
    assert states["made-007"] == "anomalous"
    assert states["made-006"] in ("normal", "improved")
    # The history has it and this run has not: it cannot be called normal.
    assert states["made-008"] == "series_missing"
    whole = {one["run_id"]: one["run_verdict"] for one in made.rows("SELECT run_id, run_verdict FROM marts.runs")}
    assert whole["made-008"] == "series_missing"


def test_runs_of_devices_without_rails_have_no_verdict_on_them(tmp_path, monkeypatch):
    made = project(tmp_path / "p", monkeypatch, [one.run_id for one in RUNS])
    assert made.rows(f"SELECT * FROM marts.verdicts WHERE series = '{RAIL}'") == []
    states = {one["run_verdict"] for one in made.rows("SELECT run_verdict FROM marts.runs WHERE version_name = '2'")}
    assert "series_missing" not in states
