"""The process of a command: how it begins and ends.

Most of a short command's time goes into loading libraries. Python's garbage collector goes through all that was loaded
so far again and again meanwhile, and once more at the end, and finds nothing: of the 7.4 CPU seconds that taking in one
run took, 2.4 went there.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading

from perfreg_assets import garbage
from perfreg_assets.cli import closed_streams, interruption, lean_imports, output
from perfreg_assets.cli.root import main
from perfreg_assets.own_scratch import remove_all


def run() -> None:
    """The process's only command, and its end."""
    _speak_utf8()
    closed_streams.open_again()
    garbage.look_rarely()
    lean_imports.let_libraries_do()
    interruption.allow()
    output.watch()
    try:
        main()
    except BaseException as end:
        if interruption.happened():  # and somebody took it for a failure, for nothing, or for an error of their own
            interruption.tell()
            _leave(interruption.status())
        if isinstance(end, output.OutputError):
            output.tell(end)
            _leave(1)
        if not isinstance(end, SystemExit):
            raise
        _leave(end.code)


def _speak_utf8() -> None:
    """Starts Python once more where it reads the names of files in another encoding (LC_ALL=C with PYTHONUTF8=0): it
    makes letters that this one lacks half characters, which neither DuckDB nor Dagster can take. Processes of steps
    inherit it. Once: an option of the interpreter's goes before the variable."""
    is_told = os.environ.get("PYTHONUTF8") == "1"
    if sys.getfilesystemencoding() != "utf-8" and sys.executable and not is_told:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONUTF8": "1"})


def _leave(code: str | int | None) -> None:
    """Ends the process like `sys.exit`, without taking apart every object first.

    Everything that has to be done at an end is done: threads that are waited for, exit handlers, what was printed.
    """
    if isinstance(code, str):
        sys.exit(code)
    was_told = interruption.happened()
    try:
        # The interpreter's own wait, only here an interrupt is heard: there it is printed, and the status stays 0.
        threading._shutdown()  # type: ignore[attr-defined]  # typeshed leaves it out
        if not was_told:
            interruption.heed()  # from Python 3.13 on that wait itself raises nothing
    except KeyboardInterrupt:
        interruption.tell()
        remove_all()
        os._exit(interruption.status())
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:  # whoever was to read it is gone; click ends so as well
        code = 1
    except output.OutputError as lost:
        output.tell(lost)
        code = 1
    os._exit(code or 0)
