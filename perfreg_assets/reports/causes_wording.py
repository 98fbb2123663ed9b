"""What grew in a window, in words: for pages, messages and the command line alike."""

from __future__ import annotations

from perfreg_assets.catalogue import display_unit
from perfreg_assets.readable import readable
from perfreg_assets.warehouse.causes import PROCESS_MEMORY

_TIME = "s per s"
_UNITS = {
    "thread": "cores", "stack": "cores", "wait": _TIME, "slice": _TIME, "method": _TIME,
    "lock": _TIME, "frame": _TIME,
    "memory": display_unit("bytes").axis, "heap": display_unit("bytes").axis,
}  # fmt: skip
_MEMORY_KINDS = {
    "anon": "anonymous memory", "file": "file-backed memory", "swap": "swapped memory", "shmem": "shared memory",
    "pss_anon": "anonymous memory (share of smaps)", "pss_file": "file-backed memory (share of smaps)",
    "pss_shmem": "shared memory (share of smaps)", "pss_swap": "swapped memory (share of smaps)",
}  # fmt: skip
_WAITS = {"runnable": "waiting for a core", "uninterruptible": "waiting in the kernel", "sleeping": "asleep"}
_BEFORE_NAMES = {
    "slice": "",
    "stack": "",
    "method": "",
    "lock": "waits for a lock: ",
    "frame": "frames: ",
    "heap": "allocated in ",
}
REST = "*"
"""As a thread: those that are not told apart."""


def cause_name(kind: str, process: str | None, thread: str | None, name: str, source: str | None = None) -> str:
    """Process, thread and, of a wait or memory, what it is.

    Args:
        source: what it was made from, which tells memory of one process from that of the app.
    """
    shown = "other threads" if thread == REST else thread
    where = "other processes" if process == REST else process
    if kind in _BEFORE_NAMES:
        parts = [where, shown, _BEFORE_NAMES[kind] + name]
    elif kind == "memory":
        parts = [where, _MEMORY_KINDS.get(name, name) + (" of this process" if source == PROCESS_MEMORY else "")]
    elif kind == "wait":
        state, _, function = name.partition(":")
        parts = [where, shown, _WAITS.get(state, state) + (f" ({function})" if function else "")]
    else:
        parts = [where] if REST == process == thread else [where, shown]
    return " · ".join(part for part in parts if part)


def amount(value: float | None, kind: str, *, is_difference: bool = False) -> str | None:
    """A value with its unit; three significant digits, of long numbers all."""
    if value is None:
        return None
    scaled = value * (display_unit("bytes").factor if kind in ("memory", "heap") else 1.0)
    return f"{readable(scaled, is_difference=is_difference)} {_UNITS[kind]}"


def share(value: float | None) -> str | None:
    """A share of growth in percent."""
    return None if value is None else f"{100 * value:.0f} %"


def cause_phrase(
    kind: str,
    process: str | None,
    thread: str | None,
    name: str,
    growth: float | None,
    part: float | None,
    value: float,
    source: str | None = None,
) -> str:
    """A cause in a few words: what, how much, and how much of the growth it is."""
    what = cause_name(kind, process, thread, name, source)
    if growth is None:
        return f"{what}: {amount(value, kind)}"
    return f"{what}: {amount(growth, kind, is_difference=True)}, {share(part)} of the growth"
