"""Results of Google Benchmark: `--benchmark_out_format=json`.

Repetitions stand under one name and are iterations of one launch, because one process makes them all. Aggregates of
them (mean, median, …) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from perfreg_assets.benchmarks.results import (
    NS_PER,
    TIME,
    Gathering,
    Launch,
    Named,
    Result,
    name_in,
    name_told,
    numbers,
)
from perfreg_assets.methods.adequacy import Caveat
from perfreg_assets.reasons import Reason, Rejected

TOOL = "google_benchmark"
METRICS = ("real_time", "cpu_time")
_AGGREGATE = re.compile(r"_(mean|median|stddev|cv|min|max|BigO|RMS)$")


def is_it(content: object) -> bool:
    return (
        isinstance(content, dict)
        and isinstance(content.get("context"), dict)
        and isinstance(content.get("benchmarks"), list)
        and "build" not in content["context"]
        and all(isinstance(one, dict) for one in content["benchmarks"])
        and all("real_time" in one or "error_occurred" in one or is_aggregate
                for one, is_aggregate in zip(content["benchmarks"], _aggregates(content["benchmarks"]), strict=True))
    )  # fmt: skip


def read(content: Mapping[str, Any], found: Gathering) -> None:
    """Adds the results of a file.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: it is built otherwise.
        Rejected: BENCHMARK_FORMAT_UNKNOWN.
    """
    warnings = []
    if content["context"].get("cpu_scaling_enabled") is True:
        warnings.append(Caveat(Reason.CLOCKS_UNLOCKED, "cpu_scaling_enabled is true"))
    if content["context"].get("library_build_type") == "debug":
        warnings.append(Caveat(Reason.CONDITIONS_POOR, "the library was built for debugging"))
    times: dict[tuple[str, str], list[float]] = {}
    for one, is_aggregate in zip(content["benchmarks"], _aggregates(content["benchmarks"]), strict=True):
        if is_aggregate:
            continue
        name = name_in(one, "run_name" if one.get("run_name") else "name")
        if one.get("error_occurred"):
            for metric in METRICS:
                of = Named(name, {}, _area(name), metric)
                found.refuse(of, str(one.get("error_message") or "an error occurred"), TIME)
            continue
        unit = str(one.get("time_unit", "ns"))
        if unit not in NS_PER:
            raise Rejected(Reason.BENCHMARK_FORMAT_UNKNOWN, f"{name}: time_unit {unit!r}")
        for metric in METRICS:
            if metric in one:
                (value,) = numbers([one[metric]], f"{name}: {metric}")
                times.setdefault((name, metric), []).append(float(value) * NS_PER[unit])
    for (name, metric), values in times.items():
        found.add(
            Result(
                benchmark=name, params={}, area=_area(name), metric=metric, unit=TIME, worse="more",
                is_primary=metric == METRICS[0], launches=(Launch(0, np.array(values)),), warnings=tuple(warnings),
            )
        )  # fmt: skip


def device_of(content: Mapping[str, Any]) -> str | None:
    """Host and number of its cores.

    Raises:
        Rejected: BENCHMARK_FORMAT_UNKNOWN.
    """
    host, count = name_told(content["context"], "host_name"), content["context"].get("num_cpus")
    return f"{host} / {count} cores" if host and count else host


def started_at(content: Mapping[str, Any]) -> datetime | None:
    """None where the date has no zone, as in older releases: the same moment stands for others elsewhere."""
    try:
        found = datetime.fromisoformat(str(content["context"].get("date")))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _aggregates(benchmarks: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Of each entry whether it is made from others. Older releases do not say it: there an ending tells it where what
    it is made from stands in the file too, or mean and deviation of the same, or where nothing was timed."""
    names = {str(one.get("name", "")) for one in benchmarks}
    found = []
    for one in benchmarks:
        name = str(one.get("name", ""))
        ending = _AGGREGATE.search(name)
        of = name[: ending.start()] if ending is not None else ""
        is_one = ending is not None and ("real_time" not in one or of in names or _is_summed_up(of, names))
        found.append(is_one if one.get("run_type") is None else one["run_type"] == "aggregate")
    return found


def _is_summed_up(name: str, names: Collection[str]) -> bool:
    """Whether the file has the aggregates of a benchmark that always come together, without its repetitions."""
    return f"{name}_mean" in names and f"{name}_stddev" in names


def _area(name: str) -> str:
    """The fixture's or function's name: what stands before the arguments."""
    return re.split("[/<]", name, maxsplit=1)[0]
