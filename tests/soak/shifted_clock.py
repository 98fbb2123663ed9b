"""A clock that jumps, for the processes that are given it only."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

_SOURCE = Path(__file__).with_name("shifted_clock.c")


class ShiftedClock:
    """The clock of the processes started with `variables`; without a compiler it never jumps."""

    def __init__(self, folder: Path) -> None:
        self._file, self._library = folder / "clock", folder / "shifted_clock.so"
        self._file.write_bytes(struct.pack("q", 0))
        compiler = shutil.which("gcc") or shutil.which("cc")
        self.can_jump = compiler is not None
        if compiler is not None:
            command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(self._library), str(_SOURCE), "-ldl"]
            subprocess.run(command, check=True)

    @property
    def variables(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "SOAK_CLOCK": str(self._file)} if self.can_jump else {}

    def jump(self, ahead_s: int) -> None:
        """To so many seconds ahead of the machine's."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", ahead_s))
