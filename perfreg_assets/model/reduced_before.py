"""What an earlier call left in the folder of a reduced trace: all of it, half of it, or something else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.model.window_judging import Learned, window_ns
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.gate import FileFacts, sha256_of
from perfreg_assets.traces.reduced import DOCUMENT

_NEEDED = ("trace", "original_sha256", "sha256", "windows", "seconds", "stretches", "types")


@dataclass(frozen=True)
class ReducedBefore:
    """A trace that was reduced by an earlier call, as it would be now.

    Attributes:
        path: of the reduced trace. original: that it was made of. told: what perfreg.reduction.json holds.
    """

    path: Path
    original: Path
    told: dict[str, Any]

    @property
    def kl(self) -> NDArray[np.float64]:
        """(windows,) rounded as in its document."""
        return self._of_windows("kl")

    @property
    def score(self) -> NDArray[np.float64]:
        """(windows,) rounded as in its document."""
        return self._of_windows("score")

    def _of_windows(self, name: str) -> NDArray[np.float64]:
        return np.array([np.nan if one[name] is None else one[name] for one in self.told["windows"]], np.float64)


def parameters_of(
    settings: Settings, learned: Learned | None, *, app: str | None = None, span: tuple[int, int] | None = None
) -> dict[str, Any]:
    """What besides a trace's bytes decides what is kept of it, by name; JSON types only. See
    `window_judging.judge_trace`."""
    stored = learned if learned is not None and learned.name is not None else None
    begin, end = span if stored and span else (None, None)
    return {
        "mode": settings.reduction_mode,
        "window_s": (stored.window_ns if stored else window_ns(settings)) / 1e9,
        "rim_s": settings.reduction_rim_s,
        "gap_s": settings.reduction_gap_s,
        "reference": stored.name if stored else None,
        "reference_sha256": _digest(stored) if stored else None,
        "reference_s": None if stored else settings.reduction_reference_s,
        "app": None if stored else app,
        "judged_from_ns": begin,
        "judged_until_ns": end,
    }


def reduced_before(folder: Path, path: Path, facts: FileFacts, parameters: Mapping[str, Any]) -> ReducedBefore | None:
    """What is in the folder where it is all of what would be written; None where nothing is, or a call of the same
    trace and parameters was ended before the trace had its name.

    Args:
        facts: of the original at `path`.

    Raises:
        Rejected: REDUCTION_EXISTS: it is of another trace or made with other parameters, or nothing says of what it is.
    """
    document = folder / DOCUMENT
    if not document.exists():
        return None
    told = _read(document)
    written = folder / str(told["trace"])
    if told["original_sha256"] != facts.sha256:
        raise Rejected(
            Reason.REDUCTION_EXISTS,
            f"{written} was reduced of another trace than {path} (SHA-256 {told['original_sha256'][:12]}…, this one is "
            f"{facts.sha256[:12]}…)",
        )
    differing = list(_differing(told.get("parameters"), parameters))
    if differing:
        raise Rejected(Reason.REDUCTION_EXISTS, f"{written} was reduced otherwise: {'; '.join(differing)}")
    if not written.exists():  # the document is written first
        return None
    if sha256_of(written) != told["sha256"]:
        raise Rejected(Reason.REDUCTION_EXISTS, f"{written} is not the file that {DOCUMENT} beside it was written for")
    return ReducedBefore(written, path, told)


def document_of(written: Path) -> ReducedBefore | None:
    """What is told of a reduced trace that lies where its original lay; None where nothing usable is beside it."""
    document = written.with_name(DOCUMENT)
    if not document.exists():
        return None
    try:
        return ReducedBefore(written, written, _read(document))
    except Rejected:  # of another trace, by hand, or cut off: it tells nothing of this one
        return None


def require_same(target: Path, sha256: str) -> None:
    """
    Raises:
        Rejected: REDUCTION_EXISTS: a file is there, and its content is another one.
    """
    if target.exists() and sha256_of(target) != sha256:
        raise Rejected(
            Reason.REDUCTION_EXISTS,
            f"{target} is there without {DOCUMENT}, and is not what the trace is reduced to now",
        )


def _read(document: Path) -> dict[str, Any]:
    try:
        told = json.loads(document.read_bytes())
    except ValueError as error:
        raise Rejected(Reason.REDUCTION_EXISTS, f"{document} is no JSON ({error})") from error
    missing = [name for name in _NEEDED if name not in told] if isinstance(told, dict) else list(_NEEDED)
    if missing:
        raise Rejected(Reason.REDUCTION_EXISTS, f"{document} does not tell {', '.join(missing)}")
    return dict(told)


def _differing(before: object, now: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(before, dict):
        yield "by an earlier release, which did not write down with what parameters"
        return
    for name, value in now.items():
        if name not in before:
            yield f"{name} is not told"
        elif before[name] != value:
            yield f"{name} was {_said(before[name])}, now it is {_said(value)}"


def _said(value: object) -> str:
    if value is None:
        return "not given"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _digest(learned: Learned) -> str:
    """Of all that a stored reference judges by: another one may have its name, in another warehouse."""
    digest = hashlib.sha256(np.ascontiguousarray(learned.counts, "<u8").tobytes())
    limits = learned.limits
    seen = None if learned.seen is None else [str(one) for one in learned.seen]
    told = [
        [str(one) for one in learned.types],
        seen,
        None if limits is None else [limits.core_seconds, limits.rise_bytes],
    ]
    digest.update(json.dumps(told).encode())
    return digest.hexdigest()
