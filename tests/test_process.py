"""The process of a command ends as it should: status, output, exit handlers, threads that are waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfreg_assets.warehouse.connection import Warehouse


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


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_closed_stream_changes_no_status_and_prints_no_traceback(closed, tmp_path):
    def status(*arguments: str) -> int:
        program = [sys.executable, "-m", "perfreg_assets.cli", *arguments]
        ended = subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", *program],
            capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert "Traceback" not in ended.stdout + ended.stderr
        assert "closed file" not in ended.stderr
        return ended.returncode

    assert status("settings", "list") == 0
    assert status("verdicts") == 1
    assert status("verdicts", "--nonsense") == 2


def test_what_is_opened_later_does_not_get_the_number_of_a_closed_stream(tmp_path):
    code = "import os, sys; from perfreg_assets.cli import closed_streams; closed_streams.open_again(); "
    code += "file = open('kept', 'w'); os.write(1, b'lost'); print('lost'); os.system('echo lost')"
    subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", code], timeout=60, check=True, cwd=tmp_path
    )
    assert (tmp_path / "kept").read_text() == ""


def test_loading_the_definitions_loads_nothing_that_only_some_steps_need():
    """Every process of Dagster and every `ingest` pays for them."""
    program = "import sys, perfreg_assets.definitions; print(*sorted(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    loaded = {name.split(".")[0] for name in ended.stdout.split()}
    assert not loaded & {"adbutils", "matplotlib", "numba", "pandas", "scipy", "sklearn", "tslearn", "stumpy", "plotly"}


def test_a_command_takes_runs_in_without_what_nothing_here_needs(tmp_path):
    """pyarrow alone would load pandas, numba alone scipy's linear algebra: a twentieth of a run's CPU each."""
    runs = Path(__file__).parent / "data" / "sessions"
    program = f"""
import atexit, sys
wanted = ("numba.np.arraymath", "pandas", "scipy.linalg")
atexit.register(lambda: print([name for name in wanted if name in sys.modules]))
sys.argv = ["perfreg", "ingest", *{[str(runs / name) for name in ("notes-000", "notes-001")]}]
from perfreg_assets.cli import run
run()
"""
    places = {"PERFREG_HOME": str(tmp_path), "PERFREG_WAREHOUSE": str(tmp_path / "perfreg.duckdb")}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False,
        env=os.environ | places,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "['numba.np.arraymath']"


def test_who_imports_pandas_in_a_commands_process_finds_it():
    program = """
from perfreg_assets.cli import lean_imports
lean_imports.let_libraries_do()
import pyarrow as pa, sys
pa.table({"run": ["a", None], "sizes": [[1], [2, 3]]}).column("sizes").combine_chunks().flatten().to_numpy()
print("pandas" in sys.modules, type(pa.__spec__.loader).__name__)
import pandas as pd
print(pd.DataFrame({"mean": [1.0]}).mean().iloc[0], pa.table({"mean": [2.5]}).to_pandas().loc[0, "mean"])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines() == ["False SourceFileLoader", "1.0 2.5"]


def test_pandas_may_be_imported_before_pyarrow_in_a_commands_process():
    program = """
from perfreg_assets.cli import lean_imports
lean_imports.let_libraries_do()
import pandas as pd
print(pd.array(["a", None], dtype="string[pyarrow]").isna().sum())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "1\n"


def test_who_imports_scipys_linear_algebra_in_a_commands_process_finds_it():
    program = """
from perfreg_assets.cli import lean_imports
lean_imports.let_libraries_do()
import numba.np.arraymath, sys
print("scipy.linalg" in sys.modules, type(numba.np.arraymath.__spec__.loader).__name__)
import scipy.linalg, sklearn.neighbors
print(scipy.linalg.det([[2.0]]))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines() == ["False SourceFileLoader", "2.0"]


LEFT_OUT = """
from perfreg_assets.cli import lean_imports
lean_imports.let_libraries_do()
import alembic.command, numba, scipy.special, structlog, sys
names = ["cffi", "numpy.f2py", "pycparser", "pygments", "rich.pretty", "rich.traceback"]
if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18):  # whose special functions need it
    names.append("scipy.linalg")
print([name for name in names if name in sys.modules])
numba.njit(lambda one: one + 1)(1)
"""


def test_a_command_loads_no_parsers_of_c_and_fortran_and_no_colours_of_tracebacks():
    ended = subprocess.run([sys.executable, "-c", LEFT_OUT], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "[]\n"


def test_who_imports_in_a_commands_process_what_is_left_out_finds_it():
    program = """
import numpy, pygments.token
from scipy._lib._array_api import np_compat as compat
print("f2py" in vars(numpy), compat.f2py.get_include() == numpy.f2py.get_include())
print(scipy.special.ndtr(0.0), pygments.token.Number)
"""
    ended = subprocess.run(
        [sys.executable, "-c", LEFT_OUT + program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout.splitlines()[1:] == ["False True", "0.5 Token.Literal.Number"]


def test_importing_the_definitions_leaves_numba_its_linear_algebra():
    program = """
import perfreg_assets.definitions, numba, numpy as np
multiplied = numba.njit(lambda one, other: one @ other)
print(multiplied(np.ones((2, 2)), np.ones((2, 2)))[0, 0])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "2.0\n"


def test_importing_the_definitions_leaves_pyarrow_and_pandas_as_they_are():
    """Data teams' own assets are loaded beside them."""
    program = """
import perfreg_assets.definitions, pandas as pd, pyarrow as pa
frame = pd.DataFrame({"mean": [1.0, float("nan")], "what": pd.Series([1, pd.NA], dtype=object)})
print([pa.table(frame).column(name).null_count for name in frame])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.split("\n")[0] == "[1, 1]"


def test_names_that_the_locale_cannot_spell_are_read_as_utf8(tmp_path):
    place = tmp_path / "müll"
    with Warehouse(place / "perfreg.duckdb", lock_timeout_s=5).writing():
        pass  # it is made and published
    ended = subprocess.run(
        [sys.executable, "-m", "perfreg_assets.cli", "sql", "SELECT 'größer' AS what", "--format", "csv"],
        cwd=place, capture_output=True, encoding="utf-8", timeout=60, check=False,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == ["what", "größer"]


def test_an_interpreter_that_is_told_to_read_names_otherwise_is_started_once_more_only():
    ended = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-m", "perfreg_assets.cli", "--version"],
        capture_output=True, timeout=60, check=False, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    assert ended.returncode == 0


@pytest.mark.parametrize("module", ["perfreg_assets.definitions", "perfreg_assets.workers"])
def test_processes_that_load_what_dagster_loads_look_for_garbage_as_rarely_as_commands(module):
    """Half a second or more of each run of Dagster's went there."""
    program = f"import gc, {module}; print(*gc.get_threshold())"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert told.stdout.split() == ["50000", "20", "50"]
