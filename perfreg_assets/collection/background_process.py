"""Commands that outlive the adb connection: started once, looked at until they end, ended with what they started."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from perfreg_assets.collection.device import Device, shortened
from perfreg_assets.collection.device_shell import BACKGROUND, POLL_BACKGROUND
from perfreg_assets.reasons import Reason, Rejected

_KILL_GRACE_S = 3.0


@dataclass
class BackgroundProcess:
    """A command on the device that was started by `start_background`."""

    device: Device
    pid: int
    log_path: str
    _log_offset: int = 0

    def poll(self) -> tuple[int | None, str]:
        """(return code or None while it runs, output since the last call). -1: gone without a return code."""
        result = self.device.script(POLL_BACKGROUND, self.log_path, str(self._log_offset + 1), str(self.pid))
        head, _, log = result.stdout.partition(b"\n")
        self._log_offset += len(log)
        status = head.decode("ascii", errors="replace").strip()
        text = log.decode("utf-8", errors="replace")
        if status == "running":
            return None, text
        return (int(status) if status.isdigit() else -1), text

    def terminate(self, *, timeout_s: float = _KILL_GRACE_S) -> None:
        """Ends it and what it started: TERM, then KILL; returns when the device says that it is gone."""
        self.device.signal_group(self.pid, "TERM")
        deadline = time.monotonic() + timeout_s
        while self.device.is_alive(self.pid):
            if time.monotonic() >= deadline:
                self.device.signal_group(self.pid, "KILL")
            time.sleep(0.1)
            if time.monotonic() >= deadline + timeout_s:
                raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"process {self.pid} cannot be ended")


def start_background(device: Device, argv: Sequence[str], *, log_path: str) -> BackgroundProcess:
    """Starts a command that outlives the adb connection; its output goes to `log_path` on the device.

    Beside the log: `<log>.pid`, and when it has ended `<log>.rc` with its return code. Called again while it
    runs, it is not started twice.

    Raises:
        Rejected: DEVICE_COMMAND_FAILED and those of `Device.run`.
    """
    result = device.script(BACKGROUND, log_path, *argv)
    if result.returncode != 0 or not result.text.strip().isdigit():
        raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"{shortened(argv)} did not start: {result.error_text}")
    return BackgroundProcess(device, int(result.text), log_path)
