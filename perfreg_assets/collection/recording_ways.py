"""Three ways for a recording of hours to reach this computer while it is made.

Growing: perfetto writes into a file, which is read by offset. Clones: it stays in the buffers, and copies of them are
made by its name. Rounds: recordings that begin before the one before has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.device import Device, DeviceFacts
from perfreg_assets.collection.journal import Debt, Journal
from perfreg_assets.collection.perfetto_session import TRACE_DIR, PerfettoSession, delete_judged
from perfreg_assets.collection.watch import Watch
from perfreg_assets.reasons import Reason, Rejected

_ROUND_PERIODS = 6
_OVERLAP_S = 8.0  # of rounds: more than votes, rim and gap reach back
_CHUNK_BYTES = 8 << 20


class Way:
    """How a recording reaches this computer: `start`, `advance` every `period_s`, `finish` when it has ended."""

    name = ""

    def __init__(
        self, device: Device, journal: Journal, facts: DeviceFacts, watch: Watch, config: CollectionConfig,
        work_dir: Path, collection_id: str, configs: Callable[[str | None], list[str]],
    ) -> None:  # fmt: skip
        self.device, self.journal, self.facts, self.watch, self.config = device, journal, facts, watch, config
        self.read_bytes = 0
        self.configs = configs
        self._work_dir, self._id = work_dir, collection_id
        self._number = 0
        self._began = time.monotonic()
        self.session = self._new_session()

    @property
    def period_s(self) -> float:
        """Between two calls of `advance`."""
        return self.config.endurance_period_s

    @property
    def recorded_s(self) -> float:
        """Since the start."""
        return time.monotonic() - self._began

    def start(self) -> bool:
        """Begins to record; whether without what old perfettos do not know.

        Raises:
            Rejected: PERFETTO_REFUSED.
        """
        return self.session.start(self.configs(None)) == 1

    def advance(self) -> str:
        """Fetches and judges what is there; may be asked again after the device was away."""
        raise NotImplementedError

    def finish(self) -> str:
        """The same of the rest, after the recording was ended."""
        raise NotImplementedError

    def _new_session(self) -> PerfettoSession:
        self._number += 1
        return PerfettoSession(
            self.device, self.journal, collection_id=self._id, sdk=self.facts.sdk, suffix=f"-{self._number}",
            rescue_to=self.watch.folder,
        )  # fmt: skip

    def _take(self, session: PerfettoSession, *, is_last: bool = False) -> str:
        """A recording that has ended: fetched, judged, and deleted on both sides."""
        target = self._work_dir / f"{self._number}.perfetto-trace"
        fetched = session.fetch(target, timeout_s=self.config.transfer_timeout_s)
        said = self.watch.take_file(target, is_last=is_last)
        self.read_bytes += fetched.size
        target.unlink()
        session.remove()
        return said


class Growing(Way):
    name = "the recording's file is read while it grows"

    @staticmethod
    def is_offered(device: Device, journal: Journal) -> bool:
        """Whether the shell may read what perfetto is writing: asked of an empty file in the same folder."""
        path = f"{TRACE_DIR}/perfreg-probe-{device.token}"
        debt = journal.owe("file", path)
        is_readable = device.script(': > "$1" && dd if="$1" bs=1 count=1 2>/dev/null', path).returncode == 0
        if device.remove(path):
            journal.paid(debt)
        return is_readable

    def advance(self) -> str:
        return self._read(is_last=False)

    def finish(self) -> str:
        said = self._read(is_last=True)
        self.session.remove()
        return said

    def _read(self, *, is_last: bool) -> str:
        backlog = 0
        while True:
            offset = self.watch.spool.offset
            data = self.device.read_from(self.session.remote_path, offset, _CHUNK_BYTES)
            self.watch.append(data)
            self.read_bytes += len(data)
            backlog += len(data)
            if len(data) < _CHUNK_BYTES or (backlog >= self.config.endurance_backlog_bytes and not is_last):
                break
        return self.watch.step(is_last=is_last, is_behind=backlog >= self.config.endurance_backlog_bytes)


class Rounds(Way):
    name = "recordings that overlap are judged one by one"

    @property
    def period_s(self) -> float:
        return _ROUND_PERIODS * self.config.endurance_period_s

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._ended: PerfettoSession | None = None
        self._is_stopped = False
        self._begun: PerfettoSession | None = None

    def advance(self) -> str:
        if self._begun is not None:  # the device went away while it began: it would record beside the others to the end
            self._begun.revoke()
            self._begun = None
        if self._ended is None:
            self._begun = following = self._new_session()
            following.start(self.configs(None))
            self._begun = None
            self._ended, self.session = self.session, following
            time.sleep(min(_OVERLAP_S, self.config.endurance_period_s))
        return self._take_ended(self._ended)

    def finish(self) -> str:
        if self._ended is not None:
            self._take_ended(self._ended)
        return self._take(self.session, is_last=True)

    def _take_ended(self, session: PerfettoSession) -> str:
        """Asked again after the device was away, it goes on where it was."""
        if not self._is_stopped:
            session.stop(timeout_s=self.config.stop_timeout_s)
            self._is_stopped = True
        said = self._take(session)
        self._ended, self._is_stopped = None, False
        return said


class Clones(Way):
    name = "copies of the recording's buffers are judged"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._copied: tuple[str, Debt] | None = None

    @staticmethod
    def is_offered(device: Device) -> bool:
        """Whether this device's perfetto can copy a running session."""
        result = device.run(["perfetto", "--help"])
        return "--clone-by-name" in result.text + result.stderr.decode("utf-8", errors="replace")

    @property
    def _name(self) -> str:
        return f"perfreg-{self._id}"

    def start(self) -> bool:
        return self.session.start(self.configs(self._name)) == 1

    def advance(self) -> str:
        """Asked again after the device was away, it goes on where it was: the buffers may not hold any more what a copy
        does that was made before."""
        if self._copied is None:
            self._copied = self._copy()
        path, debt = self._copied
        target = self._work_dir / f"{self._number}.perfetto-trace"
        size, _ = self.device.pull(path, target, timeout_s=self.config.transfer_timeout_s)
        said = self.watch.take_file(target)
        self.read_bytes += size
        target.unlink()
        self._copied = None
        delete_judged(self.device, self.journal, path, debt)
        return said

    def _copy(self) -> tuple[str, Debt]:
        """Where on the device a new copy is, and its debt.

        Raises:
            Rejected: PERFETTO_REFUSED; those of `Device.run`. What there is of a copy then is to be deleted, as the
                session has all of it.
        """
        self._number += 1
        path = f"{TRACE_DIR}/perfreg-{self._id}-{self._number}.pftrace"
        debt = self.journal.owe("recording", path, str(self.watch.folder))
        try:
            result = self.device.run(["perfetto", "--clone-by-name", self._name, "-o", path])
            if result.returncode != 0:
                raise Rejected(
                    Reason.PERFETTO_REFUSED, f"--clone-by-name returned {result.returncode}: {result.error_text}"
                )
        except Rejected:
            self.journal.instead(debt, "file", path)
            raise
        return path, debt

    def finish(self) -> str:
        return self._take(self.session, is_last=True)
