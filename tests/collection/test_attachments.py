"""What else lies in a run folder: found, placed in time, bounded, stored with the run. And what is not taken."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from perfreg_assets.collection import registry
from perfreg_assets.collection.attachments import _file_names, find_attachments, kind_of
from perfreg_assets.collection.run_folder import read_run_folder
from perfreg_assets.partitions import to_key
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import attachments as table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Warehouse

TRACE = b"\x0a\x02\x08\x01"
START_NS = 10**12
DOCUMENT = {
    "run_id": "shop-004",
    "app": "com.rig.shop",
    "version_name": "1.5.0",
    "config": {"device": "Pixel", "strategy": "dfs", "time_limit_s": 60, "action_interval_s": 2.0, "unit": "3A021"},
    "started_at": "2026-11-20T09:12:00Z",
    "path": [
        {"step": 0, "ts_ns": START_NS, "state_hash": "a", "screen": "home", "screenshot": "shots/first.png"},
        {"step": 3, "ts_ns": START_NS + 2 * 10**9, "state_hash": "b", "screen": "list", "state_hash_after": "a"},
        {"step": 4, "state_hash": "b"},
    ],
    "functional_problems": [],
    "trace": "trace.perfetto-trace",
}
FILES = {
    "shots/first.png": b"first",
    "0003.png": b"third",
    "4.png": b"a step without a moment",
    "screen.mp4": b"video",
    "logcat.log.gz": b"log",
    "notes.odt": b"other",
    "shots/3x.png": b"no step",
    ".hidden": b"x",
    ".git/config": b"x",
}


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "project" / "perfreg.duckdb")


@pytest.fixture
def warehouse(settings):
    return Warehouse(settings.warehouse, lock_timeout_s=5)


@pytest.fixture
def folder(tmp_path) -> Path:
    path = tmp_path / "given" / "run"
    for name, content in {**FILES, "trace.perfetto-trace": TRACE, "run.json": json.dumps(DOCUMENT).encode()}.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def register(folder: Path, settings: Settings, warehouse: Warehouse) -> registry.Registration:
    (outcome,) = registry.register([folder], settings, warehouse, to_key)
    return outcome


def stored(warehouse: Warehouse) -> dict[str, table.AttachmentRow]:
    with warehouse.reading() as reader:
        return {row.file_name: row for row in table.of_runs(reader, ["shop-004"])["shop-004"]}


def test_everything_in_a_folder_is_registered_with_kind_hash_and_moment(folder, settings, warehouse):
    outcome = register(folder, settings, warehouse)
    assert (outcome.rejected, outcome.notes) == (None, ())
    found = stored(warehouse)
    assert {name: (row.kind, row.ts_ns) for name, row in found.items()} == {
        "shots/first.png": ("screenshot", START_NS),
        "0003.png": ("screenshot", START_NS + 2 * 10**9),
        "4.png": ("screenshot", None),
        "shots/3x.png": ("screenshot", None),
        "screen.mp4": ("video", None),
        "logcat.log.gz": ("log", None),
        "notes.odt": ("other", None),
    }
    for name, row in found.items():
        copy = settings.runs_dir / "shop-004" / name
        assert copy.read_bytes() == FILES[name]
        assert (row.bytes, row.sha256) == (len(FILES[name]), hashlib.sha256(FILES[name]).hexdigest())


def test_the_run_says_how_many_states_it_saw_and_on_which_device(folder, settings, warehouse):
    register(folder, settings, warehouse)
    with warehouse.reading() as reader:
        run = run_table.find(reader, ["shop-004"])["shop-004"]
        (counted,) = reader.rows("SELECT explored_state_count, device_unit FROM marts.runs")
    assert counted == (2, "3A021")
    assert run.path == read_run_folder(folder, settings).path
    assert run.path is not None
    assert run.path[1].state_hash_after == "a"
    assert len(run.path_hash or "") == 64
    assert run.extra == {"path": {"0": {"screenshot": "shots/first.png"}}}


def test_what_the_last_step_led_to_is_a_state_that_the_run_saw(folder, settings, warehouse):
    document = json.loads(json.dumps(DOCUMENT))
    document["path"][-1]["state_hash_after"] = "c"
    (folder / "run.json").write_text(json.dumps(document))
    register(folder, settings, warehouse)
    with warehouse.reading() as reader:
        assert reader.value("SELECT explored_state_count FROM marts.runs") == 3


def test_links_and_special_files_stay_where_they_are_and_are_named(folder, settings, warehouse, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.png").write_bytes(b"secret")
    (folder / "out.png").symlink_to(tmp_path / "secret" / "key.png")
    (folder / "all").symlink_to(tmp_path / "secret")
    (folder / "round").symlink_to(folder)
    os.mkfifo(folder / "pipe.log")
    os.mkfifo(folder / os.fsdecode(b"\xff.png"))
    outcome = register(folder, settings, warehouse)
    assert outcome.rejected is None
    for name in (
        "out.png is a link",
        "all is a link",
        "round is a link",
        "pipe.log is not a regular file",
        "not UTF-8",
    ):
        assert [note for note in outcome.notes if name in note], name
    assert set(stored(warehouse)) == {name for name in FILES if not name.startswith(".")}
    kept = settings.runs_dir / "shop-004"
    assert not [path for path in kept.rglob("*") if path.is_symlink() or "key" in path.name]


def test_number_and_size_are_bounded_and_what_is_left_out_is_named(folder, settings, warehouse):
    few = settings.with_values(attachments_max_count=2)
    run = read_run_folder(folder, few)
    found = find_attachments(run, few)
    assert [one.file_name for one in found.attachments] == ["0003.png", "4.png"]
    assert found.notes == ("logcat.log.gz and what follows: more than 2 files",)
    small = settings.with_values(attachments_max_bytes=16)
    found = find_attachments(read_run_folder(folder, small), small)
    assert sum(one.bytes for one in found.attachments) <= 16
    assert any(note.startswith("4.png: the folder's files have more than 16 bytes") for note in found.notes)
    assert register(folder, few, warehouse).rejected is None


def test_a_folder_given_again_is_one_run_and_what_was_added_meanwhile_is_taken_in(folder, settings, warehouse):
    assert register(folder, settings, warehouse).is_new
    assert not register(folder, settings, warehouse).is_new
    before = stored(warehouse)
    (folder / "late.log").write_text("uploaded afterwards")
    outcome = register(folder, settings, warehouse)
    assert (outcome.is_new, outcome.rejected) == (False, None)
    assert set(stored(warehouse)) == {*before, "late.log"}
    assert (settings.runs_dir / "shop-004" / "late.log").is_file()
    for path in (*folder.glob("*.png"), folder / "late.log"):
        path.unlink()
    register(folder, settings, warehouse)
    assert set(stored(warehouse)) == {*before, "late.log"}, "what somebody tidied away stays registered"


def test_a_trace_is_read_once_on_the_way_in(folder, settings, warehouse):
    opened: list[str] = []
    listening = [True]

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        if listening[0] and event == "open" and str(arguments[0]).endswith("trace.perfetto-trace"):
            opened.append(str(arguments[0]))

    sys.addaudithook(listen)
    try:
        by_key, unreadable = registry.sort_out([folder], settings, to_key)
        assert ([[run.folder for run in runs] for runs in by_key.values()], unreadable) == ([[folder]], [])
        assert opened == []
        assert register(folder, settings, warehouse).is_new
        assert len(opened) == 1, opened
    finally:
        listening[0] = False


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a/B.PNG", "screenshot"),
        ("x.jpeg", "screenshot"),
        ("x.webm", "video"),
        ("logcat.txt", "log"),
        ("logcat.log.gz", "log"),
        ("png", "other"),
        ("page.html", "other"),
        ("x.svg", "other"),
    ],
)
def test_the_suffix_says_what_kind_of_file_it_is(name, kind):
    assert kind_of(name) == kind


def test_profiles_are_known_by_their_content_and_may_come_later(folder, settings, warehouse):
    register(folder, settings, warehouse)
    (folder / "cpu-art-1.trace").write_bytes(b"*version\n3\n")
    (folder / "cpu-simpleperf-1.trace").write_bytes(b"SIMPLEPERF\1\0")
    (folder / "streamed.log").write_bytes(gzip.compress(b"SLOW\xf3\0" + bytes(99)))
    (folder / "perf.data").write_bytes(b"PERFILE2" + bytes(99))
    register(folder, settings, warehouse)
    with warehouse.reading() as reader:
        found = table.profiles_of(reader, ["shop-004", "nobody"])
    assert {run_id: [(one.file_name, one.kind) for one in rows] for run_id, rows in found.items()} == {
        "shop-004": [
            ("cpu-art-1.trace", "method_trace"),
            ("cpu-simpleperf-1.trace", "call_stacks"),
            ("perf.data", "call_stacks"),
            ("streamed.log", "method_trace"),
        ],
        "nobody": [],
    }


def test_a_full_disk_takes_no_attachment_from_a_run(folder, settings, warehouse, monkeypatch):
    place = registry._place

    def full(source: Path, target: Path) -> None:
        if target.name.endswith(".png"):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        place(source, target)

    monkeypatch.setattr(registry, "_place", full)
    with pytest.raises(OSError, match="No space left"):
        register(folder, settings, warehouse)
    assert not settings.runs_dir.exists() or list(settings.runs_dir.iterdir()) == []
    monkeypatch.setattr(registry, "_place", place)
    register(folder, settings, warehouse)
    assert {"0003.png", "shots/first.png", "4.png"} <= set(stored(warehouse))


def test_half_of_an_attachment_is_not_left(folder, settings, warehouse, monkeypatch):
    place = registry._place

    def gone(source: Path, target: Path) -> None:
        place(source, target)
        if target.name == "4.png":
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(registry, "_place", gone)
    assert register(folder, settings, warehouse).notes == ("4.png: Input/output error",)
    assert "4.png" not in stored(warehouse)
    assert not (settings.runs_dir / "shop-004" / "4.png").exists()
    assert (settings.runs_dir / "shop-004" / "0003.png").exists()


def test_a_file_that_goes_while_those_before_it_are_hashed_is_noted(tmp_path):
    for name in ("a.mp4", "b.png.new", "c.png"):
        (tmp_path / name).write_bytes(b"x")
    notes: list[str] = []
    names = _file_names(tmp_path, notes)
    assert next(names) == "a.mp4"
    (tmp_path / "b.png.new").unlink()
    assert list(names) == ["c.png"]
    assert notes == ["b.png.new: No such file or directory"]
