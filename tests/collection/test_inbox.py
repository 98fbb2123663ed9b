"""How folders leave the inbox: moved, deleted or left, and never lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perfreg_assets.collection.inbox import SEEN, TAKEN, leave, look, note
from tests.unprivileged import unprivileged


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "run-1"
    made.mkdir()
    (made / "run.json").write_text("{}")
    return made


def test_moved_it_lies_in_taken_with_its_files(tmp_path, folder):
    (seen,) = look(tmp_path)
    assert leave(seen, tmp_path, "move") == str(tmp_path / TAKEN / "run-1")
    assert (tmp_path / TAKEN / "run-1" / "run.json").read_text() == "{}"
    assert look(tmp_path) == []


def test_another_state_of_the_same_folder_is_kept_beside_the_first(tmp_path, folder):
    leave(look(tmp_path)[0], tmp_path, "move")
    for content in ('{"a": 1}', '{"a": 12}', '{"a": 12}'):
        folder.mkdir()
        (folder / "run.json").write_text(content)
        leave(look(tmp_path)[0], tmp_path, "move")
    kept = sorted((path / "run.json").read_text() for path in (tmp_path / TAKEN).iterdir())
    assert set(kept) == {"{}", '{"a": 1}', '{"a": 12}'}


def test_deleted_it_is_gone_and_kept_it_is_noted_until_it_changes(tmp_path, folder):
    (seen,) = look(tmp_path)
    leave(seen, tmp_path, "keep")
    assert [one.is_done for one in look(tmp_path)] == [True]
    (folder / "trace.pftrace").write_text("x")
    (changed,) = look(tmp_path)
    assert not changed.is_done
    leave(changed, tmp_path, "delete")
    assert not folder.exists()
    assert not list((tmp_path / SEEN).iterdir())  # no note of what is gone


@pytest.mark.parametrize("after", ["move", "delete", "keep"])
def test_a_folder_that_changed_while_it_was_taken_in_stays_to_be_taken_again(tmp_path, folder, after):
    (seen,) = look(tmp_path)
    (folder / "screen.png").write_text("late")
    assert leave(seen, tmp_path, after) is None
    assert [one.is_done for one in look(tmp_path)] == [False]


def test_a_note_that_cannot_be_read_is_none(tmp_path, folder):
    note(look(tmp_path)[0], tmp_path)
    (tmp_path / SEEN / "run-1").write_bytes(b"\xff")
    assert [one.is_done for one in look(tmp_path)] == [False]


@pytest.mark.parametrize("place", ["folder", "file", "below"])
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_what_may_not_be_read_is_seen_and_seen_anew_once_it_may(tmp_path, folder, place, mode):
    """As it was copied by another user, or after `chmod -R 444`; and other folders are seen as ever."""
    (tmp_path / "run-2").mkdir()
    (folder / "logs").mkdir()
    (folder / "logs" / "app.log").write_text("x")
    shut = {"folder": folder, "file": folder / "run.json", "below": folder / "logs"}[place]
    mode = 0o000 if place == "file" else mode
    before = shut.stat().st_mode
    with unprivileged():
        readable = look(tmp_path)[0]
        shut.chmod(mode)
        first, second = look(tmp_path)
        assert (first.name, second.name) == ("run-1", "run-2")
        note(first, tmp_path)
        assert look(tmp_path)[0].is_done
        shut.chmod(before)
        assert look(tmp_path)[0] == readable


def test_killed_while_it_deletes_no_half_of_a_folder_is_left_to_be_taken_in(tmp_path, folder, monkeypatch):
    def killed(place, **_):
        (Path(place) / "run.json").unlink()
        raise KeyboardInterrupt

    (folder / "trace.pftrace").write_text("x")
    (seen,) = look(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            leave(seen, tmp_path, "delete")
    assert look(tmp_path) == []
    folder.mkdir()
    leave(look(tmp_path)[0], tmp_path, "delete")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("after", ["move", "delete"])
def test_what_cannot_leave_is_noted_and_not_read_again_and_again(tmp_path, folder, after):
    """A folder of another user, 755, may be read, and may not be moved into another folder."""
    folder.chmod(0o555)
    with unprivileged():
        (seen,) = look(tmp_path)
        with pytest.raises(PermissionError):
            leave(seen, tmp_path, after)
        assert [one.is_done for one in look(tmp_path)] == [True]


@pytest.mark.parametrize("after", ["move", "delete"])
def test_of_a_link_only_the_link_leaves(tmp_path, folder, after):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for _ in range(2):  # the second finds the link of the first in its place
        (inbox / "run-1").symlink_to("../run-1")
        leave(look(inbox)[0], inbox, after)
        assert look(inbox) == []
        assert after == "delete" or (inbox / TAKEN / "run-1" / "run.json").read_text() == "{}"
    assert (folder / "run.json").read_text() == "{}"
    folder.rename(inbox / "run-1")
    leave(look(inbox)[0], inbox, after)
    assert look(inbox) == []
