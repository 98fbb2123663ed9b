"""Which processes of a trace may be somebody's app: what is offered where a name was misspelt or is not known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfreg_assets.near_names import nearest
from perfreg_assets.traces.contents import TraceContents

_OFFERED = 3
_LONGEST_ID = 255  # of Android; longer names are no app, and comparing them would take long
# The application id of an Android app: two parts or more.
_APP_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+")
# Parts of the system that have ids like apps: they run in every trace and are seldom what somebody tests.
_SYSTEM = (
    *("android.", "com.android.systemui", "com.android.phone", "com.android.bluetooth", "com.android.nfc"),
    *("com.android.providers", "com.android.networkstack", "com.android.se", "com.android.ims"),
    *("com.google.android.", "com.google.process", "com.google.usf", "com.google.SSRestartDetector"),
    *("com.qualcomm.", "com.qti.", "com.quicinc.", "vendor.", "media.", "org.codeaurora."),
)
_INSTRUMENTATION = ".test"  # the package that drives an app, by the Android build's own custom


@dataclass(frozen=True)
class ProcessUse:
    """Processes of one name, sub-processes `app:…` counted with their app.

    Attributes:
        cpu_s: core seconds of all of them; None where the trace has no scheduling events.
        is_app_like: the name is an application id, and none of the system's own or of a test's driver.
    """

    name: str
    cpu_s: float | None
    process_count: int
    is_app_like: bool


def process_uses(contents: TraceContents) -> tuple[ProcessUse, ...]:
    """Processes that have a name: those that may be the app first, then by CPU time, then by name."""
    seconds = _cpu_seconds(contents)
    used: dict[str, list[float]] = {}
    for upid, name in zip(contents.processes["upid"].tolist(), contents.processes["name"], strict=True):
        base = (name or "").partition(":")[0]
        if base:
            used.setdefault(base, []).append(seconds.get(upid, 0.0))
    has_times = bool(contents.sched.count)
    found = [
        ProcessUse(name, sum(own) if has_times else None, len(own), is_app_like(name)) for name, own in used.items()
    ]
    return tuple(sorted(found, key=lambda one: (not one.is_app_like, -(one.cpu_s or 0.0), one.name)))


def is_app_like(name: str) -> bool:
    """Whether processes of this name may be somebody's app."""
    return bool(_APP_ID.fullmatch(name)) and not name.startswith(_SYSTEM) and not name.endswith(_INSTRUMENTATION)


def offered(uses: Sequence[ProcessUse], app: str) -> str:
    """` (did you mean a or b?)` or ` (it may be a, b or c)`, to go behind a name that is none; may be empty."""
    likely = [one.name for one in uses if one.is_app_like and one.cpu_s != 0.0][:_OFFERED]
    near = nearest(app, [one.name for one in uses if len(one.name) <= _LONGEST_ID])
    if near:
        return f" (did you mean {' or '.join(near)}?)"
    return f" (those that may be apps and ran most: {', '.join(likely)})" if likely else ""


def _cpu_seconds(contents: TraceContents) -> dict[int, float]:
    """upid → seconds that its threads ran."""
    sched, threads = contents.sched, contents.threads
    if not sched.count:
        return {}
    by_thread = np.bincount(sched.utid, weights=(sched.end_ns - sched.start_ns).astype(np.float64))
    found: dict[int, float] = {}
    for utid, upid in zip(threads["utid"].tolist(), threads["upid"].tolist(), strict=True):
        if upid is not None and utid < by_thread.size:
            found[upid] = found.get(upid, 0.0) + float(by_thread[utid]) / 1e9
    return found
