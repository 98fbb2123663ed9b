"""Results of pyperf: `-o file.json`. A run is a process, hence a launch; runs that only calibrate have no values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from perfreg_assets.benchmarks.results import NS_PER, TIME, Gathering, Launch, Result, name_in, name_told, numbers
from perfreg_assets.reasons import Reason, Rejected

TOOL = "pyperf"
AREA = "pyperf"
METRIC = "time"


def is_it(content: object) -> bool:
    return (
        isinstance(content, dict)
        and "version" in content
        and isinstance(content.get("benchmarks"), list)
        and all(isinstance(one, dict) and isinstance(one.get("runs"), list) for one in content["benchmarks"])
    )


def read(content: Mapping[str, Any], found: Gathering) -> None:
    """Adds the results of a file.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: it is built otherwise.
        Rejected: BENCHMARK_FORMAT_UNKNOWN.
    """
    for one in content["benchmarks"]:
        told = {**(content.get("metadata") or {}), **(one.get("metadata") or {})}
        if "name" not in told:
            raise Rejected(Reason.BENCHMARK_FORMAT_UNKNOWN, "a benchmark has no name")
        name, kind = name_in(told, "name"), str(told.get("unit", "second"))
        unit, factor = (TIME, NS_PER[kind]) if kind in NS_PER else ({"byte": "bytes"}.get(kind, kind), 1.0)
        lists = [run["values"] for run in one["runs"] if run.get("values")]
        launches = tuple(
            Launch(number, numbers(values, f"{name}: values") * factor) for number, values in enumerate(lists)
        )
        found.add(
            Result(
                benchmark=name, params={}, area=AREA, metric=METRIC if unit == TIME else "value", unit=unit,
                worse="more" if unit in (TIME, "bytes") else "either", is_primary=unit == TIME, launches=launches,
            )
        )  # fmt: skip


def device_of(content: Mapping[str, Any]) -> str | None:
    """Host and model of its processor.

    Raises:
        Rejected: BENCHMARK_FORMAT_UNKNOWN.
    """
    told = _metadata(content)
    return " / ".join(one for key in ("hostname", "cpu_model_name") if (one := name_told(told, key))) or None


def started_at(content: Mapping[str, Any]) -> datetime | None:
    """When the first run began, without a zone: pyperf writes the time of the machine (datetime.now())."""
    dates = [
        str(run["metadata"]["date"])
        for one in content["benchmarks"]
        for run in one["runs"]
        if (run.get("metadata") or {}).get("date")
    ]
    try:
        return min(
            map(datetime.fromisoformat, dates), key=lambda date: date if date.tzinfo else date.replace(tzinfo=UTC)
        )
    except ValueError:  # none, or none that is a date
        return None


def environment_of(content: Mapping[str, Any]) -> dict[str, Any]:
    names = ("python_version", "python_implementation", "platform", "cpu_config", "aslr")
    return {name: _metadata(content)[name] for name in names if name in _metadata(content)}


def _metadata(content: Mapping[str, Any]) -> dict[str, Any]:
    first = content["benchmarks"][0] if content["benchmarks"] else {}
    return {**(content.get("metadata") or {}), **(first.get("metadata") or {})}
