"""Which processes run."""

import os
import signal
import subprocess
import sys

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
