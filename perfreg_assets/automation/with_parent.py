"""A process that goes no further than who started it: `python -m …automation.with_parent PID MODULE ARGUMENT…`.

`perfreg ui` ends its processes when it is told to stop. One that is killed cannot: its daemon would go on unseen, take
what lies in the inbox beside the next one's, and its web server hold the port. They are killed with it instead, which
loses nothing: what is due is asked for again. Runs that are under way end by themselves.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_LOOK_S = 0.5


def bind(parent: int) -> None:
    """From here on this process is killed when `parent` ends, or now if that is not its parent any more."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    _end_without(parent)


def _watch(parent: int) -> None:
    while True:
        time.sleep(_LOOK_S)
        _end_without(parent)


def _end_without(parent: int) -> None:
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Runs the module that is named as `python -m` would."""
    bind(int(sys.argv[1]))
    del sys.argv[:2]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
