"""Small labelled data sets written on the spot."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.evaluation.other_generator import OtherGenerator

# Public format 2 with its optional columns.
SCHEMA = pa.schema(
    [
        pa.field("app", pa.string(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("series", pa.string(), nullable=False),
        pa.field("interval_s", pa.float64(), nullable=False),
        pa.field("values", pa.list_(pa.float64()), nullable=False),
        pa.field("is_anomalous", pa.bool_(), nullable=False),
        pa.field("anomaly_kind", pa.string()),
        pa.field("anomaly_start_s", pa.list_(pa.float64()), nullable=False),
        pa.field("anomaly_end_s", pa.list_(pa.float64()), nullable=False),
        pa.field("severity", pa.string()),
        pa.field("version_name", pa.string()),
        pa.field("started_at", pa.timestamp("us", tz="UTC")),
        pa.field("has_functional_problems", pa.bool_()),
        pa.field("step_offset_s", pa.list_(pa.float64())),
        pa.field("step_screen", pa.list_(pa.string())),
        pa.field("step_state_hash", pa.list_(pa.string())),
    ]
)
DATA = Path(__file__).parents[1] / "data" / "evaluation"


@pytest.fixture(scope="session")
def data_dir():
    return DATA


@pytest.fixture(scope="session")
def schema():
    return SCHEMA


@pytest.fixture
def write(tmp_path):
    """Writes rows (dicts; what is left out is null) with the contract's schema and returns the file."""

    def writer(rows, schema=SCHEMA, name="labelled.parquet"):
        return written(tmp_path / name, rows, schema)

    return writer


def written(path, rows, schema=SCHEMA):
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


@pytest.fixture(scope="session")
def row():
    """A valid row; keyword arguments change it."""

    def make(**changes):
        return {
            "app": "com.rig.shop",
            "run_id": "run-0",
            "series": "cpu_app",
            "interval_s": 1.0,
            "values": [0.1, 0.2, 0.1, 0.3, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2],
            "is_anomalous": False,
            "anomaly_kind": None,
            "anomaly_start_s": [],
            "anomaly_end_s": [],
            **changes,
        }

    return make


@pytest.fixture
def small_rows(make_small_rows):
    return make_small_rows()


@pytest.fixture(scope="session")
def make_small_rows(row):
    """9 normal runs and 3 with half a core of extra work from second 30 to 50, two series each, and their past."""
    return lambda: _small_rows(row)


def _small_rows(row):
    generator = np.random.default_rng(0)
    rows = []
    for number in range(12):
        is_anomalous = number >= 9
        values = 0.1 + generator.gamma(2, 0.05, 80)
        extra = np.zeros(80)
        extra[30:50] = 0.5 * is_anomalous
        for series, level in (("cpu_app", 0.0), ("cpu_total", 0.4)):
            rows.append(
                row(
                    run_id=f"run-{number:02d}",
                    series=series,
                    values=(values + extra + level + generator.gamma(2, 0.01, 80)).tolist(),
                    is_anomalous=is_anomalous,
                    anomaly_kind="extra" if is_anomalous else None,
                    anomaly_start_s=[30.0] if is_anomalous else [],
                    anomaly_end_s=[50.0] if is_anomalous else [],
                    version_name="2.0" if number >= 8 else "1.0",
                    started_at=datetime(2026, 11, 1, tzinfo=UTC) + timedelta(hours=number),
                    has_functional_problems=number == 0,
                    step_offset_s=[40.0, 80.0],
                    step_screen=["list", "chart"],
                    step_state_hash=["a", "b"],
                )
            )
    return rows


@pytest.fixture(scope="session")
def other_generator():
    return OtherGenerator
