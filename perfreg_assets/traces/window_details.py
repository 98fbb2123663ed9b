"""What a trace, and profiles beside it, tell about some stretches of it beyond times of threads: opened when a window
asks for it, then kept.

The files are named by what they were made from (content of the trace and profiles, app, ranges, code), so one that is
there holds; they are a cache: without them the trace is opened again. What nobody asked for in 30 days goes with the
next write.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.traces.clock_snapshots import ClockSnapshots, monotonic_snapshots
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import TraceSession, once_more, open_trace
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.memory_growth import memory_growth
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.profile_files import ProfileFile
from perfreg_assets.traces.profiles import Owner, UnreadProfile, read_profiles
from perfreg_assets.traces.slices import SLICE_SCHEMA, Range, frame_times, slice_times
from perfreg_assets.traces.stacks import stack_times
from perfreg_assets.whole_files import write_whole

FOLDER = "window-details"
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")
_UNUSED_S = 30 * 86_400.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class WindowDetails:
    """Of some ranges of one trace and the profiles beside it; `range` in every table is the position of the range.

    Attributes:
        slices: see `SliceTimes`. stacks: see `StackTimes`. frames: see `frame_times`. memory: see `memory_growth`.
        clipped_count, sample_count, without_stack_count: see there.
        methods: see `method_times`.
        covered, unread, method_clock: of what came from profiles beside the trace, see `Profiles`.
    """

    slices: pa.Table
    frames: pa.Table
    stacks: pa.Table
    memory: pa.Table
    clipped_count: int
    sample_count: int
    without_stack_count: int
    methods: pa.Table = field(default_factory=SLICE_SCHEMA.empty_table)
    covered: Mapping[str, Sequence[Range]] = field(default_factory=dict)
    unread: Sequence[UnreadProfile] = ()
    method_clock: str = ""


_TABLES = ("slices", "frames", "stacks", "memory", "methods")
_COUNTS = ("clipped_count", "sample_count", "without_stack_count")


def read_details(session: TraceSession, app: str, ranges: Sequence[Range]) -> WindowDetails:
    """From a loaded trace.

    Slices and memory are those of the app.

    Args:
        ranges: (start_ns, end_ns) in trace time; they may overlap.

    Raises:
        Rejected: ENGINE_…
    """
    names = Names(load_contents(session, with_sched=False), app)
    slices = slice_times(session, names, ranges, names.app_utids)
    stacks = stack_times(session, names, ranges)
    return WindowDetails(
        slices=slices.rows,
        frames=frame_times(session, names, ranges),
        stacks=stacks.rows,
        memory=memory_growth(session, names, ranges, of_app_only=True),
        clipped_count=slices.clipped_count,
        sample_count=stacks.sample_count,
        without_stack_count=stacks.without_stack_count,
    )


def window_details(
    trace: AbstractContextManager[Path],
    sha256: str,
    app: str,
    ranges: Sequence[Range],
    settings: Settings,
    engines: Engines | None = None,
    *,
    profiles: Sequence[ProfileFile] = (),
) -> WindowDetails:
    """As `read_details`, of a trace that is opened only where nothing is kept of these ranges.

    Args:
        trace: where it lies; entered only to open it.
        sha256: of the trace.
        engines: see `open_trace`.
        profiles: those beside it; their stacks count where the trace has none.

    Raises:
        Rejected: TRACE_…, ENGINE_…
    """
    kept = settings.home_dir / FOLDER / f"{_key(sha256, app, ranges, profiles)}.arrow"
    found = _read(kept)
    if found is not None:
        _note_use(kept)
        return found
    with trace as path:
        found, clock, owners = once_more(
            lambda: _opened(path, app, ranges, settings, engines, has_profiles=bool(profiles))
        )
        if profiles:
            found = _with_profiles(found, profiles, app, ranges, clock, owners, settings, engines)
    if not found.unread:  # who knows whether it is the file
        _write(kept, found)
    return found


def _opened(
    path: Path,
    app: str,
    ranges: Sequence[Range],
    settings: Settings,
    engines: Engines | None,
    *,
    has_profiles: bool,
) -> tuple[WindowDetails, ClockSnapshots | None, Mapping[int, Owner]]:
    """What the trace itself tells; its clock and whose its threads are, where profiles lie beside it."""
    with open_trace(path, settings, engines) as session:
        found = read_details(session, app, ranges)
        if not has_profiles:
            return found, None, {}
        return found, monotonic_snapshots(session), _owners(session, app)


def _owners(session: TraceSession, app: str) -> dict[int, Owner]:
    """Thread number → whose it is."""
    contents = load_contents(session, with_sched=False)
    names, threads = Names(contents, app), contents.threads
    pairs = zip(threads["tid"].tolist(), threads["utid"].tolist(), strict=True)
    return {tid: names.thread(utid) for tid, utid in pairs if tid}


def _with_profiles(
    found: WindowDetails,
    files: Sequence[ProfileFile],
    app: str,
    ranges: Sequence[Range],
    clock: ClockSnapshots | None,
    owners: Mapping[int, Owner],
    settings: Settings,
    engines: Engines | None,
) -> WindowDetails:
    """Samples beside a trace that has its own would count twice: they are left where they are."""
    has_stacks = "perf" in found.stacks.column("source").to_pylist()
    used = [one for one in files if one.kind != "call_stacks" or not has_stacks]
    told = read_profiles(used, app, ranges, clock, owners, settings, engines)
    return replace(
        found,
        stacks=pa.concat_tables([found.stacks, told.stacks]),
        methods=told.methods,
        covered=told.covered,
        unread=tuple(told.unread),
        method_clock=told.method_clock,
        clipped_count=found.clipped_count + told.clipped_count,
        sample_count=found.sample_count + told.sample_count,
        without_stack_count=found.without_stack_count + told.without_stack_count,
    )


def _key(sha256: str, app: str, ranges: Sequence[Range], profiles: Sequence[ProfileFile]) -> str:
    beside = sorted((one.kind, one.sha256) for one in profiles)
    parts = (sha256, app, [tuple(map(int, one)) for one in ranges], beside, code_version("traces"))
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read(path: Path) -> WindowDetails | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _LOG.warning("%s cannot be read (%s): the trace is opened again", path, error)
        return None
    try:
        tables = {}
        stream = io.BytesIO(content)
        beside: dict[str, Any] = {}
        for name in _TABLES:
            with pa.ipc.open_stream(stream) as reader:
                tables[name] = reader.read_all()
            beside |= {key.decode(): json.loads(value) for key, value in (tables[name].schema.metadata or {}).items()}
            tables[name] = tables[name].replace_schema_metadata(None)
        beside["covered"] = {kind: [tuple(one) for one in ranges] for kind, ranges in beside["covered"].items()}
        return WindowDetails(**tables, **beside)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:  # Arrow says OSError of a cut one
        _LOG.warning("%s is damaged (%s): the trace is opened again", path, error)
        return None


def _write(path: Path, details: WindowDetails) -> None:
    """A cache that cannot be written costs time, nothing else."""
    counts = {name: json.dumps(getattr(details, name)) for name in (*_COUNTS, "covered", "method_clock")}
    out = io.BytesIO()
    for name in _TABLES:
        table = getattr(details, name).replace_schema_metadata(counts if name == _TABLES[0] else None)
        with pa.ipc.new_stream(out, table.schema, options=_PACKED) as writer:
            writer.write_table(table)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, out.getvalue(), is_durable=False)
        _sweep(path.parent)
    except OSError as error:
        _LOG.warning("%s cannot be written (%s): the trace is opened again next time", path, error)


def _note_use(path: Path) -> None:
    try:
        os.utime(path)
    except OSError as error:
        _LOG.debug("%s: its use is not noted (%s)", path, error)


def _sweep(folder: Path) -> None:
    """Deletes what was not used for long, and what killed processes left."""
    before = time.time() - _UNUSED_S
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another thread's part, renamed meanwhile
            if path.stat().st_mtime < before:
                path.unlink()
