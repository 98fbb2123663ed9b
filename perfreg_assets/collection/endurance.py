"""Collections of hours: the recording is judged while it is made, and only what is unusual is stored.

Three ways for a recording to reach this computer. Growing: perfetto writes into a file, which is read by offset.
Clones: it stays in the buffers, and copies of them are made by its name. Rounds: recordings that begin before the one
before has ended. Whatever is on the device and not judged is a debt of the journal that is paid by fetching it: a
collection that is killed, or whose device goes away, drops nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from perfreg_assets.collection import told_sessions
from perfreg_assets.collection.clock import ClockSample, TraceClock, host_boot_s
from perfreg_assets.collection.collect import (
    EXPECTED_BYTES_PER_MINUTE,
    Collection,
    CollectionResult,
    ProgressCallback,
)
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.device import SCRATCH_DIR, Device, DeviceFacts
from perfreg_assets.collection.errors import CollectionError
from perfreg_assets.collection.exploration import Explorer
from perfreg_assets.collection.journal import Journal
from perfreg_assets.collection.perfetto_session import TRACE_DIR, FetchedTrace, PerfettoSession
from perfreg_assets.collection.power_profile import FetchedProfile
from perfreg_assets.collection.run_document import TRACE_NAME, run_id_of
from perfreg_assets.collection.run_folder import place_file
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import POWER_PROFILE
from perfreg_assets.settings import Settings
from perfreg_assets.storable_text import storable

COMPLETE = "complete"
NO_RUN = "there is no run to be judged: the steps of the exploration died with the command"
ROUND_PERIODS = 6
OVERLAP_S = 8.0  # of rounds: more than votes, rim and gap reach back
_CHUNK_BYTES = 8 << 20
_CLEAR_PERIOD_MS = 5000


class Spool(Protocol):
    """Where the recording's bytes go that are not decided yet."""

    @property
    def offset(self) -> int:
        """Bytes that were appended."""


class Watch(Protocol):
    """Judges a recording while it comes (`model.watching.TraceWatch`)."""

    folder: Path

    @property
    def spool(self) -> Spool:
        """Of a recording that grows."""

    def explore_from(self, start_ns: int) -> None:
        """When the exploration began, on the trace's clock: what follows is what the run is judged by."""

    def explore_until(self, end_ns: int) -> None:
        """When it ended."""

    def explore_steps(self, screens: Callable[[], Sequence[tuple[int, str]]]) -> None:
        """Tells until when which screen was shown, of all steps that are known by then, on the trace's clock."""

    def append(self, data: bytes) -> None:
        """The next bytes."""

    def step(self, *, is_last: bool = False, is_behind: bool = False) -> str:
        """Judges what was appended, and says where it stands."""

    def take_file(self, path: Path) -> str:
        """Judges a recording of its own."""

    def finish(self, state: str, *, source: str, run: Mapping[str, Any] | None = None) -> object:
        """Writes what was judged."""


Watching = Callable[[Path, float], Watch]
"""(folder, seconds after which a recording holds all that came with an event) → what judges"""


def collect_endurance(
    config: CollectionConfig,
    *,
    settings: Settings,
    out: Path,
    watching: Watching,
    has_reference: bool,
    progress: ProgressCallback = lambda _: None,
) -> CollectionResult:
    """Collects once, for `config.time_limit_s`; `out` gets a folder with what is unusual, from the first moment.

    Args:
        has_reference: windows are judged by a stored reference; else by the recording's own beginning.

    Raises:
        CollectionError: as `collect.collect`; what was judged until then is stored, what was not is fetched or, where
            the device or the disk does not let us, listed for `perfreg collect --sweep`.
    """
    return _Endurance(config, settings, Path(out), watching, has_reference, progress).run()


class _Endurance(Collection):
    def __init__(
        self, config: CollectionConfig, settings: Settings, out: Path, watching: Watching, has_reference: bool,
        progress: ProgressCallback,
    ) -> None:  # fmt: skip
        super().__init__(config, settings, out, progress=progress, attempt=0, repeat=0)
        self._watching, self._has_reference = watching, has_reference
        self._watch: Watch | None = None
        self._way: _Way | None = None
        self._next = 0.0
        self._explored = 0, 0
        self._last_clock: ClockSample | None = None
        self._placed: list[int] = []

    # ---- the parts that differ from a short collection ---------------------------------------------
    def _record_with(self, device: Device, journal: Journal, facts: DeviceFacts) -> tuple[PerfettoSession, bool]:
        name = run_id_of(self._config.app, self._version_name, self._started_at, self._id)
        self._watch = self._watching(self._runs_out / name, self._config.endurance_lag_s)
        self._tell_if_killed()
        if isinstance(self._power_profile, FetchedProfile):  # parts of the recording are estimated by it
            place_file(self._power_profile.path, self._watch.folder / POWER_PROFILE)
        self._way = self._choose(device, journal, facts, self._watch)
        plain = self._way.start()
        first_s = self._way.period_s
        if not self._has_reference and isinstance(self._way, _Rounds):  # the first round is what is learned from
            first_s = max(first_s, self._settings.reduction_reference_s)
        self._next = time.monotonic() + first_s
        self._tell(f"{self._way.name}, {self._watch.folder}")
        return self._way.session, plain

    def _explore(self, device: Device, explorer: Explorer, perfetto: PerfettoSession, pid: int) -> str:
        assert self._watch is not None
        # Series are read long before the session ends: begin, steps and end are by the clocks as they are then.
        clock = self._clock(device)
        start_ns = clock.from_host_boot(host_boot_s())
        self._watch.explore_from(start_ns)
        self._watch.explore_steps(lambda: self._screens(device, explorer))
        try:
            return super()._explore(device, explorer, perfetto, pid)
        finally:
            end_s = host_boot_s()
            end_ns = self._clock(device).from_host_boot(end_s)
            self._watch.explore_until(end_ns)
            self._explored = start_ns, end_ns

    def _screens(self, device: Device, explorer: Explorer) -> list[tuple[int, str]]:
        """Until when which screen was shown. Each step is placed once, so that all parts have it at one time."""
        steps, clock = explorer.steps(), self._clock(device)
        with suppress(Rejected):  # a clock that was set: what is made of the path in the end says so
            for step in steps[len(self._placed) :]:
                self._placed.append(step.stamp.to_trace_ns(clock))
        states = [step.state for step in steps]
        shown = [storable(state.screen or state.state_hash) for state in states[: len(self._placed)]]
        return sorted(zip(self._placed, shown, strict=False))

    def _clock(self, device: Device) -> TraceClock:
        """By the clocks as they are now; while the device is away, by the last time."""
        assert self._first_clock is not None
        with suppress(Rejected):
            found = TraceClock(self._first_clock, device.clock_sample(attempts=1))
            self._last_clock = found.end
        return TraceClock(self._first_clock, self._last_clock or self._first_clock)

    def _watch_recording(self, device: Device, perfetto: PerfettoSession) -> int:
        assert self._way is not None
        way = self._way
        size = super()._watch_recording(device, way.session)
        if time.monotonic() >= self._next:
            said = self._patiently(device, way.advance)
            self._next = time.monotonic() + way.period_s
            self._tell(said, size)
            self._tell_if_killed()
        return size

    def _tell_if_killed(self) -> None:
        """The session's row, should nobody be left to write it: what is stored lies there, and there is no run."""
        assert self._watch is not None
        row = self._record(None, Reason.COLLECTION_INTERRUPTED, f"killed in stage {self._stage}, and so {NO_RUN}")
        told_sessions.keep(self._settings, row, self._watch.folder)

    def _end_recording(self, device: Device, perfetto: PerfettoSession) -> FetchedTrace:
        assert self._way is not None
        assert self._watch is not None
        way = self._way
        self._patiently(device, lambda: way.session.stop(timeout_s=self._config.stop_timeout_s))
        self._enter("pull", "reading the rest of the recording")
        self._tell(self._patiently(device, way.finish))
        self._trace = FetchedTrace(self._watch.folder, way.read_bytes, "", way.recorded_s)
        return self._trace

    def _write_run_folder(
        self, journal: Journal, run_id: str, document: dict[str, Any], files: dict[str, Path]
    ) -> Path:
        assert self._watch is not None
        for name, path in files.items():
            # What is kept of the recording lies there already, and what parts of it were read with.
            if name != TRACE_NAME and not (self._watch.folder / name).exists():
                place_file(path, self._watch.folder / name)
        for step, placed in zip(document["path"], self._placed, strict=False):
            step["ts_ns"] = placed
        for key in ("trace", "trace_bytes", "trace_sha256"):
            del document[key]  # of the whole, which is not there any more: who registers the run says them
        document["exploration"] = {"start_ns": self._explored[0], "end_ns": self._explored[1]}
        self._watch.finish(COMPLETE, source=self._source, run=document)
        told_sessions.keep(self._settings, self._record(run_id, None, None), self._watch.folder)
        return self._watch.folder

    def _failure(self, reason: Reason, detail: str) -> CollectionError:
        if self._watch is not None:
            with suppress(OSError):  # a disk that is full: the stored files tell
                self._watch.finish(reason.code, source=self._source)
        return super()._failure(reason, detail)

    def _wanted_bytes(self) -> int:
        return self._config.min_free_bytes

    @property
    def _source(self) -> str:
        return f"{self._serial}:{self._way.session.remote_path if self._way else ''}"

    def _configs(self, session_name: str | None) -> list[str]:
        """Perfetto's config, and the one for perfettos that refuse it."""
        return [
            self._perfetto_config(is_plain=plain, clear_period_ms=_CLEAR_PERIOD_MS, session_name=session_name)
            for plain in (False, True)
        ]

    # ---- ways ---------------------------------------------------------------------------------------
    def _choose(self, device: Device, journal: Journal, facts: DeviceFacts, watch: Watch) -> _Way:
        arguments = device, journal, facts, watch, self._config, self._work_dir, self._id, self._configs
        way = self._config.endurance_way
        if way == "auto":
            expected = EXPECTED_BYTES_PER_MINUTE * self._config.time_limit_s / 60 + self._config.min_free_bytes
            if self._has_reference and _Clones.is_offered(device):
                way = "clones"
            elif device.free_bytes(SCRATCH_DIR) >= expected and _Growing.is_offered(device, journal):
                way = "growing"
            else:
                way = "rounds"
        if way == "clones" and not self._has_reference:
            raise Rejected(
                Reason.COLLECTION_CONFIG_INVALID,
                "endurance_way = 'clones' needs a stored reference, as buffers do not hold the recording's beginning",
            )
        ways: dict[str, type[_Way]] = {"growing": _Growing, "clones": _Clones, "rounds": _Rounds}
        return ways[way](*arguments)


class _Way:
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

    def _take(self, session: PerfettoSession) -> str:
        """A recording that has ended: fetched, judged, and deleted on both sides."""
        target = self._work_dir / f"{self._number}.perfetto-trace"
        fetched = session.fetch(target, timeout_s=self.config.transfer_timeout_s)
        said = self.watch.take_file(target)
        self.read_bytes += fetched.size
        target.unlink()
        session.remove()
        return said


class _Growing(_Way):
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


class _Rounds(_Way):
    name = "recordings that overlap are judged one by one"

    @property
    def period_s(self) -> float:
        return ROUND_PERIODS * self.config.endurance_period_s

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._ended: PerfettoSession | None = None
        self._is_stopped = False

    def advance(self) -> str:
        if self._ended is None:
            following = self._new_session()
            following.start(self.configs(None))
            self._ended, self.session = self.session, following
            time.sleep(min(OVERLAP_S, self.config.endurance_period_s))
        return self._take_ended(self._ended)

    def finish(self) -> str:
        if self._ended is not None:
            self._take_ended(self._ended)
        return self._take(self.session)

    def _take_ended(self, session: PerfettoSession) -> str:
        """Asked again after the device was away, it goes on where it was."""
        if not self._is_stopped:
            session.stop(timeout_s=self.config.stop_timeout_s)
            self._is_stopped = True
        said = self._take(session)
        self._ended, self._is_stopped = None, False
        return said


class _Clones(_Way):
    name = "copies of the recording's buffers are judged"

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
        self._number += 1
        path = f"{TRACE_DIR}/perfreg-{self._id}-{self._number}.pftrace"
        debt = self.journal.owe("recording", path, str(self.watch.folder))
        result = self.device.run(["perfetto", "--clone-by-name", self._name, "-o", path])
        if result.returncode != 0:
            raise Rejected(
                Reason.PERFETTO_REFUSED, f"--clone-by-name returned {result.returncode}: {result.error_text}"
            )
        target = self._work_dir / f"{self._number}.perfetto-trace"
        size, _ = self.device.pull(path, target, timeout_s=self.config.transfer_timeout_s)
        said = self.watch.take_file(target)
        self.read_bytes += size
        target.unlink()
        if self.device.remove(path):
            self.journal.paid(debt)
        return said

    def finish(self) -> str:
        return self._take(self.session)
