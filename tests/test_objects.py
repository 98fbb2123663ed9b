"""Files by URL: the same on a folder and on an object store."""

from __future__ import annotations

import errno
import filecmp
import os
import tracemalloc
from pathlib import Path

import pytest

from perfreg_assets.objects import LocalFileError, Objects
from perfreg_assets.reasons import Reason, Rejected


def names(objects, folder):
    return [one.name for one in objects.listing(folder)]


def test_what_is_written_is_listed_read_fetched_copied_and_deleted(place, tmp_path):
    objects = Objects(place)
    assert names(objects, "inbox") == []
    objects.write("inbox/a/run.json", b"{}")
    objects.write("inbox/a/sub/trace", b"x" * 1000)
    objects.write("wanted/empty", b"")
    assert [(one.name, one.size) for one in objects.listing("inbox")] == [
        ("inbox/a/run.json", 2),
        ("inbox/a/sub/trace", 1000),
    ]
    assert names(objects, "wanted") == ["wanted/empty"]
    objects.fetch("inbox/a/sub/trace", tmp_path / "local" / "deep" / "trace")
    assert (tmp_path / "local" / "deep" / "trace").read_bytes() == b"x" * 1000
    objects.copy("inbox/a/run.json", "runs/b/run.json")
    assert objects.read("runs/b/run.json") == b"{}"
    objects.delete(["inbox/a/run.json", "inbox/a/sub/trace", "inbox/a/never-was"])
    assert names(objects, "inbox") == []
    assert names(Objects(place), "runs") == ["runs/b/run.json"]


def test_another_content_has_another_tag(place):
    objects = Objects(place)
    objects.write("a", b"1")
    (before,) = objects.listing("")
    objects.write("a", b"2")
    (after,) = objects.listing("")
    assert (before.size, after.size) == (1, 1)
    assert before.tag != after.tag
    assert before.changed_at > 1e9


def test_what_is_not_there_is_named_as_python_names_it(place, tmp_path):
    objects = Objects(place)
    with pytest.raises(FileNotFoundError):
        objects.read("nothing")
    with pytest.raises(FileNotFoundError):
        objects.fetch("nothing", tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        objects.copy("nothing", "something")


def test_a_copy_costs_no_more_memory_than_a_part_of_it(tmp_path):
    with (tmp_path / "video").open("wb") as file:
        file.truncate(64 << 20)
        file.seek(50 << 20)
        file.write(b"x")
    objects = Objects(str(tmp_path))
    tracemalloc.start()
    try:
        objects.copy("video", "runs/a/video")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 16 << 20
    assert filecmp.cmp(tmp_path / "video", tmp_path / "runs" / "a" / "video", shallow=False)


def test_a_bucket_or_folder_that_does_not_exist_is_not_an_empty_one(place):
    Objects(place).require_there()
    kind, _, rest = place.rpartition("//")
    for wrong in (f"{place}-other",) if not kind else (f"{kind}//other-{rest}", f"{kind}//other-bucket"):
        with pytest.raises(Rejected) as told:
            Objects(wrong).require_there()
        assert told.value.reason is Reason.EXCHANGE_UNAVAILABLE
        assert wrong in str(told.value)


def test_what_this_machine_does_not_take_is_no_fault_of_the_store(place, tmp_path, monkeypatch):
    objects = Objects(place)
    objects.write("a", b"1")
    (tmp_path / "file").write_bytes(b"")
    for target in (tmp_path / "file" / "a", tmp_path / ("x" * 300), tmp_path):
        with pytest.raises(LocalFileError):
            objects.fetch("a", target)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", raising(OSError(errno.EMFILE, "Too many open files")))
        with pytest.raises(OSError, match="Too many open files"):
            objects.fetch("a", tmp_path / "a")
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(Rejected, match=f"{tmp_path}: No space left on device") as told:
        objects.fetch("a", tmp_path / "full")
    assert told.value.reason is Reason.HOST_NO_SPACE
    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", raising(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(Rejected) as told:
            objects.fetch("a", tmp_path / "scratch" / "a")
    assert told.value.reason is Reason.HOST_NO_SPACE
    with pytest.raises(FileNotFoundError):
        objects.fetch("never", tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_half_a_file_is_not_seen(tmp_path):
    objects = Objects(str(tmp_path))
    (tmp_path / ".result.json.123.part").write_bytes(b"{")
    assert names(objects, "") == []


@pytest.mark.parametrize("url", ["s3://rehearsal/perfreg", "nosuch://x/y"])
def test_a_store_that_does_not_answer_is_one_sentence(url, monkeypatch):
    for name, value in {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Rejected) as caught:
        Objects(url).listing("inbox")
    assert caught.value.reason is Reason.EXCHANGE_UNAVAILABLE
    assert url in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_written_leaves_nothing_and_what_was_killed_goes(tmp_path, monkeypatch):
    objects = Objects(str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", raising(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(Rejected, match="No space left"):
            objects.write("results/r/trace", b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    killed = tmp_path / "results" / "r" / ".trace.0123.part"
    killed.write_bytes(b"half")
    assert names(objects, "results") == []
    objects.remove_unfinished(killed.stat().st_mtime - 1)
    assert killed.exists()
    objects.remove_unfinished(killed.stat().st_mtime + 1)
    assert not killed.exists()


def test_a_folder_right_below_the_root_stays_for_those_who_fill_it(tmp_path):
    objects = Objects(str(tmp_path))
    objects.write("inbox/run-1/run.json", b"{}")
    objects.delete(["inbox/run-1/run.json"])
    assert [path.name for path in tmp_path.iterdir()] == ["inbox"]
    assert list((tmp_path / "inbox").iterdir()) == []


def raising(error):
    def fail(*_, **__):
        raise error

    return fail
