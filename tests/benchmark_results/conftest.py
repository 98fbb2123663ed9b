"""Fixtures: an empty warehouse, and files of results that tests make up."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.model import benchmarks as model
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import benchmarks as table
from perfreg_assets.warehouse.connection import Warehouse

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True, scope="session")
def _quick_java():
    """What Java compiles here runs for a moment: its thorough compiler would take longer than it saves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
        yield


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb")


@pytest.fixture
def warehouse(settings):
    return Warehouse.of(settings)


class History:
    """Adds versions with made-up results, a day apart."""

    def __init__(self, warehouse, folder):
        self.warehouse, self.folder, self.random = warehouse, folder, np.random.default_rng(0)
        self.pending = []

    def write(self, levels, launches=3, unit="us/op", noise=0.01):
        """A JMH file: benchmark → level."""
        entries = []
        for name, level in levels.items():
            raw = [(level * np.exp(self.random.normal(0, noise, 9))).tolist() for _ in range(launches)]
            metric = {"score": level, "scoreUnit": unit, "rawData": raw}
            entries.append({"jmhVersion": "1", "benchmark": f"com.x.Bench.{name}", "mode": "avgt",
                            "primaryMetric": metric})  # fmt: skip
        path = self.folder / f"r{len(list(self.folder.glob('r*.json')))}.json"
        path.write_text(json.dumps(entries))
        return path

    def add(self, version, levels, day=None, **more):
        """Its benchmark_run_id."""
        origin = {"app": "com.x", "version_name": version, "device": "d"}
        origin |= {name: more.pop(name) for name in ("app", "device", "variant") if name in more}
        at = BEGIN + timedelta(days=int(version) if day is None else day)
        (one,) = take_in([self.write(levels, **more)], Origin(started_at=at, **origin))
        assert one.rejected is None
        self.pending.append(one.measured)
        return one.measured.run.benchmark_run_id

    def store(self):
        """Writes what was added, in one transaction."""
        with self.warehouse.writing() as writer:
            table.add(writer, self.pending)
        self.pending = []

    def measure(self, settings):
        """The benchmark_run_ids that were due."""
        if self.pending:
            self.store()
        return model.measure_due(self.warehouse, settings, Stopwatch())


@pytest.fixture
def history(warehouse, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    return History(warehouse, folder)
