"""One collection: an app is explored on a device while Perfetto records, and a run folder is left.

Order: device → clean what an earlier collection left → prepare → install → record → launch → explore → stop → pull
→ read the log → write the run folder → give the device back. Whatever goes wrong after the device is known, the way
back is the same: the journal's debts are settled. A device that goes away is waited for; the recording goes on
without us and the session continues when it is back.
"""

from __future__ import annotations

import errno
import shutil
import time
import uuid
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perfreg_assets.collection import device_state, told_sessions
from perfreg_assets.collection.adb_server import AdbServer
from perfreg_assets.collection.builds import Build, check_build, read_build
from perfreg_assets.collection.clock import ClockSample, TraceClock, host_boot_s
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.device import SCRATCH_DIR, Device, DeviceFacts
from perfreg_assets.collection.ending import Ending
from perfreg_assets.collection.errors import CollectionError, CollectionRecord
from perfreg_assets.collection.exploration import Explorer, ExplorerContext, ExplorerProblem, Stamp
from perfreg_assets.collection.explorers import make_explorer
from perfreg_assets.collection.functional_problems import LogStart, mark_log, read_log
from perfreg_assets.collection.journal import Journal, device_lock, open_journal
from perfreg_assets.collection.perfetto_config import PerfettoOptions, check_android, perfetto_config
from perfreg_assets.collection.perfetto_session import FetchedTrace, PerfettoSession
from perfreg_assets.collection.power_profile import FetchedProfile, fetch_power_profile
from perfreg_assets.collection.progress import ProgressCallback, Stages
from perfreg_assets.collection.run_document import TRACE_NAME, Session, run_document, run_id_of
from perfreg_assets.collection.run_folder import write_run_folder
from perfreg_assets.collection.state_times import read_state_times
from perfreg_assets.collection.sweep import journal_dir, sweep_device
from perfreg_assets.collection.unit import ask
from perfreg_assets.collection.unit_lock import unit_lock
from perfreg_assets.collection.waiting import Patience, when_free
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import POWER_PROFILE
from perfreg_assets.settings import Settings
from perfreg_assets.traces.framing import PacketFraming
from perfreg_assets.traces.trace_file import unpacked_chunks
from perfreg_assets.unwritable import refused_where_unwritable

EXPECTED_BYTES_PER_MINUTE = 20e6  # the default sources on a phone [thesis 3.3: 200 MB in 10 minutes]
_POLL_S = 0.25
_WATCH_S = 1.0


@dataclass(frozen=True)
class CollectionResult:
    """A collection that left a run folder."""

    run_folder: Path
    run_id: str
    record: CollectionRecord
    stop_reason: str
    """time_limit or exhausted"""
    step_count: int
    state_count: int
    problem_count: int | None
    """None: unknown, the device's log lost lines"""
    leftovers: tuple[str, ...]
    """What is still on the device, in words; empty in good order. `sweep` tries again."""
    seconds: dict[str, float]
    """Per stage."""
    is_interrupted: bool = False
    """It was told to end when it was done, while the device was given back: nothing more is to be begun."""


@dataclass(frozen=True)
class Begun:
    """A session whose app runs and is recorded."""

    explorer: Explorer
    seed: int
    facts: DeviceFacts
    power_profile: FetchedProfile | str | None
    version_code: int | None
    device_settings: list[str]
    battery_celsius: float | None
    log_start: LogStart
    perfetto: PerfettoSession
    is_plain: bool
    pid: int


def collect(
    config: CollectionConfig,
    *,
    settings: Settings,
    runs_out: Path,
    progress: ProgressCallback = lambda _: None,
    attempt: int = 0,
    repeat: int = 0,
) -> CollectionResult:
    """Collects once; `runs_out` gets a new run folder, all of it or nothing.

    Args:
        attempt: how often this build was tried before (stored with the collection).
        repeat: number of the session in its series; chooses the seed.

    Raises:
        CollectionError: with a reason code and the row for the warehouse; nothing was written to `runs_out`. Its
            cause is what interrupted it, where something did: KeyboardInterrupt, or what Dagster makes of it.
    """
    return Collection(config, settings, Path(runs_out), progress=progress, attempt=attempt, repeat=repeat).run()


class Collection:
    """One collection; `run` does all of it. `collection.endurance` has another middle."""

    def __init__(
        self,
        config: CollectionConfig,
        settings: Settings,
        runs_out: Path,
        *,
        progress: ProgressCallback,
        attempt: int,
        repeat: int,
    ) -> None:
        self._config = config
        self._settings = settings
        self._runs_out = runs_out
        self._attempt = attempt
        self._repeat = repeat
        self._id = uuid.uuid4().hex[:16]
        self._work_dir = journal_dir(settings) / "work" / self._id
        self._scratch_dir = f"{SCRATCH_DIR}/perfreg-{self._id}"
        self._build: Build | None = None
        self._version_name = config.version_name or ""
        self._serial = config.serial
        self._trace: FetchedTrace | None = None
        self._first_clock: ClockSample | None = None
        self._power_profile: FetchedProfile | str | None = None
        self._leftovers: tuple[str, ...] = ()
        self._leftover_paths: tuple[str, ...] = ()
        self._vanished: list[ExplorerProblem] = []
        self._ending = Ending()
        self._stages = Stages(progress, self._ending.check)
        self._patience = Patience(self._stages, config.reconnect_timeout_s)
        self._patiently = self._patience.with_device
        self._interrupted_in: str | None = None
        self._result: CollectionResult | None = None

    # ---- frame -----------------------------------------------------------------------------------
    def run(self) -> CollectionResult:
        try:
            with self._ending.heard():
                return self._run()
        except Rejected as refusal:
            raise self._failure(refusal.reason, refusal.detail) from refusal
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise self._failure(Reason.HOST_NO_SPACE, f"{error.filename or 'disk'} is full") from error
        except BaseException as interrupt:
            if isinstance(interrupt, Exception):
                raise
            if self._result is not None:  # its folder is in its place: another program may have it already
                return self._ended(self._result, is_interrupted=True)
            stage = f"interrupted in stage {self._interrupted_in or self._stages.now}"
            if self._leftovers:
                left = f"{stage}; still there: {', '.join(self._leftovers)}"
                raise self._failure(Reason.COLLECTION_CUT_SHORT, left) from interrupt
            raise self._failure(Reason.COLLECTION_CANCELLED, stage) from interrupt

    def _failure(self, reason: Reason, detail: str) -> CollectionError:
        return CollectionError(
            reason,
            detail,
            record=self._record(None, reason, detail),
            leftovers=self._leftovers,
            is_interrupted=self._ending.is_asked,
        )

    def _run(self) -> CollectionResult:
        config = self._config
        self._stages.enter("device", "reading the build and choosing the device")
        if config.apk is not None:
            self._build = read_build(Path(config.apk))
            check_build(self._build, app=config.app, version_name=config.version_name)
            self._version_name = self._build.version_name
        self._check_host_space()
        server = AdbServer()
        serial = self._serial = when_free(lambda: server.choose(config.serial).serial, config, self._stages)
        with ExitStack() as stack:

            def lock() -> None:
                stack.enter_context(device_lock(journal_dir(self._settings), serial))

            when_free(lock, config, self._stages)
            device = Device(server, serial, token=self._id, command_timeout_s=config.command_timeout_s)
            device.wait_ready(config.connect_timeout_s)
            unit = ask(device)

            def lock_unit() -> None:
                stack.enter_context(unit_lock(journal_dir(self._settings), serial, unit))

            when_free(lock_unit, config, self._stages)
            self._stages.enter("sweep", "cleaning what an earlier collection left")
            for line in sweep_device(device, self._settings, unit).cleaned:
                self._stages.tell(f"cleaned {line}")
            journal = open_journal(journal_dir(self._settings), self._id, serial, unit)
            try:
                journal.owe("host_path", str(self._work_dir))
                journal.owe("processes", self._id)
                journal.owe("file", self._scratch_dir)
                self._work_dir.mkdir(parents=True)
                result = self._session(device, journal)
            except BaseException as error:
                if not isinstance(error, Exception):
                    self._interrupted_in = self._stages.now
                raise
            finally:
                self._ending.put_off()
                try:
                    self._stages.enter("restore", "giving the device back")
                finally:
                    self._settle(device, journal)
        return self._ended(result, is_interrupted=self._ending.is_asked)

    def _ended(self, result: CollectionResult, *, is_interrupted: bool) -> CollectionResult:
        self._stages.end()
        return replace(
            result,
            leftovers=self._leftovers,
            record=replace(result.record, leftover_path="; ".join(self._leftover_paths) or None),
            seconds=dict(self._stages.seconds),
            is_interrupted=is_interrupted,
        )

    def _settle(self, device: Device, journal: Journal) -> None:
        """Pays the journal's debts; what cannot be paid stays listed for the next sweep."""
        try:
            if not self._patience.is_at_end:  # otherwise it was waited for already
                with suppress(Rejected):  # a device that is gone: the host's part is settled all the same
                    device.wait_ready(min(5.0, self._config.reconnect_timeout_s))
            journal.settle(device)
        finally:  # where it is interrupted as well
            left = journal.debts
            self._leftovers = tuple(str(debt) for debt in left)
            self._leftover_paths = tuple(debt.arguments[0] for debt in left if debt.kind == "file")
        if not left:
            journal.close()

    # ---- the session -----------------------------------------------------------------------------
    def _begin(self, device: Device, journal: Journal) -> Begun:
        """Until the app runs and is recorded."""
        config = self._config
        seed = config.seed_of(self._repeat)
        explorer = make_explorer(
            ExplorerContext(device, journal, config, config.app, seed, self._work_dir, self._scratch_dir)
        )
        facts = self._prepare(device)
        profile = fetch_power_profile(device, self._work_dir) if config.records_frequencies else None
        self._power_profile = profile
        version_code = self._install(device, journal)
        device_settings = device_state.prepare_device(device, journal, config)
        self._stages.enter("cool_down", "reading the battery's temperature")
        celsius = device_state.cool_down(
            device, config, lambda now, waited: self._stages.tell(f"{now:.1f} °C, waiting for {waited:.0f} s")
        )
        self._stages.enter("record", "starting Perfetto")
        self._first_clock = device.clock_sample()
        self._patience.runs_since(self._first_clock)
        log_start = mark_log(device, f"start {self._id}")
        perfetto, plain = self._record_with(device, journal, facts)
        self._stages.enter("launch", f"starting {config.app}")
        journal.owe("running_app", config.app)
        pid = device_state.launch(
            device, config.app, timeout_s=config.launch_timeout_s, settle_s=config.launch_settle_s
        )
        self._stages.enter("explore", f"exploring with {config.explorer}, seed {seed}")
        return Begun(
            explorer, seed, facts, profile, version_code, device_settings, celsius, log_start, perfetto, plain, pid
        )

    def _record_with(self, device: Device, journal: Journal, facts: DeviceFacts) -> tuple[PerfettoSession, bool]:
        """A recording that runs, and whether without what old perfettos do not know."""
        perfetto = PerfettoSession(device, journal, collection_id=self._id, sdk=facts.sdk)
        plain = perfetto.start([self._perfetto_config(is_plain=False), self._perfetto_config(is_plain=True)]) == 1
        return perfetto, plain

    def _session(self, device: Device, journal: Journal) -> CollectionResult:
        begun = self._begin(device, journal)
        assert self._first_clock is not None
        config, explorer, facts, perfetto = self._config, begun.explorer, begun.facts, begun.perfetto
        times_before = self._patiently(device, lambda: read_state_times(device)) if config.records_frequencies else None
        start_s = host_boot_s()
        stop_reason = self._explore(device, explorer, perfetto, begun.pid)
        end_s = host_boot_s()
        times_after = self._patiently(device, lambda: read_state_times(device)) if config.records_frequencies else None
        self._stages.enter("stop", "stopping the explorer and Perfetto")
        exploration = self._patiently(device, explorer.stop)
        last_clock = self._patiently(device, device.clock_sample)
        trace = self._end_recording(device, perfetto)
        self._stages.enter("log", "reading the device's log")
        log = self._patiently(
            device, lambda: read_log(device, begun.log_start, app=config.app, scratch_dir=self._scratch_dir)
        )
        self._stages.enter("write", "writing the run folder")
        session = Session(
            collection_id=self._id,
            attempt=self._attempt,
            repeat=self._repeat,
            seed=begun.seed,
            config=config,
            device=facts,
            device_settings=begun.device_settings,
            version_name=self._version_name,
            version_code=begun.version_code,
            build_hash=self._build.content_hash if self._build else None,
            started_at=self._stages.started_at,
            exploration_start_boot_s=start_s,
            exploration_end_boot_s=end_s,
            clock=TraceClock(self._first_clock, last_clock),
            exploration=replace(exploration, problems=(*exploration.problems, *self._vanished)),
            log=log,
            trace=trace,
            stop_reason=stop_reason,
            is_plain_config=begun.is_plain,
            battery_celsius=begun.battery_celsius,
            power_profile=begun.power_profile,
            state_times=(times_before, times_after),
        )
        run_id = run_id_of(config.app, self._version_name, self._stages.started_at, self._id)
        document = run_document(run_id, session)
        files = {TRACE_NAME: trace.path}
        if isinstance(begun.power_profile, FetchedProfile):
            files[POWER_PROFILE] = begun.power_profile.path
        self._ending.put_off()
        folder = self._write_run_folder(journal, run_id, document, files)
        problems = document.get("functional_problems")
        self._result = CollectionResult(
            run_folder=folder,
            run_id=run_id,
            record=self._record(run_id, None, None),
            stop_reason=stop_reason,
            step_count=len(document["path"]),
            state_count=len({step["state_hash"] for step in document["path"]}),
            problem_count=None if problems is None else len(problems),
            leftovers=(),
            seconds={},
        )
        return self._result

    def _write_run_folder(
        self, journal: Journal, run_id: str, document: dict[str, Any], files: dict[str, Path]
    ) -> Path:
        """By way of a dotted folder in the same place, which is listed: killed inside, we leave nothing half there."""
        staging = self._runs_out / f".perfreg-{self._id}"
        debt = journal.owe("host_path", str(staging))
        staging.mkdir()
        whole = write_run_folder(staging / run_id, document, files)
        told_sessions.keep(self._settings, self._record(run_id, None, None), self._runs_out / run_id)
        folder = whole.rename(self._runs_out / run_id)
        staging.rmdir()
        journal.paid(debt)
        return folder

    def _prepare(self, device: Device) -> DeviceFacts:
        self._stages.enter("prepare", "checking the device")
        facts = device.facts()
        check_android(facts.sdk, facts.android_release, self._config.data_sources)
        free, wanted = device.free_bytes(SCRATCH_DIR), self._wanted_bytes()
        if free < wanted:
            raise Rejected(Reason.DEVICE_NO_SPACE, f"{free:,} bytes are free on {self._serial}, wanted are {wanted:,}")
        device.make_directory(self._scratch_dir)
        return facts

    def _install(self, device: Device, journal: Journal) -> int | None:
        config = self._config
        if self._build is not None:
            self._stages.enter("install", f"installing {config.app} {self._version_name}")
            device_state.install(device, journal, self._build, config, self._scratch_dir)
        elif not device_state.is_installed(device, config.app):
            raise Rejected(Reason.APP_NOT_INSTALLED, f"{config.app} on {self._serial}")
        elif config.clear_data:
            device.check(["pm", "clear", config.app], timeout_s=60)
        found_name, found_code = device_state.installed_version(device, config.app)
        expected = self._version_name
        if expected and found_name != expected.strip():
            raise Rejected(
                Reason.BUILD_MISMATCH,
                f"{config.app} on {self._serial} is version {found_name!r}, expected was {expected!r}",
            )
        if not found_name:
            raise Rejected(Reason.BUILD_MISMATCH, f"{config.app} on {self._serial} has no version name")
        self._version_name = expected or found_name
        return found_code

    def _perfetto_config(
        self, *, is_plain: bool, clear_period_ms: int | None = None, session_name: str | None = None
    ) -> str:
        config = self._config
        return perfetto_config(
            config.data_sources,
            PerfettoOptions(
                app=config.app,
                duration_ms=round(config.recording_s * 1000),
                memory_poll_ms=config.memory_poll_ms,
                buffer_kb=config.buffer_kb,
                file_write_period_ms=config.file_write_period_ms,
                max_trace_bytes=config.recording_bytes,
                atrace_categories=config.atrace_categories,
                clear_period_ms=clear_period_ms,
                session_name=session_name,
                is_plain=is_plain,
            ),
        )

    def _explore(self, device: Device, explorer: Explorer, perfetto: PerfettoSession, pid: int) -> str:
        config = self._config
        self._patiently(device, explorer.start)
        deadline = host_boot_s() + config.time_limit_s
        next_watch = next_progress = host_boot_s()
        app_process: int | None = pid
        trace_bytes = 0
        try:
            while host_boot_s() < deadline:
                if self._patiently(device, explorer.poll):
                    return "exhausted"
                if host_boot_s() >= next_watch:
                    next_watch = host_boot_s() + _WATCH_S
                    trace_bytes = self._watch_recording(device, perfetto)
                    app_process = self._watch_app(device, app_process)
                if host_boot_s() >= next_progress:
                    next_progress = host_boot_s() + config.progress_interval_s
                    self._stages.tell(f"exploring {config.app}", trace_bytes, explorer)
                time.sleep(max(0.0, min(_POLL_S, deadline - host_boot_s())))
        except BaseException:
            with suppress(Rejected):  # the first failure is the one to tell
                explorer.stop()
            raise
        return "time_limit"

    def _watch_recording(self, device: Device, perfetto: PerfettoSession) -> int:
        """Bytes recorded so far."""
        limit = self._config.max_bytes_per_minute
        return self._patiently(device, lambda: perfetto.watch(max_bytes_per_minute=limit))

    def _end_recording(self, device: Device, perfetto: PerfettoSession) -> FetchedTrace:
        self._patiently(device, lambda: perfetto.stop(timeout_s=self._config.stop_timeout_s))
        self._stages.enter("pull", "copying the trace")
        return self._pull(device, perfetto)

    def _watch_app(self, device: Device, before: int | None) -> int | None:
        now = self._patiently(device, lambda: device_state.app_pid(device, self._config.app))
        if before is not None and now != before:
            message = f"process {before} of {self._config.app} ended" + (f", now it is {now}" if now else "")
            self._vanished.append(
                ExplorerProblem("process_vanished", message, Stamp("host_boot", host_boot_s()), before)
            )
        return now

    def _pull(self, device: Device, perfetto: PerfettoSession) -> FetchedTrace:
        target = self._work_dir / TRACE_NAME
        limit_s = self._config.transfer_timeout_s
        trace = self._patiently(device, lambda: perfetto.fetch(target, timeout_s=limit_s))
        self._trace = trace
        framing = PacketFraming(TRACE_NAME)
        for chunk in unpacked_chunks(trace.path, self._settings.trace_max_bytes):
            framing.feed(chunk)
        framing.finish()
        self._stages.tell(f"{trace.size:,} bytes, {trace.bytes_per_minute:,.0f} a minute", trace.size)
        return trace

    # ---- space -----------------------------------------------------------------------------------
    def _wanted_bytes(self) -> int:
        if self._config.min_free_bytes == 0:
            return 0
        expected = 2 * EXPECTED_BYTES_PER_MINUTE * self._config.time_limit_s / 60
        return max(self._config.min_free_bytes, round(expected))

    def _check_host_space(self) -> None:
        wanted = self._wanted_bytes()
        for folder in (self._runs_out, self._work_dir.parent):
            with refused_where_unwritable(folder):
                folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(folder).free
            if free < wanted:
                raise Rejected(Reason.HOST_NO_SPACE, f"{free:,} bytes are free for {folder}, wanted are {wanted:,}")

    # ---- the row --------------------------------------------------------------------------------------
    def _record(self, run_id: str | None, reason: Reason | None, detail: str | None) -> CollectionRecord:
        trace = self._trace
        return CollectionRecord(
            collection_id=self._id,
            run_id=run_id,
            app=self._config.app,
            version_name=self._version_name,
            build_hash=self._build.content_hash if self._build else None,
            attempt=self._attempt,
            device_serial=self._serial,
            state="collected" if reason is None else "failed",
            reason_code=reason.code if reason else None,
            reason=str(Rejected(reason, detail or "")) if reason else None,
            trace_bytes=trace.size if trace else None,
            duration_s=round(trace.recorded_s, 3) if trace else None,
            bytes_per_minute=round(trace.bytes_per_minute, 1) if trace else None,
            leftover_path="; ".join(self._leftover_paths) or None,
            started_at=self._stages.started_at,
            ended_at=datetime.now(UTC),
        )
