"""Whether what a benchmark measured can be relied on (document 001: a simple check of adequacy).

The rules look at the iterations that were measured, launch by launch; what only the tool knows (throttling, locked
clocks, an emulator) its importer adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from perfreg_assets.catalogue import Worse
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.reasons import Reason

T = TypeVar("T")

ITERATIONS_MINIMUM = 5
ITERATIONS_FOR_RANKS = 9
"""Fewer cannot give a small p by ranks."""
LAUNCHES_MINIMUM = 3
NOISY_RATIO = 0.10
DRIFT_RATIO = 0.05
DRIFT_STANDARD_ERRORS = 2.0
ITERATION_NS = 200_000_000
"""Document 001: an iteration of less is not adequate."""
LOADED_RATIO = 0.9

INADEQUATE = frozenset(
    {Reason.ITERATION_SHORT, Reason.NOT_WARM, Reason.EMULATOR, Reason.VALIDATING, Reason.NO_DIRECTION}
)
"""Warnings that keep a result out of comparisons."""


@dataclass(frozen=True)
class Caveat:
    """Why a number is to be taken with care."""

    code: Reason
    detail: str


def is_adequate(warnings: Sequence[Caveat]) -> bool:
    """Whether none of them keeps the result out of comparisons."""
    return not any(one.code in INADEQUATE for one in warnings)


def counted(parts: Sequence[T], is_part_adequate: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    """Of what several files say of one benchmark on one side: (what counts, what is left out).

    The adequate ones count. Where there is none all are taken, so that the whole is inadequate.
    """
    adequate = [one for one in parts if is_part_adequate(one)]
    return (adequate, [one for one in parts if not is_part_adequate(one)]) if adequate else (list(parts), [])


def why_inadequate(codes: Iterable[str]) -> str:
    """Those among codes of warnings that keep a result out of comparisons, as text."""
    return ", ".join(sorted(set(codes) & {one.code for one in INADEQUATE}))


def warnings_of(launches: Sequence[Sequence[Floats]], worse: Worse) -> list[Caveat]:
    """What the measured iterations of a result say about it.

    Args:
        launches: per launch, per thread, the iterations' values (n,), in order of time, any unit.
        worse: which direction is; `either` has no quicker or slower.
    """
    series = [values for threads in launches for values in threads]
    count = sum(len(values) for values in series)
    found = []
    if count < ITERATIONS_MINIMUM:
        found.append(Caveat(Reason.FEW_ITERATIONS, f"{count} in all; the median needs {ITERATIONS_MINIMUM}"))
    elif count < ITERATIONS_FOR_RANKS:
        found.append(Caveat(Reason.FEW_ITERATIONS, f"{count} in all; a test by ranks needs {ITERATIONS_FOR_RANKS}"))
    if len(launches) < LAUNCHES_MINIMUM:
        found.append(Caveat(Reason.FEW_LAUNCHES, f"{len(launches)}; at least {LAUNCHES_MINIMUM} are needed"))
    drift = drift_of(series)
    if drift is not None and worse != "either":
        code = Reason.SLOWING if (drift > 0) == (worse == "more") else Reason.NOT_WARM
        found.append(Caveat(code, f"the last third differs from the first by {drift:+.0%}"))
    spread = variation(series)
    if spread > NOISY_RATIO:
        found.append(Caveat(Reason.NOISY, f"coefficient of variation {spread:.0%}"))
    return found


def variation(series: Sequence[Floats]) -> float:
    """Coefficient of variation within the series of iterations: the median of them; 0 where none has two.

    Args:
        series: of a launch's thread each, (n_i,), any unit.
    """
    found = [float(np.std(values, ddof=1) / np.mean(values)) for values in series if len(values) > 1]
    return float(np.median(found)) if found else 0.0


def drift_of(series: Sequence[Floats]) -> float | None:
    """By how much the last thirds differ from the first ones, as a ratio; None where that is within the noise.

    Each series is put on the scale of its own mean, so that launches that differ do not hide a drift that they share.

    Args:
        series: of a launch's thread each, (n_i,), in order of time, any unit; those with fewer than 6 are left out.
    """
    scaled = [values / np.mean(values) for values in series if len(values) >= 6 and np.mean(values) > 0]
    if not scaled:
        return None
    first = np.concatenate([values[: len(values) // 3] for values in scaled])
    last = np.concatenate([values[-(len(values) // 3) :] for values in scaled])
    difference = float(np.mean(last) - np.mean(first))
    error = float(np.sqrt(np.var(first, ddof=1) / len(first) + np.var(last, ddof=1) / len(last)))
    ratio = difference / float(np.mean(first))
    return ratio if abs(ratio) > DRIFT_RATIO and abs(difference) > DRIFT_STANDARD_ERRORS * error else None


def short_iterations(elapsed_ns: Floats, minimum_ns: float = ITERATION_NS) -> Caveat | None:
    """Document 001's own check, of runners that know what an iteration is.

    Args:
        elapsed_ns: (n,) of all measured iterations.
    """
    median = float(np.median(elapsed_ns))
    if median >= minimum_ns:
        return None
    detail = f"{median / 1e6:.3g} ms (median); at least {minimum_ns / 1e6:g} ms are asked for"
    return Caveat(Reason.ITERATION_SHORT, detail)


def unequal_load(spans: Floats) -> Caveat | None:
    """Whether the threads of a launch were measured side by side.

    Args:
        spans: (threads, 2) begin and end of each thread's measurement, ns of one clock.
    """
    whole = float(spans[:, 1].max() - spans[:, 0].min())
    together = max(0.0, float(spans[:, 1].min() - spans[:, 0].max()))
    if whole <= 0 or together >= LOADED_RATIO * whole:
        return None
    return Caveat(Reason.UNEQUAL_LOAD, f"all threads together for {together / whole:.0%} of the measured time")
