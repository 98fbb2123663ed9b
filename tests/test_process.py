"""The process of a command ends as it should: status, output, exit handlers, threads that are waited for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def end(code: str, *, prelude: str = "") -> subprocess.CompletedProcess[str]:
    program = f"import sys, atexit, threading, time\nfrom perfreg_assets.cli import process\n{prelude}\n{code}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("status", [0, 1, 3, 4])
def test_the_status_and_all_output_arrive(status):
    ended = end(f"print('x' * 100_000, end=''); print('told', file=sys.stderr, end=''); process._leave({status})")
    assert (ended.returncode, len(ended.stdout), ended.stderr) == (status, 100_000, "told")


def test_exit_handlers_run():
    assert end("process._leave(0)", prelude="atexit.register(print, 'handled')").stdout == "handled\n"


def test_threads_that_are_waited_for_are():
    prelude = "threading.Thread(target=lambda: (time.sleep(0.5), print('done'))).start()"
    assert end("process._leave(3)", prelude=prelude).stdout == "done\n"
    assert end("process._leave(3)", prelude=prelude).returncode == 3


def test_a_daemon_thread_is_not_waited_for():
    prelude = "threading.Thread(target=time.sleep, args=(50,), daemon=True).start()"
    assert end("process._leave(0)", prelude=prelude).returncode == 0


def test_a_sentence_as_status_is_printed():
    ended = end("process._leave('it did not work')")
    assert (ended.returncode, ended.stderr) == (1, "it did not work\n")


def test_a_reader_that_left_is_status_1_and_no_traceback():
    program = [sys.executable, "-m", "perfreg_assets.cli", "--help"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["verdicts", "--help"],
        ["settings", "list"],
        ["settings", "list", "--format", "json"],  # more than a buffer takes
        ["settings", "list", "--format", "csv", "--debug"],
    ],
)
def test_output_that_finds_no_room_is_one_line_and_status_1(arguments, tmp_path):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "perfreg_assets.cli", *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False, cwd=tmp_path,
        )  # fmt: skip
    told = "perfreg: standard output cannot be written (No space left on device): "
    assert (ended.returncode, ended.stderr.startswith(told), ended.stderr.count("\n")) == (1, True, 1)


def test_a_reader_that_has_seen_enough_is_status_1_and_no_word():
    program = [sys.executable, "-m", "perfreg_assets.cli", "settings", "list", "--format", "json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


def test_a_command_ends_with_its_own_status(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "perfreg_assets.cli", "verdicts", "--warehouse", str(tmp_path / "none.duckdb")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "none.read.duckdb does not exist" in ended.stderr


def test_loading_the_definitions_loads_nothing_that_only_some_steps_need():
    """Every process of Dagster and every `ingest` pays for them."""
    program = "import sys, perfreg_assets.definitions; print(*sorted(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    loaded = {name.split(".")[0] for name in ended.stdout.split()}
    assert not loaded & {"adbutils", "matplotlib", "sklearn", "tslearn", "stumpy", "plotly"}
    assert "scipy.optimize" not in ended.stdout.split()
