"""Nothing of `perfreg ui` goes on without it, however it ended: a daemon that nobody sees would take what is in the
inbox beside the next one's, and a web server hold its port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfreg_assets.automation import with_parent
from perfreg_assets.cli import servers
from perfreg_assets.process_life import is_alive, stat_fields
from perfreg_assets.reasons import Reason

# A module of a process that says that it is there.
CHILD = "import os, time; print(os.getpid(), flush=True); time.sleep(500)"


def children(parent: int) -> list[int]:
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if int(stat_fields(int(name))[1]) == parent:
                found.append(int(name))
        except OSError:  # ended meanwhile
            continue
    return found


def ended_within(pids: list[int], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(is_alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def as_from_a_terminal():
    """Where the tests run under `nohup`, what they start would rightly stay when a terminal is closed."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("as_from_a_terminal")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGHUP, 0)], ids=["killed", "terminal closed"]
)
def test_its_processes_end_with_it(ui, number, status):
    running = ui()
    until = time.monotonic() + 180
    while b"stop with Ctrl-C" not in running.log.read_bytes() and time.monotonic() < until:
        time.sleep(0.2)
    services = children(running.pid)
    assert len(services) == 3, running.log.read_text()
    assert running.stop(number) == status
    assert ended_within(services, 5.0)


class Started:
    """A process that was started, as far as its services look at it."""

    pid = 1

    def __init__(self, command, **_):
        self.command, self.returncode = command, None

    def poll(self):
        return self.returncode

    def kill(self):
        self.returncode = -9

    def wait(self):
        assert self.returncode is not None


@pytest.fixture
def started(monkeypatch):
    """The processes that were started, in order."""
    found = []

    def start(command, **more):
        found.append(Started(command, **more))
        return found[-1]

    monkeypatch.setattr(servers.subprocess, "Popen", start)
    return found


def running_services(folder):
    services = servers._Services(folder, {}, 3000, "secret")
    assert services.are_running()
    (folder / "code.sock").touch()
    assert services.are_running()
    return services


@pytest.mark.parametrize(("place", "name"), [(1, "web server"), (2, "daemon")])
def test_which_of_its_processes_ended_is_said(tmp_path, started, capsys, place, name):
    services = running_services(tmp_path)
    started[place].returncode = -9
    assert not services.are_running()
    assert capsys.readouterr().err == f"perfreg: the {name} ended with -9, and perfreg ui with it; start it again\n"


def test_after_a_clock_was_set_back_the_daemon_is_started_again(tmp_path, started, monkeypatch, capsys):
    """It keeps when it looks at a schedule next: no night would be tidied in until the clock comes there again."""
    real, ahead = time.time, 0.0
    monkeypatch.setattr(servers.time, "time", lambda: real() + ahead)
    services = running_services(tmp_path)
    ahead = 86_400.0
    assert services.are_running()
    assert len(started) == 3  # ahead is no harm: what is due by then is
    ahead -= 5.0
    assert services.are_running()
    assert len(started) == 3
    ahead = 0.0
    assert services.are_running()
    *_, before, again = started
    assert (before.returncode, again.command) == (-9, before.command)
    assert services.are_running()
    assert len(started) == 4
    assert capsys.readouterr().err == "the clock was set back: the daemon is started again\n"


@pytest.mark.parametrize("platform", ["linux", "elsewhere"])
def test_a_process_that_is_bound_to_its_parent_ends_with_it(tmp_path, platform):
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "bound.py").write_text(
        f"import sys\nsys.platform = {platform!r}\nfrom {with_parent.__name__} import main\nmain()\n"
    )
    # The number of a parent that is there only once it starts its child: its own shell knows it.
    begin = f"import os, subprocess, sys; subprocess.run([{sys.executable!r}, 'bound.py', str(os.getpid()), 'child'])"
    parent = subprocess.Popen([sys.executable, "-c", begin], cwd=tmp_path, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert is_alive(child)
    parent.kill()
    parent.wait()
    try:
        assert ended_within([child], 5.0)
    finally:
        if is_alive(child):
            os.kill(child, signal.SIGKILL)


def test_one_whose_parent_is_gone_before_it_begins_does_not_begin(tmp_path):
    (tmp_path / "child.py").write_text("print('begun')")
    command = [sys.executable, "-m", with_parent.__name__, str(os.getppid()), "child"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_port_that_another_process_has_is_said_before_anything_starts(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "perfreg_assets.cli", "ui", "--port", str(port)]
        done = subprocess.run(
            [*command, "--warehouse", str(tmp_path / "perfreg.duckdb")],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode not in (0, 3, 4)
    assert done.stdout == ""
    assert f"port {port}" in done.stderr.splitlines()[-1]
    assert done.stderr.endswith(f"{Reason.PORT_UNAVAILABLE.sentence}\n")
    assert "dagster" not in done.stderr
