"""Results of the Java Microbenchmark Harness: `-rf json`. A fork is a launch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perfreg_assets.benchmarks.results import (
    NS_PER,
    RATE,
    TIME,
    Gathering,
    Launch,
    Result,
    name_in,
    numbers,
    result_name,
)
from perfreg_assets.catalogue import Worse
from perfreg_assets.methods.adequacy import Caveat
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.reasons import Reason, Rejected

TOOL = "jmh"
_MACHINE = ("jvmArgs", "jdkVersion", "vmName", "vmVersion", "jvm")
"""What a file says of the virtual machine, first what people change to compare."""
_NOT_JUDGED = (Caveat(Reason.NO_DIRECTION, "not per operation: a build that is quicker has more of it"),)


def is_it(content: object) -> bool:
    return (
        isinstance(content, list)
        and len(content) > 0
        and all(isinstance(one, dict) and "benchmark" in one and "primaryMetric" in one for one in content)
    )


def read(content: Sequence[Mapping[str, Any]], found: Gathering) -> None:
    """Adds the results of a file.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: it is built otherwise.
        Rejected: BENCHMARK_FORMAT_UNKNOWN.
    """
    for one, params in zip(content, _params(content), strict=True):
        benchmark, mode = name_in(one, "benchmark"), _mode(one)
        area = benchmark.rpartition(".")[0].rpartition(".")[2] or benchmark
        metrics = {mode: one["primaryMetric"], **(one.get("secondaryMetrics") or {})}
        for place, (metric, told) in enumerate(metrics.items()):
            unit, factor, worse = _quantity(str(told["scoreUnit"]))
            forks = _forks(told, f"{benchmark}: {metric}")
            values = [fork * factor for fork in forks]
            found.add(
                Result(
                    benchmark=benchmark, params=params, area=area, metric=str(metric), unit=unit, worse=worse,
                    is_primary=place == 0, warnings=_NOT_JUDGED if worse == "either" else (),
                    launches=tuple(Launch(number, fork) for number, fork in enumerate(values)),
                )
            )  # fmt: skip


def _params(content: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The parameters of each entry. Where entries of a benchmark are alike in theirs, and their virtual machines are
    not, what is told of these is a parameter too, as little as tells them apart."""
    found, alike = [], defaultdict(list)
    for place, one in enumerate(content):
        params = {str(name): str(value) for name, value in (one.get("params") or {}).items()}
        if int(one.get("threads") or 1) > 1:
            params["threads"] = str(one["threads"])
        found.append(params)
        alike[result_name(name_in(one, "benchmark"), params, _mode(one))].append(place)
    for places in alike.values():
        machines: list[dict[str, str]] = [{} for _ in places]
        for name in _MACHINE:
            more = [
                {**known, name: _text(content[place].get(name))} for known, place in zip(machines, places, strict=True)
            ]
            if _different(more) > _different(machines):
                machines = more
        for place, machine in zip(places, machines, strict=True):
            found[place] |= machine
    return found


def _different(machines: Sequence[Mapping[str, str]]) -> int:
    return len({tuple(one.values()) for one in machines})


def _text(told: object) -> str:
    return " ".join(map(str, told)) if isinstance(told, list) else str("" if told is None else told)


def _mode(one: Mapping[str, Any]) -> str:
    return name_in({"mode": "thrpt", **one}, "mode")


def environment_of(content: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The virtual machine, where all benchmarks of the file have the same."""
    names = ("jmhVersion", "jdkVersion", "vmName", "vmVersion", "jvmArgs")
    return {name: content[0][name] for name in names if all(one.get(name) == content[0].get(name) for one in content)
            and name in content[0]}  # fmt: skip


def _forks(told: Mapping[str, Any], what: str) -> list[Floats]:
    """Per fork its iterations; mode `sample` has histograms of each iteration instead, whose medians are taken."""
    if "rawData" in told:
        return [numbers(fork, f"{what}: rawData") for fork in told["rawData"]]
    if "rawDataHistogram" in told:
        return [np.array([_median(iteration) for iteration in fork]) for fork in told["rawDataHistogram"]]
    raise Rejected(Reason.BENCHMARK_FORMAT_UNKNOWN, f"{what} has no rawData")


def _median(histogram: Sequence[Sequence[float]]) -> float:
    values, counts = (np.array(column, dtype=np.float64) for column in zip(*histogram, strict=True))
    order = np.argsort(values)
    seen = np.cumsum(counts[order])
    return float(values[order][np.searchsorted(seen, seen[-1] / 2)])


def _quantity(unit: str) -> tuple[str, float, Worse]:
    """(unit, factor from the file's, which direction is worse)."""
    above, _, below = unit.partition("/")
    if above == "ops" and below in NS_PER:
        return RATE, 1e9 / NS_PER[below], "less"
    if below == "op" and above in NS_PER:
        return TIME, NS_PER[above], "more"
    if below == "op":  # of profilers: bytes, cycles, cache misses of an operation
        return unit, 1.0, "more"
    # Collections, bytes and milliseconds of an iteration or a second grow with the operations that are done in it.
    return unit, 1.0, "either"
