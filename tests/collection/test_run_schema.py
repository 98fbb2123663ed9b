"""docs/run.schema.json is what the model of run.json says, and refuses nothing that reading takes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from perfreg_assets.collection import run_json
from perfreg_assets.collection.run_schema import run_schema
from perfreg_assets.reasons import Rejected

ROOT = Path(__file__).parents[2]
PUBLISHED = json.loads((ROOT / "docs" / "run.schema.json").read_text("utf-8"))
CHECK = jsonschema.Draft202012Validator(PUBLISHED)
GOOD = {
    "app": "com.rig.shop", "version_name": "1.5.0",
    "config": {"device": "Pixel 6a / Android 13", "strategy": "dfs", "time_limit_s": 60, "action_interval_s": 2.0},
    "started_at": "2026-11-20T09:12:00Z", "trace": "trace.perfetto-trace.gz",
}  # fmt: skip


def is_taken(document):
    try:
        run_json.read(document, "run.json", path_max_steps=1000)
    except Rejected:
        return False
    return True


def test_the_published_schema_is_current():
    assert run_schema() == PUBLISHED, "python -m perfreg_assets.collection.run_schema > docs/run.schema.json"


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    assert set(PUBLISHED["required"]) == {one.partition(".")[0] for one in run_json.REQUIRED}


def test_recorded_runs_hold_to_it():
    found = sorted((ROOT / "tests" / "data" / "sessions").glob("*/run.json"))
    assert len(found) >= 10
    for path in found:
        CHECK.validate(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": ""}, {"run_id": None}, {"run_id": "shop-004"}, {"schema_version": None}, {"path": []},
        {"path": None},
        {"path": [{"state_hash": "a"}, {"step": 4, "state_hash": "b", "screen": None}]}, {"scenario": "cold"},
        {"functional_problems": None}, {"functional_problems": [{"kind": "anr"}]}, {"own": {"key": 1}},
        {"exploration": {"start_ns": 1, "end_ns": 2}}, {"version_code": 150}, {"trace_bytes": 0},
    ],
    ids=str,
)  # fmt: skip
def test_what_reading_takes_holds_to_it(change):
    assert is_taken({**GOOD, **change})
    CHECK.validate({**GOOD, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"app": ""}, {"app": " "}, {"app": 3}, {"trace": None}, {"run_id": "a/b"}, {"run_id": "a" * 129},
        {"config": {}},
        {"config": {**GOOD["config"], "time_limit_s": -1}}, {"config": {**GOOD["config"], "device": None}},
        {"version_code": -1}, {"version_code": "150"}, {"path": {}}, {"path": [{"step": -1, "state_hash": "a"}]},
        {"path": [{"step": 0}]}, {"functional_problems": [{}]}, {"functional_problems": "none"}, {"started_at": 5},
        {"exploration": {"start_ns": 1}}, {"trace_sha256": 7},
    ],
    ids=str,
)  # fmt: skip
def test_what_it_refuses_reading_refuses_too(change):
    assert not is_taken({**GOOD, **change})
    assert not CHECK.is_valid({**GOOD, **change})
