"""A WebAssembly engine made ready once, from which a process is forked for every trace.

  python … wasm_prefork.main([WASM, CACHE_FOLDER…])

Starting Python, loading the module and setting the trace processor up costs more than reading a small trace, so it is
done once for a batch. A trace has a process of its own all the same: one that crashes, hangs or takes too much memory
takes nothing along, and its memory returns with its end. This process itself never sees a byte of a trace.

It prints `compiling FOLDER` if the engine must be compiled first, then `ready`. A line on standard input asks, and one
line answers:

  start MEMORY_BYTES   listening PORT PID        a new engine on 127.0.0.1
                       refused TEXT              the system has no process, port or file left for it
  state PID            running | ended STATUS TEXT
  end PID              ended STATUS TEXT         killed, if it runs

STATUS is an exit status, 128 + signal or `EXIT_MEMORY`; TEXT the last that the engine wrote to standard error, without
line ends. Standard input is a lifeline as in `supervisor`: at its end, or when the parent has gone in whatever way, all
engines end.
"""

from __future__ import annotations

import ctypes
import gc
import os
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from perfreg_assets.traces.loopback_http import listen, serve
from perfreg_assets.traces.supervisor import EXIT_MEMORY, PR_SET_PDEATHSIG, resident_bytes
from perfreg_assets.traces.wasm_engine import WasmEngine
from perfreg_assets.traces.wasm_rpc import EXIT_CRASH, Rpc

_POLL_S = 0.1
_STDERR_TAIL_BYTES = 2000
_LIFELINE, _REPLIES = 0, 1  # standard input and output
_NO_LIMIT_BYTES = 1 << 62
_AGAIN = "--again"


class _Engine:
    """A forked engine; `status` once it has ended."""

    def __init__(self, memory_bytes: int, stderr: int) -> None:  # no dataclass: that import takes 8 ms
        self.memory_bytes = memory_bytes
        self.stderr = stderr
        self.status: int | None = None


class _Prefork:
    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self._pid, self._parent = os.getpid(), os.getppid()
        self._engines: dict[int, _Engine] = {}
        self._unread = b""
        self._child_ended, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._child_ended, False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business; it ends us in its own way
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> None:
        """Until the lifeline ends."""
        _say("ready")
        is_wanted = True
        while is_wanted:
            readable, _, _ = select.select([_LIFELINE, self._child_ended], [], [], _POLL_S)
            if self._child_ended in readable:
                os.read(self._child_ended, 4096)
            self._watch()
            if _LIFELINE in readable:
                is_wanted = self._hear()
            is_wanted = is_wanted and os.getppid() == self._parent
        for pid in list(self._engines):
            self._kill(pid, 128 + signal.SIGKILL)

    def _watch(self) -> None:
        """Notes the ends, and ends what is too large."""
        for pid, engine in self._engines.items():
            if engine.status is None:
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    code = os.waitstatus_to_exitcode(status)
                    engine.status = code if code >= 0 else 128 - code
                elif resident_bytes(pid) > engine.memory_bytes:
                    self._kill(pid, EXIT_MEMORY)

    def _kill(self, pid: int, status: int) -> None:
        engine = self._engines.get(pid)
        if engine is not None and engine.status is None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # our own child, not waited for yet: nobody else can have its number
            os.waitpid(pid, 0)
            engine.status = status

    def _hear(self) -> bool:
        """Answers what is asked; False at the end of the lifeline."""
        data = os.read(_LIFELINE, 4096)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            word, number = line.decode("ascii").split()
            if word == "start":
                try:
                    self._start(int(number))
                except OSError as error:  # the engines that there are go on
                    _say(f"refused {error}")
                continue
            pid = int(number)
            if word == "end":
                self._kill(pid, 128 + signal.SIGKILL)
            self._tell(pid)
        return bool(data)

    def _tell(self, pid: int) -> None:
        engine = self._engines.get(pid)
        if engine is None:
            _say("ended 0 it was told before")
            return
        if engine.status is None:
            _say("running")
            return
        size = os.lseek(engine.stderr, 0, os.SEEK_END)
        text = os.pread(engine.stderr, _STDERR_TAIL_BYTES, max(0, size - _STDERR_TAIL_BYTES))
        os.close(engine.stderr)
        del self._engines[pid]  # told once
        _say(f"ended {engine.status} {' '.join(text.decode(errors='replace').split())}")

    def _start(self, memory_bytes: int) -> None:
        stderr = _anonymous_file()
        try:
            listener, port = listen()
            pid = os.fork()
        except OSError:
            os.close(stderr)
            raise
        if pid == 0:
            try:
                _die_with(self._pid)
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                null = os.open(os.devnull, os.O_RDWR)
                for descriptor, standard in ((null, _LIFELINE), (null, _REPLIES), (stderr, 2)):
                    os.dup2(descriptor, standard)
                self._rpc.engine.limit_memory(memory_bytes)
                serve(listener, self._rpc.answer)
            except BaseException:  # noqa: BLE001 — told on standard error; none of the parent's code may run on here
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(EXIT_CRASH)
        listener.close()
        self._engines[pid] = _Engine(memory_bytes, stderr)
        _say(f"listening {port} {pid}")


def _die_with(parent: int) -> None:
    """The engine's end follows that of the process that forked it (which has one thread, see `supervisor`)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(EXIT_CRASH)


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("stderr")
    import tempfile  # noqa: PLC0415  (only where the system has no files in memory: it takes 5 ms)

    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    return descriptor


def _say(line: str) -> None:
    data = os.fsencode(line + "\n")
    while data:
        data = data[os.write(_REPLIES, data) :]


def main(arguments: Sequence[str]) -> NoReturn:
    is_second = _AGAIN in arguments
    wasm, *caches = [Path(argument) for argument in arguments if argument != _AGAIN]
    compiled_for: list[str] = []

    def announce(folder: str) -> None:
        _say(f"compiling {folder}")
        compiled_for.append(folder)

    engine = WasmEngine(wasm, memory_bytes=_NO_LIMIT_BYTES, cache_folders=caches, announce=announce)
    if any(compiled_for) and not is_second:
        # The compiler leaves threads and hundreds of megabytes behind, which every engine would inherit.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], _AGAIN])
    rpc = Rpc(engine)
    rpc.reset(with_raw_ftrace=False)
    gc.freeze()  # engines do not touch, and so not copy, what was here before them
    _Prefork(rpc).run()
    os._exit(0)
