"""`keep_traces`: what a verdict may have to be explained by stays, the rest goes, and nothing else is touched."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.collection.run_folder import place_file
from perfreg_assets.model import archiving, freshness, retention
from perfreg_assets.model.handover import archive_name
from perfreg_assets.model.retention import drop_due, due_runs
from perfreg_assets.objects import Objects
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import SettingError, Settings
from perfreg_assets.warehouse import retention as table
from perfreg_assets.warehouse import reviews, run_conditions, runs
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parents[1] / "warehouse"))

import sample_warehouse

STORED = "SELECT run_id, series, count(*) AS n, sum(hash(value)) AS h FROM marts.time_series GROUP BY ALL ORDER BY ALL"
RUNS = "SELECT run_id, run_verdict, state, functional_problem_count, has_trace FROM marts.runs ORDER BY run_id"
HISTORY_OF_UNUSUAL = """
SELECT DISTINCT sets.history_run_id FROM marts.history_sets AS sets JOIN marts.runs AS runs USING (run_id)
WHERE runs.run_verdict IS DISTINCT FROM 'normal' OR runs.functional_problem_count IS DISTINCT FROM 0
"""


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    with sample_warehouse.build(folder / "perfreg.duckdb", runs=96, samples=10).writing() as writer:
        writer.execute("UPDATE core.runs SET registered_at = now() - to_hours(1)")
    return folder


@pytest.fixture
def settings(sample, tmp_path, monkeypatch):
    """A copy with a trace for every run, of which nothing is due."""
    shutil.copytree(sample, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(freshness, "due", lambda *_: [])
    made = Settings(warehouse=tmp_path / "perfreg.duckdb", history_size=3, history_minimum=3)
    with Warehouse.of(made).reading() as reader:
        for run_id, file in reader.rows("SELECT run_id, trace_file FROM marts.runs WHERE has_trace"):
            (made.runs_dir / run_id).mkdir(parents=True)
            (made.runs_dir / run_id / file).write_bytes(b"trace")
            (made.runs_dir / run_id / "run.json").write_bytes(b"{}")
    return made


def rows(settings, sql):
    with Warehouse.of(settings).reading() as reader:
        return reader.dicts(sql)


def test_all_traces_are_kept_by_default(settings):
    assert Settings().keep_traces == "all"
    assert drop_due(Warehouse.of(settings), settings) == []


@pytest.mark.parametrize("value", ["none", "-1", "", "1.5 days"])
def test_what_is_no_choice_is_refused(value):
    with pytest.raises(SettingError, match="keep_traces"):
        Settings(keep_traces=value)


def test_only_what_nothing_is_explained_by_is_deleted(settings):
    before, stored = rows(settings, RUNS), rows(settings, STORED)
    needed = {row["history_run_id"] for row in rows(settings, HISTORY_OF_UNUSUAL)}
    warehouse, anomalous = Warehouse.of(settings), settings.with_values(keep_traces="anomalous")
    dropped = {one.run_id for one in drop_due(warehouse, anomalous)}
    assert dropped
    assert not dropped & needed
    by_id = {row["run_id"]: row for row in before}
    for run_id in dropped:
        assert (by_id[run_id]["run_verdict"], by_id[run_id]["functional_problem_count"]) == ("normal", 0)
    for run_id, row in by_id.items():
        files = {path.name for path in (settings.runs_dir / run_id).glob("*")}
        assert files == ({"run.json"} if run_id in dropped else files)
        assert (len(files) == 2) == (row["has_trace"] and run_id not in dropped)
    now = {row["run_id"]: row["has_trace"] for row in rows(settings, RUNS)}
    assert now == {run_id: row["has_trace"] and run_id not in dropped for run_id, row in by_id.items()}
    assert rows(settings, STORED) == stored
    assert drop_due(warehouse, anomalous) == []


def test_the_command_says_who_writes_the_pages_that_lead_to_them(settings):
    def archive(keep):
        environment = {"PERFREG_HISTORY_SIZE": "3", "PERFREG_HISTORY_MINIMUM": "3", "PERFREG_KEEP_TRACES": keep}
        arguments = ["archive", "--warehouse", str(settings.warehouse), "--format", "json"]
        done = CliRunner().invoke(main, arguments, env=environment)
        assert done.exit_code == 0, done.output
        return len(json.loads(done.stdout)), "`perfreg catch-up`" in done.stderr

    assert archive("all") == (0, False)
    count, is_said = archive("anomalous")
    assert count
    assert is_said


def test_what_another_folder_has_is_not_told_as_free(settings):
    """A registered trace is a hard link to the one that was given, which inbox/.taken still has."""
    anomalous = settings.with_values(keep_traces="anomalous")
    with Warehouse.of(settings).reading() as reader:
        linked, *_ = due_runs(reader, anomalous)
    (trace,) = (path for path in (settings.runs_dir / linked).iterdir() if path.name != "run.json")
    taken = settings.inbox_dir / ".taken" / linked / trace.name
    taken.parent.mkdir(parents=True)
    place_file(trace, taken)
    environment = {"PERFREG_HISTORY_SIZE": "3", "PERFREG_HISTORY_MINIMUM": "3", "PERFREG_KEEP_TRACES": "anomalous"}
    done = CliRunner().invoke(main, ["archive", "--warehouse", str(settings.warehouse)], env=environment)
    assert done.exit_code == 0, done.output
    assert "5 bytes of these stay on the disk: another folder has the same files, inbox/.taken" in done.stderr
    assert taken.read_bytes() == b"trace"


def test_recent_and_reviewed_ones_are_kept(settings):
    with Warehouse.of(settings).writing() as writer:
        found = table.not_needed(writer, days=0, latest=3)
        assert set(table.not_needed(writer, days=0, latest=30)) < set(found)
        assert table.not_needed(writer, days=100_000, latest=3) == []
        reviews.add(writer, found[0], reviews.STATUSES[0])
        assert found[0] not in table.not_needed(writer, days=0, latest=3)


def test_days_are_days_since_it_was_registered(settings):
    with Warehouse.of(settings).writing() as writer:
        found = set(due_runs(writer, settings.with_values(keep_traces="anomalous")))
        recent = min(found)
        writer.execute("UPDATE core.runs SET registered_at = now() - to_days(10)")
        writer.execute("UPDATE core.runs SET registered_at = now() - to_days(2) WHERE run_id = ?", [recent])
        assert set(due_runs(writer, settings.with_values(keep_traces="5"))) == found - {recent}
        assert due_runs(writer, settings.with_values(keep_traces="11")) == []


LATEST = "SELECT run_id FROM core.runs WHERE app = $app AND NOT is_quarantined ORDER BY started_at DESC, run_id DESC"


def latest_kept(writer, some):
    """The three of an app that are kept as the latest, in order, and that it would delete else."""
    app = writer.value("SELECT app FROM core.runs WHERE run_id = ?", [some])
    found, kept = (set(table.not_needed(writer, days=0, latest=count)) for count in (0, 3))
    return app, [run_id for (run_id,) in writer.rows(LATEST, {"app": app}) if run_id in found - kept]


def test_runs_of_a_clock_that_was_ahead_take_no_places_of_the_latest_ones(settings):
    """They are in no history of a run of now: what the next one will be explained by was deleted."""
    with Warehouse.of(settings).writing() as writer:
        app, latest = latest_kept(writer, table.not_needed(writer, days=0, latest=3)[0])
        assert latest
        oldest = [run_id for (run_id,) in writer.rows(LATEST, {"app": app})][-3:]
        writer.execute(
            "UPDATE core.runs SET started_at = now() + to_years(10) WHERE run_id IN (SELECT unnest(?::VARCHAR[]))",
            [oldest],
        )
        assert latest_kept(writer, latest[0])[1][-len(latest) :] == latest


def test_the_latest_are_those_of_each_scenario(settings):
    """The history of a run is of its scenario: one that is seldom run had none with a trace left."""
    with Warehouse.of(settings).writing() as writer:
        seldom, *_ = table.not_needed(writer, days=0, latest=3)
        writer.execute("UPDATE core.runs SET scenario = 'cold start' WHERE run_id = ?", [seldom])
        assert seldom not in table.not_needed(writer, days=0, latest=3)


def test_what_is_due_is_read_first(settings, monkeypatch):
    with Warehouse.of(settings).reading() as reader:
        found = due_runs(reader, settings.with_values(keep_traces="anomalous"))
        waiting = freshness.Due(found[0], "", freshness.Stage.TRACE, "")
        monkeypatch.setattr(retention.freshness, "due", lambda *_: [waiting])
        assert due_runs(reader, settings.with_values(keep_traces="anomalous")) == found[1:]


def test_what_a_killed_one_deleted_is_noted_by_the_next(settings):
    anomalous = settings.with_values(keep_traces="anomalous")
    with Warehouse.of(settings).reading() as reader:
        found = due_runs(reader, anomalous)
    for path in (settings.runs_dir / found[0]).glob("*"):
        path.unlink()
    dropped = {one.run_id: one.bytes_before for one in drop_due(Warehouse.of(settings), anomalous)}
    assert dropped[found[0]] is None
    assert not [row for row in rows(settings, RUNS) if row["run_id"] == found[0] and row["has_trace"]]


def test_what_a_killed_archive_had_made_of_it_does_not_come_back_in_its_place(settings):
    anomalous = settings.with_values(keep_traces="anomalous")
    with Warehouse.of(settings).writing() as writer:
        run_id = due_runs(writer, anomalous)[0]
        trace = settings.runs_dir / run_id / runs.find(writer, [run_id])[run_id].trace_file
        writer.execute(f"UPDATE core.traces SET reduced_sha256 = 'f' WHERE {run_conditions.of(writer, [run_id])}")
    made = trace.parent / archiving.MADE_IN
    made.mkdir()
    (made / trace.name).write_bytes(b"reduced")
    assert run_id in {one.run_id for one in drop_due(Warehouse.of(settings), anomalous)}
    archiving.archive_due(Warehouse.of(settings), anomalous)
    assert not trace.exists()
    assert not made.exists()


@pytest.mark.parametrize("is_here_too", [False, True])
def test_a_trace_that_lies_in_the_exchange_is_deleted_there_and_nothing_beside_it(settings, tmp_path, is_here_too):
    settings = settings.with_values(exchange=str(tmp_path / "exchange"), keep_traces="anomalous")
    objects, warehouse = Objects(settings.exchange), Warehouse.of(settings)
    with warehouse.reading() as reader:
        traces = {row.run_id: row for row in runs.load(reader, runs.RUNS, "trace_file IS NOT NULL")}
    for row in traces.values():
        for name in (row.trace_file, "run.json"):
            objects.write(f"{archive_name(row)}/{name}", b"trace" if name == row.trace_file else b"{}")
    if not is_here_too:
        shutil.rmtree(settings.runs_dir)
    dropped = drop_due(warehouse, settings)
    assert dropped
    assert {one.bytes_before for one in dropped} == {10 if is_here_too else 5}
    gone = {one.run_id for one in dropped}
    for run_id, row in traces.items():
        there = {one.name.rsplit("/", 1)[1] for one in objects.listing(archive_name(row))}
        assert there == ({"run.json"} if run_id in gone else {"run.json", row.trace_file})
    assert drop_due(warehouse, settings) == []


def test_an_exchange_that_does_not_answer_deletes_nothing(settings, tmp_path, monkeypatch):
    settings = settings.with_values(exchange=str(tmp_path / "exchange"), keep_traces="anomalous")

    def unavailable(*_):
        raise Rejected(Reason.EXCHANGE_UNAVAILABLE, "nobody answers")

    monkeypatch.setattr(Objects, "delete", unavailable)
    before = rows(settings, RUNS)
    with pytest.raises(Rejected):
        drop_due(Warehouse.of(settings), settings)
    assert rows(settings, RUNS) == before
    assert all(list((settings.runs_dir / row["run_id"]).glob("*trace*")) for row in before if row["has_trace"])
