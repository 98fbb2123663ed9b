"""Starts commands of the project as processes that may be killed: one with everything imported, forked for each.

What a command does is all its own; only the seconds that an interpreter takes to import it are spared, so that hundreds
of kills fit into minutes. Runs as a process of its own (`python starter.py`), in which nothing else is ever started: a
line of JSON in is a command, its process number and then its status come out.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""numpy and pyarrow begin threads when they are imported. A fork takes none of them with it, and what one had locked
just then stays locked."""


class Starter:
    """The other side: runs commands through the process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **_ONE_THREAD},
        )
        assert self._answer() == "ready"

    def run(
        self,
        arguments: list[str],
        *,
        folder: Path,
        log_folder: Path | None = None,
        killed_after_s: float | None = None,
        variables: dict[str, str] | None = None,
    ) -> int:
        """The exit status; negative where it was killed by that signal. Its output is added to `folder`/log.

        Args:
            log_folder: instead of `folder`.
            killed_after_s: with SIGKILL, its children as well; one that ends before is not.
            variables: of the environment, beside those of this process when the starter began.
        """
        assert self._process.stdin is not None
        wanted: dict[str, object] = {
            "arguments": arguments,
            "folder": str(folder),
            "log": str((log_folder or folder) / "log"),
        }
        wanted |= {"variables": {**{name: os.environ.get(name) for name in _ONE_THREAD}, **(variables or {})}}
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        pid = int(self._answer())
        if killed_after_s is not None:
            time.sleep(killed_after_s)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        return int(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, "the starter has ended"
        return line

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


@contextlib.contextmanager
def starter() -> Iterator[Starter]:
    """One that ends with the block."""
    made = Starter()
    try:
        yield made
    finally:
        made.close()


def _serve() -> None:
    # Here only: the other side of this file needs none of it.
    import points  # noqa: PLC0415

    points.install()
    import perfreg_assets.cli.ingesting  # noqa: PLC0415
    import perfreg_assets.definitions  # noqa: F401, PLC0415  (what every command would import)
    from perfreg_assets.cli import main  # noqa: PLC0415

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        wanted = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.chdir(wanted["folder"])
            _be_surrounded_by(wanted["variables"])
            tempfile.tempdir = None  # asked for before the variables were these
            _to_log(Path(wanted["log"]))
            try:
                main(wanted["arguments"])
            finally:
                os._exit(_status())
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _be_surrounded_by(variables: dict[str, str | None]) -> None:
    """None: the variable is not there."""
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def _to_log(path: Path) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)


def _status() -> int:
    ended = sys.exc_info()[1]
    if isinstance(ended, SystemExit):
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 1


if __name__ == "__main__":
    _serve()
