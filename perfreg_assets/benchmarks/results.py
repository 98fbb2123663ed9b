"""What was measured of benchmarks, whoever measured it: results of launches, in one unit per kind of quantity.

Rates are in operations per second and times in nanoseconds, so that results of the same benchmark can be compared
whatever unit a file is written in. What is neither (memory, counts) keeps its unit and stands outside of means.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from perfreg_assets.catalogue import Worse
from perfreg_assets.methods import adequacy
from perfreg_assets.methods.adequacy import Caveat
from perfreg_assets.methods.inputs import LARGEST, Floats
from perfreg_assets.reasons import Reason, Rejected

RATE, TIME = "ops/s", "ns"
NS_PER = {"s": 1e9, "second": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0, "min": 60e9, "hr": 3600e9, "day": 86400e9}
"""Time units of the formats → ns."""
NAME_LENGTH_MAX = 500


@dataclass(frozen=True)
class Launch:
    """The measured iterations of one thread of one process, in order of time.

    Attributes:
        values: (n,) in the result's unit.
        counts, elapsed_ns: (n,) operations and duration of each, where values are their ratio; else empty.
    """

    number: int
    values: Floats
    thread: int = 0
    counts: tuple[int, ...] = ()
    elapsed_ns: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Result:
    """One quantity of one configured benchmark.

    Attributes:
        area: what it belongs to; means are taken per area.
        is_primary: whether it is what the benchmark is about, and stands in means; others are kept and judged.
        launches: by number, then thread.
        warnings: of the tool, and of what was measured.
    """

    benchmark: str
    params: Mapping[str, str]
    area: str
    metric: str
    unit: str
    worse: Worse
    is_primary: bool
    launches: tuple[Launch, ...]
    warnings: tuple[Caveat, ...] = ()

    @property
    def of(self) -> Named:
        return Named(self.benchmark, self.params, self.area, self.metric)

    @property
    def name(self) -> str:
        return self.of.name

    @cached_property
    def scores(self) -> Floats:
        """(r,) of the launches: the sum over its threads of their median iteration."""
        by_launch: dict[int, float] = {}
        for one in self.launches:
            by_launch[one.number] = by_launch.get(one.number, 0.0) + float(np.median(one.values))
        return np.array(list(by_launch.values()))

    @property
    def score(self) -> float:
        """The geometric mean of the launches' scores."""
        return math.exp(float(np.mean(np.log(self.scores))))

    @property
    def iterations(self) -> Floats:
        """(n,) all measured ones."""
        return np.concatenate([one.values for one in self.launches])

    @property
    def is_adequate(self) -> bool:
        return adequacy.is_adequate(self.warnings)

    def joined(self, other: Result) -> Result:
        """The launches of both, the other's after one's own."""
        begin = 1 + max(one.number for one in self.launches)
        more = tuple(replace(one, number=begin + one.number) for one in other.launches)
        warnings = {one.code: one for one in (*other.warnings, *self.warnings)}
        return replace(self, launches=(*self.launches, *more), warnings=tuple(warnings.values()))


@dataclass(frozen=True)
class Named:
    """What a result is of, as `Result` has it."""

    benchmark: str
    params: Mapping[str, str]
    area: str
    metric: str

    @property
    def name(self) -> str:
        return result_name(self.benchmark, self.params, self.metric)


@dataclass(frozen=True)
class Invalid:
    """A result that is none, and why."""

    of: Named
    reason: Reason
    detail: str
    unit: str = ""
    worse: Worse = "either"

    @property
    def name(self) -> str:
        return shortened(self.of.name)

    @property
    def why(self) -> str:
        return f"{self.detail}: {self.reason.sentence}"

    def in_area(self, area: str) -> Invalid:
        return replace(self, of=replace(self.of, area=area))


@dataclass(frozen=True, kw_only=True)
class ResultFile:
    """What one file, or one run of a suite, says.

    Attributes:
        tool: jetpack, jmh, google_benchmark, pyperf or a runner.
        device: as the tool tells it; None where it does not.
        started_at: likewise; without a zone where the tool tells it without.
        environment: what else the tool says about where it was measured.
        sha256: of the file.
    """

    tool: str
    source: str
    sha256: str
    results: tuple[Result, ...]
    invalid: tuple[Invalid, ...] = ()
    device: str | None = None
    started_at: datetime | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)


def result_name(benchmark: str, params: Mapping[str, str], metric: str) -> str:
    """The key of a result: the benchmark, its parameters in order of their names, and what was measured of it."""
    told = ", ".join(f"{name}={params[name]}" for name in sorted(params))
    return f"{benchmark}({told}) {metric}" if told else f"{benchmark} {metric}"


def shortened(name: str) -> str:
    """A name that is too long, with a digest of it in place of its middle: what was measured stands at its end, and two
    that are alike in what is left stay apart."""
    if len(name) <= NAME_LENGTH_MAX:
        return name
    middle = f"…{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}…"
    begin = (NAME_LENGTH_MAX - len(middle)) // 2
    return f"{name[:begin]}{middle}{name[begin + len(middle) - NAME_LENGTH_MAX :]}"


class Gathering:
    """Results of one file as they are read: checked, joined where the same stands there twice, and looked over."""

    def __init__(self) -> None:
        self._results: dict[str, Result] = {}
        self._invalid: dict[str, Invalid] = {}

    def add(self, result: Result) -> None:
        """Takes a result whose values are not checked yet."""
        problem = problem_of(result)
        if problem is not None:
            self.refuse(result.of, problem, result.unit, result.worse)
        elif result.name in self._results:
            self._results[result.name] = self._results[result.name].joined(result)
        else:
            self._results[result.name] = result

    def refuse(self, of: Named, detail: str, unit: str = "", worse: Worse = "either") -> None:
        """Notes a result that is none."""
        self._invalid[of.name] = Invalid(of, Reason.RESULT_INVALID, detail, unit, worse)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was taken or refused so far."""
        return not self._results and not self._invalid

    @property
    def results(self) -> tuple[Result, ...]:
        """Those that are whole, with the warnings of what was measured."""
        return tuple(looked_over(one) for name, one in self._results.items() if name not in self._invalid)

    @property
    def invalid(self) -> tuple[Invalid, ...]:
        return tuple(self._invalid.values())


def problem_of(result: Result) -> str | None:
    """Why the values of a result are none; None where they are."""
    if len(result.name) > NAME_LENGTH_MAX:
        return f"its name has {len(result.name)} characters; at most {NAME_LENGTH_MAX} are taken"
    if not result.launches:
        return "nothing was measured"
    for one in result.launches:
        if not len(one.values):
            return f"launch {one.number + 1} has no iteration"
        bad = ~((one.values > 0) & (one.values < LARGEST))  # NaN compares false
        if bad.any():
            place = int(np.argmax(bad))
            return f"iteration {place + 1} of launch {one.number + 1} is {one.values[place]:g}"
    return None


def looked_over(result: Result) -> Result:
    """The result with the warnings that its iterations give rise to, beside those that it has."""
    launches: dict[int, list[Floats]] = {}
    for one in result.launches:
        launches.setdefault(one.number, []).append(one.values)
    return replace(result, warnings=(*result.warnings, *adequacy.warnings_of(list(launches.values()), result.worse)))


def name_in(told: Mapping[str, Any], key: str) -> str:
    """A name of a file.

    Raises:
        KeyError: there is none.
        Rejected: BENCHMARK_FORMAT_UNKNOWN: it is no text.
    """
    name = told[key]
    if not isinstance(name, str) or not name:
        raise Rejected(Reason.BENCHMARK_FORMAT_UNKNOWN, f"{key} is {json.dumps(name)[:100]}, which is no name")
    return name


def name_told(told: Mapping[str, Any], key: str) -> str | None:
    """A name that a file need not have; None where it has none.

    Raises:
        Rejected: BENCHMARK_FORMAT_UNKNOWN: it is no text.
    """
    return None if told.get(key) in (None, "") else name_in(told, key)


def numbers(values: object, what: str) -> Floats:
    """A list of numbers of a file as (n,); texts such as "NaN" are numbers too, as JMH writes them.

    Raises:
        Rejected: BENCHMARK_FORMAT_UNKNOWN: it is no list of numbers.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise Rejected(Reason.BENCHMARK_FORMAT_UNKNOWN, f"{what} is no list of numbers")
    try:
        return np.array([float(one) for one in values], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise Rejected(Reason.BENCHMARK_FORMAT_UNKNOWN, f"{what} is no list of numbers ({error})") from error
