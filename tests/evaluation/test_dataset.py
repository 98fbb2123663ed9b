"""What a data set must hold to, and what is said when it does not."""

import numpy as np
import pyarrow as pa
import pytest

from perfreg_assets.evaluation.dataset import read_dataset
from perfreg_assets.reasons import Reason, Rejected


def refused(path, reason, words):
    with pytest.raises(Rejected) as caught:
        read_dataset(path)
    assert caught.value.reason is reason
    assert words in str(caught.value)


def test_the_bundled_sets_are_read_whole(data_dir):
    for name in ("simulated_noise1", "simulated_noise2"):
        dataset = read_dataset(data_dir / f"{name}.parquet")
        assert dataset.name == name
        sizes = {
            app: (len(dataset.normal_runs(app)), len(dataset.anomalous_runs(app)), sorted(series))
            for app, series in dataset.rows.items()
        }
        assert sorted(sizes.values()) == [(20, 8, ["cpu_app", "cpu_total"])] * 3 + [(31, 19, ["rss_app"])] * 3


def test_the_recorded_set_knows_versions_paths_and_labels(data_dir):
    dataset = read_dataset(data_dir / "recorded.parquet")
    (runs,) = (
        {run_id: row for runs in series.values() for run_id, row in runs.items()} for series in dataset.rows.values()
    )
    assert len(runs) == 34
    assert len(dataset.normal_runs("com.rig.notes")) == 22
    assert {row.provenance.version_name for row in runs.values()} == {"1.4.0", "1.5.0"}
    assert all(len(row.provenance.steps) == 70 for row in runs.values())
    leak = dataset.rows["com.rig.notes"]["rss_app"]["notes-020"]
    assert (leak.severity, leak.anomaly_kind, leak.is_anomalous) == ("leak-600", "leak", True)
    assert not dataset.rows["com.rig.notes"]["cpu_app"]["notes-020"].is_anomalous


def test_injected_samples_follow_the_interval(write, row):
    values = np.linspace(0, 1, 40).tolist()
    changes = {"is_anomalous": True, "anomaly_kind": "x", "anomaly_start_s": [1.0, 5.0], "anomaly_end_s": [2.0, 9.0]}
    path = write([row(values=values, interval_s=0.5, **changes)])
    mask = read_dataset(path).rows["com.rig.shop"]["cpu_app"]["run-0"].injected
    assert np.flatnonzero(mask).tolist() == [2, 3, *range(10, 18)]


def test_a_given_severity_is_kept_and_a_missing_one_is_estimated_and_named_so(write, row):
    injected = {"is_anomalous": True, "anomaly_kind": "x", "anomaly_start_s": [10.0], "anomaly_end_s": [20.0]}
    load = [1.0] * 10 + [1.6] * 10 + [1.0] * 20  # 6 of 40 core-seconds more
    memory = [1e8] * 10 + [1.3e8] * 10 + [1e8] * 20
    path = write(
        [
            row(run_id="given", values=load, severity="mild", **injected),
            row(run_id="load", values=load, **injected),
            row(run_id="memory", series="rss_app", values=memory, **injected),
            row(run_id="everywhere", values=load, **{**injected, "anomaly_start_s": [0.0], "anomaly_end_s": [40.0]}),
            row(run_id="normal", values=load),
        ]
    )
    rows = read_dataset(path).rows["com.rig.shop"]
    assert {run_id: one.severity for run_id, one in rows["cpu_app"].items()} == {
        "given": "mild",
        "load": "estimated 10 to 20 %",
        "everywhere": None,
        "normal": None,
    }
    assert rows["rss_app"]["memory"].severity == "estimated 20 to 40 %"


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"<html>")
    refused(path, Reason.DATASET_UNREADABLE, "x.parquet")
    refused(tmp_path / "none.parquet", Reason.DATASET_UNREADABLE, "none.parquet")


def test_a_missing_column_is_named(write, row, schema):
    fewer = pa.schema([field for field in schema if field.name != "interval_s"])
    changed = {name: value for name, value in row().items() if name != "interval_s"}
    refused(write([changed], fewer), Reason.DATASET_INVALID, "no column interval_s")


def test_a_column_of_another_type_is_named(write, row, schema):
    changed = pa.schema([pa.field("values", pa.string()) if f.name == "values" else f for f in schema])
    refused(write([row(values="1,2,3")], changed), Reason.DATASET_INVALID, "column values")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"values": [0.1] * 7}, "fewer than 8"),
        ({"values": [float("nan")] * 10}, "not finite"),
        ({"interval_s": 0.0}, "interval_s"),
        ({"anomaly_start_s": [1.0]}, "not intervals"),
        ({"anomaly_start_s": [3.0], "anomaly_end_s": [2.0]}, "not intervals"),
        ({"anomaly_start_s": [-3.0], "anomaly_end_s": [2.0]}, "not intervals"),
    ],
)
def test_a_row_that_makes_no_sense_is_named(write, row, changes, words):
    path = write([row(), row(run_id="run-1", **changes)])
    refused(path, Reason.DATASET_INVALID, words)
    refused(path, Reason.DATASET_INVALID, "row 1")


def test_a_repeated_row_and_an_empty_file_are_refused(write, row):
    refused(write([row(), row()]), Reason.DATASET_INVALID, "repeats run-0")
    refused(write([]), Reason.DATASET_INVALID, "no rows")
