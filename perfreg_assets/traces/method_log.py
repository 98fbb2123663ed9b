"""Logs of methods' entries and exits with the cores' times in state, one JSON file for all tests.

{"tests": [{"testName", "logs": [{"header": {"processID", "threadID", "methodName", "isEntry", "timestamp" (ms)},
"body": [{"component": "cpuTimeInStates", "details": [{"kernel" (core), "details": [{"frequency" (kHz), "timestamp"
(ticks of 10 ms)}]}]}]}]}]}; other components are passed over.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perfreg_assets import validation
from perfreg_assets.methods.method_calls import Passage
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.regular_file import open_regular, resolved

_MOST_BYTES = 1 << 30
_TIMES = "cpuTimeInStates"


@dataclass(frozen=True)
class Moment:
    """`ticks`: core → kHz → ticks of 10 ms since the device started."""

    wall_ms: int
    ticks: dict[int, dict[float, int]]


@dataclass(frozen=True)
class LoggedThread:
    """What one thread of a test logged, in order."""

    test: str
    process: int
    thread: int
    passages: tuple[Passage[Moment], ...]

    @property
    def cores(self) -> tuple[int, ...]:
        """Numbers of the cores that times are told of, ascending."""
        return tuple(sorted({core for one in self.passages for core in one.at.ticks}))


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


_Kind = TypeVar("_Kind", bound=_Part)


class _Level(_Part):
    frequency: float = Field(gt=0)
    timestamp: int = Field(ge=0)


class _Core(_Part):
    kernel: int = Field(ge=0, lt=1000)
    details: list[_Level]


class _Component(_Part):
    component: str
    details: Any = None


class _Header(_Part):
    processID: int  # noqa: N815  (the format's names)
    threadID: int  # noqa: N815
    methodName: str = Field(min_length=1)  # noqa: N815
    isEntry: bool  # noqa: N815
    timestamp: int


class _Line(_Part):
    header: _Header
    body: list[_Component]


class _Test(_Part):
    testName: str  # noqa: N815
    logs: list[Any]
    """Lines, looked at one by one: whose they are is told with what is wrong in one."""


class _Log(_Part):
    tests: list[_Test]


class _Times(_Part):
    details: list[_Core]


def read_method_log(path: Path) -> tuple[list[LoggedThread], bytes]:
    """The threads of all tests, in order of their first lines, and the file's content.

    Raises:
        Rejected: METHOD_LOG_UNREADABLE.
    """
    try:
        with open_regular(resolved(path)) as file:
            if os.fstat(file.fileno()).st_size > _MOST_BYTES:
                raise Rejected(Reason.METHOD_LOG_UNREADABLE, f"{path.name} has more than {_MOST_BYTES:,} bytes")
            content = file.read()
        told = json.loads(content)
    except OSError as error:
        raise Rejected(Reason.METHOD_LOG_UNREADABLE, f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise Rejected(Reason.METHOD_LOG_UNREADABLE, f"{path.name}: {error}") from error
    found: dict[tuple[str, int, int], list[Passage[Moment]]] = {}
    for test in _checked(_Log, told, path.name).tests:
        for number, one in enumerate(test.logs, 1):
            where = f"{path.name}, test {test.testName}, line {number} of its logs"
            line = _checked(_Line, one, where)
            header = line.header
            at = Moment(header.timestamp, _ticks(line, where))
            own = found.setdefault((test.testName, header.processID, header.threadID), [])
            own.append(Passage(header.methodName, header.isEntry, at))
    return [LoggedThread(*key, tuple(passages)) for key, passages in found.items()], content


def _ticks(line: _Line, where: str) -> dict[int, dict[float, int]]:
    for number, one in enumerate(line.body):
        if one.component == _TIMES:
            cores = _checked(_Times, {"details": one.details}, where, f"body[{number}].").details
            return {core.kernel: {level.frequency: level.timestamp for level in core.details} for core in cores}
    return {}


def _checked(kind: type[_Kind], told: Any, where: str, prefix: str = "") -> _Kind:
    """
    Args:
        where: of the file.
        prefix: of the fields' places there.

    Raises:
        Rejected: METHOD_LOG_UNREADABLE.
    """
    try:
        return kind.model_validate(told)
    except ValidationError as error:
        first = validation.problems(error)[0]
        place = f"{prefix}{first.place}" if first.place else "its content"
        raise Rejected(Reason.METHOD_LOG_UNREADABLE, f"{where}, {place}: expected {first.expected}") from error
