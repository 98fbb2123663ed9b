"""Folders that are traps: each is refused by a reason of its own, at once, and the good one beside it is taken in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfreg_assets.collection import registry
from perfreg_assets.collection.attachments import find_attachments
from perfreg_assets.collection.inbox import look
from perfreg_assets.partitions import to_key
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import reviews
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Warehouse

TRACE = "trace.perfetto-trace"
DOCUMENT = {
    "schema_version": 1,
    "app": "com.rig.shop",
    "version_name": "1.5.0",
    "config": {"device": "Pixel", "strategy": "dfs", "time_limit_s": 60, "action_interval_s": 2.0},
    "started_at": "2026-11-20T09:12:00Z",
    "path": [],
    "trace": TRACE,
}


def good(folder: Path, run_id: str) -> Path:
    folder.mkdir(parents=True)
    (folder / TRACE).write_bytes(b"\x0a\x02\x08\x01")
    (folder / "run.json").write_text(json.dumps({**DOCUMENT, "run_id": run_id}))
    return folder


def trace_that_is_its_own_link(folder: Path) -> None:
    (folder / TRACE).unlink()
    (folder / TRACE).symlink_to(TRACE)


def a_second_trace_that_is_its_own_link(folder: Path) -> None:
    (folder / "other.pftrace").symlink_to("other.pftrace")


def trace_that_is_a_pipe(folder: Path) -> None:
    (folder / TRACE).unlink()
    os.mkfifo(folder / TRACE)


def run_json_that_is_a_pipe(folder: Path) -> None:
    (folder / "run.json").unlink()
    os.mkfifo(folder / "run.json")


def run_json_that_leads_to_an_endless_device(folder: Path) -> None:
    (folder / "run.json").unlink()
    (folder / "run.json").symlink_to("/dev/zero")


def run_json_that_leads_in_a_circle(folder: Path) -> None:
    (folder / "run.json").unlink()
    (folder / "run.json").symlink_to("also.json")
    (folder / "also.json").symlink_to("run.json")


def run_json_that_is_a_folder(folder: Path) -> None:
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()


def run_json_as_deep_as_a_parser_takes(folder: Path) -> None:
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace("{", '{"extra": ' + "[" * 700 + "]" * 700 + ", ", 1))


def run_json_deeper_than_a_parser_takes(folder: Path) -> None:
    (folder / "run.json").write_text("[" * 100_000)


def huge_run_json(folder: Path) -> None:
    with (folder / "run.json").open("wb") as file:
        file.truncate(1 << 40)  # a hole: no byte of it is on the disk


TRAPS = {
    trace_that_is_its_own_link: Reason.TRACE_FILE_MISSING,
    a_second_trace_that_is_its_own_link: Reason.TRACE_FILE_AMBIGUOUS,
    trace_that_is_a_pipe: Reason.TRACE_FILE_MISSING,
    run_json_that_is_a_pipe: Reason.FOLDER_UNREADABLE,
    run_json_that_leads_to_an_endless_device: Reason.RUN_JSON_MISSING,
    run_json_that_leads_in_a_circle: Reason.RUN_JSON_MISSING,
    run_json_that_is_a_folder: Reason.FOLDER_UNREADABLE,
    run_json_as_deep_as_a_parser_takes: Reason.RUN_JSON_NOT_JSON,
    run_json_deeper_than_a_parser_takes: Reason.RUN_JSON_NOT_JSON,
    huge_run_json: Reason.RUN_JSON_TOO_LARGE,
}


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb")


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__)
def test_a_trap_is_refused_and_the_others_are_taken_in(tmp_path, settings, trap):
    trap(good(tmp_path / "given" / "bad", "bad"))
    good(tmp_path / "given" / "fine", "fine")
    folders = registry.find_run_folders([tmp_path / "given"])
    assert [folder.name for folder in folders] == ["bad", "fine"]
    by_key, unreadable = registry.sort_out(folders, settings, to_key)
    outcomes = registry.register(folders, settings, Warehouse.of(settings), to_key)
    assert [outcome.rejected and outcome.rejected.reason for outcome in outcomes] == [TRAPS[trap], None]
    assert [folder.name for folder in unreadable] in (["bad"], [])
    assert "fine" in [run.folder.name for runs in by_key.values() for run in runs]
    again = registry.register(folders, settings, Warehouse.of(settings), to_key)
    assert [outcome.is_new for outcome in again] == [False, False]


@pytest.mark.parametrize("levels", [1, 98, 99])
def test_an_unknown_key_within_the_levels_is_kept(tmp_path, settings, levels):
    folder = good(tmp_path / "fine", "fine")
    nested = "[" * levels + "]" * levels
    (folder / "run.json").write_text(json.dumps({**DOCUMENT, "run_id": "fine"})[:-1] + f', "extra": {nested}}}')
    (outcome,) = registry.register([folder], settings, Warehouse.of(settings), to_key)
    assert outcome.rejected is None
    with Warehouse.of(settings).reading() as reader:
        assert json.loads(reader.value("SELECT extra FROM core.runs")) == {"extra": json.loads(nested)}


def refused_rows(settings):
    with Warehouse.of(settings).reading() as reader:
        found = reader.rows("SELECT folder_name, run_id, reason_code FROM core.runs WHERE is_quarantined ORDER BY 1")
    return {folder: (run_id, reason) for folder, run_id, reason in found}


def test_refused_folders_that_state_the_same_id_keep_a_reason_each(tmp_path, settings):
    folders = [good(tmp_path / name, "same") for name in ("a", "b", "c")]
    for folder, key in zip(folders, ("app", "version_name", "started_at"), strict=True):
        (folder / "run.json").write_text(json.dumps({**DOCUMENT, "run_id": "same", key: 7}))
    registry.register(folders, settings, Warehouse.of(settings), to_key)
    found = refused_rows(settings)
    assert found.keys() == {"a", "b", "c"}
    assert found["a"][0] == "same"
    assert len({run_id for run_id, _ in found.values()}) == 3
    again = registry.register(folders, settings, Warehouse.of(settings), to_key)
    assert [one.is_new for one in again] == [False, False, False]
    good_now = tmp_path / "b"
    (good_now / "run.json").write_text(json.dumps({**DOCUMENT, "run_id": "same"}))
    registry.register([good_now], settings, Warehouse.of(settings), to_key)
    assert refused_rows(settings).keys() >= {"c"}


@pytest.mark.parametrize("stated", [{}, {"run_id": ""}, {"run_id": "own"}])
def test_a_mended_folder_takes_the_place_of_the_refused_one(tmp_path, settings, stated):
    folder = good(tmp_path / "x", "own")
    document = {key: value for key, value in {**DOCUMENT, **stated}.items() if key != "run_id" or stated}
    (folder / "run.json").write_text(json.dumps({**document, "started_at": "2026-11-20T09:12:00"}))
    (refused,) = registry.register([folder], settings, Warehouse.of(settings), to_key)
    assert refused.rejected.reason is Reason.TIME_WITHOUT_ZONE
    (folder / "run.json").write_text(json.dumps(document))
    (taken,) = registry.register([folder], settings, Warehouse.of(settings), to_key)
    assert (taken.rejected, taken.run_id) == (None, refused.run_id)
    with Warehouse.of(settings).reading() as reader:
        assert reader.rows("SELECT run_id, is_quarantined, reason_code FROM core.runs") == [(taken.run_id, False, None)]


@pytest.mark.parametrize(
    "refused", [json.dumps({**DOCUMENT, "run_id": "before", "started_at": "yesterday"}), "{", "[]", json.dumps({})]
)
def test_a_folder_that_is_mended_under_another_id_leaves_no_refused_row(tmp_path, settings, refused):
    """What is no JSON states no id, and its row stood in quarantine for ever, too."""
    folder, other = good(tmp_path / "x", "own"), good(tmp_path / "other", "other")
    (other / TRACE).write_bytes(b"\x0a\x02\x08\x01" * 2)
    for one in (folder, other):
        (one / "run.json").write_text(refused)
    registry.register([folder, other], settings, Warehouse.of(settings), to_key)
    assert refused_rows(settings).keys() == {"x", "other"}
    (folder / "run.json").write_text(json.dumps({**DOCUMENT, "run_id": "own"}))
    (taken,) = registry.register([folder], settings, Warehouse.of(settings), to_key)
    assert (taken.rejected, taken.run_id) == (None, "own")
    assert refused_rows(settings).keys() == {"other"}


def test_a_folder_refused_for_its_missing_trace_leaves_no_row_once_it_came(tmp_path, settings):
    folder = good(tmp_path / "x", "own")
    (folder / "run.json").write_text(json.dumps(DOCUMENT))
    (folder / TRACE).rename(tmp_path / "late")
    (good(tmp_path / "other", "other") / "run.json").unlink()
    refused, _ = registry.register([folder, tmp_path / "other"], settings, Warehouse.of(settings), to_key)
    assert refused.rejected.reason is Reason.TRACE_FILE_MISSING
    assert refused_rows(settings).keys() == {"x", "other"}
    (tmp_path / "late").rename(folder / TRACE)
    (taken,) = registry.register([folder], settings, Warehouse.of(settings), to_key)
    assert taken.rejected is None
    assert refused_rows(settings).keys() == {"other"}


def as_link_to_itself(trace):
    trace.symlink_to(trace.name)


def as_a_pipe(trace):
    os.mkfifo(trace)


def as_half_of_it(trace):
    trace.write_bytes(b"\x0a\x02")


def as_that_of_another_run(trace):
    trace.write_bytes(b"\x0a\x02\x08\x01")


def beside_another_one(trace):
    trace.write_bytes(b"\x0a\x02\x08\x01" * 2)


@pytest.mark.parametrize(
    "comes",
    [as_link_to_itself, as_a_pipe, as_half_of_it, as_that_of_another_run, beside_another_one],
    ids=lambda one: one.__name__,
)
def test_a_folder_refused_for_its_missing_trace_and_then_otherwise_has_one_row(tmp_path, settings, comes):
    """It had one of each until it was mended."""
    folder = good(tmp_path / "x", "own")
    (folder / "run.json").write_text(json.dumps(DOCUMENT))
    (folder / TRACE).unlink()
    if comes is beside_another_one:
        (folder / "other.pftrace").write_bytes(b"\x0a\x02\x08\x02")
    registry.register([good(tmp_path / "other", "other"), folder], settings, Warehouse.of(settings), to_key)
    comes(folder / TRACE)
    (refused,) = registry.register([folder], settings, Warehouse.of(settings), to_key)
    with Warehouse.of(settings).reading() as reader:
        rows = reader.rows("SELECT run_id, reason FROM core.runs WHERE is_quarantined")
    assert rows == [(refused.run_id, str(refused.rejected))]


def test_a_folder_whose_trace_was_named_wrongly_leaves_no_row_once_it_is_named_rightly(tmp_path, settings):
    """As the reason advises; the row stood in quarantine for ever."""
    folder = good(tmp_path / "x", "own")
    (folder / "run.json").write_text(json.dumps({**DOCUMENT, "trace": f"{TRACE}.gz"}))
    (refused,) = registry.register([folder], settings, Warehouse.of(settings), to_key)
    assert refused.rejected.reason is Reason.TRACE_FILE_MISSING
    (folder / "run.json").write_text(json.dumps(DOCUMENT))
    (taken,) = registry.register([folder], settings, Warehouse.of(settings), to_key)
    assert taken.rejected is None
    assert refused_rows(settings) == {}


@pytest.mark.parametrize("is_reviewed", [False, True])
def test_a_correction_that_was_refused_leaves_no_row_once_it_is_let_in(tmp_path, settings, is_reviewed):
    first, second = good(tmp_path / "first", "own"), good(tmp_path / "second", "own")
    (second / "run.json").write_text(json.dumps({**DOCUMENT, "run_id": "own", "version_name": "7"}))
    _, refused = registry.register([first, second], settings, Warehouse.of(settings), to_key)
    assert refused.rejected.reason is Reason.RUN_ID_CONFLICT
    assert refused_rows(settings).keys() == {"second"}
    with Warehouse.of(settings).writing() as writer:
        run_table.exclude(writer, "own", "of another version")
        if is_reviewed:
            reviews.add(writer, refused.run_id, "accepted")
    (taken,) = registry.register([second], settings, Warehouse.of(settings), to_key)
    assert taken.rejected is None
    assert bool(refused_rows(settings)) is is_reviewed


@pytest.mark.parametrize("name", ["../other.pftrace", "/etc/passwd", "none", "sub\0", 7, None])
def test_the_id_of_a_refused_folder_is_of_no_file_outside(tmp_path, settings, name):
    (tmp_path / "other.pftrace").write_bytes(b"secret")
    folder = good(tmp_path / "x", "x")
    (folder / "run.json").write_text(json.dumps({**DOCUMENT, "trace": name}))
    (refused,) = registry.register([folder], settings, Warehouse.of(settings), to_key)
    assert refused.run_id.startswith("quarantined-")


def test_a_name_that_is_not_utf8_is_cleaned_and_the_others_are_taken_in(tmp_path, settings):
    given = tmp_path / "given"
    good(given / "fine", "fine")
    (good(given / os.fsdecode(b"n\xff"), "odd") / TRACE).write_bytes(b"\x0a\x02\x08\x02")
    run_json_that_is_a_folder(good(given / os.fsdecode(b"bad\xff"), "bad"))
    folders = registry.find_run_folders([given])
    warehouse = Warehouse.of(settings)
    outcomes = registry.register(folders, settings, warehouse, to_key)
    assert [one.rejected and one.rejected.reason for one in outcomes] == [Reason.FOLDER_UNREADABLE, None, None]
    with warehouse.reading() as reader:
        rows = reader.rows("SELECT folder_name, reason FROM core.runs ORDER BY folder_name")
    assert [name for name, _ in rows] == ["bad?", "fine", "n?"]
    assert rows[0][1].startswith("bad\\udcff/run.json: not a regular file")
    again = registry.register(folders, settings, warehouse, to_key)
    assert [one.is_new for one in again] == [False, False, False]


def test_traps_are_looked_at_in_bounded_memory_and_time(tmp_path):
    """All traps at once in a process that may have no more than 1.5 GB and must end by itself."""
    for trap in TRAPS:
        trap(good(tmp_path / "given" / trap.__name__, trap.__name__))
    code = f"""
import resource
from pathlib import Path
from perfreg_assets.collection import registry
from perfreg_assets.partitions import to_key
from perfreg_assets.settings import Settings
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000,) * 2)
settings = Settings(warehouse=Path({str(tmp_path)!r}) / "perfreg.duckdb")
for folder in registry.find_run_folders([Path({str(tmp_path / "given")!r})]):
    assert registry.examine(folder, settings, to_key).rejected is not None, folder
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_what_nobody_expected_is_that_folders_reason(tmp_path, settings, monkeypatch, caplog):
    def surprise(run, settings):
        if run.run_id == "bad":
            raise KeyError("unheard of")
        return find_attachments(run, settings)

    monkeypatch.setattr(registry, "find_attachments", surprise)
    folders = [good(tmp_path / "given" / name, name) for name in ("bad", "fine")]
    bad, fine = registry.register(folders, settings, Warehouse.of(settings), to_key)
    assert fine.rejected is None
    assert bad.rejected.reason is Reason.FOLDER_FAILED
    assert "bad: KeyError: 'unheard of'" in str(bad.rejected)
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__)
def test_traps_in_the_inbox_are_seen_as_folders_like_any_other(tmp_path, trap):
    trap(good(tmp_path / "inbox" / "bad", "bad"))
    good(tmp_path / "inbox" / "fine", "fine")
    (tmp_path / "inbox" / "circle").symlink_to("circle")
    assert [one.name for one in look(tmp_path / "inbox")] == ["bad", "fine"]
