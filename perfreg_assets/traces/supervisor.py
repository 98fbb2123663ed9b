"""Runs one trace engine and ends it: with its parent, at the memory limit, or when told to.

  python -I -S supervisor.py MEMORY_BYTES ENGINE [ARGUMENT…]

Standard library only and run as a file, so it starts in some 20 ms and works for native binaries, which have no
such switch themselves. Its standard input is a pipe that nobody writes to: end-of-file means that the parent is
gone, however it went (SIGKILL too). The parent's process id is watched as well, because a forked sibling may hold
the pipe open. On Linux the engine also gets a parent-death signal, in case this supervisor is killed itself;
the signal follows the *thread* that started the engine, hence it is safe here (one thread) and not in a server.

Exit status: the engine's own; 128 + signal if one ended it; `EXIT_MEMORY` at the limit; `EXIT_NOT_STARTED`.

The memory limit is a watch on resident memory (ten times a second, Linux only), not RLIMIT_AS: engines reserve far
more address space than they use.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from contextlib import suppress

EXIT_MEMORY = 97
EXIT_NOT_STARTED = 127

_POLL_S = 0.1
PR_SET_PDEATHSIG = 1
_LIFELINE = 0  # standard input


def main(arguments: list[str]) -> int:
    memory_bytes, command = int(arguments[0]), arguments[1:]
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business; it ends the engine in its own way
    child_ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    engine = os.fork()
    if engine == 0:
        _become(command)
    return _watch(engine, parent, memory_bytes, child_ended)


def _become(command: list[str]) -> None:
    """In the child: turns into the engine; never returns."""
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), _LIFELINE)
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(EXIT_NOT_STARTED)


def _watch(engine: int, parent: int, memory_bytes: int, child_ended: int) -> int:
    while True:
        readable, _, _ = select.select([_LIFELINE, child_ended], [], [], _POLL_S)
        pid, status = os.waitpid(engine, os.WNOHANG)
        if pid == engine:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        is_orphan = os.getppid() != parent or (_LIFELINE in readable and not os.read(_LIFELINE, 1))
        is_too_large = resident_bytes(engine) > memory_bytes
        if is_orphan or is_too_large:
            with suppress(ProcessLookupError):
                os.kill(engine, signal.SIGKILL)
            os.waitpid(engine, 0)
            return EXIT_MEMORY if is_too_large else 0


def resident_bytes(pid: int) -> int:
    """Resident memory of a process; 0 where /proc does not tell."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
