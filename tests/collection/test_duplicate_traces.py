"""A trace is one run, whatever it is called and however it is packed."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.collection import registry
from perfreg_assets.partitions import to_key
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import runs, unread_traces
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.rows import insert, to_arrow
from tests.another_trace import another_trace


@pytest.fixture
def given(tmp_path):
    def make(run_id: str, **changes) -> Path:
        folder = tmp_path / "given" / run_id
        shutil.copytree(demo_runs_dir() / "notes-020", folder)
        document = json.loads((folder / "run.json").read_text())
        for name in ("trace_bytes", "trace_sha256"):
            del document[name]
        (folder / "run.json").write_text(json.dumps({**document, "run_id": run_id, **changes}))
        return folder

    return make


@pytest.fixture
def register(tmp_path):
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb")
    warehouse = Warehouse.of(settings)

    def take(*folders: Path) -> list[tuple[str, Reason | None]]:
        outcomes = registry.register(folders, settings, warehouse, to_key)
        take.sentences = [str(one.rejected) for one in outcomes]
        return [(one.folder.name, one.rejected and one.rejected.reason) for one in outcomes]

    take.warehouse = warehouse
    return take


def repack(folder: Path, level: int | None) -> None:
    """Packs the trace anew, or not at all."""
    (trace,) = folder.glob("*.gz")
    content = gzip.decompress(trace.read_bytes())
    trace.write_bytes(content if level is None else gzip.compress(content, level, mtime=1))


def test_the_same_trace_under_fifteen_ids_is_one_run(given, register):
    folders = [given(f"run-{number:02d}", version_name=f"1.{number}") for number in range(15)]
    repack(folders[3], 1)
    repack(folders[4], None)
    found = register(*folders)
    assert found == [("run-00", None), *((folder.name, Reason.DUPLICATE_TRACE) for folder in folders[1:])]
    assert all("its trace is that of run run-00" in sentence for sentence in register.sentences[1:])
    with register.warehouse.reading() as reader:
        assert reader.value("SELECT count(*) FROM core.runs WHERE NOT is_quarantined") == 1


def test_it_is_known_from_earlier_and_the_first_may_come_again(given, register):
    first, second = given("first"), given("second")
    assert register(first) == [("first", None)]
    assert register(second, first) == [("second", Reason.DUPLICATE_TRACE), ("first", None)]


def test_runs_of_an_earlier_release_are_known_by_their_file(given, register):
    assert register(given("first")) == [("first", None)]
    with register.warehouse.writing() as writer:
        writer.execute("UPDATE core.runs SET trace_content_sha256 = NULL")
    assert register(given("second")) == [("second", Reason.DUPLICATE_TRACE)]


def test_another_trace_of_the_same_session_is_another_run(given, register):
    first, second = given("first"), given("second")
    (trace,) = second.glob("*.gz")
    another_trace(trace, second / "new", "second")
    (second / "new").rename(trace)
    assert register(first, second) == [("first", None), ("second", None)]


def test_a_duplicate_whose_trace_is_replaced_becomes_a_run(given, register):
    second = given("second")
    assert register(given("first"), second)[1] == ("second", Reason.DUPLICATE_TRACE)
    (trace,) = second.glob("*.gz")
    another_trace(trace, second / "new", "second")
    (second / "new").rename(trace)
    assert register(second) == [("second", None)]


def test_what_an_engine_could_not_read_of_a_run_is_asked_for_again_when_its_folder_comes_again(given, register):
    folder = given("first")
    register(folder)
    rows = [
        unread_traces.UnreadRow(
            run_id="first", member_id="first", file_name=name, file_state="so", reason=f"made: {reason.sentence}"
        )
        for name, reason in (("trace", Reason.ENGINE_MEMORY), ("perf.data", Reason.PROFILE_DAMAGED))
    ]
    with register.warehouse.writing() as writer:
        insert(writer, unread_traces.UNREAD, to_arrow(rows, unread_traces.UnreadRow))
    assert register(folder) == [("first", None)]
    with register.warehouse.writing() as reader:
        assert {one.file_name: one.file_state for one in unread_traces.find(reader)} == {"trace": "", "perf.data": "so"}


def renamed(folder: Path, run_id: str) -> Path:
    """States another id in its run.json; '' states none."""
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, "run_id": run_id}))
    return folder


def refused(register) -> set[str]:
    """Names of the folders in quarantine."""
    with register.warehouse.reading() as reader:
        return {name for (name,) in reader.rows("SELECT folder_name FROM core.runs WHERE is_quarantined")}


def test_a_run_whose_id_was_taken_leaves_no_refused_row_once_it_has_its_own(given, register):
    """The reason says to give it one, and its row stood in quarantine for ever."""
    first, second, third = given("first"), renamed(given("second"), "first"), renamed(given("third"), "first")
    for folder in (second, third):
        (trace,) = folder.glob("*.gz")
        another_trace(trace, folder / "new", folder.name)
        (folder / "new").rename(trace)
    assert register(first, second, third)[1:] == [(name, Reason.RUN_ID_CONFLICT) for name in ("second", "third")]
    assert register(first) == [("first", None)]
    assert refused(register) == {"second", "third"}
    assert register(renamed(second, "own")) == [("second", None)]
    assert refused(register) == {"third"}


def test_another_run_json_of_a_run_stays_refused_when_that_run_comes_again(given, register):
    first, corrected = given("first"), renamed(given("corrected", version_name="9.9"), "first")
    assert register(first, corrected)[1] == ("corrected", Reason.RUN_ID_CONFLICT)
    assert register(first) == [("first", None)]
    assert refused(register) == {"corrected"}


def test_a_folder_that_is_refused_beside_its_mended_copy_is_told(given, register):
    first, second, copied = given("first"), renamed(given("second"), "first"), given("copied")
    (trace,) = second.glob("*.gz")
    another_trace(trace, second / "new", "second")
    shutil.copy(second / "new", copied / trace.name)
    (second / "new").rename(trace)
    assert register(first, second, copied)[1:] == [("second", Reason.RUN_ID_CONFLICT), ("copied", None)]
    assert refused(register) == {"second"}


def test_a_folder_that_was_met_half_copied_leaves_no_refused_row_once_it_is_whole(given, register):
    """It states no id, and half a trace is another trace: each state that was met stood in quarantine for ever."""
    folder, other = renamed(given("copied"), ""), given("other", version_name="9.9")
    (trace,) = folder.glob("*.gz")
    content = trace.read_bytes()
    (other / trace.name).write_bytes(content[:-100])
    for length in (1000, 2000):
        trace.write_bytes(content[:length])
        assert register(folder, other)[0] == ("copied", Reason.TRACE_GZIP_DAMAGED)
    trace.write_bytes(content)
    assert register(folder)[0] == ("copied", None)
    assert refused(register) == {"other"}


@pytest.mark.parametrize("is_stated_wrongly", [False, True])
def test_who_states_the_size_of_the_trace_leaves_no_refused_row_either(given, register, is_stated_wrongly):
    """Mended by the rest of the trace, or by the number where that was wrong."""
    folder = renamed(given("copied"), "")
    (trace,) = folder.glob("*.gz")
    content, document = trace.read_bytes(), json.loads((folder / "run.json").read_text())
    stated = len(content) - 1 if is_stated_wrongly else len(content)
    (folder / "run.json").write_text(json.dumps({**document, "trace_bytes": stated}))
    if not is_stated_wrongly:
        trace.write_bytes(content[:1000])
    assert register(folder) == [("copied", Reason.TRACE_SIZE_MISMATCH)]
    trace.write_bytes(content)
    (folder / "run.json").write_text(json.dumps({**document, "trace_bytes": len(content)}))
    assert register(folder) == [("copied", None)]
    assert refused(register) == set()


def corrected(folder: Path, **changes) -> Path:
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, **changes}))
    return folder


@pytest.mark.parametrize("has_another_trace", [False, True])
def test_a_correction_that_is_taken_back_leaves_no_refused_row(given, register, has_another_trace):
    """Its folder is what was taken in, and stood in quarantine for ever."""
    first, other = given("first"), renamed(given("other", version_name="8.8"), "first")
    text = (first / "run.json").read_bytes()
    assert register(first, other)[1] == ("other", Reason.RUN_ID_CONFLICT)
    (trace,) = first.glob("*.gz")
    recorded = trace.read_bytes()
    if has_another_trace:
        another_trace(trace, first / "new", "first")
        (first / "new").rename(trace)
    assert register(corrected(first, version_name="9.9")) == [("first", Reason.RUN_ID_CONFLICT)]
    assert refused(register) == {"first", "other"}
    (first / "run.json").write_bytes(text)
    trace.unlink()  # the run's own is the same file
    trace.write_bytes(recorded)
    assert register(first) == [("first", None)]
    assert refused(register) == {"other"}


def test_a_correction_that_is_corrected_leaves_no_refused_row_once_it_is_let_in(given, register):
    """The reason says to exclude the run; whoever saw another mistake meanwhile had the first attempt in quarantine."""
    first = given("first")
    assert register(first) == [("first", None)]
    for version in ("9.8", "9.9"):
        assert register(corrected(first, version_name=version)) == [("first", Reason.RUN_ID_CONFLICT)]
    with register.warehouse.reading() as reader:
        assert reader.rows("SELECT folder_name, version_name FROM core.runs WHERE is_quarantined") == [("first", "9.9")]
    with register.warehouse.writing() as writer:
        runs.exclude(writer, "first", "of another version")
    assert register(corrected(first, version_name="10")) == [("first", None)]
    assert refused(register) == set()


@pytest.mark.parametrize("is_examined", [False, True])
def test_a_folder_that_is_gone_when_its_turn_comes_keeps_no_other_out(given, register, tmp_path, is_examined):
    """Renamed by hand, or taken by the inbox' sensor: an ingest of many lost them all by one."""
    folders = [given(name) for name in ("first", "second", "third")]
    for folder in folders:
        (trace,) = folder.glob("*.gz")
        another_trace(trace, folder / "new", folder.name)
        (folder / "new").rename(trace)
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb")
    if not is_examined:
        folders[1].rename(tmp_path / "away")
    examined = [registry.examine(folder, settings, to_key) for folder in folders]
    if is_examined:
        folders[1].rename(tmp_path / "away")
    with register.warehouse.writing() as writer:
        outcomes = registry.admit(writer, examined, registry.RunsFolder(settings.runs_dir), to_key)
    assert [one.rejected and one.rejected.reason for one in outcomes] == [None, Reason.FOLDER_GONE, None]
    assert refused(register) == set()
    assert register(tmp_path / "away", folders[2]) == [("away", None), ("third", None)]
