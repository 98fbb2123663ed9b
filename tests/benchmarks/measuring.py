"""Timing in turns, and the table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        topic, case: what was measured, on what input.
        ours_s: median seconds of this project.
        reference: what it is compared with; "" for nothing.
        reference_s: median seconds of that; None for nothing.
        target: what was promised, in words; "" for nothing.
        is_met: whether it was kept; None without a promise.
    """

    topic: str
    case: str
    ours_s: float
    reference: str = ""
    reference_s: float | None = None
    target: str = ""
    is_met: bool | None = None

    @property
    def ratio(self) -> float | None:
        """How many times faster than the reference."""
        return None if self.reference_s is None else self.reference_s / self.ours_s


SHORTEST_SAMPLE_S = 0.05  # quicker functions are repeated within a sample, or the scheduler would be measured


def medians(*functions: Callable[[], object], rounds: int) -> tuple[float, ...]:
    """Median seconds of one call of each function, sampled in turns; first calls, which fill caches, do not count."""
    repeats = []
    for function in functions:
        function()
        repeats.append(max(1, round(SHORTEST_SAMPLE_S / max(_seconds(function, 1), 1e-9))))
    samples: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, count, taken in zip(functions, repeats, samples, strict=True):
            taken.append(_seconds(function, count))
    return tuple(statistics.median(taken) for taken in samples)


def _seconds(function: Callable[[], object], count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - started) / count


def at_least(
    topic: str, case: str, ours_s: float, reference: str, reference_s: float, *, times: float | None = None
) -> Row:
    """A row that promises to be `times` faster than the reference, or nothing."""
    if times is None:
        return Row(topic, case, ours_s, reference, reference_s)
    return Row(topic, case, ours_s, reference, reference_s, f"at least {times:g} x", reference_s / ours_s >= times)


def under(
    topic: str, case: str, ours_s: float, limit_s: float, *, reference: str = "", reference_s: float | None = None
) -> Row:
    """A row that promises to take less than a limit."""
    return Row(topic, case, ours_s, reference, reference_s, f"under {limit_s:g} s", ours_s < limit_s)


def as_table(rows: Sequence[Row]) -> str:
    lines = [("topic", "case", "ours", "reference", "theirs", "ratio", "target", "")]
    lines += [
        (
            row.topic,
            row.case,
            _duration(row.ours_s),
            row.reference,
            "" if row.reference_s is None else _duration(row.reference_s),
            "" if row.ratio is None else f"{row.ratio:.1f} x",
            row.target,
            {True: "met", False: "MISSED", None: ""}[row.is_met],
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    right = {2, 4, 5}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
