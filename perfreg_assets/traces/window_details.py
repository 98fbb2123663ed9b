"""What a trace tells about some stretches of it beyond times of threads: opened when a window asks for it, then kept.

The files are named by what they were made from (the trace's content, app, ranges, code), so one that is there holds;
they are a cache: without them the trace is opened again. What nobody asked for in 30 days goes with the next write.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path

import pyarrow as pa

from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.engine import TraceSession, open_trace
from perfreg_assets.traces.engines import Engines
from perfreg_assets.traces.memory_growth import memory_growth
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.slices import Range, frame_times, slice_times
from perfreg_assets.traces.stacks import stack_times

FOLDER = "window-details"
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")
_UNUSED_S = 30 * 86_400.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class WindowDetails:
    """Of some ranges of one trace; `range` in every table is the position of the range.

    Attributes:
        slices: see `SliceTimes`. stacks: see `StackTimes`. frames: see `frame_times`. memory: see `memory_growth`.
        clipped_count, sample_count, without_stack_count: see there.
    """

    slices: pa.Table
    frames: pa.Table
    stacks: pa.Table
    memory: pa.Table
    clipped_count: int
    sample_count: int
    without_stack_count: int


_TABLES = ("slices", "frames", "stacks", "memory")


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
) -> WindowDetails:
    """As `read_details`, of a trace that is opened only where nothing is kept of these ranges.

    Args:
        trace: where it lies; entered only to open it.
        sha256: of the trace.
        engines: see `open_trace`.

    Raises:
        Rejected: TRACE_…, ENGINE_…
    """
    kept = settings.home_dir / FOLDER / f"{_key(sha256, app, ranges)}.arrow"
    found = _read(kept)
    if found is not None:
        _note_use(kept)
        return found
    with trace as path, open_trace(path, settings, engines) as session:
        found = read_details(session, app, ranges)
    _write(kept, found)
    return found


def _key(sha256: str, app: str, ranges: Sequence[Range]) -> str:
    parts = (sha256, app, [tuple(map(int, one)) for one in ranges], code_version("traces"))
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
        counts: dict[str, int] = {}
        for name in _TABLES:
            with pa.ipc.open_stream(stream) as reader:
                tables[name] = reader.read_all()
            counts |= {key.decode(): int(value) for key, value in (tables[name].schema.metadata or {}).items()}
            tables[name] = tables[name].replace_schema_metadata(None)
        return WindowDetails(**tables, **counts)
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:  # Arrow says OSError of a cut one
        _LOG.warning("%s is damaged (%s): the trace is opened again", path, error)
        return None


def _write(path: Path, details: WindowDetails) -> None:
    """A cache that cannot be written costs time, nothing else."""
    counts = {one.name: str(getattr(details, one.name)) for one in fields(details) if one.name not in _TABLES}
    out = io.BytesIO()
    for name in _TABLES:
        table = getattr(details, name).replace_schema_metadata(counts if name == _TABLES[0] else None)
        with pa.ipc.new_stream(out, table.schema, options=_PACKED) as writer:
            writer.write_table(table)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(out.getvalue())
        os.replace(part, path)
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
        if path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
