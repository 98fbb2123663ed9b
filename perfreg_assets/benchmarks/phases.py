"""The three phases of a benchmark's thread (document 001): warm-up, measurement, conclusion.

Whoever has measured goes on under load until all threads have, so that nobody measures beside idle ones. Threads share
one counter that only grows and that nobody locks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

STABLE_RATIO = 0.04
STABLE_ITERATIONS = 40
QUICK, SLOW = 0.1, 0.005
"""Weights of the two exponential means, as Jetpack Benchmark has them."""
LONG_NS = 100_000_000
"""Of iterations this long two in a row that agree are enough."""
WARMUP_MORE_S = 8.0
"""So much longer than asked for a warm-up lasts that does not become stable."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """One call: operations, begin and duration (ns of a clock that only grows)."""

    count: int
    begin_ns: int
    elapsed_ns: int


class Stability:
    """Whether iterations have stopped to become quicker: two exponential means within 4 % for 40 iterations."""

    def __init__(self) -> None:
        self._quick = self._slow = 0.0
        self._last = 0
        self._agreed = 0

    def add(self, elapsed_ns: int) -> bool:
        """Takes one more duration, ns; whether they are stable now."""
        if not self._last:
            self._quick = self._slow = float(elapsed_ns)
        else:
            self._quick += QUICK * (elapsed_ns - self._quick)
            self._slow += SLOW * (elapsed_ns - self._slow)
        ratio = self._quick / self._slow if self._slow else 1.0
        is_close = abs(ratio - 1) <= STABLE_RATIO
        if elapsed_ns > LONG_NS:
            is_close = bool(self._last) and abs(elapsed_ns / self._last - 1) <= STABLE_RATIO
            self._agreed = STABLE_ITERATIONS if is_close else 0
        else:
            self._agreed = self._agreed + 1 if is_close else 0
        self._last = elapsed_ns
        return self._agreed >= STABLE_ITERATIONS


def run_phases(
    iteration: Callable[[], int],
    *,
    warmup_s: float,
    measure_s: float,
    iterations_min: int,
    has_measured: Callable[[], None],
    all_have_measured: Callable[[], bool],
    clock: Callable[[], int] = time.perf_counter_ns,
) -> tuple[list[Iteration], list[Iteration]]:
    """(iterations of the warm-up, measured iterations) of one thread.

    Args:
        iteration: does some operations; how many.
        has_measured: tells the other threads.
        all_have_measured: whether they told.
    """
    warm = _warm_up(iteration, warmup_s, clock)
    measured: list[Iteration] = []
    end = clock() + int(measure_s * 1e9)
    while len(measured) < iterations_min or clock() < end:
        measured.append(_timed(iteration, clock))
    has_measured()
    while not all_have_measured():
        iteration()
    return warm, measured


def _warm_up(iteration: Callable[[], int], warmup_s: float, clock: Callable[[], int]) -> list[Iteration]:
    stability, warm = Stability(), []
    begin = clock()
    is_stable = False
    while warmup_s > 0:
        passed = clock() - begin
        if passed >= warmup_s * 1e9 and (is_stable or passed >= (warmup_s + WARMUP_MORE_S) * 1e9):
            break
        one = _timed(iteration, clock)
        warm.append(one)
        is_stable = stability.add(one.elapsed_ns)
    return warm


def _timed(iteration: Callable[[], int], clock: Callable[[], int]) -> Iteration:
    begin = clock()
    count = iteration()
    return Iteration(count, begin, clock() - begin)
