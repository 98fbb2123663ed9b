"""A native trace processor: start under `supervisor`, address, end."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import IO

from perfreg_assets.traces import supervisor
from perfreg_assets.traces.engine_choice import EngineChoice
from perfreg_assets.traces.engine_process import START_LIMIT_S, Ended, EngineProcess, not_started

_ATTEMPTS = 3
_POLL_S = 0.01
_STDERR_TAIL_BYTES = 2000


class NativeProcess(EngineProcess):
    """It runs under `supervisor`, which ends it when this process ends in whatever way, and at the memory limit."""

    def __init__(self, choice: EngineChoice, memory_bytes: int) -> None:
        """Starts the engine and waits until it answers.

        Raises:
            Rejected: ENGINE_UNAVAILABLE if it does not start.
        """
        super().__init__(choice, memory_bytes)
        self._held_port: socket.socket | None = None
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 — lives as long as the engine
        try:
            self.address = self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> str:
        """A native engine takes a port number but does not say when it listens: ask until it answers.

        The port is held by a bound socket that does not listen, so that no other engine is given the same number
        in between; both sides set SO_REUSEADDR, which allows this. The last attempt lets go of the port, for an
        engine that does not set it.
        """
        for attempt in range(_ATTEMPTS):
            self._held_port = socket.socket()
            self._held_port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._held_port.bind(("127.0.0.1", 0))
            port = self._held_port.getsockname()[1]
            if attempt == _ATTEMPTS - 1:
                self._held_port.close()
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", supervisor.__file__, str(self._memory_bytes)),
                    *(str(self.choice.path), "-D", "--http-port", str(port), "--no-ftrace-raw"),
                ],
                stdin=subprocess.PIPE,  # the lifeline: nothing is ever written, its end is the signal
                stdout=self._stderr,
                stderr=self._stderr,
                start_new_session=True,  # Ctrl-C does not reach it, and one signal ends the whole group
            )
            self.group = self._process.pid
            deadline = time.monotonic() + START_LIMIT_S
            while self._process.poll() is None and time.monotonic() < deadline:
                if _answers(port):
                    return f"127.0.0.1:{port}"
                time.sleep(_POLL_S)
            self._stop()
        raise not_started(self.choice, self._process.returncode, self._stderr_tail())

    def _end(self) -> Ended:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
        self._stop()
        return Ended(self._process.returncode, self._stderr_tail())

    def _stderr_tail(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _STDERR_TAIL_BYTES))
        return " ".join(self._stderr.read().decode(errors="replace").split())

    def kill(self) -> None:
        """Ends supervisor and engine."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.group, signal.SIGKILL)

    def _stop(self) -> None:
        self.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._held_port is not None:
            self._held_port.close()

    def close(self) -> None:
        if hasattr(self, "_process"):
            self._stop()
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
