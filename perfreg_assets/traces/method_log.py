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
from typing import Any

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
    logs: list[_Line]


class _Log(_Part):
    tests: list[_Test]


class _Cores(_Part):
    cores: list[_Core]


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
        log = _Log.model_validate(json.loads(content))
        found: dict[tuple[str, int, int], list[Passage[Moment]]] = {}
        for test in log.tests:
            for line in test.logs:
                header = line.header
                at = Moment(header.timestamp, _ticks(line))
                own = found.setdefault((test.testName, header.processID, header.threadID), [])
                own.append(Passage(header.methodName, header.isEntry, at))
    except OSError as error:
        raise Rejected(Reason.METHOD_LOG_UNREADABLE, f"{path}: {error.strerror or error}") from error
    except ValidationError as error:
        first = validation.problems(error)[0]
        raise Rejected(
            Reason.METHOD_LOG_UNREADABLE, f"{path.name}, {first.place or 'its content'}: expected {first.expected}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise Rejected(Reason.METHOD_LOG_UNREADABLE, f"{path.name}: {error}") from error
    return [LoggedThread(*key, tuple(passages)) for key, passages in found.items()], content


def _ticks(line: _Line) -> dict[int, dict[float, int]]:
    told: Any = next((one.details for one in line.body if one.component == _TIMES), [])
    cores = _Cores.model_validate({"cores": told}).cores
    return {core.kernel: {level.frequency: level.timestamp for level in core.details} for core in cores}
