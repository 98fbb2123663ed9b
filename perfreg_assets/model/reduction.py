"""Makes long traces small: judges windows of time against a reference, keeps what is unusual with a rim around it.

What is written is a folder per trace: the cut trace, which Perfetto opens, and perfreg.reduction.json, which says what
was judged how, and what is in the seconds that were dropped.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from perfreg_assets import __version__
from perfreg_assets.methods import reduction
from perfreg_assets.methods.reduction import MODES, Judge, Mode, Reference, ReferenceTooShortError
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import event_types, reduced
from perfreg_assets.traces.cutting import Cut, cut_trace
from perfreg_assets.traces.event_types import EventType, EventWindows
from perfreg_assets.traces.gate import FileFacts, check_file
from perfreg_assets.warehouse.reductions import ReductionRow

REFERENCE, EMPTY, SUSPENDED, UNUSUAL, SINGLE, SILENT, DATA_LOSS = (
    *("reference", "empty", "suspended", "unusual", "single", "silent", "data_loss"),
)
"""What a window is told to be, besides usual: part of the reference; without events, which the reference has as well;
the device slept; unlike the reference; the same, but one of few, which is not kept; without events, which the reference
has never; the recording lost events."""
SCHEMA_VERSION = 1
_SECOND_NS = 1_000_000_000
_BLOCK_WINDOWS = 4096


@dataclass(frozen=True)
class Learned:
    """What windows are judged by.

    Attributes:
        name: of a stored reference; None: the trace's own beginning.
        window_count: windows of the trace itself, from its start, that were learned from.
    """

    reference: Reference
    types: tuple[EventType, ...]
    window_ns: int
    name: str | None = None
    window_count: int = 0


@dataclass(frozen=True)
class Windows:
    """The judged windows of a trace, (n,) each.

    Attributes:
        reason: one of the words above; None where a window is as usual.
        stretches: [start, end) on the trace's clock that are kept.
    """

    events: EventWindows
    learned: Learned
    kl: NDArray[np.float64]
    score: NDArray[np.float64]
    is_anomalous: NDArray[np.bool_]
    is_kept: NDArray[np.bool_]
    reason: tuple[str | None, ...]
    stretches: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Reduced:
    """A reduced trace.

    Attributes:
        path: of the trace that was written. facts: of the original.
        sha256: of what was written; `bytes_after`: its size on disk.
    """

    path: Path
    facts: FileFacts
    windows: Windows
    cut: Cut
    sha256: str
    bytes_after: int


def window_ns(settings: Settings) -> int:
    """Length of a window, ns."""
    return round(settings.reduction_window_s * 1e9)


def learn(counts: NDArray[np.uint16], mode: Mode, what: str) -> Reference:
    """
    Args:
        counts: (windows, types + 1).
        what: is named where it does not do.

    Raises:
        Rejected: REFERENCE_TOO_SHORT.
    """
    try:
        return reduction.learn(counts.astype(np.float64), mode)
    except ReferenceTooShortError as error:
        raise Rejected(Reason.REFERENCE_TOO_SHORT, f"{what}: {error}") from error


def judge_trace(path: Path, settings: Settings, learned: Learned | None = None) -> Windows:
    """Judges a trace by a stored reference, or by its own beginning.

    Raises:
        Rejected: TRACE_… as of the gate; SOURCE_MISSING without events; REFERENCE_TOO_SHORT.
    """
    limit, width = settings.trace_max_bytes, window_ns(settings)
    found = event_types.survey(path, limit)
    if learned is not None:
        events = event_types.count_events(path, limit, found, learned.types, learned.window_ns)
        return judged(events, learned, settings)
    reference_ns = round(settings.reduction_reference_s * 1e9)
    types = event_types.most_frequent(event_types.type_totals(path, limit, found, reference_ns))
    events = event_types.count_events(path, limit, found, types, width)
    count = min(len(events.counts), -(-reference_ns // width))
    usable = ~(events.is_lossy[:count] | events.is_suspended[:count])
    mode = MODES[settings.reduction_mode]
    own = learn(events.counts[:count][usable], mode, f"{path.name}: its first {settings.reduction_reference_s:g} s")
    return judged(events, Learned(own, types, width, window_count=count), settings)


def judged(events: EventWindows, learned: Learned, settings: Settings) -> Windows:
    """Judges windows that were counted, and says what of the trace is kept."""
    width, first = learned.window_ns, learned.window_count
    rim_ns, gap_ns = round(settings.reduction_rim_s * 1e9), round(settings.reduction_gap_s * 1e9)
    judge = Judge(learned.reference, rim_windows=-(-rim_ns // width))
    count = len(events.counts)
    kl, score = np.full(count, np.nan), np.full(count, np.nan)
    unusual, silent = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    last = count - 1 if count and events.end_ns < events.start_ns + count * width - 1 else count  # not over yet
    for begin in range(first, last, _BLOCK_WINDOWS):
        here = slice(begin, min(begin + _BLOCK_WINDOWS, last))
        found = judge.judge(events.counts[here].astype(np.float64))
        kl[here], score[here], silent[here] = found.kl, found.score, found.is_silent
        unusual[here] = found.is_anomalous & ~found.is_silent
    silent &= ~events.is_suspended
    voted = reduction.voted(unusual | silent) if learned.reference.mode.has_votes else unusual | silent
    is_anomalous = voted | events.is_lossy
    starts = events.starts_ns()
    spans = np.stack([starts[is_anomalous], starts[is_anomalous] + width], axis=1)
    stretches = reduction.kept_stretches(
        spans, rim_ns=rim_ns, gap_ns=gap_ns, within=(events.start_ns, events.end_ns + 1)
    )
    is_kept = np.zeros(count, np.bool_)
    for begin, end in stretches:
        is_kept[(begin - events.start_ns) // width : -(-(end - events.start_ns) // width)] = True
    empty = events.counts.sum(axis=1) == 0
    told = (
        (REFERENCE, np.arange(count) < first), (SUSPENDED, events.is_suspended), (EMPTY, empty & ~silent),
        (SINGLE, unusual | silent), (SILENT, silent & voted), (UNUSUAL, unusual & voted), (DATA_LOSS, events.is_lossy),
    )  # fmt: skip
    reason = np.full(count, None, object)
    for word, where in told:
        reason[where] = word
    return Windows(events, learned, kl, score, is_anomalous, is_kept, tuple(reason), tuple(stretches))


def reduce_trace(path: Path, folder: Path, settings: Settings, learned: Learned | None = None) -> Reduced:
    """Writes a folder with the reduced trace and what was dropped; a trace that was gzip stays so.

    Raises:
        Rejected: as `judge_trace`; TRACE_REDUCED: it is one already; REDUCTION_EXISTS; HOST_NO_SPACE.
    """
    facts = check_file(path, settings=settings)
    if facts.is_reduced:
        raise Rejected(Reason.TRACE_REDUCED, path.name)
    target = folder / path.name
    if target.exists():
        raise Rejected(Reason.REDUCTION_EXISTS, str(target))
    windows = judge_trace(path, settings, learned)
    folder.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    try:
        cut, digest = _write(part, path, facts, windows, settings)
        made = Reduced(target, facts, windows, cut, digest, part.stat().st_size)
        _write_text(folder / reduced.DOCUMENT, json.dumps(document(made), separators=(",", ":")))
        part.rename(target)
    except OSError as error:
        raise Rejected(Reason.HOST_NO_SPACE, f"{target}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return made


def _write(part: Path, path: Path, facts: FileFacts, windows: Windows, settings: Settings) -> tuple[Cut, str]:
    with part.open("wb") as file:
        # No name and no time in the gzip header: the same trace gives the same bytes.
        stream = gzip.GzipFile("", "wb", 6, file, 0) if facts.is_gzip else file
        write = cast("Callable[[bytes], object]", stream.write)
        write(reduced.mark())
        cut = cut_trace(path, settings.trace_max_bytes, windows.stretches, windows.events.bundles, write)
        if stream is not file:
            stream.close()
        _sync(file)
    with part.open("rb") as file:
        return cut, hashlib.file_digest(file, "sha256").hexdigest()


def _write_text(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        _sync(file)
    part.rename(path)


def _sync(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())


def document(made: Reduced) -> dict[str, Any]:
    """What perfreg.reduction.json holds."""
    windows, learned = made.windows, made.windows.learned
    reference, events = learned.reference, windows.events
    starts = events.starts_ns().tolist()
    return {
        "schema_version": SCHEMA_VERSION,
        "trace": made.path.name,
        "original_sha256": made.facts.sha256,
        "sha256": made.sha256,
        "bytes_before": made.facts.file_bytes,
        "bytes_after": made.bytes_after,
        "unpacked_bytes_before": made.facts.unpacked_bytes,
        "unpacked_bytes_after": made.cut.bytes_after + len(reduced.mark()),
        "kept_share": share_kept(windows),
        "packets": {"all": made.cut.packet_count, "kept": made.cut.kept_count, "stripped": made.cut.stripped_count},
        "unknown_packets": {str(number): count for number, count in sorted(made.cut.unknown.items())},
        "unplaced_events": events.unplaced_count,
        "mode": reference.mode.name,
        "window_s": learned.window_ns / 1e9,
        "theta": reference.theta,
        "alpha": reference.alpha,
        "reference": learned.name,
        "reference_windows": reference.window_count,
        "code_version": __version__,
        "stretches": [{"start_ns": begin, "end_ns": end} for begin, end in windows.stretches],
        "windows": [
            {
                "start_ns": start,
                "end_ns": start + learned.window_ns,
                "is_kept": bool(kept),
                "is_anomalous": bool(anomalous),
                "reason": reason,
                "events": int(size),
                "kl": _number(kl),
                "score": _number(score),
            }
            for start, kept, anomalous, reason, size, kl, score in zip(
                starts, windows.is_kept, windows.is_anomalous, windows.reason,
                events.counts.sum(axis=1, dtype=np.int64), windows.kl, windows.score, strict=True,
            )
        ],
        "types": [str(one) for one in (*learned.types, event_types.OTHER)],
        "seconds": [
            {"start_ns": start, "is_kept": kept, "counts": counts} for start, kept, counts in per_second(windows)
        ],
    }  # fmt: skip


def per_second(windows: Windows) -> list[tuple[int, bool, dict[str, int]]]:
    """(start_ns, whether any of it is kept, type → events) of each second of the trace, dropped ones as well; types by
    their number."""
    events, width = windows.events, windows.learned.window_ns
    second = (np.arange(len(events.counts)) * width) // _SECOND_NS
    firsts = np.flatnonzero(np.diff(second, prepend=-1))
    sums = np.add.reduceat(events.counts, firsts, axis=0, dtype=np.int64)
    kept = np.logical_or.reduceat(windows.is_kept, firsts)
    return [
        (
            events.start_ns + int(second[first]) * _SECOND_NS,
            bool(is_kept),
            {str(column): int(counts[column]) for column in np.flatnonzero(counts).tolist()},
        )
        for first, is_kept, counts in zip(firsts, kept, sums, strict=True)
    ]


def row_of(made: Reduced) -> ReductionRow:
    """What the warehouse keeps of a reduction; names of types stand in place of their numbers."""
    windows, learned = made.windows, made.windows.learned
    types = [str(one) for one in (*learned.types, event_types.OTHER)]
    return ReductionRow(
        original_sha256=made.facts.sha256,
        reduced_sha256=made.sha256,
        trace_file=str(made.facts.path.absolute()),
        reduced_file=str(made.path.absolute()),
        reference_name=learned.name,
        reduction_mode=learned.reference.mode.name,
        window_s=learned.window_ns / 1e9,
        kl_maximum=learned.reference.theta,
        score_minimum=learned.reference.alpha,
        bytes_before=made.facts.file_bytes,
        bytes_after=made.bytes_after,
        kept_ratio=share_kept(windows),
        window_count=len(windows.reason),
        start_ns=windows.events.start_ns,
        event_types=types,
        window_events=tuple(windows.events.counts.sum(axis=1, dtype=np.int64).tolist()),
        kls=windows.kl,
        scores=windows.score,
        anomalous=tuple(windows.is_anomalous.tolist()),
        kept=tuple(windows.is_kept.tolist()),
        reasons=tuple(reason or "" for reason in windows.reason),
        second_events=[
            {
                "start_ns": start,
                "is_kept": kept,
                "counts": {types[int(number)]: count for number, count in counts.items()},
            }
            for start, kept, counts in per_second(windows)
        ],
    )


def share_kept(windows: Windows) -> float:
    """Kept time of all time."""
    total = windows.events.end_ns + 1 - windows.events.start_ns
    return sum(end - begin for begin, end in windows.stretches) / total


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)


def combined(counts: Sequence[EventWindows]) -> NDArray[np.uint16]:
    """The windows of several traces, one behind the other, without those that lost events or time."""
    return np.concatenate([one.counts[~(one.is_lossy | one.is_suspended)] for one in counts])
