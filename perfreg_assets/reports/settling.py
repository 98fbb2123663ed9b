"""Making true what a change on a page makes due, in a process of its own: the pages stay quick, and whatever becomes of
it, what is due is told by its inputs and found again."""

from __future__ import annotations

import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LAST_LINES = 5
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class State:
    """How far it is.

    Attributes:
        asked, done: how often it was asked for, and up to which time it is done: `done == asked` when nothing is left.
        told: the latest that the process said of its progress; empty before.
        problem: what the last process that ended said when it failed; None where it did not.
    """

    asked: int
    done: int
    told: str
    problem: str | None

    @property
    def is_running(self) -> bool:
        return self.done < self.asked


class Settling:
    """One process at a time; what is asked for meanwhile is done by one more after it.

    Args:
        command: brings everything up to date, and says how far it is in lines.
        owed: a file that is there as long as something was asked for and is not done, also beyond this process.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], owed: Path | None = None) -> None:
        self._command, self._environment, self._owed = list(command), dict(environment), owed
        self._lock = threading.Lock()
        self._asked = self._done = 0
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._problem: str | None = None
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._is_over = False

    def ask(self) -> int:
        """Has it done after what was just written; the number of this request, see `State.done`."""
        if self._owed is not None:
            with suppress(
                OSError
            ):  # a full disk: what was recorded is kept, and only a restart would not go on with it
                self._owed.parent.mkdir(parents=True, exist_ok=True)
                self._owed.touch()
        with self._lock:
            self._asked += 1
            if self._thread is None and not self._is_over:
                self._thread = threading.Thread(target=self._work, name="settling", daemon=True)
                self._thread.start()
            return self._asked

    def resume(self) -> None:
        """Has done what was asked for when this one's predecessor ended."""
        if self._owed is not None and self._owed.exists():
            self.ask()

    @property
    def state(self) -> State:
        with self._lock:
            return State(self._asked, self._done, self._lines[-1] if self._lines else "", self._problem)

    def end(self) -> None:
        """Ends what is under way; it is due still, and found by whoever computes next."""
        with self._lock:
            self._is_over, process = True, self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()

    def _work(self) -> None:
        while True:
            with self._lock:
                asked = self._asked
                self._lines.clear()
            problem = self._once()
            with self._lock:
                self._done, self._problem = asked, problem
                if self._asked == asked or self._is_over:
                    if self._owed is not None and problem is None and not self._is_over:
                        self._owed.unlink(missing_ok=True)
                    self._thread = None
                    return

    def _once(self) -> str | None:
        """What went wrong, in the process's own words."""
        try:
            with self._lock:
                if self._is_over:
                    return None
                self._process = process = subprocess.Popen(
                    self._command,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,  # Ctrl-C is the server's, which ends it
                )
        except OSError as error:
            return f"it could not be started ({error.strerror})"
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                with self._lock:
                    self._lines.append(line.strip())
        status = process.wait()
        with self._lock:
            self._process = None
            told = " ".join(self._lines)
        return None if status == 0 else told or f"it ended with status {status}"
