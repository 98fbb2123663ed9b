"""Any program as explorer. It writes one JSON object per line into the file it is given:

    {"step": 0, "at_ms": 1790000000123, "state_hash": "…", "screen": "home", "action": "tap 12,40"}
    {"problem": "crash", "at_ms": 1790000004000, "message": "…"}

A step is an action, when it was sent, and the state and screen in which it was sent; what it led to is in the next
line, or in `state_hash_after` and `screen_after` of the same one. `ts_ns` (trace clock) instead of `at_ms` (this
computer's wall clock) where the program knows it; `state` and `state_after`, the screen's text, instead of the hashes,
and they are hashed here. It ends with status 0 when it has seen all states.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from perfreg_assets.collection.exploration import (
    Exploration,
    ExplorerContext,
    ExplorerProblem,
    Stamp,
    State,
    Step,
    hash_state,
    options_of,
)
from perfreg_assets.collection.explorer_process import ExplorerProcess
from perfreg_assets.reasons import Reason, Rejected

_LINE_MAX_BYTES = 1 << 20
_PATH_MAX_BYTES = 4 << 30
"""On this computer's disk: the texts of 80,000 screens of 50 kB, those of an endurance run of many hours."""
_LINES_MAX = 1_000_000


class CommandExplorer:
    def __init__(self, context: ExplorerContext) -> None:
        options_of(context.config, {})
        self._process = ExplorerProcess(context, context.config.explorer_command, {})
        self._lines = PathLines()
        self._offset = 0

    def steps(self) -> list[Step]:
        return list(self._lines.steps)

    @property
    def step_count(self) -> int:
        return len(self._lines.steps)

    @property
    def state_count(self) -> int:
        return len({step.state.state_hash for step in self._lines.steps})

    def start(self) -> None:
        self._process.start()

    def poll(self) -> bool:
        self._read(is_ended=False)
        return self._process.poll(self._offset)

    def stop(self) -> Exploration:
        self._process.stop()
        unfinished = self._read(is_ended=True)
        notes = ("the explorer was ended inside its last line, which is left out",) if unfinished else ()
        return Exploration(
            tuple(self._lines.steps), after=self._lines.after, problems=tuple(self._lines.problems), notes=notes
        )

    def _read(self, *, is_ended: bool) -> bool:
        """Takes the whole lines written since the last call; True when a last line is unfinished.

        Raises:
            Rejected: EXPLORER_OUTPUT_INVALID; one of them is that a program writes without end, or without line ends.
        """
        try:
            with self._process.path_file.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size  # what comes while it is read is for the next call
                if size > _PATH_MAX_BYTES:
                    told = f"the explorer's path is larger than {_PATH_MAX_BYTES:,} bytes"
                    raise Rejected(Reason.EXPLORER_OUTPUT_INVALID, told)
                rest = b""
                while (begin := self._offset + len(rest)) < size:
                    stream.seek(begin)
                    rest = self._take(rest + stream.read(min(_LINE_MAX_BYTES, size - begin)))
        except FileNotFoundError:
            return False
        is_unfinished = bool(rest)
        if is_ended and rest:
            try:
                json.loads(rest)
            except ValueError:
                pass
            else:
                is_unfinished = bool(self._take(rest + b"\n"))  # the last line only lacks its line feed
        return is_unfinished and is_ended

    def _take(self, data: bytes) -> bytes:
        """Takes the whole lines of what was written; the beginning of the one after them."""
        whole = data[: data.rfind(b"\n") + 1]
        self._lines.take(whole.splitlines())
        self._offset += len(whole)
        rest = data[len(whole) :]
        if len(rest) > _LINE_MAX_BYTES:
            self._lines.take([rest])  # which refuses it
        return rest


@dataclass
class PathLines:
    """The lines of the contract, checked one by one."""

    steps: list[Step] = field(default_factory=list)
    after: State | None = None
    """What the last action led to, where its line says so."""
    problems: list[ExplorerProblem] = field(default_factory=list)
    _count: int = 0
    _last_step: int = -1

    def take(self, lines: Iterable[bytes]) -> None:
        """Adds lines.

        Raises:
            Rejected: EXPLORER_OUTPUT_INVALID with the number of the line.
        """
        for raw in lines:
            self._count += 1
            if self._count > _LINES_MAX:
                raise self._refusal(f"is one too many: {_LINES_MAX:,} are taken")
            if raw.strip():
                self._take_one(raw)

    def _take_one(self, raw: bytes) -> None:
        if len(raw) > _LINE_MAX_BYTES:
            raise self._refusal(f"is longer than {_LINE_MAX_BYTES:,} bytes")
        try:
            item = json.loads(raw.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise self._refusal(f"is not JSON in UTF-8: {error}") from error
        if not isinstance(item, dict):
            raise self._refusal("is not a JSON object")
        if "problem" in item:
            stamp = self._stamp(item) if "ts_ns" in item or "at_ms" in item else None
            kind, message = self._text(item, "problem"), self._text(item, "message", required=False)
            self.problems.append(ExplorerProblem(kind or "problem", message or "", stamp))
            return
        step = item.get("step", self._last_step + 1)
        if isinstance(step, bool) or not isinstance(step, int) or step <= self._last_step:
            raise self._refusal(f"has step {step!r} after step {self._last_step}")
        state = self._state(item, "", required=True)
        assert state is not None
        after = self._state(item, "_after", required=False)
        self.steps.append(Step(self._stamp(item), state, self._text(item, "action", required=False)))
        self.after, self._last_step = after, step

    def _state(self, item: dict[str, Any], suffix: str, *, required: bool) -> State | None:
        """The state by its hash or its text; None where it is not there and not required."""
        text_key = f"state{suffix}"
        state_hash = self._text(item, f"state_hash{suffix}", required=required and text_key not in item)
        if not state_hash and (required or text_key in item):
            state_hash = hash_state(self._text(item, text_key) or "")
        screen = self._text(item, f"screen{suffix}", required=False)
        return State(state_hash, screen) if state_hash else None

    def _stamp(self, item: dict[str, Any]) -> Stamp:
        key = "ts_ns" if "ts_ns" in item else "at_ms"
        value = item.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**63:
            raise self._refusal(f"has {key} = {value!r}")
        if not math.isfinite(value):
            raise self._refusal(f"has {key} = {value!r}")
        return Stamp("trace", value) if key == "ts_ns" else Stamp("host_wall", value / 1000)

    def _text(self, item: dict[str, Any], key: str, *, required: bool = True) -> str | None:
        value = item.get(key)
        if value is None and not required:
            return None
        if not isinstance(value, str) or (required and not value):
            raise self._refusal(f"has {key} = {value!r}"[:200])
        return value

    def _refusal(self, what: str) -> Rejected:
        return Rejected(Reason.EXPLORER_OUTPUT_INVALID, f"line {self._count} of the explorer's path {what}")
