"""Which processes run."""

import os
import signal
import subprocess
import sys
import tempfile

from perfreg_assets import process_life
from perfreg_assets.model.places_health import remove_dead_scratch, signed_scratch
from perfreg_assets.process_life import members

WAITING = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"


def test_members_of_a_group_are_those_that_have_not_ended() -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", WAITING], process_group=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert first.stdout is not None
    assert first.stdin is not None
    first.stdout.read(1)  # its child is there
    try:
        found = members(first.pid)
        assert found is not None
        assert len(found) == 2
        assert first.pid in found
        (child,) = found - {first.pid}
        first.kill()
        os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)  # ended, and not asked for its status
        assert members(first.pid) == {child}
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
    assert os.getpid() in (members(os.getpgrp()) or set())


def test_what_a_living_neighbour_fetched_stays_where_the_clock_was_set_since(tmp_path, monkeypatch):
    """By a clock set ahead its process seemed younger than the folder that it had signed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    known = process_life.booted_at
    with signed_scratch("perfreg-worker-") as lives:
        for ahead_s in (7200.0, -7200.0):
            monkeypatch.setattr(process_life, "booted_at", lambda ahead_s=ahead_s: known() + ahead_s)
            remove_dead_scratch("perfreg-worker-")
            assert lives.is_dir()


def test_a_folder_that_an_earlier_process_of_the_same_number_signed_is_removed(tmp_path, monkeypatch):
    """Containers give the same few numbers again."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with signed_scratch("perfreg-worker-") as lives:
        own = str(process_life.started_ticks(os.getpid()))
        earlier = lives.with_name(lives.name.replace(f".{own}.", f".{int(own) - 1}."))
        earlier.mkdir()
        remove_dead_scratch("perfreg-worker-")
        assert list(tmp_path.iterdir()) == [lives]
