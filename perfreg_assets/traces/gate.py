"""Is this trace whole? A trace that loads is not thereby complete.

`check_file` looks at the bytes before any engine runs; `check_trace` asks the engine about the contents. The first
failure decides and is named by a reason code. What is required:

* The file: regular, not empty, size and SHA-256 as run.json states, gzip whole, packets whole to the last byte.
* All of it: a trace of which `perfreg reduce` kept the unusual parts says so in its first packet, and that is told
  before that it is not the one that run.json states.
* Data: scheduling events or process memory. A trace with one of the two is complete; the series of the other are
  `series_missing`. With neither there is nothing to judge: SOURCE_MISSING.
* The app: at least one process named as the app or `app:…`.
* Time: the scheduling events (everything in the trace, if it has none) cover the exploration but for a tolerated
  share. Scheduling events, and not the trace's outermost timestamps, because a ring buffer that was overwritten
  keeps process names and counters from the beginning while the events of the first half are gone.
  Without an exploration in run.json the trace must be as long as the time limit.
* No error and no data loss in the trace processor's statistics that spoils scheduling or everything, by the
  catalogue's loss counters. One that spoils other data sources takes only their series away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perfreg_assets.catalogue import EVERYTHING, loss_counter
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.regular_file import open_regular, resolved
from perfreg_assets.settings import Settings
from perfreg_assets.traces.app_candidates import offered, process_uses
from perfreg_assets.traces.columns import Table
from perfreg_assets.traces.contents import TraceContents, load_contents
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.nested_packets import NestedPackets
from perfreg_assets.traces.processes import AppProcess, find_app
from perfreg_assets.traces.recording import Recording, load_recording
from perfreg_assets.traces.reduced import HEAD_BYTES, is_reduced, is_reduced_file
from perfreg_assets.traces.statements import statement
from perfreg_assets.traces.trace_file import GZIP_MAGIC, unpacked_chunks
from perfreg_assets.traces.work_limit import WorkLimit

_MEMORY = "process_memory"
_DAMAGE = (
    Reason.TRACE_GZIP_DAMAGED,
    Reason.TRACE_NOT_PERFETTO,
    Reason.TRACE_CORRUPT,
    Reason.TRACE_TRUNCATED,
    Reason.TRACE_EMPTY,
)


@dataclass(frozen=True)
class FileFacts:
    """A trace file whose bytes are in order."""

    path: Path
    file_bytes: int
    sha256: str
    content_sha256: str  # of the unpacked trace: the same under any packing
    is_gzip: bool
    unpacked_bytes: int  # its compressed packets too: what an engine is given
    packet_count: int
    mtime_ns: int
    is_reduced: bool = False  # parts of the original were left out

    def still_hold(self, path: Path) -> bool:
        """Whether the file is the one that was read: same place, size and time of the last change."""
        try:
            now = path.stat()
        except OSError:
            return False
        return path == self.path and (now.st_size, now.st_mtime_ns) == (self.file_bytes, self.mtime_ns)


@dataclass(frozen=True)
class TraceHealth:
    """What the gate found. Fields that were not reached are None, 0 or empty."""

    is_complete: bool
    reason: Reason | None
    detail: str
    start_ns: int | None = None
    end_ns: int | None = None
    duration_s: float | None = None
    file_bytes: int | None = None
    sha256: str | None = None
    content_sha256: str | None = None  # see FileFacts
    unpacked_bytes: int | None = None
    packet_count: int | None = None
    data_sources: tuple[str, ...] = ()
    process_count: int | None = None
    app_processes: tuple[str, ...] = ()
    stats: Mapping[str, int] = field(default_factory=dict)
    losses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # counter → data sources it spoils
    load_sources: tuple[str, ...] | None = None  # that the trace was recorded with and that change the load
    window_ns: tuple[int, int] | None = None  # the part of the exploration that was recorded
    engine: str | None = None
    engine_version: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)  # file, engine, series


def check_file(
    path: Path,
    *,
    expected_bytes: int | None = None,
    expected_sha256: str | None = None,
    settings: Settings,
    on_chunk: Callable[[bytes], object] | None = None,
) -> FileFacts:
    """Reads the whole file once, in bounded memory and CPU time.

    Args:
        on_chunk: is given the unpacked trace in order, before anything is known about the rest of it.

    Raises:
        Rejected: TRACE_FILE_MISSING, TRACE_EMPTY, TRACE_SIZE_MISMATCH, TRACE_SHA256_MISMATCH, TRACE_GZIP_DAMAGED,
            TRACE_TOO_LARGE, TRACE_TOO_SLOW, TRACE_NOT_PERFETTO, TRACE_CORRUPT, TRACE_TRUNCATED.
    """
    digest, content = hashlib.sha256(), hashlib.sha256()
    size = 0
    is_gzip: bool | None = None

    def on_raw(piece: bytes) -> None:
        nonlocal size, is_gzip
        if is_gzip is None:
            is_gzip = piece.startswith(GZIP_MAGIC)
        size += len(piece)
        digest.update(piece)

    try:
        before = path.stat()
    except OSError:
        before = None  # the reader below says what is wrong
    if before is not None:
        _compare_size(path, before.st_size, expected_bytes)
    work = WorkLimit(path.name, settings.trace_check_s)
    nested = NestedPackets(path.name, settings.trace_max_bytes, work)
    framing = nested.framing
    unpacked_bytes = 0
    head = b""
    try:
        for chunk in unpacked_chunks(path, settings.trace_max_bytes, on_raw=on_raw):
            unpacked_bytes += len(chunk)
            head = head or chunk[:HEAD_BYTES]
            if is_gzip:
                content.update(chunk)
            framing.feed(chunk)
            work.check()
            if unpacked_bytes + nested.total_bytes > settings.trace_max_bytes:
                detail = f"{path.name}: more than {settings.trace_max_bytes} bytes with its compressed packets unpacked"
                raise Rejected(Reason.TRACE_TOO_LARGE, detail)
            if on_chunk is not None:
                on_chunk(chunk)
        framing.finish()
    except Rejected as error:
        # A file that is not the one that was recorded: that is the cause of whatever is wrong inside.
        if error.reason in _DAMAGE and expected_sha256 is not None:
            _compare(path, sha256_of(path), expected_sha256)
        raise
    if not is_reduced(head):
        _compare(path, digest.hexdigest(), expected_sha256)
    mtime_ns = before.st_mtime_ns if before is not None else 0
    return FileFacts(
        path,
        size,
        digest.hexdigest(),
        (content if is_gzip else digest).hexdigest(),
        bool(is_gzip),
        unpacked_bytes + nested.total_bytes,
        framing.packet_count,
        mtime_ns,
        is_reduced(head),
    )


def check_facts(facts: FileFacts, *, expected_bytes: int | None, expected_sha256: str | None) -> None:
    """Compares with run.json what was found when the file was read.

    Raises:
        Rejected: TRACE_SIZE_MISMATCH, TRACE_SHA256_MISMATCH.
    """
    _compare_size(facts.path, facts.file_bytes, expected_bytes)
    if not facts.is_reduced:
        _compare(facts.path, facts.sha256, expected_sha256)


def _compare_size(path: Path, size: int, expected: int | None) -> None:
    if expected is not None and size != expected and not is_reduced_file(path):
        reason = Reason.TRACE_SIZE_MISMATCH if size else Reason.TRACE_EMPTY
        raise Rejected(reason, f"{path.name}: {size} bytes, run.json says {expected}")


def _compare(path: Path, sha256: str, expected: str | None) -> None:
    if expected is not None and sha256 != expected.lower():
        raise Rejected(
            Reason.TRACE_SHA256_MISMATCH, f"{path.name}: SHA-256 {sha256[:16]}…, run.json says {expected[:16]}…"
        )


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's content.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    with open_regular(resolved(path)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_trace(
    session: TraceSession,
    facts: FileFacts,
    *,
    app: str,
    exploration: tuple[int, int] | None,
    time_limit_s: float,
    settings: Settings,
    contents: TraceContents | None = None,
) -> TraceHealth:
    """Judges a loaded trace; never raises for what is wrong with it.

    Args:
        session: with the trace loaded.
        facts: from `check_file`.
        app: application id.
        exploration: (start_ns, end_ns) in trace time, or None if run.json does not say.
        time_limit_s: of the run's configuration; what the trace must cover if there is no exploration.
        contents: of this trace, if loaded already.

    Raises:
        Rejected: ENGINE_…
    """
    contents = contents or load_contents(session)
    stats = session.query(
        statement("stats"), {"name": "string", "idx": "Int64", "severity": "string", "value": "int64"}
    )
    recording = load_recording(session)
    losses = _losses(stats, recording, contents.sched.count)
    processes = find_app(contents.processes, contents.threads, app)
    sources = _data_sources(session, contents)
    recorded = contents.recorded_ns
    window = _window(recorded, exploration, settings)
    problem = (
        (Rejected(Reason.TRACE_REDUCED, facts.path.name) if facts.is_reduced else None)
        or _source_problem(sources)
        or _stats_problem(losses)
        or _app_problem(app, processes, contents)
        or _time_problem(recorded, window, exploration, time_limit_s, settings)
    )
    return TraceHealth(
        is_complete=problem is None,
        reason=problem.reason if problem else None,
        detail=problem.detail if problem else "",
        start_ns=contents.start_ns,
        end_ns=contents.end_ns,
        duration_s=(contents.end_ns - contents.start_ns) / 1e9,
        file_bytes=facts.file_bytes,
        sha256=facts.sha256,
        content_sha256=facts.content_sha256,
        unpacked_bytes=facts.unpacked_bytes,
        packet_count=facts.packet_count,
        data_sources=sources,
        process_count=len(contents.processes),
        app_processes=tuple(sorted({process.name for process in processes})),
        stats={name: int(rows["value"].sum()) for name, rows in stats.groups("name")},
        losses={text: spoilt for text, (spoilt, _) in losses.items()},
        load_sources=recording.load_sources,
        window_ns=window,
        engine=session.kind,
        engine_version=session.version,
    )


def _data_sources(session: TraceSession, contents: TraceContents) -> tuple[str, ...]:
    types = session.query(statement("track_types"), {"type": "string"})["type"]
    memory = session.query(statement("memory_samples"), {"has_samples": "int64"})["has_samples"][0]
    found = {str(name) for name in types if name != _MEMORY}  # that type covers counters other than memory as well
    there = {name for name, is_there in (("sched", contents.sched.count), (_MEMORY, memory)) if is_there}
    return tuple(sorted(found | there | contents.sampled))


def _source_problem(sources: tuple[str, ...]) -> Rejected | None:
    if "sched" in sources or _MEMORY in sources:
        return None
    has = ", ".join(sources) or "nothing"
    return Rejected(Reason.SOURCE_MISSING, f"neither sched/sched_switch nor process memory; the trace has {has}")


def _losses(stats: Table, recording: Recording, slice_count: int) -> dict[str, tuple[tuple[str, ...], bool]]:
    """`name = value` of each counter that is above what is tolerated → (data sources it spoils, events are gone)."""
    found: dict[str, tuple[tuple[str, ...], bool]] = {}
    for name, rows in stats.groups("name"):
        counter = loss_counter(name)
        value = int(rows["value"].sum())
        if value <= counter.tolerated_share * slice_count:
            continue
        spoilt = counter.spoils
        if counter.is_per_buffer:
            buffers = set(rows["idx"].tolist())
            spoilt = tuple(sorted(set().union(*(recording.sources_of_buffer(number) for number in buffers))))
        if spoilt:
            is_loss = counter.is_loss or (rows["severity"] == "data_loss").any()
            found[f"{name} = {value}"] = (spoilt, bool(is_loss))
    return found


def _stats_problem(losses: Mapping[str, tuple[tuple[str, ...], bool]]) -> Rejected | None:
    fatal = sorted(
        (not is_loss, text) for text, (spoilt, is_loss) in losses.items() if {EVERYTHING, "sched"} & {*spoilt}
    )
    if not fatal:
        return None
    reason = Reason.TRACE_ERRORS if fatal[0][0] else Reason.TRACE_DATA_LOSS
    return Rejected(reason, ", ".join(text for _, text in fatal))


def _app_problem(app: str, processes: tuple[AppProcess, ...], contents: TraceContents) -> Rejected | None:
    if processes:
        return None
    names = f"{app!r} or {app + ':…'!r}{offered(process_uses(contents), app)}"
    what = f"none of {len(contents.processes)} processes is named {names}"
    return Rejected(Reason.PACKAGE_MISSING, what)


def _window(recorded: tuple[int, int], exploration: tuple[int, int] | None, settings: Settings) -> tuple[int, int]:
    """The part of the exploration that was recorded. It begins on a border of the exploration's own grid, so that
    a recording that began late shifts nothing. An interval at either end may lack the tolerated share of itself.
    Empty (start ≥ end) if nothing was recorded."""
    if exploration is None:
        return recorded
    start, end = exploration
    interval_ns = round(settings.interval_s * 1e9)
    slack_ns = int(settings.duration_tolerance_ratio * interval_ns)
    lacking_ns = max(0, recorded[0] - start - slack_ns)
    return start + -(-lacking_ns // interval_ns) * interval_ns, min(end, recorded[1] + slack_ns)


def _time_problem(
    recorded: tuple[int, int],
    window: tuple[int, int],
    exploration: tuple[int, int] | None,
    time_limit_s: float,
    settings: Settings,
) -> Rejected | None:
    if exploration is None:
        needed_s, had_s, of_what = time_limit_s, (recorded[1] - recorded[0]) / 1e9, "time limit"
    else:
        covered = min(exploration[1], recorded[1]) - max(exploration[0], recorded[0])
        needed_s, had_s, of_what = (exploration[1] - exploration[0]) / 1e9, max(0, covered) / 1e9, "exploration"
    if had_s < needed_s * (1 - settings.duration_tolerance_ratio):
        hint = ""
        if exploration is not None and had_s == 0:
            hint = (
                f" (recorded are {recorded[0]} to {recorded[1]} ns, explored {exploration[0]} to {exploration[1]} ns)"
            )
        return Rejected(
            Reason.TRACE_TOO_SHORT, f"events cover {had_s:.1f} s of the {of_what} of {needed_s:.1f} s{hint}"
        )
    if window[1] - window[0] < round(settings.interval_s * 1e9):
        return Rejected(Reason.TRACE_TOO_SHORT, f"events cover less than one interval of {settings.interval_s:g} s")
    return None
