"""Whatever arrives, changes, fails or is killed, in whatever order: what is due is found by its inputs and done."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import RUNS, Disturbed, row

from perfreg_assets.assets.outstanding import STEPS, Outstanding
from perfreg_assets.automation.asking import LONGEST_PAUSE_S, earlier, tags
from perfreg_assets.automation.upkeep import digest_of, due_requests
from perfreg_assets.model import freshness, settled
from perfreg_assets.model.freshness import Stage
from perfreg_assets.reasons import Reason
from perfreg_assets.traces.gate import TraceHealth
from perfreg_assets.traces.inspection import Inspection
from perfreg_assets.traces.thread_times import NoThreadTimes
from perfreg_assets.warehouse import states
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.lock import file_lock

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


# ---- what is due ---------------------------------------------------------------------------------
def test_nothing_is_due_when_all_is_done_and_each_cause_is_named(make):
    project = make("one")
    project.arrive(*RUNS)
    assert {one.stage for one in project.due()} == {Stage.TRACE}
    project.settle()
    assert project.due() == []
    states = {one["run_id"]: one["run_verdict"] for one in project.rows("SELECT run_id, run_verdict FROM marts.runs")}
    assert states["made-008"] == states["made-010"] == "anomalous"
    assert states["made-002"] == "not_enough_history"
    assert project.rows("SELECT count(*) AS n FROM marts.discords")[0]["n"] > 0


def test_a_step_with_nothing_to_do_opens_no_transaction(make_settled):
    """Most runs have no windows: each transaction is an opening of the database, and a publication afterwards."""
    project = make_settled()

    def refuse():
        raise AssertionError("a transaction was begun")

    steps = project.steps(Disturbed(project.settings.warehouse, refuse))
    keys = sorted({one.partition_key for one in RUNS})
    for name in ("time_series", "history_sets", "barycenters", "distances", "discords", "causes"):
        steps[name](keys)
    with pytest.raises(AssertionError, match="was begun"):
        steps["verdicts"](keys)  # gives them anew whenever it is asked


def test_an_older_run_that_arrives_late_makes_the_later_ones_due_and_no_earlier_one(make):
    project = make("late")
    project.arrive(*(run for run in RUNS if run.run_id != "made-004"))
    project.settle()
    project.arrive(RUNS[4])
    project.steps()["time_series"]([RUNS[4].partition_key])
    due = {one.run_id for one in project.due()}
    assert due == {"made-004", *(run.run_id for run in RUNS[5:])}
    project.settle()
    members = project.rows("SELECT history_run_id FROM marts.history_sets WHERE run_id = 'made-006'")
    assert {"made-004"} <= {one["history_run_id"] for one in members}


def test_a_changed_detector_localises_what_it_finds_and_forgets_what_it_does_not(make_settled):
    project = make_settled()
    project.change("omega", "0")
    project.change("detector", "iqr")
    assert {one.stage for one in project.due()} == {Stage.DISCORD}
    project.settle()
    alarms = project.rows(
        "SELECT run_id, series FROM marts.verdicts WHERE is_current AND is_anomalous AND series <> '*' ORDER BY ALL"
    )
    with_profile = project.rows("SELECT run_id, series FROM marts.profiles ORDER BY ALL")
    assert alarms == with_profile
    assert len(alarms) > 2


def test_a_review_takes_a_run_out_of_the_histories_that_had_it(make_settled):
    project = make_settled()
    project.review("made-005", "confirmed")
    assert {one.run_id for one in project.due()} == {run.run_id for run in RUNS[6:]}
    project.settle()
    assert project.rows("SELECT * FROM marts.history_sets WHERE history_run_id = 'made-005'") == []


@pytest.mark.parametrize("status", ["confirmed", "accepted"])
def test_a_withdrawn_review_is_none(make_settled, status):
    project = make_settled()
    before = project.snapshot()
    project.review("made-005", status)
    project.settle()
    assert project.snapshot() != before
    project.withdraw("made-005")
    assert {one.run_id for one in project.due()} == {run.run_id for run in RUNS[6:]}
    project.settle()
    assert project.snapshot() == before


def test_a_review_that_is_withdrawn_at_once_leaves_nothing_to_do(make_settled):
    project = make_settled()
    project.review("made-005", "confirmed")
    project.withdraw("made-005")
    assert project.due() == []


def test_a_series_that_is_judged_no_more_has_no_current_verdict(make_settled):
    project = make_settled()
    project.settings = project.settings.with_values(judged_series=("cpu_app", "rss_app"))
    assert {one.stage for one in project.due()} <= {Stage.BARYCENTER, Stage.DISTANCE}
    project.settle()
    current = project.rows("SELECT DISTINCT series FROM marts.verdicts WHERE is_current ORDER BY ALL")
    assert [one["series"] for one in current] == ["*", "cpu_app", "rss_app"]


def test_a_setting_of_a_detector_is_what_its_measurements_are_made_by(make, make_settled):
    """As in a warehouse that had it from the beginning: what was measured before is of another rule."""
    measured = (
        "SELECT run_id, series, distance, is_recheck_passed FROM marts.distances "
        "WHERE is_latest AND detector = 'iqr' AND series = 'rss_app' AND state = 'scored' ORDER BY ALL"
    )
    changed, fresh = make_settled(), make("fresh", recheck="lof")
    fresh.arrive(*RUNS)
    fresh.settle()
    by_dbscan = changed.rows(measured)
    changed.change("recheck", "lof")
    changed.settle()
    assert changed.rows(measured) == fresh.rows(measured)
    assert changed.rows(measured) != by_dbscan
    changed.change("recheck", "dbscan")
    changed.settle()
    assert changed.rows(measured) == by_dbscan


def test_what_was_read_of_a_trace_stays_when_the_file_is_gone(make_settled):
    project = make_settled()
    before = project.rows("SELECT run_id, series, state, distance FROM marts.verdicts WHERE is_current ORDER BY ALL")
    read = project.inspect
    for run_id in ("made-002", "made-008", "made-012"):  # what is seen to be missing there is gone
        (project.settings.runs_dir / run_id).mkdir(parents=True)

    def inspect(run, settings):
        if run.run_id in ("made-002", "made-008"):
            lost = TraceHealth(is_complete=False, reason=Reason.TRACE_FILE_MISSING, detail="trace")
            return Inspection(lost, [], [])
        return read(run, settings)

    project.inspect = inspect
    project.settings = project.settings.with_values(duration_tolerance_ratio=0.2)  # everything is to be read again
    assert {one.stage for one in project.due()} == {Stage.TRACE}
    project.settle()
    after = project.rows("SELECT run_id, series, state, distance FROM marts.verdicts WHERE is_current ORDER BY ALL")
    assert after == before
    found = project.rows("SELECT run_id FROM marts.data_quality WHERE reason_code = 'trace_file_missing' ORDER BY 1")
    assert [one["run_id"] for one in found] == ["made-002", "made-008"]
    project.arrive(row(12, version="2"))  # its file was never there
    project.inspect = lambda run, settings: Inspection(
        TraceHealth(is_complete=False, reason=Reason.TRACE_FILE_MISSING, detail="trace"), [], []
    )
    project.settle()
    (new,) = project.rows("SELECT state, reason_code FROM marts.runs WHERE run_id = 'made-012'")
    assert new == {"state": "incomplete_trace", "reason_code": "trace_file_missing"}


def test_what_was_read_of_a_trace_stays_when_the_file_was_reduced_since(make_settled):
    """As after an archive, when a warehouse of before is restored: it does not know of the reduction."""
    project = make_settled()
    verdicts = "SELECT run_id, series, state, distance FROM marts.verdicts WHERE is_current ORDER BY ALL"
    before, read = project.rows(verdicts), project.inspect
    reduced = TraceHealth(is_complete=False, reason=Reason.TRACE_REDUCED, detail="trace", sha256="of the rest")

    def inspect(run, settings):
        return Inspection(reduced, [], []) if run.run_id in ("made-002", "made-008") else read(run, settings)

    project.inspect = inspect
    project.settings = project.settings.with_values(duration_tolerance_ratio=0.2)  # everything is to be read again
    project.settle()
    assert project.rows(verdicts) == before
    assert project.due() == []
    found = project.rows("SELECT run_id FROM marts.runs WHERE is_trace_reduced AND has_trace ORDER BY run_id")
    assert [one["run_id"] for one in found] == ["made-002", "made-008"]
    project.arrive(row(12, version="2"))  # its trace came as a reduced one
    project.inspect = lambda run, settings: Inspection(reduced, [], [])
    project.settle()
    (new,) = project.rows("SELECT state, reason_code FROM marts.runs WHERE run_id = 'made-012'")
    assert new == {"state": "reduced", "reason_code": "trace_reduced"}


def test_a_run_of_a_release_without_thread_times_is_read_again_and_its_verdict_holds(make_settled):
    project = make_settled()
    verdicts = "SELECT run_id, series, state, distance, evaluated_at FROM marts.verdicts WHERE is_current ORDER BY ALL"
    before = project.rows(verdicts)
    with project.warehouse.writing() as writer:
        writer.execute("DELETE FROM core.thread_times WHERE run_id IN ('made-008', 'made-009')")
        trace_table.note_gone(writer, ["made-009"], is_gone=True)
    (due,) = project.due()
    assert (due.run_id, due.stage) == ("made-008", Stage.TRACE)
    assert "thread times" in due.why
    states = "SELECT run_id, reason_code FROM marts.thread_time_states WHERE NOT has_thread_times ORDER BY ALL"
    assert [tuple(one.values()) for one in project.rows(states)] == [
        ("made-008", "not_checked"),
        ("made-009", "trace_file_missing"),
    ]
    project.steps()["time_series"]([RUNS[8].partition_key])
    assert project.due() == []
    assert project.rows(verdicts) == before
    assert [one["run_id"] for one in project.rows(states)] == ["made-009"]
    with project.warehouse.writing() as writer:  # its folder was given again
        trace_table.note_gone(writer, ["made-009"], is_gone=False)
    assert {one.run_id for one in project.due()} == {"made-009"}
    project.settle()
    assert project.rows(verdicts) == before
    assert project.rows(states) == []


def test_thread_times_that_a_trace_does_not_tell_are_not_asked_for_again(make):
    project = make("silent")
    read = project.inspect
    why = NoThreadTimes("series_missing", "the trace has no scheduling events")
    project.inspect = lambda run, settings: read(run, settings)._replace(threads=why)
    project.arrive(*RUNS[:4])
    project.settle()
    assert project.due() == []
    found = project.rows("SELECT DISTINCT has_thread_times, reason_code, reason FROM marts.thread_time_states")
    assert [tuple(one.values()) for one in found] == [(False, why.reason_code, why.reason)]
    assert project.rows("SELECT * FROM marts.thread_times") == []


# ---- what is remembered --------------------------------------------------------------------------
def decided_about(project, monkeypatch):
    """The versions that a look decides about anew."""
    asked = []
    decide = freshness.due

    def due(reader, settings, keys=None, **options):
        asked.extend(sorted({run.partition_key for run in states.registered(reader, keys)}))
        return decide(reader, settings, keys, **options)

    with monkeypatch.context() as patched, project.warehouse.reading() as reader:
        patched.setattr(freshness, "due", due)
        freshness.due_now(reader, project.settings)
    return asked


def test_only_versions_in_which_something_changed_are_decided_about(make_settled, monkeypatch):
    project = make_settled()
    assert decided_about(project, monkeypatch) == []
    new = row(12, version="3")
    project.arrive(new)
    assert decided_about(project, monkeypatch) == [new.partition_key]
    project.settle()
    assert decided_about(project, monkeypatch) == []
    project.settings = project.settings.with_values(history_size=3)
    assert len(decided_about(project, monkeypatch)) == 3


def test_a_memory_that_is_damaged_or_cannot_be_written_costs_time_only(make, monkeypatch, caplog):
    project = make("damaged")
    project.arrive(*RUNS[:6])
    project.settle()
    for name in (settled.FILE, settled.LOOK):
        memory = project.settings.home_dir / name
        whole = memory.read_bytes()
        for content in (b"", whole[:20], whole[:-3], whole[:-50], b"x" * len(whole), b"{}"):
            memory.write_bytes(content)
            assert project.due() == []
            assert decided_about(project, monkeypatch) == []
    memory = project.settings.home_dir / settled.FILE
    memory.unlink()
    memory.mkdir()
    assert project.due() == []
    assert "decided anew" in caplog.text


def test_a_memory_that_another_look_holds_is_read_and_not_written(make, monkeypatch, caplog):
    project = make("held")
    project.arrive(*RUNS[:6])
    project.settle()
    project.arrive(RUNS[6])
    monkeypatch.setattr(settled, "LOCK_TIMEOUT_S", 0.05)
    before = (project.settings.home_dir / settled.FILE).read_bytes()
    with file_lock(project.settings.home_dir / f"{settled.FILE}.lock", timeout_s=5, what="the memory"):
        assert [one.run_id for one in project.due()] == [RUNS[6].run_id]
    assert "not remembered" in caplog.text
    assert (project.settings.home_dir / settled.FILE).read_bytes() == before


def test_the_memory_grows_with_the_runs_not_with_the_looks(make, monkeypatch):
    monkeypatch.setattr(settled, "_SPARE_RECORDS", 2)
    project = make("growing")
    project.arrive(*RUNS[:4])
    project.settle()
    memory = project.settings.home_dir / settled.FILE
    for number in range(6):
        with project.warehouse.writing() as writer:
            writer.execute("UPDATE core.runs SET device_unit = ?", [str(number)])
        project.due()
    assert memory.stat().st_size <= 32 + 14 * settled._RECORD.itemsize


def test_a_run_that_is_gone_or_was_moved_makes_later_ones_of_its_app_due(make_settled, monkeypatch):
    project = make_settled()
    with project.warehouse.writing() as writer:
        writer.execute("UPDATE core.runs SET is_excluded = true WHERE run_id = 'made-000'")
    assert {one.run_id for one in project.due()} == {run.run_id for run in RUNS[1:]}
    project.settle()
    with project.warehouse.writing() as writer:
        writer.execute("UPDATE core.runs SET app = 'another', partition_key = 'another@1' WHERE run_id = 'made-001'")
    assert {run.run_id for run in RUNS[2:]} <= {one.run_id for one in project.due()}
    project.settle()
    project.warehouse.published.unlink()  # over more runs fewer are not published
    with project.warehouse.writing() as writer:
        writer.execute("DELETE FROM core.runs WHERE run_id = 'made-002'")
    assert {run.run_id for run in RUNS[3:]} == {one.run_id for one in project.due()}


# ---- asked for again -----------------------------------------------------------------------------
def test_what_failed_is_asked_for_again_after_growing_pauses_and_never_while_it_is_under_way(make):
    project = make("asked")
    project.arrive(RUNS[0])
    due = Outstanding(tuple(project.due()), {})
    key = RUNS[0].partition_key
    assert due_requests(due, {}, busy=set(), now=0.0) == ([key], None)
    runs = [(tags([digest_of(due, key)]), 0.0)]
    assert due_requests(due, earlier(runs), busy={key}, now=1e6) == ([], None)
    asked, now = [], 0.0
    while now < 4000:
        now += 1
        wanted, again_at = due_requests(due, earlier(runs), busy=set(), now=now)
        assert wanted == [key] or again_at > now
        if wanted:
            asked.append(now)
            runs.append((tags([digest_of(due, key)]), now))
    pauses = [later - earlier for earlier, later in zip([0.0, *asked], asked, strict=False)]
    assert pauses == sorted(pauses)
    assert max(pauses) <= LONGEST_PAUSE_S + 1
    assert due.assets == tuple(name for names in STEPS.values() for name in names)
