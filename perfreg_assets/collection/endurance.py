"""Collections of hours: the recording is judged while it is made, and only what is unusual is stored.

Whatever is on the device and not judged is a debt of the journal that is paid by fetching it: a collection that is
killed, or whose device goes away, drops nothing.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from perfreg_assets.collection import told_sessions
from perfreg_assets.collection.clock import ClockSample, TraceClock, host_boot_s
from perfreg_assets.collection.collect import EXPECTED_BYTES_PER_MINUTE, Collection, CollectionResult
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.device import SCRATCH_DIR, Device, DeviceFacts
from perfreg_assets.collection.errors import CollectionError
from perfreg_assets.collection.exploration import Explorer
from perfreg_assets.collection.journal import Journal
from perfreg_assets.collection.perfetto_session import FetchedTrace, PerfettoSession
from perfreg_assets.collection.power_profile import FetchedProfile
from perfreg_assets.collection.progress import ProgressCallback
from perfreg_assets.collection.recording_ways import Clones, Growing, Rounds, Way
from perfreg_assets.collection.run_document import TRACE_NAME, run_id_of
from perfreg_assets.collection.run_folder import place_file
from perfreg_assets.collection.watch import Watch, Watching
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import POWER_PROFILE
from perfreg_assets.settings import Settings
from perfreg_assets.storable_text import storable

COMPLETE = "complete"
NO_RUN = "there is no run to be judged: the steps of the exploration died with the command"
_CLEAR_PERIOD_MS = 5000


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
        self._way: Way | None = None
        self._next = 0.0
        self._explored = 0, 0
        self._last_clock: ClockSample | None = None
        self._placed: list[int] = []

    # ---- the parts that differ from a short collection ---------------------------------------------
    def _record_with(self, device: Device, journal: Journal, facts: DeviceFacts) -> tuple[PerfettoSession, bool]:
        name = run_id_of(self._config.app, self._version_name, self._stages.started_at, self._id)
        self._watch = self._watching(self._runs_out / name, self._config.endurance_lag_s)
        self._tell_if_killed()
        if isinstance(self._power_profile, FetchedProfile):  # parts of the recording are estimated by it
            place_file(self._power_profile.path, self._watch.folder / POWER_PROFILE)
        self._way = self._choose(device, journal, facts, self._watch)
        plain = self._way.start()
        first_s = self._way.period_s
        if not self._has_reference and isinstance(self._way, Rounds):  # the first round is what is learned from
            first_s = max(first_s, self._settings.reduction_reference_s)
        self._next = time.monotonic() + first_s
        self._stages.tell(f"{self._way.name}, {self._watch.folder}")
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
            self._stages.tell(said, size)
            self._tell_if_killed()
        return size

    def _tell_if_killed(self) -> None:
        """The session's row, should nobody be left to write it: what is stored lies there, and there is no run."""
        assert self._watch is not None
        row = self._record(None, Reason.COLLECTION_INTERRUPTED, f"killed in stage {self._stages.now}, and so {NO_RUN}")
        told_sessions.keep(self._settings, row, self._watch.folder)

    def _end_recording(self, device: Device, perfetto: PerfettoSession) -> FetchedTrace:
        assert self._way is not None
        assert self._watch is not None
        way = self._way
        self._patiently(device, lambda: way.session.stop(timeout_s=self._config.stop_timeout_s))
        self._stages.enter("pull", "reading the rest of the recording")
        self._stages.tell(self._patiently(device, way.finish))
        for debt in way.journal.debts:  # all of it is judged: what is left of it on the device is only to be deleted
            if debt.kind == "recording":
                way.journal.instead(debt, "file", debt.arguments[0])
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

    # ---- the way of the recording -----------------------------------------------------------------
    def _choose(self, device: Device, journal: Journal, facts: DeviceFacts, watch: Watch) -> Way:
        arguments = device, journal, facts, watch, self._config, self._work_dir, self._id, self._configs
        way = self._config.endurance_way
        if way == "auto":
            expected = EXPECTED_BYTES_PER_MINUTE * self._config.time_limit_s / 60 + self._config.min_free_bytes
            if self._has_reference and Clones.is_offered(device):
                way = "clones"
            elif device.free_bytes(SCRATCH_DIR) >= expected and Growing.is_offered(device, journal):
                way = "growing"
            else:
                way = "rounds"
        if way == "clones" and not self._has_reference:
            raise Rejected(
                Reason.COLLECTION_CONFIG_INVALID,
                "endurance_way = 'clones' needs a stored reference, as buffers do not hold the recording's beginning",
            )
        ways: dict[str, type[Way]] = {"growing": Growing, "clones": Clones, "rounds": Rounds}
        return ways[way](*arguments)
