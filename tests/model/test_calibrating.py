"""Scale and floor of a device by each of its power profiles for itself."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.model import calibrating
from perfreg_assets.reasons import Rejected
from perfreg_assets.warehouse.connection import Warehouse

CHAOS = np.random.default_rng(0)
ENOUGH = CHAOS.uniform(100, 500, 300)
GOOD = ("b" * 64, "old", ENOUGH, 50 + 1.3 * ENOUGH + CHAOS.normal(0, 5, 300))
FEW = ("a" * 64, "new", *CHAOS.uniform(100, 500, (2, 8)))
FLAT = ("c" * 64, "flat", np.full(40, 100.0), CHAOS.uniform(100, 500, 40))
# 12 together are enough for one fit, but the halves have 6 each.
HALVES = ("d" * 64, "short", *CHAOS.uniform(100, 500, (2, 12)))


def of(monkeypatch, *runs):
    monkeypatch.setattr(calibrating.power_calibrations, "measured_series", lambda reader, device: iter(runs))
    return calibrating.calibrations(None, "dev")


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (FEW, "8 intervals with estimate and measurement, 4 of them in one half of the runs; 10 in each half"),
        (HALVES, "12 intervals with estimate and measurement, 6 of them in one half of the runs; 10 in each half"),
        (FLAT, "the estimates do not vary"),
        (("e" * 64, "off", ENOUGH, np.zeros(300)), "the measurements do not vary"),
    ],
    ids=["few", "halves", "flat", "off"],
)
def test_a_profile_that_cannot_be_fitted_is_named_and_costs_the_others_nothing(monkeypatch, other, why):
    alone, found = of(monkeypatch, GOOD), of(monkeypatch, other, GOOD)
    assert [(row.profile_id, row.interval_count) for row in found.rows] == [("b" * 64, 300)]
    assert found.rows[0].scale_ratio == alone.rows[0].scale_ratio == pytest.approx(1.3, rel=0.02)
    ((profile_id, reason),) = ((one.profile_id, one.reason) for one in found.not_fitted)
    assert profile_id == other[0]
    assert reason.startswith(why)
    assert alone.not_fitted == ()


def test_where_no_profile_can_be_fitted_each_says_why(monkeypatch):
    with pytest.raises(Rejected, match=r"^device dev; by profile a{12} 8 inter.*; by profile c{12} the est") as got:
        of(monkeypatch, FEW, FLAT)
    assert got.value.reason.code == "rails_missing"
    with pytest.raises(Rejected, match=r"^device dev: There are no runs, or too few"):
        of(monkeypatch)


def test_the_command_stores_what_is_fitted_and_names_what_is_not(monkeypatch, tmp_path):
    monkeypatch.setattr(calibrating.power_calibrations, "measured_series", lambda reader, device: iter([FEW, GOOD]))
    with Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5).writing():
        pass
    warehouse = ["--warehouse", str(tmp_path / "perfreg.duckdb")]
    result = CliRunner().invoke(main, ["energy-calibrate", "--device", "dev", *warehouse])
    assert result.exit_code == 0, result.output
    assert "dev: not calibrated by profile aaaaaaaaaaaa: 8 intervals" in result.stderr
    assert "bbbbbbbbbbbb" in result.stdout
    stored = CliRunner().invoke(main, ["sql", "FROM marts.power_calibrations", "--format", "json", *warehouse])
    assert [(row["profile_id"], row["run_count"]) for row in json.loads(stored.stdout)] == [("b" * 64, 1)]
