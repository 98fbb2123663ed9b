"""`--protocol versions` on a small set: equal builds rarely alarm, repeats of a regression add up."""

import io

from perfreg_assets.evaluation import versions
from perfreg_assets.evaluation.dataset import read_dataset
from perfreg_assets.settings import Settings


def test_builds_are_judged_by_the_number_of_their_runs(write, row):
    rows = []
    for number in range(22):
        is_anomalous = number >= 16
        values = [1e8 * (1 + 0.002 * ((7 * number + 3 * second) % 11) + 1e-5 * second) for second in range(40)]
        if is_anomalous:
            values = [value + 1e5 * number * max(0, second - 20) for second, value in enumerate(values)]
        rows.append(
            row(
                run_id=f"run-{number:02d}", series="rss_app", values=values, is_anomalous=is_anomalous,
                anomaly_kind="leak" if is_anomalous else None,
                anomaly_start_s=[20.0] if is_anomalous else [], anomaly_end_s=[40.0] if is_anomalous else [],
            )
        )  # fmt: skip
    told = versions.evaluate(write(rows), settings=Settings(), history=12, repeats=2, seed=0)
    found = {(one["series"], one["runs"]): one for one in told["rows"] if one["level"] == 0.05}
    assert found["rss_app", 1]["normal_cases"] == 2 * versions.BUILDS_PER_DRAW
    assert found["rss_app", 3]["anomalous_cases"] == 2 * (6 - 3 + 1)
    assert found["rss_app", 3]["recall"] == 1.0
    # For ten runs the history is smaller, so that ten are left; all of them are one build.
    assert (found["rss_app", 10]["normal_cases"], found["rss_app", 10]["recall"]) == (2, None)
    assert found["*", 3] == {**found["rss_app", 3], "series": "*"}
    shown = io.StringIO()
    versions.print_report(told, shown)
    assert "10 runs" in shown.getvalue()


def test_repeats_of_one_regression_are_neighbours_in_severity(write, row):
    excess = {"run-0": 3e6, "run-1": 9e6, "run-2": 1e6, "run-3": 5e6}
    rows = [
        row(
            run_id=name, series="rss_app", values=[1e8] * 10 + [1e8 + more] * 10, is_anomalous=True,
            anomaly_kind="leak", anomaly_start_s=[10.0], anomaly_end_s=[20.0],
        )
        for name, more in excess.items()
    ]  # fmt: skip
    dataset = read_dataset(write(rows))
    found = list(versions._repeats_of_one(dataset, "com.rig.shop", list(excess), 3))
    assert found == [["run-2", "run-0", "run-3"], ["run-0", "run-3", "run-1"]]
