"""Run folders: what is read, and what is refused by which reason."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.collection.registry import examine
from perfreg_assets.collection.run_folder import read_run_folder, write_run_folder
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import path_hash
from perfreg_assets.settings import Settings

SETTINGS = Settings()
TRACE = b"\x0a\x02\x08\x01"


def document(**changes):
    value = {
        "schema_version": 1,
        "run_id": "shop-004",
        "app": "com.rig.shop",
        "version_name": "1.5.0",
        "version_code": 150,
        "config": {"device": "Pixel", "strategy": "dfs", "time_limit_s": 60, "action_interval_s": 2.0},
        "started_at": "2026-11-20T09:12:00Z",
        "exploration": {"start_ns": 10, "end_ns": 20},
        "path": [{"step": 0, "ts_ns": 11, "state_hash": "ee57", "screen": "home", "action": "tap"}],
        "functional_problems": [],
        "trace": "trace.perfetto-trace",
    }
    value.update(changes)
    return {key: entry for key, entry in value.items() if entry is not ...}


@pytest.fixture
def folder(tmp_path):
    def make(text: str | bytes | None = None, **changes) -> Path:
        path = tmp_path / "run"
        path.mkdir(exist_ok=True)
        (path / "trace.perfetto-trace").write_bytes(TRACE)
        content = json.dumps(document(**changes)) if text is None else text
        (path / "run.json").write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def refusal(path: Path, settings: Settings = SETTINGS) -> Rejected:
    with pytest.raises(Rejected) as caught:
        read_run_folder(path, settings)
    assert str(caught.value).endswith(caught.value.reason.sentence)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_recorded_run_is_read_as_it_stands():
    run = read_run_folder(demo_runs_dir() / "notes-020", SETTINGS)
    assert (run.run_id, run.app, run.version_name, run.version_code) == ("notes-020", "com.rig.notes", "1.5.0", 150)
    assert run.started_at == datetime(2026, 11, 20, 10, 1, 52, tzinfo=UTC)
    assert len(run.path) == 70
    assert run.functional_problems == []
    assert (run.trace.file_bytes, run.trace.sha256) == (run.trace_bytes, run.trace_sha256)


def test_unknown_keys_are_kept(folder):
    assert read_run_folder(folder(tester="Ada", weather={"t": 3}), SETTINGS).extra == {
        "tester": "Ada",
        "weather": {"t": 3},
    }


def test_unknown_keys_are_kept_wherever_they_stand(folder):
    path = [{"state_hash": "a"}, {"step": 7, "state_hash": "b", "screenshot": "7.png"}]
    changes = {"path": path, "config": {**document()["config"], "rack": 3}, "exploration": {"start_ns": 1, "end_ns": 2}}
    assert read_run_folder(folder(**changes), SETTINGS).extra == {
        "config": {"rack": 3},
        "path": {"7": {"screenshot": "7.png"}},
    }


def test_without_run_id_the_traces_hash_names_the_run(folder):
    assert read_run_folder(folder(run_id=...), SETTINGS).run_id == hashlib.sha256(TRACE).hexdigest()[:16]


def test_unsaid_functional_problems_are_unknown_and_not_none_found(folder):
    assert read_run_folder(folder(functional_problems=...), SETTINGS).functional_problems is None
    assert read_run_folder(folder(functional_problems=[]), SETTINGS).functional_problems == []


def test_times_with_another_offset_become_utc(folder):
    run = read_run_folder(folder(started_at="2026-11-20T12:12:00+03:00"), SETTINGS)
    assert run.started_at == datetime(2026, 11, 20, 9, 12, tzinfo=UTC)


@pytest.mark.parametrize("key", ["app", "version_name", "config", "started_at", "trace"])
def test_each_required_key_is_missed(folder, key):
    problem = refusal(folder(**{key: ...}))
    assert problem.reason is Reason.KEY_MISSING
    assert key in problem.detail


def test_all_that_is_missing_is_named_in_one_sentence(folder):
    problem = refusal(folder(app=..., started_at=None, trace=" ", config={"device": "Pixel", "time_limit_s": 60}))
    assert problem.reason is Reason.KEY_MISSING
    assert problem.detail == (
        "run/run.json, keys app, config.strategy, config.action_interval_s, started_at, trace (empty)"
    )
    parts = ("device", "strategy", "time_limit_s", "action_interval_s")
    assert refusal(folder(config=...)).detail == f"run/run.json, keys {', '.join(f'config.{part}' for part in parts)}"


def test_a_refusal_says_where_what_stands_there_and_what_was_expected(folder):
    steps = [{"state_hash": "a"}, {"state_hash": 5}]
    assert refusal(folder(path=steps)).detail == "run/run.json, key path[1].state_hash is int, expected text"
    wrong = {"exploration": {"start_ns": True, "end_ns": 5}}
    assert refusal(folder(**wrong)).detail == "run/run.json, key exploration.start_ns is bool, expected a whole number"
    assert refusal(folder(version_code=-1)).detail == "run/run.json, key version_code = -1, expected at least 0"


def test_what_an_action_led_to_and_the_very_device_may_be_said(folder):
    step = {"ts_ns": 11, "state_hash": "ee57", "screen": "home", "screen_after": "list", "state_hash_after": "b2"}
    run = read_run_folder(folder(path=[step], config={**document()["config"], "unit": "3A021"}), SETTINGS)
    assert (run.path[0].screen_after, run.path[0].state_hash_after) == ("list", "b2")
    assert run.device_unit == "3A021"
    other = read_run_folder(folder(config={**document()["config"], "unit": "77B"}), SETTINGS)
    plain = read_run_folder(folder(), SETTINGS)
    assert run.config.hash == other.config.hash == plain.config.hash, "runs on two equal devices are comparable"
    assert refusal(folder(path=[{**step, "screen_after": 3}])).reason is Reason.WRONG_TYPE


def test_the_hash_of_the_path_follows_what_states_are_made_of(folder):
    def hash_of(**changes):
        step = {"step": 0, "ts_ns": 11, "state_hash": "ee57", "screen": "home", "action": "tap", **changes}
        return path_hash(read_run_folder(folder(path=[step]), SETTINGS).path)

    assert hash_of() == hash_of(action="swipe", note="x")
    changed = [hash_of(**{key: value}) for key, value in (("ts_ns", 12), ("state_hash", "b"), ("screen", "list"))]
    assert len({hash_of(), *changed}) == 4


@pytest.mark.parametrize("key", ["device", "strategy", "time_limit_s", "action_interval_s"])
def test_each_part_of_the_configuration_is_missed(folder, key):
    config = {name: value for name, value in document()["config"].items() if name != key}
    assert refusal(folder(config=config)).reason is Reason.KEY_MISSING


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"app": 5}, Reason.WRONG_TYPE),
        ({"app": ["x"]}, Reason.WRONG_TYPE),
        ({"app": "  "}, Reason.KEY_MISSING),
        ({"version_code": "150"}, Reason.WRONG_TYPE),
        ({"version_code": True}, Reason.WRONG_TYPE),
        ({"version_code": -1}, Reason.VALUE_OUT_OF_RANGE),
        ({"version_code": 10**30}, Reason.VALUE_OUT_OF_RANGE),
        ({"config": [1]}, Reason.WRONG_TYPE),
        ({"config": {**document()["config"], "time_limit_s": -1}}, Reason.VALUE_OUT_OF_RANGE),
        ({"config": {**document()["config"], "time_limit_s": "60"}}, Reason.WRONG_TYPE),
        ({"config": {**document()["config"], "time_limit_s": True}}, Reason.WRONG_TYPE),
        ({"config": {**document()["config"], "time_limit_s": 10**400}}, Reason.VALUE_OUT_OF_RANGE),
        ({"config": {**document()["config"], "unit": 5}}, Reason.WRONG_TYPE),
        ({"started_at": "2026-11-20T09:12:00"}, Reason.TIME_WITHOUT_ZONE),
        ({"started_at": "yesterday"}, Reason.WRONG_TYPE),
        ({"exploration": {"start_ns": 20, "end_ns": 10}}, Reason.VALUE_OUT_OF_RANGE),
        ({"exploration": {"start_ns": -5, "end_ns": 10}}, Reason.VALUE_OUT_OF_RANGE),
        ({"exploration": {"start_ns": 1.5, "end_ns": 10}}, Reason.WRONG_TYPE),
        ({"path": {"0": "a"}}, Reason.WRONG_TYPE),
        ({"path": ["a"]}, Reason.WRONG_TYPE),
        ({"path": [{"step": 0}]}, Reason.KEY_MISSING),
        ({"path": [{"step": 1, "state_hash": "a"}, {"step": 1, "state_hash": "b"}]}, Reason.VALUE_OUT_OF_RANGE),
        ({"functional_problems": [{"message": "no kind"}]}, Reason.KEY_MISSING),
        ({"functional_problems": "none"}, Reason.WRONG_TYPE),
        ({"functional_problems": [7] * 100_000}, Reason.WRONG_TYPE),
        ({"path": [{"step": 2**31, "state_hash": "a"}]}, Reason.VALUE_OUT_OF_RANGE),
        ({"started_at": 1763629920}, Reason.WRONG_TYPE),
        ({"started_at": "0001-01-01T00:00:00+23:00"}, Reason.VALUE_OUT_OF_RANGE),
        ({"schema_version": "1"}, Reason.WRONG_TYPE),
        ({"schema_version": 2}, Reason.SCHEMA_VERSION_UNKNOWN),
        ({"run_id": "../evil"}, Reason.RUN_ID_INVALID),
        ({"run_id": "x" * 129}, Reason.RUN_ID_INVALID),
        ({"run_id": ".hidden"}, Reason.RUN_ID_INVALID),
        ({"trace": "../outside.perfetto-trace"}, Reason.TRACE_OUTSIDE_FOLDER),
        ({"trace": "/etc/passwd"}, Reason.TRACE_OUTSIDE_FOLDER),
        ({"trace": "no-such.perfetto-trace"}, Reason.TRACE_FILE_MISSING),
        ({"trace_bytes": -3}, Reason.VALUE_OUT_OF_RANGE),
    ],
)
def test_a_value_that_does_not_hold_is_refused_by_its_reason(folder, changes, reason):
    assert refusal(folder(**changes)).reason is reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"\xff\xfe{}", Reason.RUN_JSON_NOT_UTF8),
        ("{", Reason.RUN_JSON_NOT_JSON),
        ("", Reason.RUN_JSON_NOT_JSON),
        ("[1]", Reason.WRONG_TYPE),
        ("[" * 200_000, Reason.RUN_JSON_NOT_JSON),
        (json.dumps(document()).replace("2.0", "NaN"), Reason.VALUE_OUT_OF_RANGE),
        (json.dumps(document()).replace("2.0", "Infinity"), Reason.VALUE_OUT_OF_RANGE),
        (json.dumps(document()).replace("2.0", "1e999"), Reason.VALUE_OUT_OF_RANGE),
        (json.dumps(document()).replace("com.rig.shop", "\\ud800"), Reason.RUN_JSON_NOT_UTF8),
    ],
)
def test_text_that_is_no_run_json_is_refused(folder, text, reason):
    assert refusal(folder(text)).reason is reason


def test_a_mark_before_the_text_as_windows_programs_write_it_is_no_part_of_it(folder):
    assert read_run_folder(folder(json.dumps(document()).encode("utf-8-sig")), SETTINGS).run_id == "shop-004"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("app", json.dumps(document()).replace('"app":', '"app": "com.first", "app":')),
        ("device", json.dumps(document()).replace('"device":', '"device": "other", "device":')),
        ("note", json.dumps(document(kept=[{"note": 1}])).replace('"note": 1', '"note": 1, "note": 1')),
    ],
)
def test_a_key_that_stands_there_twice_is_refused_by_its_name(folder, key, text):
    """Of which the first were nowhere: not in the run, nor among the keys that are kept."""
    rejected = refusal(folder(text))
    assert rejected.reason is Reason.RUN_JSON_NOT_JSON
    assert f"key '{key}' stands there more than once" in str(rejected)


def test_a_refused_folder_claims_nothing_that_it_says_twice(folder):
    given = json.dumps(document(run_id="b")).replace('"run_id":', '"run_id": "a", "run_id":')
    claims = examine(folder(given), SETTINGS, lambda app, version: f"{app}@{version}").claims
    assert claims["run_id"] not in ("a", "b"), "but what its trace says"
    assert claims["app"] == "com.rig.shop"


def test_a_refused_folder_with_a_mark_before_the_text_says_of_itself_what_it_would_without(folder):
    given = json.dumps(document(run_id="b", version_code=-1)).encode("utf-8-sig")
    assert examine(folder(given), SETTINGS, lambda app, version: f"{app}@{version}").claims["run_id"] == "b"


def test_a_million_steps_are_refused_before_they_cost_anything(folder):
    settings = SETTINGS.with_values(path_max_steps=1000)
    path = folder(path=[{"step": step, "state_hash": "a"} for step in range(1001)])
    assert refusal(path, settings).reason is Reason.PATH_TOO_LONG


def test_an_oversized_run_json_is_not_read(folder):
    settings = SETTINGS.with_values(run_json_max_bytes=1024)
    assert refusal(folder(note="x" * 2000), settings).reason is Reason.RUN_JSON_TOO_LARGE


def test_a_folder_without_run_json_and_one_that_is_not_there(tmp_path):
    assert refusal(tmp_path).reason is Reason.RUN_JSON_MISSING
    assert refusal(tmp_path / "nowhere").reason is Reason.RUN_JSON_MISSING


def test_a_link_out_of_the_folder_is_refused(folder, tmp_path):
    path = folder()
    outside = tmp_path / "outside"
    outside.write_bytes(TRACE)
    (path / "trace.perfetto-trace").unlink()
    os.symlink(outside, path / "trace.perfetto-trace")
    assert refusal(path).reason is Reason.TRACE_OUTSIDE_FOLDER


def test_two_traces_in_a_folder_are_ambiguous(folder):
    path = folder()
    (path / "other.pftrace.gz").write_bytes(TRACE)
    assert refusal(path).reason is Reason.TRACE_FILE_AMBIGUOUS


def test_the_content_hash_follows_content_and_not_the_folders_name(folder, tmp_path):
    first = read_run_folder(folder(), SETTINGS)
    content_hash = first.content_hash
    renamed = first.folder.rename(tmp_path / "renamed")
    assert read_run_folder(renamed, SETTINGS).content_hash == content_hash
    (renamed / "trace.perfetto-trace").write_bytes(TRACE + b"\x0a\x00")
    assert read_run_folder(renamed, SETTINGS).content_hash != content_hash


def test_a_written_folder_reads_back_and_is_never_half_there(tmp_path):
    trace = tmp_path / "source"
    trace.write_bytes(TRACE)
    written = write_run_folder(tmp_path / "out" / "a", document(), {"trace.perfetto-trace": trace})
    assert read_run_folder(written, SETTINGS).run_id == "shop-004"
    with pytest.raises(FileExistsError):
        write_run_folder(written, document(), {})
    with pytest.raises(FileNotFoundError):
        write_run_folder(tmp_path / "out" / "b", document(), {"trace.perfetto-trace": tmp_path / "gone"})
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a"]


@given(name=st.text(min_size=1, max_size=40).filter(lambda text: text.strip() and text < "\ud800"))
def test_any_text_survives_as_app_and_version(tmp_path_factory, name):
    trace = tmp_path_factory.mktemp("t") / "t"
    trace.write_bytes(TRACE)
    written = write_run_folder(
        trace.parent / "run", document(app=name, version_name=name), {"trace.perfetto-trace": trace}
    )
    run = read_run_folder(written, SETTINGS)
    assert (run.app, run.version_name) == (name, name)


def test_a_scenario_is_text_or_nothing(folder):
    assert read_run_folder(folder(scenario="cold-start"), SETTINGS).scenario == "cold-start"
    assert read_run_folder(folder(scenario=""), SETTINGS).scenario is None
    assert read_run_folder(folder(), SETTINGS).scenario is None
    with pytest.raises(Rejected) as refused:
        read_run_folder(folder(scenario=3), SETTINGS)
    assert refused.value.reason is Reason.WRONG_TYPE
