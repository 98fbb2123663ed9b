"""One trace engine as a process of its own: start, address, end, and what ended it."""

from __future__ import annotations

import http.client
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import supervisor
from perfreg_assets.traces.engine_choice import EngineChoice, logger
from perfreg_assets.traces.wasm_code import cache_folders

_START_LIMIT_S = 180.0  # the first start compiles: 4 to 20 s, more on a slow and busy machine
_NATIVE_ATTEMPTS = 3
_NATIVE_POLL_S = 0.01
_STDERR_TAIL_BYTES = 2000
_ROOT = Path(__file__).resolve().parents[2]
# -P: nothing from the current folder is imported. The package's own place is given, installed or not.
_WASM_BOOT = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from perfreg_assets.traces import wasm_shell; wasm_shell.main(sys.argv[1:])"
)


class EngineProcess:
    """A running engine that answers on `address` (127.0.0.1 only).

    It runs under `supervisor`, which ends it when this process ends in whatever way, and at the memory limit.
    """

    def __init__(self, choice: EngineChoice, settings: Settings) -> None:
        """Starts the engine and waits until it answers.

        Raises:
            Rejected: ENGINE_UNAVAILABLE if it does not start.
        """
        self.choice = choice
        self._memory_bytes = settings.engine_memory_bytes
        self._held_port: socket.socket | None = None
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 — lives as long as the engine
        try:
            if choice.kind == "wasm":
                home = settings.home_dir if settings.home else None
                self.address = self._start_wasm(cache_folders(home))
            else:
                self.address = self._start_native()
        except BaseException:
            self.close()
            raise

    # ---- start -------------------------------------------------------------------------------------
    def _spawn(self, command: list[str], stdout: int | IO[bytes]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, str(self._memory_bytes), *command],
            stdin=subprocess.PIPE,  # the lifeline: nothing is ever written, its end is the signal
            stdout=stdout,
            stderr=self._stderr,
            start_new_session=True,  # Ctrl-C does not reach it, and one signal ends the whole group
        )

    def _start_wasm(self, caches: list[Path]) -> str:
        self._spawn(
            [
                *(sys.executable, "-P", "-c", _WASM_BOOT, str(_ROOT), str(self.choice.path)),
                *("--http-port", "0", "--no-ftrace-raw", "--memory-bytes", str(self._memory_bytes)),
                *(part for folder in caches for part in ("--cache", str(folder))),
            ],
            subprocess.PIPE,
        )
        deadline = time.monotonic() + _START_LIMIT_S
        while line := self._read_line(deadline):
            word, _, rest = line.partition(" ")
            if word == "listening":
                return rest.split()[-1]
            if word == "compiling":
                kept = f"kept in {rest}" if rest else "no cache folder can be written, so every start does this"
                logger.warning("perfreg: compiling the trace engine, once per machine, 4 to 20 s (%s)", kept)
        raise self._not_started()

    def _read_line(self, deadline: float) -> str:
        """A line of the engine's output; "" when it ended or the deadline passed."""
        assert self._process.stdout is not None
        descriptor, line = self._process.stdout.fileno(), b""
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            byte = os.read(descriptor, 1) if readable else b""
            if not byte:
                return ""
            line += byte
        return line.decode(errors="replace").strip()

    def _start_native(self) -> str:
        """A native engine takes a port number but does not say when it listens: ask until it answers.

        The port is held by a bound socket that does not listen, so that no other engine is given the same number
        in between; both sides set SO_REUSEADDR, which allows this. The last attempt lets go of the port, for an
        engine that does not set it.
        """
        for attempt in range(_NATIVE_ATTEMPTS):
            self._held_port = socket.socket()
            self._held_port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._held_port.bind(("127.0.0.1", 0))
            port = self._held_port.getsockname()[1]
            if attempt == _NATIVE_ATTEMPTS - 1:
                self._held_port.close()
            self._spawn([str(self.choice.path), "-D", "--http-port", str(port), "--no-ftrace-raw"], self._stderr)
            deadline = time.monotonic() + _START_LIMIT_S
            while self._process.poll() is None and time.monotonic() < deadline:
                if _answers(port):
                    return f"127.0.0.1:{port}"
                time.sleep(_NATIVE_POLL_S)
            self._end()
        raise self._not_started()

    def _not_started(self) -> Rejected:
        self._end()
        what = f"the {self.choice.kind} engine {self.choice.path} did not start"
        return Rejected(
            Reason.ENGINE_UNAVAILABLE,
            f"{what} (exit status {self._process.returncode}) {self._stderr_tail()}".strip(),
        )

    # ---- end ---------------------------------------------------------------------------------------
    def failure(self, what: str) -> Rejected:
        """Why the engine is gone, after a request to it broke.

        Args:
            what: the work it was doing, for the sentence.
        """
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
        self._end()
        if self._process.returncode == supervisor.EXIT_MEMORY:
            limit = f"{self._memory_bytes / 2**20:,.0f} MiB"
            return Rejected(Reason.ENGINE_MEMORY, f"the engine passed its limit of {limit} {what}")
        tail = self._stderr_tail()
        return Rejected(
            Reason.ENGINE_CRASHED, f"the engine ended with status {self._process.returncode} {what} {tail}".strip()
        )

    def _stderr_tail(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _STDERR_TAIL_BYTES))
        text = " ".join(self._stderr.read().decode(errors="replace").split())
        return f"({text})" if text else ""

    def kill(self) -> None:
        """Ends supervisor and engine at once; safe to call from another thread, and twice."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _end(self) -> None:
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        if self._held_port is not None:
            self._held_port.close()

    def close(self) -> None:
        if hasattr(self, "_process"):
            self._end()
        self._stderr.close()


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/status")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
