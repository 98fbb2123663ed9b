"""Ctrl-C ends any command with one line and status 130, SIGTERM with 143, and the same command goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.process_life import members
from perfreg_assets.warehouse.connection import Warehouse

# Someone below who takes an interrupt for something else, or does not hear it.
COMMAND = """
import click, sys, threading, time
from perfreg_assets.cli.process import run
from perfreg_assets.cli.root import command

@command("deaf", example="")
def deaf(settings):
    print("ready", flush=True)
    {body}

run()
"""
SLEEP = "\n    try: time.sleep(500)\n    except KeyboardInterrupt: "
BODIES = {
    "sleeps": "time.sleep(500)",
    "takes it for a failure": SLEEP + "raise ValueError('a step failed')",
    "takes it for nothing": SLEEP + "pass",
    "has an error of its own": SLEEP + "raise type('Own', (BaseException,), {})",
    "does not hear it": "import ctypes; ctypes.PyDLL(None).sleep(500)",
    "is within a callback": (
        "\n    import weakref; one = type('One', (), {})()"
        "\n    kept = weakref.ref(one, lambda _: time.sleep(500)); del one"
    ),
    # As Dagster's handler does while a run goes on: the interrupt has another name, and no base `Exception`.
    "is within a callback, by another's handler": (
        "\n    import signal, weakref; one, own = type('One', (), {})(), type('Own', (BaseException,), {})"
        "\n    def handle(*_): raise own"
        "\n    for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, handle)"
        "\n    kept = weakref.ref(one, lambda _: time.sleep(500)); del one"
    ),
    "has an end of its own that takes long": "\n    try: time.sleep(500)\n    finally: time.sleep(500)",
    "waits for a thread": "threading.Thread(target=time.sleep, args=(500,)).start()",
}
# Who started the tests in the background of a shell has them ignore Ctrl-C, and their children with them.
HEED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


TOLD = {
    signal.SIGINT: (130, "perfreg: interrupted; what was done is kept"),
    signal.SIGTERM: (143, "perfreg: ended by SIGTERM; what was done is kept"),
}


def interrupted(arguments: list[str], wait, number=signal.SIGINT, **options) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options
    ) as process:
        wait(process)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@pytest.mark.parametrize("number", TOLD, ids=lambda number: number.name)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_command_ends_with_one_line_whatever_is_made_of_it(tmp_path, body, number):
    program = HEED + COMMAND.format(body=body)
    arguments = [sys.executable, "-c", program, "deaf", "--warehouse", str(tmp_path / "perfreg.duckdb")]
    ended = interrupted(arguments, lambda process: process.stdout.readline(), number)
    status, told = TOLD[number]
    assert ended.returncode == status
    assert ended.stderr.startswith(told)
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("body", ["sleeps", "waits for a thread", "has an end of its own that takes long"])
def test_a_command_that_is_ended_leaves_nothing_in_the_temporary_folder(tmp_path, body):
    """One that did not end by itself left an empty folder each time."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    reads = "global kept; from perfreg_assets.warehouse.kept_instances import Instance; kept = Instance(); print("
    program = HEED + COMMAND.format(body=BODIES[body]).replace("print(", reads)
    arguments = [sys.executable, "-c", program, "deaf", "--warehouse", str(tmp_path / "perfreg.duckdb")]
    there = []

    def wait(process):
        process.stdout.readline()
        there.extend(temporary.glob("perfreg-read-*"))

    interrupted(arguments, wait, env={**os.environ, "TMPDIR": str(temporary)})
    assert len(there) == 1
    assert list(temporary.glob("perfreg-*")) == []


@pytest.mark.parametrize("number", TOLD, ids=lambda number: number.name)
@pytest.mark.parametrize("body", ["sleeps", "does not hear it", "takes it for a failure"])
def test_a_command_that_keeps_nothing_on_the_way_does_not_say_so(tmp_path, body, number):
    """`inspect` and `evaluate` told that what was done is kept, and begin anew."""
    program = HEED + COMMAND.format(body=BODIES[body]).replace('example=""', 'example="", begins_anew=True')
    arguments = [sys.executable, "-c", program, "deaf", "--warehouse", str(tmp_path / "perfreg.duckdb")]
    ended = interrupted(arguments, lambda process: process.stdout.readline(), number)
    status, told = TOLD[number]
    assert (ended.returncode, ended.stderr) == (status, f"{told.partition(';')[0]}\n")


def test_ctrl_c_while_a_command_is_being_loaded_is_one_line_too():
    program = """
import os, signal, sys
from perfreg_assets.starting import run

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "perfreg_assets.cli.servers":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["perfreg", "settings", "list"]
run()
"""
    ended = subprocess.run(
        [sys.executable, "-c", HEED + program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "perfreg: interrupted\n")


def test_a_command_that_was_loaded_hears_ctrl_c_as_ever(tmp_path):
    program = f"""{HEED}
from perfreg_assets.cli.root import command as define
import sys, time

@define("sleeps", example="")
def sleeps(settings):
    print("ready", flush=True)
    time.sleep(500)

sys.argv = ["perfreg", "sleeps"]
from perfreg_assets.starting import run
run()
"""
    ended = interrupted([sys.executable, "-c", program], lambda process: process.stdout.readline(), cwd=tmp_path)
    assert ended.returncode == 130
    assert ended.stderr.startswith(TOLD[signal.SIGINT][1])


def test_a_command_that_is_done_and_waits_for_its_threads_ends_so_too(tmp_path):
    late = "threading.Thread(target=lambda: (time.sleep(2), print('late', flush=True), time.sleep(500))).start()"
    program = HEED + COMMAND.format(body=late)
    arguments = [sys.executable, "-c", program, "deaf", "--warehouse", str(tmp_path / "perfreg.duckdb")]
    ended = interrupted(arguments, lambda process: (process.stdout.readline(), process.stdout.readline()))
    assert ended.returncode == 130
    assert ended.stderr.startswith("perfreg: interrupted; what was done is kept")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("number", TOLD, ids=lambda number: number.name)
def test_a_suite_that_is_ended_takes_along_what_its_program_started(tmp_path, number):
    started = tmp_path / "started"
    (tmp_path / "sleeps.sh").write_text("sleep 500 & echo $$ > started.part; mv started.part started; wait\n")
    suite = tmp_path / "suite.toml"
    suite.write_text('[[benchmark]]\nname = "sleeps"\nrunner = "command"\ncommand = ["sh", "sleeps.sh"]')
    arguments = ["bench", "run", str(suite), "--app", "a", "--app-version", "1"]

    def wait(process):
        while not started.exists() and process.poll() is None:
            time.sleep(0.05)

    program = f"{HEED}from perfreg_assets.cli import run; run()"
    ended = interrupted([sys.executable, "-c", program, *arguments], wait, number, cwd=tmp_path)
    left = members(int(started.read_text()))
    for pid in left or ():
        os.kill(pid, signal.SIGKILL)
    status, told = TOLD[number]
    assert (ended.returncode, ended.stderr) == (status, f"{told.partition(';')[0]}\n")
    assert not left
    assert not (tmp_path / "perfreg.duckdb").exists()


@pytest.mark.parametrize("number", TOLD, ids=lambda number: number.name)
def test_ingest_goes_on_where_it_was_interrupted(tmp_path, number):
    status, told = TOLD[number]
    warehouse = tmp_path / "perfreg.duckdb"
    folders = [str(demo_runs_dir() / name) for name in ("notes-000", "notes-001")]
    program = f"{HEED}from perfreg_assets.cli import run; run()"
    arguments = [sys.executable, "-c", program, "ingest", *folders, "--warehouse", str(warehouse)]
    for moment in (0.5, 4.0):

        def wait(process, moment=moment):
            lock = warehouse.with_name("perfreg.duckdb.lock")
            while not lock.exists() and process.poll() is None:  # the first write begins
                time.sleep(0.05)
            time.sleep(moment)

        ended = interrupted(arguments, wait, number, cwd=tmp_path)
        if ended.returncode == 0:  # it was done sooner than that
            continue
        assert ended.returncode == status, ended.stderr
        assert told in ended.stderr
        assert "Traceback" not in ended.stderr
        assert "Dagster" not in ended.stderr
    again = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path, timeout=500, check=False)
    assert again.returncode == 0, again.stderr
    assert "2 runs of 1 version, 0 quarantined" in again.stdout
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        states = reader.rows("SELECT run_id, run_verdict FROM marts.runs ORDER BY run_id")
    assert states == [("notes-000", "not_enough_history"), ("notes-001", "not_enough_history")]
