"""Under a real Dagster daemon, without anyone touching anything: run folders become verdicts, builds become runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import urllib.request

import pytest
import standin_apk

from perfreg_assets.bundled import demo_runs_dir

HISTORY = ("notes-000", "notes-001", "notes-003", "notes-010", "notes-019")
LATER = ("notes-026", "notes-020", "notes-021")
VERDICTS = "SELECT run_id, run_verdict, state, reason_code FROM marts.runs ORDER BY run_id"


def arrive(folder, inbox, name=None):
    """As a careful copier does it: under a dotted name first, then renamed."""
    inbox.mkdir(parents=True, exist_ok=True)
    hidden = inbox / f".{name or folder.name}"
    shutil.copytree(folder, hidden)
    hidden.rename(inbox / (name or folder.name))


BACKFILL = """
mutation Backfill($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) { __typename ... on PythonError { message } }
}
"""


def query(running, text, **variables):
    token = (running.settings.dagster_home / "token").read_text()
    request = urllib.request.Request(
        f"http://127.0.0.1:{running.port}/graphql",
        data=json.dumps({"query": text, "variables": variables}).encode(),
        headers={"Content-Type": "application/json", "X-Perfreg-Token": token},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["data"]


SLOWED = """
import time

from perfreg_assets.model import averaging

_average_due = averaging.average_due


def average_due(*arguments, **options):
    time.sleep(6)
    return _average_due(*arguments, **options)


averaging.average_due = average_due
"""


def test_dropping_run_folders_brings_their_verdicts_and_forgets_none_that_arrives_while_another_one_is_computed(
    ui, tmp_path
):
    """Steps load what is there when they begin: a run that arrives then is met by later steps without what earlier ones
    make. A bad one is quarantined, another ω is a backfill. One daemon for all of it: each costs half a minute."""
    (tmp_path / "slowed").mkdir()
    (tmp_path / "slowed" / "sitecustomize.py").write_text(SLOWED)
    running = ui(PYTHONPATH=os.pathsep.join([str(tmp_path / "slowed"), *sys.path]))
    inbox = running.settings.inbox_dir
    for name in HISTORY:
        arrive(demo_runs_dir() / name, inbox)
    running.wait_for(
        "the first version's verdicts",
        VERDICTS,
        lambda rows: len(rows) == len(HISTORY) and all(row["run_verdict"] == "not_enough_history" for row in rows),
    )
    before_new = running.rows("SELECT max(measured_at) AS at FROM marts.distances WHERE version_name = '1.4.0'")
    broken = inbox / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    for name in LATER:
        arrive(demo_runs_dir() / name, inbox)
        running.wait_for(
            f"{name} registered", VERDICTS, lambda rows, name=name: name in {row["run_id"] for row in rows}
        )
    rows = running.wait_for(
        "verdicts of all three of the new version, and the refusal",
        VERDICTS,
        lambda rows: (
            sum(row["run_verdict"] in ("normal", "anomalous", "improved") for row in rows) == len(LATER)
            and any(row["state"] == "quarantined" for row in rows)
        ),
    )
    by_id = {row["run_id"]: row for row in rows}
    assert {by_id[name]["run_verdict"] for name in LATER} <= {"normal", "anomalous", "improved"}
    assert {by_id[name]["state"] for name in (*HISTORY, *LATER)} == {"complete"}
    assert [row["reason_code"] for row in rows if row["state"] == "quarantined"] == ["run_json_not_json"]
    averaged = "SELECT DISTINCT run_id FROM marts.barycenters ORDER BY ALL"
    assert [row["run_id"] for row in running.rows(averaged)] == sorted(LATER)
    running.wait_for("nothing left to do", "SELECT 1 AS one", lambda _: not running.due())

    # The UI serves the same assets, and the old version was not computed again for the new one.
    assets = query(running, "{ assetNodes { assetKey { path } isPartitioned } }")["assetNodes"]
    assert {"runs", "traces", "time_series", "history_sets", "barycenters", "distances", "verdicts", "discords"} <= {
        node["assetKey"]["path"][-1] for node in assets if node["isPartitioned"]
    }
    events = query(
        running,
        '{ assetOrError(assetKey: {path: ["distances"]}) { ... on Asset { assetMaterializations { partition } } } }',
    )["assetOrError"]["assetMaterializations"]
    measured = [event["partition"] for event in events]
    assert set(measured) == {"com.rig.notes@1.4.0", "com.rig.notes@1.5.0"}
    assert running.rows("SELECT max(measured_at) AS at FROM marts.distances WHERE version_name = '1.4.0'") == before_new

    # Another ω for the whole history, as the launch dialog sends it: one run, old verdicts stay.
    before = running.rows("SELECT count(*) AS n FROM marts.verdicts")[0]["n"]
    launched = query(
        running,
        BACKFILL,
        params={
            "assetSelection": [{"path": ["verdicts"]}],
            "partitionNames": ["com.rig.notes@1.4.0", "com.rig.notes@1.5.0"],
            "runConfigData": json.dumps({"ops": {"verdicts": {"config": {"omega": 0.125}}}}),
        },
    )
    assert launched["launchPartitionBackfill"]["__typename"] == "LaunchBackfillSuccess", launched
    running.wait_for(
        "verdicts at ω = 0.125",
        "SELECT count(*) AS n FROM marts.verdicts WHERE omega = 0.125",
        lambda rows: rows[0]["n"] == len([*HISTORY, *LATER]) * 4,
    )
    assert running.rows("SELECT count(*) AS n FROM marts.verdicts")[0]["n"] == before + len([*HISTORY, *LATER]) * 4
    assert running.stop(signal.SIGINT) == 130  # as of every command; who supervises it sends SIGTERM


@pytest.mark.device
def test_new_builds_are_collected_and_judged_without_anyone_touching_anything(ui, standin):
    running = ui(
        PERFREG_DEVICES=standin.serial,
        PERFREG_INTERVAL_S="0.25",
        PERFREG_HISTORY_MINIMUM="3",
        PERFREG_PATH_SIMILARITY_MINIMUM="0",  # five to seven steps, fewer on a busy machine: their paths say nothing
    )
    builds = running.settings.builds_dir
    builds.mkdir(parents=True)
    plan = {"time_limit_s": 3, "action_interval_s": 0.3, "repeats": 3, "min_free_bytes": 0, "file_write_period_ms": 300}
    plan_file = builds / "collection.json"
    plan_file.write_text(json.dumps(plan))

    def arrives(version_name, version_code):
        hidden = builds / f".{version_name}.apk"
        standin_apk.write_apk(
            hidden, package="com.rig.notes", version_name=version_name, version_code=version_code, behaviour={}
        )
        hidden.rename(builds / f"{version_name}.apk")

    arrives("1.5.0", 150)
    running.wait_for(
        "three judged sessions of the first build",
        VERDICTS,
        lambda rows: [row["run_verdict"] for row in rows] == ["not_enough_history"] * 3,
    )
    plan_file.write_text(json.dumps(plan | {"repeats": 1}))
    arrives("1.6.0", 160)
    rows = running.wait_for(
        "a judged session of the second build",
        "SELECT run_id, state, run_verdict, history_size, step_count, load_sources, run_explanation FROM marts.runs "
        "WHERE version_name = '1.6.0'",
        lambda rows: len(rows) == 1 and all(row["run_verdict"] for row in rows),
    )
    assert {row["state"] for row in rows} == {"complete"}
    assert {row["run_verdict"] for row in rows} <= {"normal", "anomalous", "improved"}, rows
    assert {row["history_size"] for row in rows} == {3}
    collected = running.rows("SELECT state, leftover_path, bytes_per_minute FROM marts.collections")
    assert [row["state"] for row in collected] == ["collected"] * 4
    assert all(row["leftover_path"] is None and row["bytes_per_minute"] > 0 for row in collected)
    events = query(
        running,
        '{ assetOrError(assetKey: {path: ["collections"]}) { ... on Asset { assetMaterializations { partition } } } }',
    )["assetOrError"]["assetMaterializations"]
    assert sorted(event["partition"] for event in events) == ["com.rig.notes@1.5.0"] * 3 + ["com.rig.notes@1.6.0"]
    assert running.stop() == 0
