"""Judges the windows of a trace against a reference, and says which stretches of time are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods import reduction
from perfreg_assets.methods.app_load import LoadLimits, limits_of
from perfreg_assets.methods.reduction import MODES, Judge, Judgement, Mode, Reference, ReferenceTooShortError
from perfreg_assets.model.reference_fit import Fit, Origin, fit_of
from perfreg_assets.model.trace_source import Source
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import event_types
from perfreg_assets.traces.event_types import Counts, EventType, EventWindows, Survey
from perfreg_assets.traces.second_use import SECOND_NS

REFERENCE, EMPTY, SUSPENDED, UNUSUAL, SINGLE, UNKNOWN, LOAD, SILENT, DATA_LOSS, NOT_JUDGED, OUTSIDE, UNFINISHED = (
    *("reference", "empty", "suspended", "unusual", "single", "unknown", "load", "silent", "data_loss", "not_judged"),
    *("outside", "unfinished"),
)
"""What a window is told to be, besides usual: part of the reference; without events, which the reference has as well;
the device slept; unlike the reference; the same, but one of few, which is not kept; most of its events are of types
that the reference never had; the app used more than there; without events, which the reference has never; the recording
lost events; it was kept without being judged; it does not lie in the exploration, and no reference is of such time, so
that it is not judged; the recording ends in it, so that it is not judged, and kept."""
_BLOCK_WINDOWS = 4096


@dataclass(frozen=True)
class Learned:
    """What windows are judged by.

    Attributes:
        name: of a stored reference; None: the trace's own beginning.
        window_count: windows of the trace itself, from its start, that were learned from.
        limits: what the app uses at most; None where no app is named, or too little is known of it.
        counts: (windows, types + 1) that were learned from.
        seen: all types that occurred in what was learned from; None: an earlier release did not write them down.
        origin: what a stored reference is of; None: it is the trace's own beginning.
    """

    reference: Reference
    types: tuple[EventType, ...]
    window_ns: int
    name: str | None = None
    window_count: int = 0
    limits: LoadLimits | None = None
    counts: Counts = field(default_factory=lambda: np.empty((0, 0), np.uint16), repr=False)
    origin: Origin | None = None
    seen: tuple[EventType, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Windows:
    """The judged windows of a trace, (n,) each.

    Attributes:
        reason: one of the words above; None where a window is as usual.
        stretches: [start, end) on the trace's clock that are kept.
        fit: of a stored reference, see `reference_fit`; None where it was not asked for.
    """

    events: EventWindows
    learned: Learned
    kl: NDArray[np.float64]
    score: NDArray[np.float64]
    is_anomalous: NDArray[np.bool_]
    is_kept: NDArray[np.bool_]
    reason: tuple[str | None, ...]
    stretches: tuple[tuple[int, int], ...]
    fit: Fit | None = None


def window_ns(settings: Settings) -> int:
    """Length of a window, ns."""
    return round(settings.reduction_window_s * 1e9)


def learn(counts: Counts, mode: Mode, what: str) -> Reference:
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


def judge_trace(source: Source, settings: Settings, learned: Learned | None = None) -> Windows:
    """Judges a trace by a stored reference, or by its own beginning.

    Args:
        source: the load of its app counts where its own beginning is the reference; where its app and device are None,
            only the trace itself may say them. Its span is what is judged by a stored reference, as that was learned
            from such time.

    Raises:
        Rejected: TRACE_… as of the gate; SOURCE_MISSING without events; REFERENCE_TOO_SHORT; of a stored reference
            REFERENCE_OTHER: most of what happens there it knows nothing of, or the trace says that it is of another
            app or device; TRACE_TOO_SHORT: nothing lies in the span.
    """
    path, span, limit = source.path, source.span, settings.trace_max_bytes
    found = event_types.survey(path, limit)
    if learned is not None:
        events = event_types.count_events(path, limit, found, learned.types, learned.window_ns, seen=learned.seen)
        origin, fit = learned.origin, None
        if origin is not None:
            fit = fit_of(origin, path.name, found, events, app=source.app, device=source.device)
        _require_known(path.name, events.within(span).counts, learned)
        return replace(judged(events, learned, settings, span), fit=fit)
    learned, events = learn_from(path, found, settings, app=source.app)
    return judged(events, learned, settings)


def learn_from(
    path: Path, found: Survey, settings: Settings, *, app: str | None = None
) -> tuple[Learned, EventWindows]:
    """What is usual, from a trace's own beginning, and all of its windows.

    Args:
        app: whose load counts.

    Raises:
        Rejected: REFERENCE_TOO_SHORT.
    """
    limit, width = settings.trace_max_bytes, window_ns(settings)
    reference_ns = round(settings.reduction_reference_s * 1e9)
    totals = event_types.type_totals(path, limit, found, reference_ns)
    types, seen = event_types.most_frequent(totals), tuple(sorted(totals))
    events = event_types.count_events(path, limit, found, types, width, seen=seen)
    count = min(len(events.counts), -(-reference_ns // width))
    usable = ~(events.is_lossy | events.is_suspended | unfinished(events))[:count]
    mode = MODES[settings.reduction_mode]
    counts = events.counts[:count][usable]
    own = learn(counts, mode, f"{path.name}: its first {settings.reduction_reference_s:g} s")
    seconds = count * width // SECOND_NS
    limits = limits_of(app, [events.use.load(app).within(0, seconds)]) if app is not None else None
    return Learned(own, types, width, window_count=count, limits=limits, counts=counts, seen=seen), events


def _require_known(name: str, counts: Counts, learned: Learned) -> None:
    """What a reference has no types for is one sum to it: a trace of which that is the most cannot be told from any
    other such."""
    if not len(counts):
        raise Rejected(Reason.TRACE_TOO_SHORT, f"{name}: no whole window lies in its exploration")
    own, usual = _share_of_others(counts), _share_of_others(learned.counts)
    if own > max(reduction.OTHERS_AT_MOST, 2 * usual):
        raise Rejected(
            Reason.REFERENCE_OTHER,
            f"{name}: {own:.0%} of its events are of types that are not in reference {learned.name}, {usual:.0%} of "
            "that one's own",
        )


def _share_of_others(counts: Counts) -> float:
    total = int(counts.sum(dtype=np.int64))
    return int(counts[:, -1].sum(dtype=np.int64)) / total if total else 0.0


def judged(events: EventWindows, learned: Learned, settings: Settings, span: tuple[int, int] | None = None) -> Windows:
    """Judges windows that were counted, and says what of the trace is kept; see `judge_trace`."""
    scores = Scores.unknown(len(events.counts))
    inside = np.flatnonzero(events.is_within(span) & ~unfinished(events))
    first, last = (max(learned.window_count, int(inside[0])), int(inside[-1]) + 1) if len(inside) else (0, 0)
    judge = judge_of(learned, settings)
    for begin in range(first, last, _BLOCK_WINDOWS):
        here = slice(begin, min(begin + _BLOCK_WINDOWS, last))
        scores.put(begin, judge.judge(events.counts[here].astype(np.float64)))
    return decided(events, learned, scores, settings, span)


def unfinished(events: EventWindows) -> NDArray[np.bool_]:
    """(windows,) The last window, where the trace ends within it."""
    found: NDArray[np.bool_] = events.starts_ns() + events.window_ns - 1 > events.end_ns
    return found


def judge_of(learned: Learned, settings: Settings) -> Judge:
    """What scores windows in their order."""
    return Judge(learned.reference, rim_windows=-(-round(settings.reduction_rim_s * 1e9) // learned.window_ns))


@dataclass(frozen=True)
class Scores:
    """What gate and score say of windows, (n,) each; NaN and False of those that were not judged.

    Attributes:
        unasked: kept without being judged.
    """

    kl: NDArray[np.float64]
    score: NDArray[np.float64]
    unusual: NDArray[np.bool_]
    silent: NDArray[np.bool_]
    unasked: NDArray[np.bool_]

    @classmethod
    def unknown(cls, count: int) -> Scores:
        """Of windows of which none was judged."""
        return cls(np.full(count, np.nan), np.full(count, np.nan), *(np.zeros(count, np.bool_) for _ in range(3)))

    def longer(self, count: int) -> Scores:
        """The same with `count` more windows, which were not judged."""
        more = Scores.unknown(count)
        return Scores(*(np.concatenate([own, other]) for own, other in zip(self.parts(), more.parts(), strict=True)))

    def parts(self) -> tuple[NDArray[np.generic], ...]:
        """The arrays in their order."""
        return self.kl, self.score, self.unusual, self.silent, self.unasked

    def put(self, begin: int, found: Judgement) -> None:
        """What was found of the windows from one on."""
        here = slice(begin, begin + len(found.kl))
        self.kl[here], self.score[here], self.silent[here] = found.kl, found.score, found.is_silent
        self.unusual[here] = found.is_anomalous & ~found.is_silent


def decided(
    events: EventWindows,
    learned: Learned,
    scores: Scores,
    settings: Settings,
    span: tuple[int, int] | None = None,
    *,
    is_over: bool = True,
) -> Windows:
    """What of a trace is kept, from what its windows were judged to be; see `judge_trace`.

    Args:
        is_over: nothing follows on the last event. What happens at the very end (a crash) is kept then, though there is
            not enough of it to be judged: without a rim, as it is of nearly every trace.
    """
    width, first, count = learned.window_ns, learned.window_count, len(events.counts)
    rim_ns, gap_ns = round(settings.reduction_rim_s * 1e9), round(settings.reduction_gap_s * 1e9)
    unusual, silent = scores.unusual, scores.silent & ~events.is_suspended
    voted = unusual | silent
    if learned.reference.mode.has_votes:
        voted = reduction.voted(voted, reduction.excess_of(scores.score, learned.reference.alpha, silent), silent)
    is_heavy = (excess_of(events, learned, span) > 1.0) & events.is_within(span)
    is_heavy[:first] = False
    is_unknown = np.zeros(count, np.bool_)
    if learned.reference.mode.has_votes:
        strange = np.where(events.is_within(span) & ~events.is_suspended, events.strange, 0)
        strange[:first] = 0
        is_unknown = reduction.foreign(strange, events.counts.sum(axis=1, dtype=np.int64)) & ~voted
    is_anomalous = voted | is_unknown | is_heavy | events.is_lossy | scores.unasked
    starts = events.starts_ns()
    spans = np.stack([starts[is_anomalous], starts[is_anomalous] + width], axis=1)
    stretches = reduction.kept_stretches(
        spans, rim_ns=rim_ns, gap_ns=gap_ns, within=(events.start_ns, events.end_ns + 1)
    )
    is_end = unfinished(events) & events.is_within(span) & is_over
    stretches = reduction.kept_stretches(
        [*stretches, *((start, events.end_ns + 1) for start in starts[is_end].tolist())],
        rim_ns=0, gap_ns=gap_ns, within=(events.start_ns, events.end_ns + 1),
    )  # fmt: skip
    is_kept = np.zeros(count, np.bool_)
    for begin, end in stretches:
        is_kept[(begin - events.start_ns) // width : -(-(end - events.start_ns) // width)] = True
    empty = events.counts.sum(axis=1) == 0
    told = (
        (OUTSIDE, ~events.is_within(span)), (REFERENCE, np.arange(count) < first),
        (SUSPENDED, events.is_suspended), (EMPTY, empty & ~silent), (UNFINISHED, is_end),
        (SINGLE, unusual), (UNKNOWN, is_unknown), (LOAD, is_heavy), (SILENT, silent), (UNUSUAL, unusual & voted),
        (DATA_LOSS, events.is_lossy), (NOT_JUDGED, scores.unasked),
    )  # fmt: skip
    reason = np.full(count, None, object)
    for word, where in told:
        reason[where] = word
    return Windows(events, learned, scores.kl, scores.score, is_anomalous, is_kept, tuple(reason), tuple(stretches))


def excess_of(events: EventWindows, learned: Learned, span: tuple[int, int] | None = None) -> NDArray[np.float64]:
    """(windows,) By what factor the app uses more than in the reference; 0 where the mode does not ask, or no limit is
    known, and outside of the span."""
    return events.load_excess(learned.limits if learned.reference.mode.has_load else None, span)


def combined(counts: Sequence[EventWindows]) -> Counts:
    """The windows of several traces, one behind the other, without those that lost events or time."""
    return np.concatenate([one.counts[~(one.is_lossy | one.is_suspended)] for one in counts])
