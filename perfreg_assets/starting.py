"""The console script `perfreg`, from before anything of the project is loaded: that takes a tenth of a second and more,
in which Ctrl-C is one line and status 130 as well, whatever is being imported."""

from __future__ import annotations

import os
import signal
from types import FrameType


def run() -> None:
    """Runs the command that the process was started for."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where a shell has it ignored
        signal.signal(signal.SIGINT, _end)
    from perfreg_assets.cli import run as run_command  # noqa: PLC0415  (it is what takes so long)

    run_command()


def _end(_number: int, _frame: FrameType | None) -> None:
    """Nothing was begun yet that could be kept. Written as it is: the streams may not be looked after yet."""
    os.write(2, b"perfreg: interrupted\n")
    os._exit(128 + signal.SIGINT)
