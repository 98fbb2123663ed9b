"""One Perfetto recording on the device: start, watch, stop, fetch.

The config goes in by standard input: before Android 12 perfetto may not read a file written by the shell. The output
file exists, empty, from the first moment; only the end of the process says that it is complete. Deleting the trace
from the device is a debt in the journal, because some Android 10 devices refuse it (google/perfetto#22, #182).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perfreg_assets.collection.device import SCRATCH_DIR, Device
from perfreg_assets.collection.device_shell import END_BY_ARGUMENT
from perfreg_assets.collection.journal import Debt, Journal
from perfreg_assets.reasons import Reason, Rejected

TRACE_DIR = "/data/misc/perfetto-traces"
_WAITING_START_SDK = 33
"""From Android 13 `--background-wait` returns when the sources have started; before, `--background` returns at once."""

_FULL_BYTES = 16 << 20
"""With less a device is as good as full: what is written there is written in parts."""


@dataclass(frozen=True)
class FetchedTrace:
    path: Path
    size: int
    sha256: str
    recorded_s: float

    @property
    def bytes_per_minute(self) -> float:
        return self.size / max(self.recorded_s, 1e-3) * 60


class PerfettoSession:
    """A recording. `start` → `watch` as often as wanted → `stop` → `fetch`; the journal ends what is cut off."""

    def __init__(
        self,
        device: Device,
        journal: Journal,
        *,
        collection_id: str,
        sdk: int,
        suffix: str = "",
        rescue_to: Path | None = None,
    ) -> None:
        """
        Args:
            suffix: tells recordings of one collection apart.
            rescue_to: what is on the device is fetched into this folder before it is deleted there.
        """
        self.remote_path = f"{TRACE_DIR}/perfreg-{collection_id}{suffix}.pftrace"
        self._rescue_to = rescue_to
        self._file_debt: Debt | None = None
        self._device = device
        self._journal = journal
        self._sdk = sdk
        self._pid: int | None = None
        self._debt: Debt | None = None
        self._started = 0.0
        self._stopped = 0.0

    def start(self, configs: Sequence[str]) -> int:
        """Starts recording in the background with the first config that perfetto takes; returns its position.

        Raises:
            Rejected: PERFETTO_REFUSED with perfetto's own message about the first.
        """
        if self._rescue_to is None:
            self._file_debt = self._journal.owe("file", self.remote_path)
        else:
            self._file_debt = self._journal.owe("recording", self.remote_path, str(self._rescue_to))
        flag = "--background-wait" if self._sdk >= _WAITING_START_SDK else "--background"
        refusals = []
        for position, config in enumerate(configs):
            result = self._device.run(
                ["perfetto", "--txt", "-c", "-", "-o", self.remote_path, flag], stdin=config.encode("utf-8")
            )
            pid = re.findall(r"^\d+$", result.text, flags=re.MULTILINE)
            if result.returncode == 0 and pid:
                self._pid = int(pid[-1])
                self._debt = self._journal.owe("process", pid[-1], self.remote_path)
                self._started = time.monotonic()
                return position
            refusals.append(f"perfetto returned {result.returncode}: {result.error_text or 'no message'}")
        raise Rejected(Reason.PERFETTO_REFUSED, refusals[0])

    def revoke(self) -> None:
        """Ends and deletes a recording whose start nobody saw the end of, whether or not it began: nothing that is only
        in it is missed.

        Raises:
            Rejected: the device is away.
        """
        self._device.script(END_BY_ARGUMENT, self.remote_path)
        self.remove()

    def trace_bytes(self) -> int:
        return self._device.file_bytes(self.remote_path) or 0

    def watch(self, *, max_bytes_per_minute: float) -> int:
        """Bytes recorded so far.

        Raises:
            Rejected: PERFETTO_DIED, TRACE_BYTES_EXCEEDED; DEVICE_NO_SPACE, it ended as the device is full.
        """
        assert self._pid is not None
        size = self.trace_bytes()
        if not self._device.is_alive(self._pid):
            raise self._death(f"process {self._pid} is gone, its trace has {size:,} bytes")
        # Perfetto writes its first part at once and then in periods: below half a minute the rate says nothing.
        minutes = max(time.monotonic() - self._started, 30.0) / 60
        if size > max_bytes_per_minute * minutes:
            raise Rejected(
                Reason.TRACE_BYTES_EXCEEDED,
                f"{size:,} bytes after {time.monotonic() - self._started:.0f} s, "
                f"allowed are {max_bytes_per_minute:,.0f} a minute",
            )
        return size

    def stop(self, *, timeout_s: float) -> None:
        """Tells perfetto to end and waits until its process is gone: only then the file is complete.

        Raises:
            Rejected: PERFETTO_HUNG, it was killed after `timeout_s`; PERFETTO_DIED, DEVICE_NO_SPACE: it was gone.
        """
        assert self._pid is not None
        if not self._stopped:  # asked again after a lost connection, it may well be gone
            if not self._device.is_alive(self._pid):
                raise self._death(f"process {self._pid} was gone before the session's end")
            self._stopped = time.monotonic()
        self._device.script('kill -TERM "$1"', str(self._pid))
        deadline = time.monotonic() + timeout_s
        while self._device.is_alive(self._pid):
            if time.monotonic() > deadline:
                self._device.script('kill -KILL "$1"', str(self._pid))
                raise Rejected(Reason.PERFETTO_HUNG, f"process {self._pid} still ran {timeout_s:g} s after TERM")
            time.sleep(0.1)
        assert self._debt is not None
        self._journal.paid(self._debt)

    def _death(self, detail: str) -> Rejected:
        """Why perfetto is gone: it ends when it cannot write any more."""
        with suppress(Rejected):  # the device went away, or tells its space otherwise: perfetto is gone all the same
            free = self._device.free_bytes(SCRATCH_DIR)  # where recordings lie may not be asked of everywhere
            if free < _FULL_BYTES:
                return Rejected(Reason.DEVICE_NO_SPACE, f"{detail}, and {free:,} bytes are free on the device")
        return Rejected(Reason.PERFETTO_DIED, detail)

    def remove(self) -> None:
        """Deletes the recording from the device: all of it was fetched and dealt with."""
        assert self._file_debt is not None
        delete_judged(self._device, self._journal, self.remote_path, self._file_debt)

    def fetch(self, target: Path, *, timeout_s: float, on_bytes: Callable[[int], None] | None = None) -> FetchedTrace:
        """Copies the finished trace to this computer, verified on both sides.

        Raises:
            Rejected: TRACE_EMPTY and those of `Device.pull`.
        """
        if self.trace_bytes() == 0:
            raise Rejected(Reason.TRACE_EMPTY, f"{self.remote_path} on {self._device.serial}")
        size, digest = self._device.pull(self.remote_path, target, timeout_s=timeout_s, on_bytes=on_bytes)
        return FetchedTrace(target, size, digest, self._stopped - self._started)


def delete_judged(device: Device, journal: Journal, path: str, debt: Debt) -> None:
    """Deletes a file from the device of which all was judged; where it is away the file stays in the journal, as one
    that nothing is to be fetched of any more."""
    debt = journal.instead(debt, "file", path)
    with suppress(Rejected):
        if device.remove(path):
            journal.paid(debt)
