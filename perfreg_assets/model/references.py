"""References: made of traces of correct runs, stored under a name, and fetched for a trace that they fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfreg_assets.methods.app_load import LoadLimits, limits_of
from perfreg_assets.methods.reduction import MODES
from perfreg_assets.model.reference_fit import Origin
from perfreg_assets.model.trace_source import Source
from perfreg_assets.model.window_judging import Learned, combined, learn, window_ns
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import event_types
from perfreg_assets.traces.build_fingerprint import device_of
from perfreg_assets.traces.event_types import EventType, EventWindows, Survey
from perfreg_assets.traces.gate import FileFacts, check_file
from perfreg_assets.warehouse import references as table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.references import ReferenceRow


def reference_of(name: str, sources: Sequence[Source], settings: Settings) -> ReferenceRow:
    """The windows of all traces together.

    Raises:
        Rejected: REFERENCE_PROBLEMS, REFERENCE_LOSSY, REFERENCE_OTHER (traces of several apps or devices),
            REFERENCE_TOO_SHORT; TRACE_… of the gate.
    """
    for one in sources:
        if one.problems:
            raise Rejected(Reason.REFERENCE_PROBLEMS, f"{one.path}: {', '.join(sorted(set(one.problems)))}")
    first = sources[0]
    for one in sources:
        if (one.app, one.device) != (first.app, first.device):
            raise Rejected(Reason.REFERENCE_OTHER, f"{one.path} is of {_told(one)}, {first.path} of {_told(first)}")
    totals: dict[EventType, int] = {}
    surveys: list[Survey] = []
    sha256s = []
    for one in sources:
        facts, found = _surveyed(one, settings)
        sha256s.append(facts.sha256)
        surveys.append(found)
        whole = 1 << 62
        for kind, count in event_types.type_totals(one.path, settings.trace_max_bytes, found, whole).items():
            totals[kind] = totals.get(kind, 0) + count
    _require_one_device(sources, surveys)
    types = event_types.most_frequent(totals)
    windows, loads = [], []
    for one, found in zip(sources, surveys, strict=True):
        counted = _counted(one, found, types, settings)
        windows.append(counted.within(one.span))
        if first.app is not None:
            loads.append(counted.load(first.app, one.span))
    counts = combined(windows)
    learn(counts, MODES[settings.reduction_mode], name)
    limits = limits_of(first.app, loads) if first.app is not None else None
    return ReferenceRow(
        reference_name=name,
        app=first.app,
        device=first.device,
        config_hash=first.config_hash if len({one.config_hash for one in sources}) == 1 else None,
        window_s=settings.reduction_window_s,
        event_types=event_types.as_stored(types),
        counts=counts,
        trace_sha256s=tuple(sha256s),
        core_seconds_maximum=_known(limits.core_seconds) if limits else None,
        rise_bytes_maximum=_known(limits.rise_bytes) if limits else None,
        seen_types=event_types.as_stored(sorted(totals)),
        build_fingerprints=tuple(sorted({one.build for one in surveys if one.build is not None})),
    )


def _require_one_device(sources: Sequence[Source], surveys: Sequence[Survey]) -> None:
    """What bare traces are of only their builds say; run folders say it themselves."""
    known: dict[str, Source] = {}
    for one, found in zip(sources, surveys, strict=True):
        if found.build is not None and one.device is None:
            known.setdefault(str(device_of(found.build)), one)
    if len(known) > 1:
        told = ", ".join(f"{source.path} of device {device}" for device, source in known.items())
        raise Rejected(Reason.REFERENCE_OTHER, told)


def require_usable(source: Source, settings: Settings) -> None:
    """
    Raises:
        Rejected: TRACE_… of the gate, REFERENCE_LOSSY: no reference can be made of it, whatever the others are.
    """
    _, found = _surveyed(source, settings)
    _counted(source, found, (), settings)


def _surveyed(source: Source, settings: Settings) -> tuple[FileFacts, Survey]:
    """Raises Rejected (TRACE_…) where the trace is damaged or was reduced."""
    facts = check_file(source.path, settings=settings)
    if facts.is_reduced:
        raise Rejected(Reason.TRACE_REDUCED, str(source.path))
    return facts, event_types.survey(source.path, settings.trace_max_bytes)


def _counted(source: Source, found: Survey, types: Sequence[EventType], settings: Settings) -> EventWindows:
    """Raises Rejected (REFERENCE_LOSSY) where the recording lost events."""
    counted = event_types.count_events(source.path, settings.trace_max_bytes, found, types, window_ns(settings))
    if counted.is_lossy.any():
        raise Rejected(Reason.REFERENCE_LOSSY, str(source.path))
    return counted


def learned_of(reader: Reader, name: str, settings: Settings) -> tuple[Learned, ReferenceRow]:
    """A stored reference, ready to judge by.

    Raises:
        Rejected: REFERENCE_UNKNOWN, REFERENCE_CUT.
    """
    row = table.find(reader, name)
    if row is None:
        raise Rejected(Reason.REFERENCE_UNKNOWN, name)
    if row.is_cut:
        raise Rejected(Reason.REFERENCE_CUT, name)
    types = event_types.from_stored(row.event_types)
    reference = learn(row.counts, MODES[settings.reduction_mode], name)
    limits = None
    if row.app is not None and row.core_seconds_maximum is not None:
        limits = LoadLimits(row.app, row.core_seconds_maximum, _or_nan(row.rise_bytes_maximum))
    origin = Origin(name, row.app, row.device, row.build_fingerprints, frozenset(one.process for one in types))
    width = round(row.window_s * 1e9)
    return Learned(
        reference, types, width, name=name, limits=limits, counts=row.counts, origin=origin,
        seen=None if row.seen_types is None else event_types.from_stored(row.seen_types),
    ), row  # fmt: skip


def require_fit(row: ReferenceRow, source: Source) -> None:
    """
    Raises:
        Rejected: REFERENCE_OTHER: both say of which app or device they are, and they differ.
    """
    for stated, own in ((row.app, source.app), (row.device, source.device)):
        if stated is not None and own is not None and stated != own:
            of_row = f"{row.app or '?'} on {row.device or '?'}"
            raise Rejected(
                Reason.REFERENCE_OTHER,
                f"reference {row.reference_name} is of {of_row}, {source.path} of {_told(source)}",
            )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _told(source: Source) -> str:
    return f"{source.app or '?'} on {source.device or '?'}"
