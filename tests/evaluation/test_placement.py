"""Localisation figures, counted by hand."""

import numpy as np
import pytest

from perfreg_assets.evaluation.cases import judge
from perfreg_assets.evaluation.dataset import LabelledSeries, read_dataset
from perfreg_assets.evaluation.placement import Placed, place, placement_rows
from perfreg_assets.evaluation.protocol import random_draws
from perfreg_assets.methods import localisation
from perfreg_assets.methods.discords import Window


def run(windows, intervals=(), interval_s=1.0, is_alarm=True, length=100, shown=None):
    row = LabelledSeries(
        app="a",
        run_id="r",
        series="cpu_app",
        interval_s=interval_s,
        values=np.zeros(length),
        is_anomalous=bool(intervals),
        anomaly_kind="x" if intervals else None,
        intervals=tuple(intervals),
        severity=None,
        provenance=None,
    )
    return Placed(row, made(windows), made(windows if shown is None else shown) if is_alarm else (), is_alarm)


def made(windows):
    return tuple(Window(start, end, start, 1.0, 1.0) for start, end in windows)


def figures(placed, **wanted):
    rows = placement_rows(placed, "default", seed=0)
    (row,) = [row for row in rows if all(row[name] == value for name, value in {"series": "all", **wanted}.items())]
    return row


def test_seconds_are_counted():
    placed = [run([(10, 20), (50, 55)], [(12.0, 22.0)]), run([(0, 4)])]
    row = figures(placed, unit="seconds", runs="all")
    assert (row["tp"], row["fp"], row["fn"]) == (8, 7, 2)
    assert row["precision"] == pytest.approx(8 / 15)
    assert row["recall"] == pytest.approx(0.8)
    assert row["lift"] == pytest.approx((8 / 15) / 0.1)
    assert row["flagged_per_clean_run"] == 1.0


def test_seconds_follow_the_interval():
    row = figures([run([(10, 20)], [(5.0, 7.5)], interval_s=0.5)], unit="seconds", runs="all")
    assert (row["tp"], row["fp"], row["fn"]) == (2, 2, 0)  # samples 10 to 14 of half a second are inside


def test_events_are_windows_that_meet_and_intervals_that_are_met():
    row = figures([run([(10, 20), (50, 55)], [(12.0, 22.0), (70.0, 75.0), (80.0, 90.0)])], unit="events", runs="all")
    assert row["precision"] == 0.5
    assert row["recall"] == pytest.approx(1 / 3)
    assert (row["tp"], row["fp"], row["fn"]) == (1, 1, 2)
    assert row["lift"] > 0


def test_windows_anywhere_in_a_run_that_is_injected_all_along_have_no_lift():
    row = figures([run([(10, 20), (70, 80)], [(0.0, 100.0)])], unit="events", runs="all")
    assert row["lift"] == pytest.approx(1.0)


def test_what_nobody_sees_is_not_counted_among_the_alarmed():
    placed = [
        run([(10, 20)], [(10.0, 20.0)]),
        run([(30, 40)], [(60.0, 70.0)], is_alarm=False),
        run([(0, 4)], is_alarm=False),
        run([(0, 4)], is_alarm=True),
    ]
    everyone, seen = (figures(placed, unit="seconds", runs=runs) for runs in ("all", "alarmed"))
    assert (everyone["recall"], seen["recall"]) == (0.5, 1.0)
    assert (everyone["flagged_per_clean_run"], seen["flagged_per_clean_run"]) == (1.0, 0.5)


def test_nothing_flagged_has_no_precision():
    row = figures([run([], [(10.0, 20.0)])], unit="seconds", runs="all")
    assert row["precision"] is None
    assert row["recall"] == 0.0
    assert row["lift"] is None


def test_windows_that_only_an_alarm_gets_count_among_the_alarmed_alone():
    placed = [run([], [(10.0, 20.0)], shown=[(12, 18)]), run([], shown=[(0, 4)])]
    everyone, seen = (figures(placed, unit="seconds", runs=runs) for runs in ("all", "alarmed"))
    assert (everyone["tp"], everyone["fn"], everyone["flagged_per_clean_run"]) == (0, 10, 0.0)
    assert (seen["tp"], seen["fn"], seen["flagged_per_clean_run"]) == (6, 4, 1.0)
    assert figures(placed, unit="events", runs="all")["recall"] == 0.0
    assert figures(placed, unit="events", runs="alarmed")["recall"] == 1.0


def test_alarms_are_localised_as_runs_of_which_nothing_is_known_and_as_the_product_does(write, small_rows, monkeypatch):
    """All alarms fail the gates here: as runs of which nothing is known they have no window, people see one."""
    for gate in ("LOAD_GATE", "NEAR_ALARM_GATE", "FAR_ALARM_GATE"):
        monkeypatch.setattr(localisation, gate, np.inf)
    dataset = read_dataset(write(small_rows))
    draws = random_draws(dataset, history=6, repeats=1, seed=0)
    found = place(dataset, draws, judge(dataset, draws, "default", {}, None), "default", 0.75, None)
    injected = [one for one in found if one.row.is_anomalous]
    assert all(one.is_alarm for one in injected)
    assert all(one.windows == () for one in found)
    assert all(len(one.shown) == 1 for one in injected)
    assert all(one.shown == () for one in found if not one.is_alarm)
