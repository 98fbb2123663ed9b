"""A recorded run that is played several times in a row is that run, so many times."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.settings import Settings
from perfreg_assets.traces.inspection import inspect_trace


@pytest.fixture
def longer(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("longer_runs")


def test_each_time_tells_what_the_recording_tells(longer, tmp_path):
    source = sorted(demo_runs_dir().iterdir())[0]
    document = json.loads((source / "run.json").read_text("utf-8"))
    trace = tmp_path / document["trace"]
    repeat_ns = longer.write_longer_trace(source / document["trace"], trace, 3)
    run = longer.longer_document(document, 3, repeat_ns)
    assert len(run["path"]) == 3 * len(document["path"])
    assert [step["step"] for step in run["path"]] == list(range(len(run["path"])))
    assert run["path"][-1]["ts_ns"] - document["path"][-1]["ts_ns"] == 2 * repeat_ns
    begin, end = (document["exploration"][name] for name in ("start_ns", "end_ns"))
    found = [
        inspect_trace(
            path,
            app=run["app"],
            exploration=(begin + number * repeat_ns, end + number * repeat_ns),
            time_limit_s=document["config"]["time_limit_s"],
            settings=Settings(),
        )
        for path, number in ((source / document["trace"], 0), (trace, 0), (trace, 1), (trace, 2))
    ]
    assert all(one.health.is_complete for one in found)
    assert run["exploration"] == {"start_ns": begin, "end_ns": end + 2 * repeat_ns}
    means = [{one.name: np.mean(one.values) for one in part.series if one.values is not None} for part in found]
    assert {"cpu_app", "cpu_total", "rss_app"} <= set(means[0])
    for repeated in means[1:]:
        assert repeated == pytest.approx(means[0], rel=0.01)
