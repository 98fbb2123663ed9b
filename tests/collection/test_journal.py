"""The list of what is owed survives its writer at any byte."""

import errno
import json
import os
import subprocess
import sys
import time

import pytest

from perfreg_assets import whole_files
from perfreg_assets.collection.journal import (
    device_lock,
    open_journal,
    read_journal,
    unfinished_journals,
)
from perfreg_assets.collection.unit import Unit, unit_of
from perfreg_assets.collection.unit_lock import unit_lock
from perfreg_assets.process_life import started_ticks
from perfreg_assets.reasons import Reason, Rejected


def test_open_debts_are_read_back_newest_first_and_paid_ones_are_gone(tmp_path):
    journal = open_journal(tmp_path, "0011", "R5")
    first = journal.owe("file", "/data/misc/perfetto-traces/x; rm -rf /\n'\"")
    second = journal.owe("setting", "global", "window_animation_scale", "null")
    third = journal.owe("app", "com.rig.shop")
    journal.paid(second)
    again = read_journal(journal.path)
    assert again.debts == [third, first]
    assert (again.collection_id, again.serial) == ("0011", "R5")
    assert again.owe("app", "com.rig.other").number == 3


def test_the_app_is_stopped_behind_what_would_start_it_again(tmp_path):
    journal = open_journal(tmp_path, "0011", "R5")
    journal.owe("processes", "0011")
    journal.owe("file", "/data/local/tmp/x")
    journal.owe("running_app", "com.rig.shop")
    assert [debt.kind for debt in journal.debts] == ["processes", "running_app", "file"]


def test_a_journal_cut_at_any_byte_knows_every_debt_whose_line_was_whole(tmp_path):
    journal = open_journal(tmp_path, "0011", "R5")
    for number in range(4):
        journal.owe("file", f"/data/local/tmp/{number}")
    whole = journal.path.read_bytes()
    for length in range(len(whole) + 1):
        cut = tmp_path / "cut" / "0011.jsonl"
        cut.parent.mkdir(exist_ok=True)
        cut.write_bytes(whole[:length])
        whole_lines = sum(is_json(line) for line in whole[:length].splitlines())
        again = read_journal(cut)
        assert (0 if again is None else len(again.debts)) == max(0, whole_lines - 1)
        if again is not None:  # what is written after a torn line is read as well
            again.owe("app", "com.rig.shop")
            assert len(read_journal(cut).debts) == whole_lines


def is_json(line):
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_a_disk_that_is_full_does_not_keep_debts_from_being_paid(tmp_path, monkeypatch):
    folders = [tmp_path / name for name in "ab"]
    journal = open_journal(tmp_path, "0011", "R5")
    for folder in folders:
        folder.mkdir()
        journal.owe("host_path", str(folder))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal, "_write", full)
    assert journal.settle(None) == []
    assert not any(folder.exists() for folder in folders)
    with pytest.raises(OSError, match="No space"):
        journal.owe("app", "com.rig.shop")


def test_journals_are_found_by_device_and_an_empty_one_is_dropped(tmp_path):
    open_journal(tmp_path, "0011", "R5").owe("app", "a.b")
    open_journal(tmp_path, "0012", "R6").owe("app", "a.b")
    (tmp_path / "0013.jsonl").write_text("")
    assert [journal.collection_id for journal in unfinished_journals(tmp_path)] == ["0011", "0012"]
    assert [journal.collection_id for journal in unfinished_journals(tmp_path, "R6")] == ["0012"]
    assert not (tmp_path / "0013.jsonl").exists()
    assert unfinished_journals(tmp_path / "none") == []


def test_what_is_owed_on_this_computer_is_paid_without_a_device(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "x").touch()
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    journal = open_journal(tmp_path, "0011", "R5")
    on_device = journal.owe("file", "/data/local/tmp/x")
    journal.owe("host_path", str(folder))
    journal.owe("host_process", str(process.pid), str(started_ticks(process.pid)))
    assert journal.settle(None) == [on_device]
    assert not folder.exists()
    assert process.wait(5) == -9


def test_a_pid_that_belongs_to_another_process_now_is_left_alone(tmp_path):
    journal = open_journal(tmp_path, "0011", "R5")
    journal.owe("host_process", str(os.getpid()), "12345")
    assert journal.settle(None) == []


def test_one_collection_per_device_and_the_lock_of_a_dead_one_is_free(tmp_path):
    program = (
        "import sys, time; from pathlib import Path\n"
        "from perfreg_assets.collection.journal import device_lock\n"
        "with device_lock(Path(sys.argv[1]), 'R5'):\n    print('held', flush=True); time.sleep(60)\n"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": root},
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Rejected) as refusal, device_lock(tmp_path, "R5"):
            pass
        assert refusal.value.reason is Reason.DEVICE_BUSY
        with device_lock(tmp_path, "R6"):
            pass
    finally:
        holder.kill()
        holder.wait()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            with device_lock(tmp_path, "R5"):
                return
        except Rejected:
            time.sleep(0.05)
    pytest.fail("the lock of a dead process was not freed")


def test_a_journal_is_there_with_its_first_line_or_not_at_all(tmp_path, monkeypatch):
    """Who looks at the journals of all devices deletes those without one."""
    seen = []
    put = whole_files._into_place

    def watched(part, path):
        seen.append([path.name for path in tmp_path.glob("*.jsonl")])
        put(part, path)

    monkeypatch.setattr(whole_files, "_into_place", watched)
    journal = open_journal(tmp_path, "0011", "R5")
    assert seen == [[]]
    assert read_journal(journal.path).serial == "R5"
    assert [path.name for path in tmp_path.iterdir()] == ["0011.jsonl"]


def test_a_journal_whose_collection_ends_meanwhile_owes_nothing(tmp_path):
    open_journal(tmp_path, "0012", "R6").owe("app", "com.rig.shop")
    (tmp_path / "0011.jsonl").symlink_to(tmp_path / "deleted since it was listed")
    assert [journal.collection_id for journal in unfinished_journals(tmp_path)] == ["0012"]


def test_another_device_of_the_same_serial_number_is_not_held_up(tmp_path):
    """As cheap boards have, reached by network: their kernels have other starts."""
    with unit_lock(tmp_path, "192.168.0.7:5555", Unit("0123456789ABCDEF", "one")):
        with unit_lock(tmp_path, "192.168.0.8:5555", Unit("0123456789ABCDEF", "two")):
            pass
        with unit_lock(tmp_path, "192.168.0.8:5555", None):
            pass
        with (
            pytest.raises(Rejected, match="under another name") as refusal,
            unit_lock(tmp_path, "usb", Unit("0123456789ABCDEF", "one")),
        ):
            pass
        assert refusal.value.reason is Reason.DEVICE_BUSY
    with unit_lock(tmp_path, "usb", Unit("0123456789ABCDEF", "three")):
        pass


def test_an_emulator_is_not_told_from_others_by_its_serial_number():
    """Those that begin from one snapshot have one start, too."""

    def found(text):
        return unit_of(text.splitlines())

    assert found("RIG0042\nb00t\n\n0\n") == Unit("RIG0042", "b00t")
    for unknown in ("RIG0042\nb00t\n1\n\n", "RIG0042\nb00t\n\n1\n", "\nb00t\n\n\n", "RIG0042\n\n\n\n", ""):
        assert found(unknown) is None
