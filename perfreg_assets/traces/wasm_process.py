"""WebAssembly engines: one prepared process (`wasm_prefork`) that forks an engine per trace."""

from __future__ import annotations

import importlib.util
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from perfreg_assets.traces.engine_choice import EngineChoice, logger
from perfreg_assets.traces.engine_process import START_LIMIT_S, Ended, EngineProcess, not_started

_ROOT = Path(__file__).resolve().parents[2]
# -P: nothing from the current folder is imported; -S: none of site-packages' start-up hooks is run. The package's own
# place and wasmtime's are given.
_BOOT = (
    "import sys; sys.path += [sys.argv.pop(1), sys.argv.pop(1)]; "
    "from perfreg_assets.traces import wasm_prefork; wasm_prefork.main(sys.argv[1:])"
)
_ENDS_WITHIN_S = 2.0
_POLL_S = 0.01
_STDERR_TAIL_BYTES = 2000


class WasmPrefork:
    """Starts engines of one build. For several threads."""

    def __init__(self, choice: EngineChoice, wasm: Path, caches: Sequence[Path]) -> None:
        """
        Args:
            choice: for the sentences.
            wasm: the module.
            caches: where compiled code is looked for and kept.

        Raises:
            Rejected: ENGINE_UNAVAILABLE if it does not start.
        """
        self._choice = choice
        self._lock = threading.Lock()
        self._unread = b""
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 — lives as long as the process
        wasmtime = importlib.util.find_spec("wasmtime")
        site = Path(wasmtime.origin).parents[1] if wasmtime and wasmtime.origin else _ROOT
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-S", "-c", _BOOT, str(_ROOT), str(site), str(wasm), *map(str, caches)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            start_new_session=True,  # Ctrl-C does not reach it
        )
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while line := self._read_line(deadline):
            word, _, folder = line.partition(" ")
            if word == "ready":
                return
            if word == "compiling":
                kept = f"kept in {folder}" if folder else "no cache folder can be written, so every start does this"
                logger.warning("perfreg: compiling the trace engine, once per machine, 4 to 20 s (%s)", kept)
        self.process.kill()
        raise not_started(self._choice, self.process.wait(), self._stderr_tail())

    def start(self, memory_bytes: int) -> tuple[str, int]:
        """A new engine: its address and its process number.

        Raises:
            Rejected: ENGINE_UNAVAILABLE.
        """
        word, _, rest = self.ask(f"start {memory_bytes}").partition(" ")
        if word != "listening":
            raise not_started(self._choice, self.process.poll(), rest)
        port, pid = rest.split()
        return f"127.0.0.1:{port}", int(pid)

    def ask(self, line: str) -> str:
        """The answer to a line of `wasm_prefork`'s requests; "ended …" for whatever is asked when it is gone."""
        with self._lock:
            if not self._stderr.closed:
                with suppress(OSError):
                    assert self.process.stdin is not None
                    self.process.stdin.write(line.encode("ascii") + b"\n")
                    if answer := self._read_line(time.monotonic() + START_LIMIT_S):
                        return answer
                self.process.kill()
                return f"ended {128 + abs(self.process.wait())} the process that forks the engines ended"
            return "ended 0 the engines were closed"

    def _read_line(self, deadline: float) -> str:
        """A line of the output; "" when it ended or the deadline passed."""
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        while b"\n" not in self._unread:
            readable, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(descriptor, 4096) if readable else b""
            if not data:
                return ""
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return os.fsdecode(line)

    def _stderr_tail(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _STDERR_TAIL_BYTES))
        return " ".join(self._stderr.read().decode(errors="replace").split())

    def close(self) -> None:
        """Ends it and all its engines. Safe to call twice."""
        with self._lock:
            if self._stderr.closed:
                return
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.close()
            try:
                self.process.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self._stderr.close()


class WasmProcess(EngineProcess):
    """One engine of a `WasmPrefork`."""

    def __init__(self, prefork: WasmPrefork, choice: EngineChoice, memory_bytes: int, *, is_narrow: bool) -> None:
        """
        Raises:
            Rejected: ENGINE_UNAVAILABLE.
        """
        super().__init__(choice, memory_bytes)
        self.is_narrow = is_narrow
        self._prefork = prefork
        self._ended: Ended | None = None
        self._lock = threading.Lock()
        self.group = prefork.process.pid
        self.address, self.pid = prefork.start(memory_bytes)

    def _ask(self, word: str) -> Ended | None:
        with self._lock:
            if self._ended is None:
                answer, _, rest = self._prefork.ask(f"{word} {self.pid}").partition(" ")
                if answer == "ended":
                    status, _, text = rest.partition(" ")
                    self._ended = Ended(int(status), text)
            return self._ended

    def _end(self) -> Ended:
        deadline = time.monotonic() + _ENDS_WITHIN_S
        while (ended := self._ask("state")) is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        ended = ended or self._ask("end")
        assert ended is not None
        return ended

    def kill(self) -> None:
        self._ask("end")

    def close(self) -> None:
        self._ask("end")
