"""Running a suite: launches of each benchmark, of variants in the order A B B A, and what came of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from perfreg_assets.benchmarks import google_benchmark, jetpack
from perfreg_assets.benchmarks.machine import Machine, Programs
from perfreg_assets.benchmarks.programs import Host
from perfreg_assets.benchmarks.protocol import ThreadMeasured, parse_launch
from perfreg_assets.benchmarks.results import (
    RATE,
    Gathering,
    Invalid,
    Launch,
    Named,
    Result,
    ResultFile,
    looked_over,
)
from perfreg_assets.benchmarks.suite import DEFAULT_AREA, Configured, Suite
from perfreg_assets.methods import adequacy
from perfreg_assets.methods.adequacy import Caveat
from perfreg_assets.reasons import Reason, Rejected

METRIC = "throughput"
Progress = Callable[[str], None]


@dataclass
class _Measured:
    """What the launches of one benchmark brought so far; `rejected` ends them."""

    one: Configured
    launches: list[Launch] = field(default_factory=list)
    spans: list[np.ndarray] = field(default_factory=list)
    gathered: Gathering = field(default_factory=Gathering)
    caveats: dict[Reason, Caveat] = field(default_factory=dict)
    is_foreign: bool = False
    rejected: Rejected | None = None

    @property
    def named(self) -> Named:
        return Named(self.one.name, self.one.options.told_params, self.one.area, METRIC)

    @property
    def name(self) -> str:
        return self.named.name


def run_suites(
    variants: Sequence[tuple[str, Suite]], *, progress: Progress, machine: Machine | None = None
) -> dict[str, list[ResultFile]]:
    """Runs the same benchmarks in one or several variants; variant → results, a file per runner.

    The launches of variants take turns, A B B A: arms that are minutes apart would differ by what the machine does.
    A benchmark that fails has no result, with the reason; the others go on.

    Args:
        variants: name and suite of each; the suites are the same but for options.
        machine: where; None: here.
    """
    started_at = datetime.now(UTC)
    machine = machine or Host()
    measured = [[_Measured(one) for one in suite.benchmarks] for _, suite in variants]
    programs = machine.programs(variants[0][1])
    try:
        for place in range(len(measured[0])):
            most = max(of_variant[place].one.options.launches for of_variant in measured)
            for number in range(most):
                turns = list(range(len(variants)))
                for turn in turns if number % 2 == 0 else reversed(turns):
                    own = measured[turn][place]
                    if number < own.one.options.launches and own.rejected is None:
                        told = f"{variants[turn][0]} " if len(variants) > 1 else ""
                        progress(f"{told}{own.one.name} {number + 1}/{own.one.options.launches}")
                        _launch(programs, own, number)
                        own.caveats |= {one.code: one for one in machine.caveats()}
    finally:
        programs.close()
    return {
        name: _files(suite, of_variant, started_at, machine)
        for (name, suite), of_variant in zip(variants, measured, strict=True)
    }


def _launch(programs: Programs, own: _Measured, number: int) -> None:
    try:
        output = programs.launch(own.one)
        if own.one.runner == "jetpack":
            _read_foreign(jetpack.read, output, own, "benchmarkData.json")
            return
        if own.one.runner == "command" and _is_google_benchmark(output):
            _read_foreign(google_benchmark.read, output, own, "Google Benchmark's JSON")
            return
        threads = parse_launch(output)
    except Rejected as rejected:
        own.rejected = rejected
        return
    own.launches += [Launch(number, one.rates, one.thread, one.counts, one.elapsed_ns) for one in threads]
    if len(threads) > 1 and all(one.span is not None for one in threads):
        own.spans.append(np.array([one.span for one in threads], dtype=np.float64))
    if len(threads) != own.one.options.threads:
        own.rejected = _wrong_threads(threads, own.one)


def _wrong_threads(threads: Sequence[ThreadMeasured], one: Configured) -> Rejected:
    return Rejected(Reason.BENCHMARK_FAILED, f"{len(threads)} of {one.options.threads} threads measured")


def _read_foreign(read: Callable[[Mapping[str, Any], Gathering], None], output: str, own: _Measured, what: str) -> None:
    """Adds the results that a tool wrote in its own format.

    Raises:
        Rejected: BENCHMARK_FAILED: it is built otherwise, or there is none; those of `read`.
    """
    own.is_foreign = True
    try:
        read(json.loads(output), own.gathered)
    except KeyError as error:
        raise Rejected(Reason.BENCHMARK_FAILED, f"{what} is built otherwise (no {error})") from error
    except (TypeError, AttributeError, ValueError, RecursionError) as error:
        raise Rejected(Reason.BENCHMARK_FAILED, f"{what} is built otherwise ({error})") from error
    if own.gathered.is_empty:
        raise Rejected(Reason.BENCHMARK_FAILED, f"{what} has no result, or only what others are summed up to")


def _is_google_benchmark(output: str) -> bool:
    try:
        return google_benchmark.is_it(json.loads(output))
    except (ValueError, RecursionError):
        return False


def _files(suite: Suite, measured: Sequence[_Measured], started_at: datetime, machine: Machine) -> list[ResultFile]:
    files = []
    for runner in dict.fromkeys(one.one.runner for one in measured):
        results: list[Result] = []
        invalid: list[Invalid] = []
        for own in [one for one in measured if one.one.runner == runner]:
            if own.rejected is not None:
                reason, detail = own.rejected.reason, own.rejected.detail
                invalid.append(Invalid(own.named, reason, detail, RATE, "less"))
            elif own.is_foreign:
                results += [_foreign(own, one) for one in own.gathered.results]
                invalid += [one.in_area(_area(own, one.of)) for one in own.gathered.invalid]
            else:
                results.append(_result(own))
        content = repr([(one.name, [(launch.counts, launch.elapsed_ns) for launch in one.launches]) for one in results])
        text = f"{started_at.isoformat()} {suite.sha256} {runner} {content}"
        files.append(
            ResultFile(
                tool=runner,
                source=suite.path.name,
                sha256=hashlib.sha256(text.encode()).hexdigest(),
                results=tuple(results),
                invalid=tuple(invalid),
                device=machine.name,
                started_at=started_at,
                environment={**machine.environment, "suite": str(suite.path.name)},
            )
        )
    return files


def _foreign(own: _Measured, one: Result) -> Result:
    """A tool's own result, in the area that the suite names, with what is wrong where it was measured."""
    known = {caveat.code for caveat in one.warnings}
    more = tuple(caveat for code, caveat in own.caveats.items() if code not in known)
    return replace(one, area=_area(own, one), warnings=(*one.warnings, *more))


def _area(own: _Measured, one: Result | Named) -> str:
    return one.area if own.one.area == DEFAULT_AREA else own.one.area


def _result(own: _Measured) -> Result:
    options = own.one.options
    caveats = list(own.caveats.values())
    short = adequacy.short_iterations(
        np.concatenate([np.array(one.elapsed_ns, dtype=np.float64) for one in own.launches]), options.adequacy_ms * 1e6
    )
    caveats += [short] if short is not None else []
    unequal = [one for one in map(adequacy.unequal_load, own.spans) if one is not None]
    caveats += unequal[:1]
    if options.is_validating:
        caveats.append(Caveat(Reason.VALIDATING, "isValidating is true"))
    return looked_over(
        Result(
            benchmark=own.one.name,
            params=options.told_params,
            area=own.one.area,
            metric=METRIC,
            unit=RATE,
            worse="less",
            is_primary=True,
            launches=tuple(own.launches),
            warnings=tuple(caveats),
        )
    )
