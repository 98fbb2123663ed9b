"""What a benchmark's program writes: a JSON object per line with phase, thread, iteration, count and elapsed_ns.

`phase` is warmup, measure, conclude or error; only measured iterations count. `at_ns`, the begin of an iteration on any
clock of the machine, tells whether threads were measured side by side. An error has a `message`; of validation, `kind`
is "validation", with `test`, `expected` and `got`. A program may print Google Benchmark's JSON instead.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfreg_assets.methods.inputs import Floats
from perfreg_assets.reasons import Reason, Rejected

PHASES = ("warmup", "measure", "conclude", "error")
_INTEGER_MAX = 2**63
_THREAD_MAX = 2**31


@dataclass(frozen=True)
class ThreadMeasured:
    """The measured iterations of one thread.

    Attributes:
        counts, elapsed_ns: (n,).
        span: begin and end of the measurement, ns; None where the program does not tell.
    """

    thread: int
    counts: tuple[int, ...]
    elapsed_ns: tuple[int, ...]
    span: tuple[int, int] | None

    @property
    def rates(self) -> Floats:
        """(n,) operations per second."""
        return np.array(self.counts, dtype=np.float64) / np.array(self.elapsed_ns, dtype=np.float64) * 1e9


def parse_launch(output: str) -> list[ThreadMeasured]:
    """What the threads of a launch measured, by their number.

    Raises:
        Rejected: VALIDATION_FAILED; BENCHMARK_FAILED: an error was told, or the lines do not follow the protocol;
            RESULT_INVALID: a count or a duration is 0 or below.
    """
    lines = [(number, line) for number, line in enumerate(output.splitlines(), 1) if line.strip()]
    told = [(number, _object(number, line)) for number, line in lines]
    errors = [one for _, one in told if one["phase"] == "error"]
    if errors:
        raise _refusal(errors)
    threads: dict[int, list[dict[str, Any]]] = {}
    for number, one in told:
        if one["phase"] == "measure":
            for name in ("count", "elapsed_ns"):
                value = one.get(name)
                if not isinstance(value, int) or isinstance(value, bool) or not value < _INTEGER_MAX:
                    raise Rejected(Reason.BENCHMARK_FAILED, f"line {number} of its output: {name} is {value!r}")
                if value <= 0:
                    raise Rejected(Reason.RESULT_INVALID, f"line {number} of its output: {name} is {value}")
            threads.setdefault(int(one["thread"]), []).append(one)
    if not threads:
        raise Rejected(Reason.BENCHMARK_FAILED, "its output has no measured iteration")
    return [_thread(number, threads[number]) for number in sorted(threads)]


def _object(number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Rejected(Reason.BENCHMARK_FAILED, f"line {number} of its output is no JSON: {line[:120]!r}") from error
    is_known = isinstance(found, dict) and found.get("phase") in PHASES
    if not is_known or not _is_thread(found.get("thread", 0)):
        raise Rejected(Reason.BENCHMARK_FAILED, f"line {number} of its output is not as expected: {line[:120]!r}")
    return {"thread": 0, **found}


def _is_thread(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _THREAD_MAX


def _refusal(errors: list[dict[str, Any]]) -> Rejected:
    for one in errors:
        if one.get("kind") == "validation":
            detail = f"{one.get('test')}: expected {one.get('expected')}, got {one.get('got')}"
            return Rejected(Reason.VALIDATION_FAILED, detail)
    first = errors[0]
    return Rejected(Reason.BENCHMARK_FAILED, f"thread {first['thread']}: {first.get('message', 'an error')}")


def _thread(number: int, rows: list[dict[str, Any]]) -> ThreadMeasured:
    begins = [row.get("at_ns") for row in rows]
    span = None
    if all(isinstance(one, int) and not isinstance(one, bool) for one in begins):
        span = int(begins[0] or 0), int(begins[-1] or 0) + int(rows[-1]["elapsed_ns"])
    return ThreadMeasured(number, tuple(row["count"] for row in rows), tuple(row["elapsed_ns"] for row in rows), span)
