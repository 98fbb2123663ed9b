"""A series whose values nothing vouches for is kept and shown: it is not judged, and no history of another."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import synthetic
from synthetic import Project, reader_of, row

from perfreg_assets.reasons import Reason

POWER = "power_cpu_app"


def test_estimates_by_a_profile_that_nothing_confirms_are_kept_and_not_judged(tmp_path, monkeypatch):
    monkeypatch.setitem(synthetic.SERIES, POWER, "mW")
    plain = reader_of({"made-007": (POWER, 3.0), "made-008": (POWER, 3.0)})
    doubted = {"made-005", "made-008"}

    def inspect(run, settings):
        found = plain(run, settings)
        series = [
            one.not_judged(Reason.PROFILE_UNCONFIRMED, "no profile of it is known")
            if one.name == POWER and run.run_id in doubted
            else one
            for one in found.series
        ]
        return found._replace(series=series)

    made = Project(tmp_path / "p", inspect, judged_series=("cpu_app", POWER))
    made.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
    made.settle()
    rows = made.rows(f"SELECT run_id, state, explanation FROM marts.verdicts WHERE is_current AND series = '{POWER}'")
    found = {one["run_id"]: one for one in rows}
    assert found["made-007"]["state"] == "anomalous"
    assert found["made-008"]["state"] == "series_missing"
    (kept,) = made.rows(
        f"SELECT is_missing, reason_code, reason, len(values) AS count FROM marts.series_arrays "
        f"WHERE run_id = 'made-008' AND series = '{POWER}'"
    )
    assert (kept["is_missing"], kept["reason_code"]) == (False, "profile_unconfirmed")
    assert kept["count"] == synthetic.SAMPLES
    assert "perfreg profiles add" in kept["reason"]
    (distance,) = made.rows(
        f"SELECT DISTINCT history_size FROM core.distances "
        f"WHERE run_id = 'made-007' AND series = '{POWER}' AND is_latest"
    )
    members = made.rows("SELECT history_run_id FROM marts.history_sets WHERE run_id = 'made-007'")
    assert "made-005" in [one["history_run_id"] for one in members]
    usable = [one for one in members if one["history_run_id"] not in doubted]
    assert distance["history_size"] == len(usable)
