"""A suite's programs on this machine: their command lines, and one launch with its timeout."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from perfreg_assets.benchmarks import java_sources
from perfreg_assets.benchmarks.phases import WARMUP_MORE_S
from perfreg_assets.benchmarks.suite import Configured, Options, Suite
from perfreg_assets.methods.adequacy import Caveat
from perfreg_assets.reasons import Reason, Rejected

START_S = 30.0
"""For a program to start and to prepare, on a busy machine."""
TIMES = 3.0
"""So many times the phases a launch may take."""
OUTPUT_BYTES_MAX = 256 << 20
_LOOK_S = 0.5
_TAIL, _TAIL_BYTES = 400, 1 << 16


class Host:
    """This machine as a place to measure."""

    @property
    def name(self) -> str:
        return f"{platform.node()} / {platform.machine()}"

    @property
    def environment(self) -> Mapping[str, Any]:
        return {"system": platform.platform()}

    def programs(self, suite: Suite) -> HostPrograms:
        return HostPrograms(suite)

    def caveats(self) -> list[Caveat]:
        return []


class HostPrograms:
    """A suite's programs on this machine; compiles what has to be, once."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._stack = ExitStack()
        self._classes: Path | None = None

    def close(self) -> None:
        self._stack.close()

    def launch(self, one: Configured) -> str:
        """See `machine.Programs`.

        Raises:
            Rejected: SUITE_PATH, SUITE_VALUE, COMPILER_MISSING, COMPILATION_FAILED, and those of `launch`.
        """
        return launch(self.command(one), timeout_s=timeout_of(one.options), folder=self._suite.folder)

    def command(self, one: Configured) -> list[str]:
        """The argv of one launch.

        Raises:
            Rejected: SUITE_PATH, SUITE_VALUE, COMPILER_MISSING, COMPILATION_FAILED.
        """
        config = arguments_of(one, one.options.params)
        if one.runner == "jetpack" or one.options.bits:
            what = "runner jetpack" if one.runner == "jetpack" else "option bits"
            raise Rejected(Reason.SUITE_VALUE, f"{one.name}: {what} is for devices; name one with --device")
        if one.runner == "command":
            return [*one.options.command, *config]
        if one.runner == "python":
            return [sys.executable, "-m", "perfreg_assets.benchmarks.python_worker", self._python_target(one), *config]
        java = shutil.which("java")
        if java is None:
            raise Rejected(Reason.COMPILER_MISSING, one.name)
        jars = [str(path) for path in java_sources.libraries(self._suite)]
        given = [str(self._suite.folder / part) for part in one.options.classpath.split(os.pathsep) if part]
        path = os.pathsep.join([str(self._compiled()), *jars, *given])
        return [java, *one.options.java_options, "-cp", path, "Harness", f"class={one.name}", *config]

    def _python_target(self, one: Configured) -> str:
        name, separator, kind = one.name.partition(":")
        file = (self._suite.folder / name).resolve()
        if not separator or not file.is_relative_to(self._suite.folder.resolve()) or not file.is_file():
            detail = f"{self._suite.path}: {one.name!r} is no FILE.py:CLASS of the suite's folder"
            raise Rejected(Reason.SUITE_PATH, detail)
        return f"{file}:{kind}"

    def _compiled(self) -> Path:
        """The folder with the classes of the harness and of the suite's sources."""
        if self._classes is None:
            target = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="perfreg-bench-")))
            java_sources.compile_classes(self._suite, target)
            self._classes = target
        return self._classes


def arguments_of(one: Configured, params: Mapping[str, str]) -> list[str]:
    """What every program is told, as `key=value`.

    Args:
        params: the benchmark's own, with files as they are called where it runs.
    """
    options = one.options
    told = {
        "name": one.name,
        "threads": options.threads,
        "warmup_s": options.warmup_s,
        "measure_s": options.measure_s,
        "iterations_min": options.iterations_min,
        "is_validating": str(options.is_validating).lower(),
        **params,
    }
    return [f"{name}={value}" for name, value in told.items()]


def timeout_of(options: Options) -> float:
    """How long a launch may take, seconds."""
    return TIMES * (options.warmup_s + (WARMUP_MORE_S if options.warmup_s else 0.0) + options.measure_s) + START_S


def launch(command: Sequence[str], *, timeout_s: float, folder: Path) -> str:
    """What a program wrote; it and whatever it started is ended with it.

    Raises:
        Rejected: BENCHMARK_FAILED, with the end of what it wrote on stderr; BENCHMARK_TIMEOUT.
    """
    try:
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            subprocess.Popen(
                command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True
            ) as process,
        ):
            try:
                if not _has_ended(process, timeout_s, (out, err)):
                    raise Rejected(Reason.BENCHMARK_TIMEOUT, f"{timeout_s:g} s were over; {_tail(err)}")
            finally:
                _end_group(process)
            _refuse_too_much((out, err))
            out.seek(0)
            text = out.read().decode("utf-8", "replace")
            if process.returncode and not has_error(text):
                raise Rejected(Reason.BENCHMARK_FAILED, f"exit status {process.returncode}; {_tail(err)}")
            return text
    except OSError as error:
        raise Rejected(Reason.BENCHMARK_FAILED, f"{command[0]} cannot be started ({error.strerror})") from error


def _has_ended(process: subprocess.Popen[bytes], timeout_s: float, outputs: Sequence[IO[bytes]]) -> bool:
    """Whether a program ended in time; looks now and then how much it has written, or it could fill the disk.

    Raises:
        Rejected: BENCHMARK_FAILED.
    """
    end = time.monotonic() + timeout_s
    while (left := end - time.monotonic()) > 0:
        try:
            process.wait(min(_LOOK_S, left))
        except subprocess.TimeoutExpired:
            _refuse_too_much(outputs)
        else:
            return True
    return False


def _refuse_too_much(outputs: Sequence[IO[bytes]]) -> None:
    if any(os.fstat(one.fileno()).st_size > OUTPUT_BYTES_MAX for one in outputs):
        raise Rejected(Reason.BENCHMARK_FAILED, f"it wrote more than {OUTPUT_BYTES_MAX >> 20} MiB")


def has_error(output: str) -> bool:
    """Whether a program says itself what went wrong, by the protocol."""
    return '"phase": "error"' in output or '"phase":"error"' in output


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the program with all that it started and left."""
    with suppress(ProcessLookupError):  # all have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(err: IO[bytes]) -> str:
    err.seek(max(0, err.seek(0, os.SEEK_END) - _TAIL_BYTES))
    text = " ".join(err.read().decode("utf-8", "replace").split())
    return f"stderr ends: {text[-_TAIL:]}" if text else "it wrote nothing on stderr"
