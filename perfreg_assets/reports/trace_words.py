"""What is wrong with a trace that is not judged, in the words of a headline, and what to do: most are not whole, and
some are, but without the app, without what is compared, or too much to be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from perfreg_assets.reasons import Reason

_NOT_WHOLE = ("its trace is not whole", "no run of it has a whole trace")
_NOT_READ = ("its trace could not be read", "the traces of its runs could not be read")
_WHOLE: Mapping[str | None, tuple[str, str]] = {
    Reason.PACKAGE_MISSING: (
        "no process of the app is in its trace",
        "no process of the app is in the trace of any of its runs",
    ),
    Reason.SOURCE_MISSING: (
        "its trace lacks a data source that is needed",
        "the traces of its runs lack a data source that is needed",
    ),
    Reason.TRACE_TOO_LARGE: _NOT_READ,
    Reason.TRACE_TOO_SLOW: _NOT_READ,
    Reason.TRACE_TOO_DENSE: _NOT_READ,
    Reason.ENGINE_UNAVAILABLE: _NOT_READ,
    Reason.ENGINE_TIMEOUT: _NOT_READ,
    Reason.ENGINE_MEMORY: _NOT_READ,
    Reason.ENGINE_CRASHED: _NOT_READ,
    Reason.ENGINE_KILLED: _NOT_READ,
}
"""(of a run, of all runs of a version)"""


def of_run(reason_code: str | None) -> str:
    """`its trace is not whole`."""
    return _WHOLE.get(reason_code, _NOT_WHOLE)[0]


def of_version(reason_codes: Collection[str | None]) -> str:
    """Of a version whose runs all have such a trace: `no run of it has a whole trace`."""
    told = {_WHOLE.get(code, _NOT_WHOLE) for code in reason_codes} or {_NOT_WHOLE}
    return told.pop()[1] if len(told) == 1 else "none of its traces can be judged"


def advice(reason_code: str | None) -> str:
    """What to do with a run, in a sentence or two."""
    if reason_code in _WHOLE:
        (sentence,) = (reason.sentence for reason in Reason if reason.code == reason_code)
        return f"{sentence} perfreg inspect TRACE says what is in this one."
    return "Record it again: perfreg inspect TRACE says what is in this one; nothing is judged from half a trace."
