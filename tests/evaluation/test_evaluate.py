"""A whole evaluation, small enough to check by hand where that is possible."""

import io
import json

import pytest

from perfreg_assets.evaluation import cases as cases_module
from perfreg_assets.evaluation.cases import judge
from perfreg_assets.evaluation.dataset import read_dataset
from perfreg_assets.evaluation.evaluate import evaluate
from perfreg_assets.evaluation.protocol import random_draws
from perfreg_assets.evaluation.reliability import plot_reliability
from perfreg_assets.evaluation.show import print_tables
from perfreg_assets.methods.omega_rule import is_anomalous
from perfreg_assets.reasons import Rejected
from tests.evaluation.conftest import written

CONTRACT_KEYS = {"dataset", "protocol", "repeats", "history", "seed", "seconds", "rows", "localisation"}
ROW_KEYS = {
    *("detector", "omega", "level", "series", "anomaly_kind", "severity", "tp", "tn", "fp", "fn", "precision"),
    *("recall", "f1", "false_positive_rate", "mcc", "roc_auc", "average_precision"),
}
LOCALISATION_KEYS = {"detector", "series", "unit", "precision", "recall", "f1", "lift", "flagged_per_clean_run"}


@pytest.fixture(scope="module")
def result(tmp_path_factory, make_small_rows):
    path = tmp_path_factory.mktemp("whole") / "labelled.parquet"
    return evaluate(written(path, make_small_rows()), repeats=3, history=5, seed=1)


def pick(rows, **wanted):
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_the_result_is_the_public_format(result):
    assert set(result) >= CONTRACT_KEYS
    assert (result["dataset"], result["protocol"], result["repeats"], result["history"]) == ("labelled", "thesis", 3, 5)
    assert all(set(row) >= ROW_KEYS for row in result["rows"])
    assert all(set(row) >= LOCALISATION_KEYS for row in result["localisation"])
    assert {row["unit"] for row in result["localisation"]} == {"seconds", "events"}
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_every_knob_counts_every_case_once(result):
    totals = pick(result["rows"], series="all", anomaly_kind="all", severity="all")
    knobs = [(row["detector"], row["omega"], row["omega"] is None and row["level"]) for row in totals]
    assert len(set(knobs)) == len(knobs) == 4 + 3 + 4 + 4 + 3
    for row in totals:
        assert row["tp"] + row["fn"] == 3 * 3 * 2
        assert row["tn"] + row["fp"] == 3 * 4 * 2
    runs = pick(result["rows"], series="*", anomaly_kind="all", severity="all", detector="default", omega=0.5)
    assert [row["tp"] + row["fn"] for row in runs] == [9]
    assert runs[0]["correction"].startswith("Šidák")


def test_half_a_core_for_twenty_seconds_is_found_and_placed(result):
    (row,) = pick(result["rows"], detector="default", omega=0.5, series="cpu_app", anomaly_kind="all", severity="all")
    assert row["recall"] == 1.0
    (place,) = pick(result["localisation"], detector="default", series="cpu_app", unit="seconds", runs="all")
    assert place["precision"] > 0.8
    assert place["recall"] > 0.6
    assert place["lift"] > 3


def test_alarms_fall_as_omega_rises(result):
    for detector in ("default", "iqr"):
        rows = pick(result["rows"], detector=detector, series="all", anomaly_kind="all", severity="all")
        by_omega = sorted((row for row in rows if row["omega"] is not None), key=lambda row: row["omega"])
        alarms = [row["tp"] + row["fp"] for row in by_omega]
        assert alarms == sorted(alarms, reverse=True)


def test_the_same_seed_gives_the_same_figures_on_any_number_of_threads(write, small_rows, monkeypatch):
    path = write(small_rows)
    timing = {"seconds", "stage_seconds"}
    results = []
    for threads in (1, 8):
        monkeypatch.setattr(cases_module.os, "cpu_count", lambda threads=threads: threads)
        found = evaluate(path, repeats=2, history=5, seed=1)
        results.append({name: value for name, value in found.items() if name not in timing})
    assert results[0] == results[1]


def test_aa_has_only_normal_cases_and_no_localisation(write, small_rows):
    result = evaluate(write(small_rows), protocol="aa", repeats=2, history=5, detectors=["default"])
    assert all(row["tp"] == row["fn"] == 0 for row in result["rows"])
    assert result["localisation"] == []
    assert result["reliability"]


def test_chronological_judges_each_run_once_and_counts_those_without_history(write, small_rows):
    result = evaluate(write(small_rows), protocol="chronological", detectors=["default"])
    assert result["counts"]["draws"] == 4  # of version 2.0, each after seven usable runs of 1.0
    assert result["counts"]["without_history"] == {"normal": 8}
    (row,) = pick(result["rows"], omega=0.5, series="*", anomaly_kind="all", severity="all")
    assert (row["tp"] + row["fn"], row["tn"] + row["fp"]) == (3, 1)


def test_progress_reaches_the_end(write, small_rows):
    seen = []
    evaluate(write(small_rows), repeats=2, history=5, detectors=["iqr"], progress=lambda *step: seen.append(step))
    assert seen == [
        (1, 2, "iqr"),
        (2, 2, "iqr"),
        (1, 2, "iqr, localisation"),
        (2, 2, "iqr, localisation"),
    ]


def test_tables_show_measured_beside_printed(result):
    out = io.StringIO()
    print_tables(result, out)
    text = out.getvalue()
    for words in ("thesis, printed", "2500", "Verdicts on whole runs", "level 0.05", "cpu_total", "flagged per"):
        assert words in text
    out = io.StringIO()
    print_tables({**result, "protocol": "aa"}, out)
    assert "every alarm is false" in out.getvalue()


def test_what_a_data_set_calls_its_series_is_told_as_it_is(result):
    """Another tool's series may be called by its unit: `latency[ms]` was told as `latency`, `io[/dev]` ended it."""
    out = io.StringIO()
    names = {"cpu_total": "latency[ms]"}
    rows = [{**row, "series": names.get(row["series"], row["series"])} for row in result["rows"]]
    print_tables({**result, "dataset": "io[/dev]", "rows": rows}, out)
    assert "data set io[/dev], " in out.getvalue()
    assert "latency[ms]" in out.getvalue()


def test_the_reliability_picture_is_a_png(result, tmp_path):
    path = tmp_path / "some" / "reliability.png"
    plot_reliability([result], path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_unknown_protocols_and_detectors_are_refused(write, small_rows):
    path = write(small_rows)
    with pytest.raises(Rejected, match="thesis, aa, chronological, causes, endurance or benchmarks"):
        evaluate(path, protocol="magic")
    with pytest.raises(ValueError, match="default or iqr or screens"):
        evaluate(path, repeats=1, history=5, detectors=["magic"])


def test_false_alarms_of_default_are_near_nominal_on_the_bundled_sets(data_dir):
    """3 repeats only: the whole figure, with 30, is in docs/quality.md."""
    for name in ("simulated_noise1", "simulated_noise2"):
        dataset = read_dataset(data_dir / f"{name}.parquet")
        draws = random_draws(dataset, history=12, repeats=3, seed=0, with_anomalous=False)
        found = [case for case in judge(dataset, draws, "default", {}, None) if case.series != "*"]
        for omega, nominal in ((0.45, 0.10), (0.7194, 0.05)):
            measured = sum(is_anomalous(case.score, omega) for case in found) / len(found)
            assert measured == pytest.approx(nominal, abs=0.05)


@pytest.mark.parametrize(
    ("name", "reached"),
    [pytest.param("simulated_noise1", 0.86, marks=pytest.mark.nightly), ("simulated_noise2", 0.77)],
)
def test_default_is_far_better_than_the_thesis_rule_on_the_bundled_sets(data_dir, name, reached):
    result = evaluate(data_dir / f"{name}.parquet", repeats=2, localisation_repeats=0)
    totals = pick(result["rows"], series="all", anomaly_kind="all", severity="all")
    (ours,) = pick(totals, detector="default", level=0.05, omega=None)
    (thesis,) = pick(totals, detector="iqr", omega=0.0)
    assert ours["f1"] > reached
    assert ours["f1"] > thesis["f1"] + 0.05
    assert ours["false_positive_rate"] < thesis["false_positive_rate"] / 2
