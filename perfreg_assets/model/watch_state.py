"""What a watched recording was judged to be, on the disk: whoever is killed when, judging is taken up where it was.

A folder `.judged` below the recording's: `learned.npz`, what windows are judged by; `000001.npz` …, what each step
added; `state.json`, written last, says how many of these hold. A step is written before what it judged is dropped.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods import reduction
from perfreg_assets.methods.app_load import LoadLimits
from perfreg_assets.methods.reduction import MODES
from perfreg_assets.model.window_judging import Learned
from perfreg_assets.traces.event_types import as_stored, from_stored
from perfreg_assets.whole_files import write_whole

FOLDER = ".judged"
_LEARNED, _STATE = "learned.npz", "state.json"


@dataclass(frozen=True)
class Saved:
    """What is on the disk.

    Attributes:
        settings: those that the recording is judged with, by name.
        told: what `Judged.step` was given last; `steps`: the arrays of each.
    """

    learned: Learned
    settings: dict[str, Any]
    told: dict[str, Any]
    steps: list[dict[str, NDArray[Any]]]


class Judged:
    """Writes it."""

    def __init__(self, folder: Path, *, steps: int = 0) -> None:
        """
        Args:
            steps: that are there already.
        """
        self._folder = folder / FOLDER
        self._steps = steps

    def learned(self, learned: Learned, settings: Mapping[str, Any]) -> None:
        """What windows are judged by; once, before the first step."""
        self._folder.mkdir(exist_ok=True)
        limits = asdict(learned.limits) if learned.limits else None
        told = {
            "types": as_stored(learned.types), "window_ns": learned.window_ns,
            "name": learned.name, "window_count": learned.window_count, "mode": learned.reference.mode.name,
            "limits": limits, "seen": None if learned.seen is None else as_stored(learned.seen),
            "settings": dict(settings),
        }  # fmt: skip
        write_whole(
            self._folder / _LEARNED, _packed({"counts": learned.counts, "told": as_text(told)}), is_durable=True
        )

    def step(self, arrays: Mapping[str, NDArray[Any]], told: Mapping[str, Any]) -> None:
        """What was judged since the last one; `told`: what holds now of the whole."""
        self._steps += 1
        write_whole(self._folder / f"{self._steps:06d}.npz", _packed(arrays), is_durable=True)
        self.state(told)

    def state(self, told: Mapping[str, Any]) -> None:
        """What holds now, without anything judged."""
        if self._steps:
            write_whole(self._folder / _STATE, json.dumps({**told, "steps": self._steps}).encode(), is_durable=True)

    def remove(self) -> None:
        """Nothing is to be taken up any more."""
        shutil.rmtree(self._folder, ignore_errors=True)


def read(folder: Path) -> Saved | None:
    """What is there of a recording; None where nothing of it was judged."""
    place = folder / FOLDER
    if not (place / _STATE).exists():
        return None
    told = json.loads((place / _STATE).read_text("utf-8"))
    head = _unpacked(place / _LEARNED)
    known = as_json(head["told"])
    limits = LoadLimits(**known["limits"]) if known["limits"] else None
    told_seen = known.get("seen")  # none of an earlier release
    seen = None if told_seen is None else from_stored(told_seen)
    learned = Learned(
        reduction.learn(head["counts"].astype(np.float64), MODES[known["mode"]]),
        from_stored(known["types"]), known["window_ns"], name=known["name"],
        window_count=known["window_count"], limits=limits, counts=head["counts"], seen=seen,
    )  # fmt: skip
    steps = [_unpacked(place / f"{number:06d}.npz") for number in range(1, told["steps"] + 1)]
    return Saved(learned, known["settings"], told, steps)


def as_text(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def as_json(value: NDArray[np.uint8]) -> Any:
    return json.loads(value.tobytes())


def _packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    target = io.BytesIO()
    np.savez_compressed(target, **dict(arrays))  # type: ignore[arg-type]
    return target.getvalue()


def _unpacked(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
