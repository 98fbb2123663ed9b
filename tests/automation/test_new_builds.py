"""What the sensor for new builds asks for: one session per build, device and repeat, each once."""

from __future__ import annotations

import json

import dagster as dg
import pytest
import standin_apk

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.collecting import (
    CollectConfig,
    collect_jobs,
    job_name,
    named_devices,
    pool_name,
    session_run_config,
)
from perfreg_assets.automation.new_builds import new_builds_sensor, read_plan, requests_for
from perfreg_assets.collection.builds import Build
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import SettingError, Settings

BUILD = Build("/builds/shop.apk", "com.rig.shop", "1.5.0", 150, "aa" * 32)


def keys(requests):
    return [key for key, _, _ in requests]


def test_each_repeat_on_each_device_is_a_request_of_its_own_to_that_devices_job():
    requests = requests_for([BUILD], {"repeats": 2, "time_limit_s": 60}, ["R5CT30", "10.0.0.7:5555"])
    assert len(set(keys(requests))) == 4
    assert [job for _, job, _ in requests] == [job_name("R5CT30")] * 2 + [job_name("10.0.0.7:5555")] * 2
    assert [config["repeat"] for _, _, config in requests] == [0, 1, 0, 1]
    assert {config["time_limit_s"] for _, _, config in requests} == {60}
    assert pool_name("R5CT30") != pool_name("10.0.0.7:5555")


def test_without_a_named_device_there_are_three_repeats_on_the_only_one():
    assert [job for _, job, _ in requests_for([BUILD], {}, [])] == ["collect"] * 3


def test_the_same_build_under_another_name_is_no_new_request():
    renamed = Build("/builds/copy.apk", BUILD.app, BUILD.version_name, BUILD.version_code, BUILD.content_hash)
    assert keys(requests_for([renamed], {}, [])) == keys(requests_for([BUILD], {}, []))


def test_more_repeats_add_sessions_and_another_attempt_or_configuration_begins_anew():
    before = keys(requests_for([BUILD], {"repeats": 2}, []))
    assert keys(requests_for([BUILD], {"repeats": 3}, []))[:2] == before
    for plan in ({"attempt": 1}, {"time_limit_s": 61}, {"max_battery_celsius": 35}):
        assert not set(before) & set(keys(requests_for([BUILD], {"repeats": 2, **plan}, [])))


def test_further_fields_of_the_plan_become_options_and_unknown_ones_are_refused():
    ((_, _, config),) = requests_for([BUILD], {"repeats": 1, "buffer_kb": 4096, "seeds": [7]}, [])
    collection = CollectConfig(**config).to_collection("R5CT30")
    assert (collection.buffer_kb, collection.seeds, collection.serial) == (4096, (7,), "R5CT30")
    with pytest.raises(Rejected, match="colour") as caught:
        CollectConfig(app="com.rig.shop", options={"colour": "red"}).to_collection(None)
    assert caught.value.reason is Reason.COLLECTION_CONFIG_INVALID


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_plan_that_cannot_be_read_is_named(tmp_path, text):
    (tmp_path / "collection.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(Rejected, match=r"collection\.json"):
        read_plan(tmp_path)
    assert read_plan(tmp_path / "nowhere") == {}


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"app": "com.rig.shop"}, "app: the APK says"),
        ({"serial": "R5CT30", "version_name": "1"}, "serial, version_name: the APK says"),
        ({"options": {}}, "options: "),
        *(({"repeats": value}, "repeats = ") for value in (None, "x", "2", -1, 0, 2.9, True)),
        ({"time_limit": 600}, "options time_limit are not known"),
        ({"time_limit_s": "600"}, "time_limit_s = '600': expected a number"),
        ({"time_limit_s": 0}, "time_limit_s = 0"),
        ({"attempt": "2"}, "attempt = '2': expected a whole number"),
        ({"attempt": -1}, "attempt = -1"),
        ({"seeds": 5}, "seeds = 5"),
        ({"explorer": "robot"}, "explorer = 'robot'"),
        ({"explorer": "command", "explorer_command": "a b"}, "explorer_command = 'a b'"),
        ({"explorer_options": {"stat": "text"}}, "explorer monkey has options"),
        ({"explorer_options": {"arguments": "--pct-touch '70"}}, "monkey's option arguments = "),
        ({"explorer": "droidbot", "explorer_options": {"state": "texts"}}, "droidbot's option state is"),
        (
            {"explorer": "command", "explorer_command": ["a"], "explorer_options": {"state": "text"}},
            "explorer command has",
        ),
        ({"data_sources": ["everything"]}, "everything"),
    ],
)
def test_a_plan_by_which_no_session_could_be_made_is_refused_before_a_run_is_asked_for(tmp_path, plan, told):
    (tmp_path / "collection.json").write_text(json.dumps(plan))
    with pytest.raises(Rejected) as caught:
        read_plan(tmp_path)
    assert f"collection.json: {told}" in caught.value.detail or plan.keys() == {"data_sources"}
    assert told in caught.value.detail


@pytest.mark.parametrize(
    "plan",
    [{"time_limit_s": 600, "explorer": "monkey", "repeats": 6}, {"attempt": 1, "seeds": [1, 2], "strategy": None}],
)
def test_a_plan_of_which_sessions_can_be_made_is_taken(tmp_path, plan):
    (tmp_path / "collection.json").write_text(json.dumps(plan))
    assert read_plan(tmp_path) == plan


@pytest.mark.parametrize("devices", ["R5CT30", "R5CT30,10.0.0.7:5555", "R5CT30,R5CT30"])
def test_a_project_of_any_number_of_devices_loads_and_the_run_config_is_of_the_same_form(monkeypatch, devices):
    monkeypatch.setenv("PERFREG_DEVICES", devices)
    repository = build_defs().get_repository_def()
    repository.load_all_definitions()
    requests = requests_for([BUILD], {"repeats": 1}, named_devices(devices.split(",")))
    assert len(requests) == len(set(devices.split(",")))
    for _, name, config in requests:
        job = repository.get_job(name)
        assert dg.validate_run_config(job, session_run_config(config))
        assert {node.definition.pool for node in job.nodes} == {name.replace("collect", "device", 1)}


@pytest.mark.parametrize(
    ("plan", "longest_s"),
    [({}, 8_400), ({"time_limit_s": 10_800}, 18_600), ({"busy_wait_s": 86_400.0, "absent_wait_s": 0.0}, 90_600)],
)
def test_a_session_that_takes_longer_than_other_runs_may_is_not_ended_by_dagster(tmp_path, plan, longest_s):
    """One of two hours was cancelled before its end, by the bound of dagster.yaml, and not asked for again."""
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb", inbox_settle_s=0.0)
    settings.builds_dir.mkdir(parents=True)
    standin_apk.write_apk(settings.builds_dir / "shop.apk", package="com.rig.shop", version_name="1.5.0")
    (settings.builds_dir / "collection.json").write_text(json.dumps({"repeats": 1, **plan}))
    sensor = new_builds_sensor(collect_jobs([]), [])
    with dg.DagsterInstance.ephemeral() as instance:
        resources = {"project": Project.of(settings)}
        found = sensor(dg.build_sensor_context(instance=instance, sensor_name=sensor.name, resources=resources))
        again = dg.build_sensor_context(
            instance=instance, sensor_name=sensor.name, resources=resources, cursor=found.cursor
        )
        (request,) = found.run_requests or sensor(again).run_requests
    assert request.tags["dagster/max_runtime"] == str(longest_s)


def test_two_devices_whose_jobs_would_have_one_name_are_refused_in_a_sentence():
    with pytest.raises(SettingError, match=r"10\.0\.0\.1:5 and 10_0_0_1_5"):
        named_devices(["10.0.0.1:5", "10_0_0_1_5"])
