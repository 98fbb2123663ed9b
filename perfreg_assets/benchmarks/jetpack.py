"""Results of Jetpack Microbenchmark and Macrobenchmark: `…-benchmarkData.json`.

A file is one launch of the test: what it repeats are iterations. Of sampled metrics (frames) each iteration has many
values: an iteration is a launch there, with its P50 and its P99 as metrics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
from perfreg_assets.catalogue import Worse
from perfreg_assets.methods.adequacy import Caveat
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.reasons import Reason

TOOL = "jetpack"
PERCENTILES = (50, 99)

# The library puts what it does not like about the device before the name of the test.
_PREFIXES = {
    "EMULATOR": Reason.EMULATOR,
    "DEBUGGABLE": Reason.DEBUGGABLE,
    "UNLOCKED": Reason.CLOCKS_UNLOCKED,
    "LOW-BATTERY": Reason.CONDITIONS_POOR,
    "ACTIVITY-MISSING": Reason.CONDITIONS_POOR,
    "UNSUSTAINED-ACTIVITY-MISSING": Reason.CONDITIONS_POOR,
    "METHOD-TRACING": Reason.CONDITIONS_POOR,
    "NOT-PROFILEABLE": Reason.CONDITIONS_POOR,
    "CODE-COVERAGE": Reason.CONDITIONS_POOR,
    "SIMPLEPERF": Reason.CONDITIONS_POOR,
    "DRY-RUN": Reason.CONDITIONS_POOR,
}
_EMULATORS = re.compile(r"sdk_gphone|emulator|generic|goldfish|ranchu|vbox86|emu64", re.IGNORECASE)
_TIME_ENDING = re.compile(r"(Ms|Us|Ns)$")


def is_it(content: object) -> bool:
    return (
        isinstance(content, dict)
        and isinstance(content.get("context"), dict)
        and isinstance(content["context"].get("build"), dict)
        and isinstance(content.get("benchmarks"), list)
    )


def read(content: Mapping[str, Any], found: Gathering) -> None:
    """Adds the results of a file.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: it is built otherwise.
        Rejected: BENCHMARK_FORMAT_UNKNOWN.
    """
    context = content["context"]
    for one in content["benchmarks"]:
        test, warnings = _without_prefixes(name_in(one, "name"))
        warnings += _of_device(context, warnings)
        pause = one.get("thermalThrottleSleepSeconds") or 0
        if float(pause) > 0:
            warnings.append(Caveat(Reason.THROTTLED, f"the library waited {pause} s for the device to cool down"))
        whole_class = name_in(one, "className")
        area = whole_class.rpartition(".")[2]
        benchmark, params = (
            f"{whole_class}.{test}",
            {str(name): str(v) for name, v in (one.get("params") or {}).items()},
        )
        for metric, values in (one.get("metrics") or {}).items():
            unit, factor, worse = _quantity(str(metric))
            runs = numbers(values["runs"], f"{test}: runs of {metric}")
            found.add(
                Result(
                    benchmark=benchmark, params=params, area=area, metric=str(metric), unit=unit, worse=worse,
                    is_primary=unit == TIME, launches=(Launch(0, runs * factor),), warnings=tuple(warnings),
                )
            )  # fmt: skip
        for metric, values in (one.get("sampledMetrics") or {}).items():
            _sampled(found, benchmark, params, area, str(metric), values["runs"], tuple(warnings))


def device_of(content: Mapping[str, Any]) -> str | None:
    """Model and level of the API, as the tool tells them.

    Raises:
        Rejected: BENCHMARK_FORMAT_UNKNOWN.
    """
    build = content["context"]["build"]
    model, sdk = name_told(build, "model"), (build.get("version") or {}).get("sdk")
    return f"{model} / API {sdk}" if model and sdk is not None else model


def _sampled(
    found: Gathering, benchmark: str, params: Mapping[str, str], area: str, metric: str, runs: list[Any],
    warnings: tuple[Caveat, ...],
) -> None:  # fmt: skip
    unit, factor, worse = _quantity(metric)
    samples = [numbers(values, f"{benchmark}: runs of {metric}") * factor for values in runs]
    samples = [values for values in samples if len(values)]
    for percentile in PERCENTILES:
        name = f"{metric} P{percentile}"
        values: list[Floats] = [np.array([np.percentile(one, percentile)]) for one in samples]
        if metric.startswith("frameOverrun") and any(one[0] <= 0 for one in values):
            # Time beyond the deadline: below 0 where frames are early. There is no ratio of it, and no error either.
            of = Named(benchmark, params, area, name)
            found.refuse(of, "frames were early (0 or below), which has no ratio", unit, worse)
            continue
        launches = tuple(Launch(number, one) for number, one in enumerate(values))
        found.add(
            Result(
                benchmark=benchmark, params=params, area=area, metric=name, unit=unit, worse=worse,
                is_primary=unit == TIME, launches=launches, warnings=warnings,
            )
        )  # fmt: skip


def _quantity(metric: str) -> tuple[str, float, Worse]:
    """(unit, factor from the file's, which direction is worse), by the ending that the library gives names."""
    ending = _TIME_ENDING.search(metric)
    if ending is not None:
        return TIME, NS_PER[ending[0].lower()], "more"
    if metric.endswith("Kb"):
        return "bytes", 1024.0, "more"
    if metric == "allocationCount":
        return "allocations", 1.0, "more"
    return "", 1.0, "either"


def _without_prefixes(name: str) -> tuple[str, list[Caveat]]:
    """(the test's own name, what the library put before it)."""
    warnings = []
    while "_" in name:
        first, _, rest = name.partition("_")
        if first not in _PREFIXES:
            break
        warnings.append(Caveat(_PREFIXES[first], f"the library marked the test as {first}"))
        name = rest
    return name, warnings


def _of_device(context: Mapping[str, Any], known: list[Caveat]) -> list[Caveat]:
    build, codes = context["build"], {one.code for one in known}
    found = []
    if context.get("cpuLocked") is False and Reason.CLOCKS_UNLOCKED not in codes:
        found.append(Caveat(Reason.CLOCKS_UNLOCKED, "cpuLocked is false"))
    told = f"{build.get('fingerprint', '')} {build.get('device', '')} {build.get('model', '')}"
    if _EMULATORS.search(told) and Reason.EMULATOR not in codes:
        found.append(Caveat(Reason.EMULATOR, f"the device is {build.get('model')}"))
    return found
