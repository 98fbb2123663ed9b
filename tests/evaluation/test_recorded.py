"""From recorded runs and a label file to a labelled data set."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from perfreg_assets.evaluation.dataset import read_dataset
from perfreg_assets.evaluation.recorded import RecordedRun, write_recorded
from perfreg_assets.reasons import Rejected


def recorded(run_id="run-1"):
    return RecordedRun(
        run_id=run_id,
        app="com.rig.shop",
        version_name="1.5.0",
        started_at=datetime(2026, 11, 20, 9, tzinfo=UTC),
        start_ns=5_000_000_000,
        interval_s=1.0,
        series={"cpu_app": np.linspace(0, 1, 20), "rss_app": np.full(20, 1e8)},
        steps=[(5_500_000_000, "home", "aa"), (7_500_000_000, "list", "bb")],
        has_functional_problems=False,
    )


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "truth.json"
    path.write_text(
        json.dumps(
            {
                "run-1": {
                    "label": "cpu-duty-15",
                    "injected": [{"kind": "cpu"}],
                    "intervals": [
                        {"kind": "cpu", "t0_ns": 4_000_000_000, "t1_ns": 8_000_000_000},
                        {"kind": "cpu", "t0_ns": 24_000_000_000, "t1_ns": 99_000_000_000},
                        {"kind": "cpu", "t0_ns": 90_000_000_000, "t1_ns": 99_000_000_000},
                    ],
                },
                "run-2": {"label": "normal", "injected": [], "intervals": []},
            }
        )
    )
    return path


def test_intervals_become_seconds_of_the_run_and_only_affected_series_are_anomalous(labels, tmp_path):
    path = tmp_path / "recorded.parquet"
    assert write_recorded([recorded("run-2"), recorded("run-1")], labels, path) == 4
    rows = read_dataset(path).rows["com.rig.shop"]
    load, memory = rows["cpu_app"]["run-1"], rows["rss_app"]["run-1"]
    assert load.intervals == ((0.0, 3.0), (19.0, 20.0))
    assert (load.is_anomalous, load.anomaly_kind, load.severity) == (True, "cpu", "cpu-duty-15")
    assert (memory.is_anomalous, memory.anomaly_kind, memory.intervals) == (False, None, ())
    assert load.provenance.steps == ((0.5, "home", "aa"), (2.5, "list", "bb"))
    assert not rows["cpu_app"]["run-2"].is_anomalous


def test_an_unknown_run_or_a_broken_label_file_is_refused(labels, tmp_path):
    with pytest.raises(Rejected, match="run-9"):
        write_recorded([recorded("run-9")], labels, tmp_path / "x.parquet")
    labels.write_text("{")
    with pytest.raises(Rejected, match="label file"):
        write_recorded([recorded()], labels, tmp_path / "x.parquet")
