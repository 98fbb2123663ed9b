"""Does a trace fit a stored reference, by what the trace says of itself? What nothing says is told as unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfreg_assets.methods.thread_times import entity_name
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.build_fingerprint import device_of
from perfreg_assets.traces.event_types import EventWindows, Survey

SAME, OTHER_BUILD, UNKNOWN = "same", "other_build", "unknown"
_COMM_CHARS = 15
"""The kernel's names of threads are no longer; of an app's first one they are the last of its id."""


@dataclass(frozen=True)
class Origin:
    """What a stored reference is of.

    Attributes:
        name: of the reference.
        app, device: None where nothing said them.
        builds: fingerprints of the Android builds of its traces; None: an earlier release did not write them down.
        processes: names of the processes that it tells apart, with `#` for every number.
    """

    name: str
    app: str | None
    device: str | None
    builds: tuple[str, ...] | None
    processes: frozenset[str]


@dataclass(frozen=True)
class Fit:
    """Attributes:
    app: SAME or UNKNOWN. device: SAME, OTHER_BUILD (the same device with another Android build) or UNKNOWN.
    why: a sentence for what is not the same.
    """

    app: str
    device: str
    why: tuple[str, ...]


def fit_of(
    origin: Origin, name: str, found: Survey, events: EventWindows, *, app: str | None, device: str | None
) -> Fit:
    """
    Args:
        name: of the trace. app, device: what else is known of it, and was compared (`references.require_fit`).

    Raises:
        Rejected: REFERENCE_OTHER: the trace certainly is of another app or device.
    """
    of_app, why_app = (SAME, None) if app is not None and app == origin.app else _app_of(origin, name, found, events)
    of_device, why_device = _device_of(origin, name, found.build, is_told=device is not None)
    return Fit(of_app, of_device, tuple(one for one in (why_app, why_device) if one))


def _app_of(origin: Origin, name: str, found: Survey, events: EventWindows) -> tuple[str, str | None]:
    if origin.app is None:
        return UNKNOWN, f"nothing says of what app reference {origin.name} is"
    if _has(found.process_names.values(), origin.app):
        return SAME, None
    # By its thread: a process that was begun while it was recorded may have the name of the one that it came of.
    if events.has_thread(origin.app[-_COMM_CHARS:]):
        return SAME, None
    if not found.lists_processes or not events.thread_names or not _has(origin.processes, origin.app):
        return UNKNOWN, f"the trace does not say whether it is of {origin.app}, as reference {origin.name} is"
    raise Rejected(
        Reason.REFERENCE_OTHER,
        f"reference {origin.name} is of {origin.app}, and none of the {len(found.process_names)} processes that {name} "
        "names is",
    )


def _has(processes: Iterable[str], app: str) -> bool:
    own = entity_name(app)
    return any(one == own or one.startswith(f"{own}:") for one in processes)


def _device_of(origin: Origin, name: str, build: str | None, *, is_told: bool) -> tuple[str, str | None]:
    if origin.builds is None:
        why = f"reference {origin.name} was stored by an earlier release, which did not write down of what build it is"
    elif not origin.builds:
        why = f"the traces of reference {origin.name} do not say of what build they are"
    elif build is None:
        why = "the trace does not say of what build it is"
    else:
        known = sorted({str(device_of(one)) for one in origin.builds})
        if build in origin.builds:
            return SAME, None
        if device_of(build) in known:
            return OTHER_BUILD, f"the trace is of build {build}, reference {origin.name} of {', '.join(origin.builds)}"
        if not is_told:
            raise Rejected(
                Reason.REFERENCE_OTHER,
                f"reference {origin.name} is of device {', '.join(known)}, {name} of {device_of(build)}",
            )
        return OTHER_BUILD, f"the trace is of build {build}, reference {origin.name} of {', '.join(origin.builds)}"
    # Where a run folder says the device, it was compared.
    return (SAME, None) if is_told and origin.device is not None else (UNKNOWN, why)
