"""Archive mode: traces of normal runs become smaller, and nothing that was computed from them changes."""

from __future__ import annotations

import json
import shutil
import zlib
from datetime import UTC, datetime

import dagster as dg
import pytest
from click.testing import CliRunner

from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.archiving import nightly_reduction
from perfreg_assets.automation.materialise import RANGE_END, RANGE_START
from perfreg_assets.cli import main
from perfreg_assets.collection.run_folder import place_file
from perfreg_assets.how_many import how_many
from perfreg_assets.model import archiving, freshness, handover, retention, trace_places
from perfreg_assets.model.archiving import Due, archive_due
from perfreg_assets.model.inspecting import inspect_due
from perfreg_assets.model.reduction import reduce_once
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.model.trace_places import trace_of
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.gate import TraceHealth
from perfreg_assets.traces.inspection import Inspection
from perfreg_assets.traces.reduced import DOCUMENT, is_reduced_file
from perfreg_assets.warehouse import archive, references, reviews, settings_table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.lock import file_lock
from tests.assets.conftest import Site

VERDICTS = "SELECT run_id, series, state, distance FROM marts.verdicts ORDER BY ALL"
SERIES = "SELECT run_id, series, count(*) AS n, sum(hash(value)) AS h FROM marts.time_series GROUP BY ALL ORDER BY ALL"
NORMAL = "SELECT run_id FROM marts.runs WHERE run_verdict = 'normal' AND functional_problem_count = 0 ORDER BY run_id"
NOW = {"reduction_after_days": 1e-9, "reduction_window_s": 0.1}


@pytest.fixture(scope="module")
def site(recorded, tmp_path_factory):
    """A copy of the recorded project whose setting says that traces are reduced at once."""
    folder = tmp_path_factory.mktemp("archive")
    shutil.copytree(recorded.settings.warehouse.parent, folder, dirs_exist_ok=True)
    own = Site(recorded.settings.with_values(warehouse=folder / recorded.settings.warehouse.name, **NOW))
    with own.warehouse.writing() as writer:
        settings_table.change(writer, "reduction_after_days", "1e-9", "disk")
    return own


@pytest.fixture(scope="module")
def archived(site):
    """What there was before, and what was done."""
    before = {name: site.rows(sql) for name, sql in (("verdicts", VERDICTS), ("series", SERIES), ("normal", NORMAL))}
    for row in before["normal"]:
        place_file(files(site)[row["run_id"]], site.settings.home_dir / f"given-{row['run_id']}")
    return before, archive_due(site.warehouse, site.settings).done


def files(site):
    """run_id → its trace."""
    rows = site.rows("SELECT run_id, trace_file FROM marts.runs WHERE has_trace")
    return {row["run_id"]: site.settings.runs_dir / row["run_id"] / row["trace_file"] for row in rows}


def test_never_is_the_default(recorded):
    assert recorded.settings.reduction_after_days == 0
    assert archive_due(recorded.warehouse, recorded.settings).done == []


def test_a_run_that_somebody_reviewed_keeps_its_trace(recorded, tmp_path):
    shutil.copytree(recorded.settings.warehouse.parent, tmp_path / "copy")
    own = Site(recorded.settings.with_values(warehouse=tmp_path / "copy" / recorded.settings.warehouse.name))
    with own.warehouse.writing() as writer:
        normal = archive.normal_runs(writer, days=0)
        assert normal
        assert archive.normal_runs(writer, days=1) == []
        reviews.add(writer, normal[0], reviews.STATUSES[0])
        assert archive.normal_runs(writer, days=0) == normal[1:]


def test_one_damaged_trace_keeps_no_other_run_whole(recorded, tmp_path, monkeypatch):
    """It was taken for the reference of its app and configuration, and all of these were told to be damaged."""
    shutil.copytree(recorded.settings.warehouse.parent, tmp_path / "copy")
    place = tmp_path / "copy" / recorded.settings.warehouse.name
    own = Site(recorded.settings.with_values(warehouse=place, **NOW))
    with own.warehouse.writing() as writer:
        settings_table.change(writer, "reduction_after_days", "1e-9", "disk")
    complete = own.rows("SELECT run_id FROM marts.runs WHERE state = 'complete' ORDER BY run_id LIMIT 5")
    due = [row["run_id"] for row in complete]
    monkeypatch.setattr(archiving, "due_runs", lambda *_: Due(due, 0))
    damaged = due[0]
    path = files(own)[damaged]
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = {one.run_id: one.reason for one in archive_due(own.warehouse, own.settings).done}
    assert len(done) > 2
    assert done.pop(damaged) is not None
    assert not any("copy the trace again" in (reason or "") for reason in done.values())
    assert None in done.values()


@pytest.mark.parametrize("is_fetched", [True, False])
def test_a_trace_in_the_exchange_is_neither_reduced_nor_said_to_be_missing(recorded, tmp_path, monkeypatch, is_fetched):
    shutil.copytree(recorded.settings.warehouse.parent, tmp_path / "copy")
    place = tmp_path / "copy" / recorded.settings.warehouse.name
    exchange = tmp_path / "exchange"
    own = Site(recorded.settings.with_values(warehouse=place, exchange=str(exchange), **NOW))
    with own.warehouse.reading() as reader:
        kept = run_table.find(reader, archive.normal_runs(reader, days=0), with_path=False)
    assert kept
    for run_id, row in kept.items():
        shutil.copytree(own.settings.runs_dir / run_id, exchange / handover.archive_name(row))
        if not is_fetched:
            shutil.rmtree(own.settings.runs_dir / run_id)
    looks, look = [], trace_places._kept
    monkeypatch.setattr(trace_places, "_kept", lambda *given: looks.append(given) or look(*given))
    told = CliRunner().invoke(main, ["archive", "--days", "1e-9", "--warehouse", str(place), "--format", "json"],
                              env={"PERFREG_EXCHANGE": str(exchange)})  # fmt: skip
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout) == []
    assert f"{how_many(len(kept), 'trace')} in the exchange left whole" in told.stderr
    assert len(looks) == 1  # each costs a store of objects a request per page, or per run
    for path in files(own).values():
        assert not path.exists() or not is_reduced_file(path)


def test_normal_runs_are_reduced_and_all_others_keep_their_traces(site, archived):
    before, done = archived
    assert done
    reduced = {one.run_id for one in done if one.reason is None}
    assert reduced
    assert {one.run_id for one in done} == {row["run_id"] for row in before["normal"]}
    for run_id, path in files(site).items():
        assert is_reduced_file(path) == (run_id in reduced), run_id
    for one in done:
        path = files(site)[one.run_id]
        assert not (path.parent / archiving.MADE_IN).exists()
        if one.reason is None:
            assert path.stat().st_size == one.bytes_after < one.bytes_before
            assert one.bytes_elsewhere == one.bytes_before  # the folder that was given has them still
            assert json.loads((path.parent / DOCUMENT).read_text())["bytes_after"] == one.bytes_after
            with open_trace(path, site.settings.with_values(trace_processor="wasm")) as session:
                assert session.query("SELECT count(*) AS n FROM process", {"n": "int64"})["n"][0] > 0


def test_series_and_verdicts_stay_and_nothing_is_due_or_read_again(site, archived):
    before, done = archived
    assert site.rows(VERDICTS) == before["verdicts"]
    assert site.rows(SERIES) == before["series"]
    reduced = {one.run_id for one in done if one.reason is None}
    with site.warehouse.reading() as reader:
        assert not reduced & {one.run_id for one in freshness.due(reader, site.settings)}
        keys = sorted({key for (key,) in reader.rows("SELECT DISTINCT partition_key FROM core.runs")})
    looked_at = []

    def look(row, _):
        looked_at.append(row.run_id)
        return Inspection(TraceHealth(is_complete=False, reason=Reason.TRACE_FILE_MISSING, detail=""), [], [])

    inspect_due(site.warehouse, site.settings, keys, Stopwatch(), again=True, inspect=look)  # all the others are "gone"
    assert looked_at
    assert not reduced & set(looked_at)
    assert site.rows(SERIES) == before["series"]
    states = site.rows("SELECT run_id, state, trace_sha256, is_trace_reduced FROM marts.runs WHERE is_trace_reduced")
    assert {row["run_id"] for row in states} == reduced
    assert {row["state"] for row in states} == {"complete"}
    assert all(row["trace_sha256"] for row in states)


def test_storage_shows_what_was_saved(site, archived):
    _, done = archived
    rows = {row["run_id"]: row for row in site.rows("SELECT * FROM marts.storage WHERE kind = 'trace'")}
    for one in done:
        if one.reason is None:
            assert rows[one.run_id]["stored_bytes"] == one.bytes_after
            assert rows[one.run_id]["saved_bytes"] == one.bytes_before - one.bytes_after
    assert sum(row["saved_bytes"] > 0 for row in rows.values()) == sum(one.reason is None for one in done)
    windows = site.rows("SELECT count(*) AS n FROM marts.trace_windows WHERE run_id IS NOT NULL")
    assert windows[0]["n"] > 0
    assert site.rows("SELECT count(*) AS n FROM marts.trace_seconds WHERE process_running_s::VARCHAR <> '{}'")[0]["n"]


def test_a_kept_copy_that_is_reduced_by_hand_leaves_what_is_known_of_the_runs_trace(site, archived):
    """Its row took the place of the other one, and storage told the bytes of the whole trace again."""
    _, done = archived
    run_id = next(one.run_id for one in done if one.reason is None)
    stored = "SELECT * FROM marts.storage WHERE kind = 'trace' ORDER BY run_id"
    before = site.rows(stored), site.rows("FROM marts.reductions ORDER BY run_id")
    copy = site.settings.home_dir / f"given-{run_id}"
    (reference,) = {row["reference_name"] for row in before[1] if row["run_id"] == run_id}
    given = ["--reference", reference, "--out", str(site.settings.home_dir / "by-hand"), "--store"]
    given += ["--warehouse", str(site.settings.warehouse)]
    for _ in range(2):
        told = CliRunner().invoke(main, ["reduce", str(copy), *given])
        assert told.exit_code == 0, told.output
    assert f"of run {run_id}, whose own trace was reduced in its place; that is what is stored" in told.stderr
    assert (site.rows(stored), site.rows("FROM marts.reductions ORDER BY run_id")) == before


@pytest.mark.parametrize("is_told", [True, False])
def test_what_was_reduced_and_a_restored_warehouse_does_not_know_is_found(site, archived, is_told):
    stored = "SELECT run_id, stored_bytes, saved_bytes FROM marts.storage WHERE kind = 'trace' ORDER BY run_id"
    windows = "SELECT count(*) AS n, sum(event_count) AS events FROM marts.trace_windows WHERE run_id IS NOT NULL"
    before = site.rows(stored), site.rows(windows)
    reduced = [one.run_id for one in archived[1] if one.reason is None]
    documents = [files(site)[run_id].parent / DOCUMENT for run_id in reduced]
    with site.warehouse.writing() as writer:
        kept = writer.arrow("FROM core.reductions")
        writer.execute("UPDATE core.traces SET reduced_sha256 = NULL")
        writer.execute("DELETE FROM core.reductions")
    for document in documents if not is_told else ():
        document.rename(document.with_suffix(".away"))
    assert archive_due(site.warehouse, site.settings).done == []
    assert ((site.rows(stored), site.rows(windows)) == before) is is_told
    states = site.rows("SELECT run_id FROM marts.runs WHERE is_trace_reduced ORDER BY run_id")
    assert [row["run_id"] for row in states] == sorted(reduced)
    for document in documents if not is_told else ():
        document.with_suffix(".away").rename(document)
    with site.warehouse.writing() as writer:
        writer.execute("DELETE FROM core.reductions")
        writer.execute_with(kept, "INSERT INTO core.reductions BY NAME FROM staged_rows")


def test_a_page_says_what_was_reduced_and_causes_do_not_read_what_is_left(site, archived):
    _, done = archived
    run_id = next(one.run_id for one in done if one.reason is None)
    site.bring_up_to_date()
    assert "only the unusual parts are kept" in site.page(run_id)
    with site.warehouse.reading() as reader:
        row = run_table.find(reader, [run_id])[run_id]
    with pytest.raises(Rejected) as caught, trace_of(row, site.settings):
        pass
    assert caught.value.reason is Reason.TRACE_REDUCED


def test_what_was_done_is_not_done_again_and_what_was_interrupted_is_finished(site, archived):
    _, done = archived
    run_id = next(one.run_id for one in done if one.reason is None)
    path = files(site)[run_id]
    made = path.parent / archiving.MADE_IN
    made.mkdir()
    content = path.read_bytes()
    (made / path.name).write_bytes(content)
    (made / DOCUMENT).write_bytes((path.parent / DOCUMENT).read_bytes())
    path.write_bytes(b"as if it were whole")
    assert archive_due(site.warehouse, site.settings).done == []
    assert path.read_bytes() == content
    assert not made.exists()


def test_what_was_killed_between_document_and_trace_is_finished(site, archived):
    _, done = archived
    path = files(site)[next(one.run_id for one in done if one.reason is None)]
    made = path.parent / archiving.MADE_IN
    made.mkdir()
    content = path.read_bytes()
    (made / path.name).write_bytes(content)
    path.write_bytes(b"as if it were whole")
    assert archive_due(site.warehouse, site.settings).done == []
    assert path.read_bytes() == content
    assert not made.exists()


def test_one_at_a_time_archives(site, archived):
    lock = site.settings.home_dir / archiving.LOCK
    with file_lock(lock, timeout_s=1, what="the archive"), pytest.raises(Rejected) as caught:
        archive_due(site.warehouse, site.settings.with_values(lock_timeout_s=0.05))
    assert caught.value.reason is Reason.WAREHOUSE_LOCKED


def test_what_keep_traces_deletes_while_it_is_reduced_does_not_come_back(recorded, tmp_path, monkeypatch):
    """The reduced trace came into the place of the deleted one, of which the warehouse said that it is gone."""
    shutil.copytree(recorded.settings.warehouse.parent, tmp_path / "copy")
    place = tmp_path / "copy" / recorded.settings.warehouse.name
    own = Site(recorded.settings.with_values(warehouse=place, lock_timeout_s=0.05, **NOW))
    with own.warehouse.reading() as reader:
        (run_id, *_) = archive.normal_runs(reader, days=0)
    path, met = files(own)[run_id], []

    def reduced_meanwhile(*given):
        made = reduce_once(*given)
        try:
            retention.drop_due(own.warehouse, own.settings.with_values(keep_traces="anomalous"))
        except Rejected as error:
            met.append(error.reason)
        return made

    monkeypatch.setattr(archiving, "due_runs", lambda *_: Due([run_id], 0))
    monkeypatch.setattr(retention, "due_runs", lambda *_: [run_id])
    monkeypatch.setattr(archiving, "reduce_once", reduced_meanwhile)
    archive_due(own.warehouse, own.settings)
    (row,) = own.rows(f"SELECT has_trace FROM marts.runs WHERE run_id = '{run_id}'")
    assert path.exists() == row["has_trace"]
    assert met == [Reason.WAREHOUSE_LOCKED]
    retention.drop_due(own.warehouse, own.settings.with_values(keep_traces="anomalous"))
    assert not path.exists()
    archive_due(own.warehouse, own.settings)
    assert not path.exists()


def test_the_command_and_the_schedule_ask_the_setting(site, archived):
    result = CliRunner().invoke(main, ["archive", "--warehouse", str(site.settings.warehouse), "--format", "json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == []
    with dg.build_schedule_context(resources={"project": Project.of(site.settings)}) as context:
        assert isinstance(nightly_reduction(context), dg.SkipReason)
    names = {key.to_user_string() for key in build_defs().resolve_asset_graph().get_all_asset_keys()}
    assert {"trace_windows", "reduced_traces", "marts/reductions"} <= names


def test_the_schedule_starts_one_run_for_many_versions(site, monkeypatch):
    """A run per stretch of versions, of which the job itself looks what is due; none for what Dagster does not know."""
    of_runs = {row["run_id"]: row["partition_key"] for row in site.rows("SELECT run_id, partition_key FROM core.runs")}
    keys = sorted(set(of_runs.values()))
    assert len(keys) >= 2
    monkeypatch.setattr("perfreg_assets.automation.archiving.due_runs", lambda *_: Due(list(of_runs), 0))

    def asked(known):
        with dg.instance_for_test() as instance:
            instance.add_dynamic_partitions(DIMENSION, known)
            resources = {"project": Project.of(site.settings)}
            at = datetime(2026, 1, 2, 4, 7, tzinfo=UTC)
            with dg.build_schedule_context(instance, at, resources=resources) as context:
                requests = nightly_reduction(context)
        return [(one.run_key, one.tags[RANGE_START], one.tags[RANGE_END]) for one in requests]

    assert asked(keys) == [(f"2026-01-02-{keys[0]}", keys[0], keys[-1])]
    assert [one[1:] for one in asked([keys[0], "between|1", keys[1]])] == [(keys[0], keys[0]), (keys[1], keys[1])]
    assert asked([]) == []


def test_a_reference_whose_counts_an_earlier_release_cut_is_made_anew(recorded, tmp_path):
    """It cannot be added again by hand: the archive makes it by itself, under a name of its own."""
    shutil.copytree(recorded.settings.warehouse.parent, tmp_path / "copy")
    place = tmp_path / "copy" / recorded.settings.warehouse.name
    own = Site(recorded.settings.with_values(warehouse=place, **NOW))
    with own.warehouse.writing() as writer:
        settings_table.change(writer, "reduction_after_days", "1e-9", "disk")
        rows = list(run_table.find(writer, archive.normal_runs(writer, days=0), with_path=False).values())
    name = "archive:usual"
    made = archiving._learned(own.warehouse, own.settings, name, rows)
    with own.warehouse.writing() as writer:
        cut = references.find(writer, name).counts.astype("<u2")
        cut[0, 0] = 65_535
        writer.execute(
            "UPDATE core.trace_references SET window_counts = ? WHERE reference_name = ?",
            [zlib.compress(cut.tobytes()), name],
        )
    again = archiving._learned(own.warehouse, own.settings, name, rows)
    assert (again.counts == made.counts).all()
