"""An explorer that is a program on this computer: started, watched and ended with everything it starts.

The program waits behind a pipe until its pid is in the journal: killed before that, we leave nothing behind.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

from perfreg_assets.collection.clock import host_boot_s
from perfreg_assets.collection.exploration import ExplorerContext
from perfreg_assets.process_life import started_ticks
from perfreg_assets.reasons import Reason, Rejected

_PLACEHOLDER = re.compile(r"\{(serial|app|apk|seconds|interval|seed|output|device_output|path)\}")
_BEHIND_PIPE = 'read -r _ || exit 125; exec "$@"'
_GRACE_S = 3.0
_MESSAGES_MAX_BYTES = 64 << 20
_MESSAGES_KEPT_BYTES = 1 << 20
"""Of the messages that became too many, the last ones: why a program failed stands at their end."""


class ExplorerProcess:
    """The running program; `context.work_dir` holds its output folder and its messages, `device_output` is its folder
    on the device."""

    def __init__(
        self,
        context: ExplorerContext,
        command: Sequence[str],
        values: Mapping[str, str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._context = context
        self._environment = environment or {}
        self.output_dir = context.work_dir / "explorer"
        self.device_output = f"{context.scratch_dir}/explorer"
        self.path_file = context.work_dir / "path.jsonl"
        self._messages = context.work_dir / "explorer.log"
        known = {
            "serial": context.device.serial,
            "app": context.app,
            "apk": os.path.abspath(context.config.apk) if context.config.apk else "",
            "seconds": f"{context.config.time_limit_s:.0f}",
            "interval": f"{context.config.action_interval_s:g}",
            "seed": str(context.seed),
            "output": str(self.output_dir),
            "device_output": self.device_output,
            "path": str(self.path_file),
            **values,
        }
        self._argv = [_PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), part) for part in command]
        self._process: subprocess.Popen[bytes] | None = None
        self._last_progress = 0.0
        self._progress: object = None

    def start(self) -> None:
        """Starts the program.

        Raises:
            Rejected: EXPLORER_NOT_STARTED, there is no such program; those of `Device.make_directory`.
        """
        program = shutil.which(self._argv[0])
        if program is None:
            raise Rejected(Reason.EXPLORER_NOT_STARTED, f"{self._argv[0][:200]!r} is not a program on this computer")
        self._argv[0] = os.path.abspath(program)  # it is started in another folder
        self.output_dir.mkdir(parents=True, exist_ok=True)
        if any(self.device_output in part for part in self._argv):
            self._context.device.make_directory(self.device_output)
        environment = {
            **os.environ,
            **self._environment,
            "ANDROID_SERIAL": self._context.device.serial,
            "PERFREG_PATH_FILE": str(self.path_file),
            "PERFREG_OUTPUT": str(self.output_dir),
        }
        with self._messages.open("ab") as messages:  # at its end wherever that is: it is shortened while it is written
            self._process = subprocess.Popen(
                ["sh", "-c", _BEHIND_PIPE, "sh", *self._argv],
                stdin=subprocess.PIPE,
                stdout=messages,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=self._context.work_dir,
                start_new_session=True,
            )
        ticks = started_ticks(self._process.pid)
        if ticks is not None:
            self._context.journal.owe("host_process", str(self._process.pid), str(ticks))
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"go\n")
            self._process.stdin.close()
        except BrokenPipeError as error:
            raise Rejected(Reason.EXPLORER_NOT_STARTED, f"{self._argv[0][:200]} ended at once") from error
        self._last_progress = host_boot_s()

    def poll(self, progress: object) -> bool:
        """True when the program has ended well. `progress`: any value that changes while it does something.

        Raises:
            Rejected: EXPLORER_NOT_STARTED, EXPLORER_CRASHED, EXPLORER_HUNG.
        """
        assert self._process is not None
        self._shorten_messages()
        status = self._process.poll()
        if status is None:
            now = host_boot_s()
            if progress != self._progress:
                self._progress, self._last_progress = progress, now
            silent_s = now - self._last_progress
            if silent_s > self._context.config.hung_after_s:
                raise Rejected(Reason.EXPLORER_HUNG, f"{self._argv[0][:200]} wrote nothing for {silent_s:.0f} s")
            return False
        if status == 0:
            return True
        reason = Reason.EXPLORER_NOT_STARTED if status in (126, 127) else Reason.EXPLORER_CRASHED
        raise Rejected(reason, f"{self._argv[0][:200]} returned {status}: {self._last_message()}")

    def stop(self) -> None:
        """Ends the program and its children: TERM, then KILL."""
        process = self._process
        if process is None:
            return
        _signal_group(process.pid, signal.SIGTERM)
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            _signal_group(process.pid, signal.SIGKILL)
            process.wait(_GRACE_S)
        # Children that ignore TERM outlive the leader; the group's number is not given away while they live.
        time.sleep(0.05)
        _signal_group(process.pid, signal.SIGKILL)

    def _shorten_messages(self) -> None:
        if self._messages.stat().st_size > _MESSAGES_MAX_BYTES:
            kept = self._end_of_messages(_MESSAGES_KEPT_BYTES)
            os.truncate(self._messages, 0)
            with self._messages.open("ab") as stream:
                stream.write(kept)

    def _end_of_messages(self, size: int) -> bytes:
        with self._messages.open("rb") as stream:
            stream.seek(max(0, self._messages.stat().st_size - size))
            return stream.read(size)

    def _last_message(self) -> str:
        text = self._end_of_messages(2000).decode("utf-8", errors="replace")
        return " ".join(text.split())[-200:] or "no message"


def _signal_group(pid: int, signal_number: int) -> None:
    try:
        os.killpg(pid, signal_number)
    except (ProcessLookupError, PermissionError):
        return
