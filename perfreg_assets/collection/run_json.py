"""The content of run.json (public format, schema_version 1), checked by pydantic.

Keys that the format does not know are kept, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    Strict,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from perfreg_assets import validation
from perfreg_assets.moments import in_utc
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import RUN_ID, Configuration, PathStep

SCHEMA_VERSION = 1
_INT64_MAX, _INT32_MAX = 2**63 - 1, 2**31 - 1
_CONFIG = ("device", "strategy", "time_limit_s", "action_interval_s")
REQUIRED = ("app", "version_name", *(f"config.{name}" for name in _CONFIG), "started_at", "trace")
"""What run.json cannot do without."""


def _problem(reason: Reason, what: str) -> PydanticCustomError:
    return PydanticCustomError(reason.code, "{what}", {"what": what})


def _said(text: str) -> str:
    if not text.strip():
        raise _problem(Reason.KEY_MISSING, "is empty")
    return text


def _run_id(text: str) -> str:
    if text and not RUN_ID.fullmatch(text):
        raise _problem(Reason.RUN_ID_INVALID, f"= {text[:200]!r}")
    return text


def _moment(text: Any) -> datetime:
    if not isinstance(text, str):
        raise _problem(Reason.WRONG_TYPE, f"is {type(text).__name__}, expected text")
    stated = f"= {_said(text)[:60]!r}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise _problem(Reason.WRONG_TYPE, f"{stated} is not an ISO 8601 time") from error
    if moment.tzinfo is None:
        raise _problem(Reason.TIME_WITHOUT_ZONE, stated)
    try:
        return in_utc(moment)
    except ValueError as error:
        raise _problem(Reason.VALUE_OUT_OF_RANGE, stated) from error


_AnyText = Annotated[str, Strict()]
_Text = Annotated[str, Strict(), AfterValidator(_said), WithJsonSchema({"type": "string", "pattern": r"\S"})]
_Name = Annotated[Annotated[str, Strict()] | None, AfterValidator(lambda text: text or None)]  # "" is none
_Whole = Annotated[int, Strict(), Field(ge=0, le=_INT64_MAX)]
_Number = Annotated[float, Strict(), Field(ge=0, le=_INT64_MAX, allow_inf_nan=False)]


class _Object(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    def known(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields}

    def unknown(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class _Config(_Object):
    device: _Text
    strategy: _Text
    time_limit_s: _Number
    action_interval_s: _Number
    device_unit: _Name = Field(default=None, alias="unit")


class _Exploration(_Object):
    start_ns: _Whole
    end_ns: _Whole

    @model_validator(mode="after")
    def _goes_forward(self) -> Self:
        if self.end_ns <= self.start_ns:
            what = f"has end_ns = {self.end_ns}, which is not after start_ns = {self.start_ns}"
            raise _problem(Reason.VALUE_OUT_OF_RANGE, what)
        return self


class _Step(_Object):
    step: Annotated[int, Strict(), Field(ge=0, le=_INT32_MAX)]
    ts_ns: _Whole | None = None
    state_hash: _Text
    screen: _Name = None
    action: _Name = None
    screen_after: _Name = None
    state_hash_after: _Name = None


class _FunctionalProblem(_Object):
    kind: _Text
    message: _AnyText | None = None
    ts_ns: _Whole | None = None


def _numbered(steps: Any) -> Any:
    """A step without a number has that of its place."""
    if not isinstance(steps, list):
        return steps
    return [
        {**step, "step": place} if isinstance(step, dict) and step.get("step") is None else step
        for place, step in enumerate(steps)
    ]


def _ascending(steps: list[_Step] | None) -> list[_Step] | None:
    if any(later.step <= earlier.step for earlier, later in pairwise(steps or ())):
        raise _problem(Reason.VALUE_OUT_OF_RANGE, "has steps that are not in ascending order")
    return steps


class RunDocument(_Object):
    """run.json as it stands; `read` checks one."""

    schema_version: _Whole | None = SCHEMA_VERSION
    run_id: Annotated[_Name, AfterValidator(lambda text: text and _run_id(text))] = None
    app: _Text
    version_name: _Text
    version_code: _Whole | None = None
    config: _Config
    started_at: Annotated[datetime, BeforeValidator(_moment)]
    exploration: _Exploration | None = None
    scenario: _Name = None
    path: Annotated[list[_Step] | None, FailFast(), BeforeValidator(_numbered), AfterValidator(_ascending)] = None
    functional_problems: Annotated[list[_FunctionalProblem] | None, FailFast()] = None
    trace: _Text
    trace_bytes: _Whole | None = None
    trace_sha256: _Name = None

    @property
    def configuration(self) -> Configuration:
        return Configuration(**self.config.known())

    @property
    def problems(self) -> list[dict[str, Any]] | None:
        """As they stand, unknown keys too."""
        found = self.functional_problems
        return None if found is None else [problem.model_dump(exclude_unset=True) for problem in found]

    @property
    def steps(self) -> tuple[PathStep, ...]:
        return tuple(PathStep(**step.known()) for step in self.path or ())

    @property
    def unknown_keys(self) -> dict[str, Any]:
        """What the format does not know, under the key it stands in; of the path by the step's number."""
        within = {
            "config": self.config.unknown(),
            "exploration": self.exploration.unknown() if self.exploration else {},
            "path": {str(step.step): step.unknown() for step in self.path or () if step.model_extra},
        }
        return {**self.unknown(), **{key: found for key, found in within.items() if found}}


def read(document: Mapping[str, Any], where: str, *, path_max_steps: int) -> RunDocument:
    """Checks the content of a run.json.

    Args:
        where: the file's name, as refusals give it.

    Raises:
        Rejected: with the reason code of what does not hold. All keys that are missing are named at once.
    """
    version = document.get("schema_version")
    if isinstance(version, int) and not isinstance(version, bool) and version >= 0 and version != SCHEMA_VERSION:
        raise Rejected(Reason.SCHEMA_VERSION_UNKNOWN, f"{where} has schema_version {version}")
    path = document.get("path")
    if isinstance(path, list) and len(path) > path_max_steps:
        raise Rejected(
            Reason.PATH_TOO_LONG, f"{where}, key path has {len(path):,} steps, allowed are {path_max_steps:,}"
        )
    try:
        # Without a configuration each of its parts is missed by name.
        return RunDocument.model_validate({**document, "config": {}} if document.get("config") is None else document)
    except ValidationError as error:
        raise _rejected(where, validation.problems(error)) from error


def _rejected(where: str, problems: list[validation.Problem]) -> Rejected:
    missing = [
        problem.place if problem.kind == "missing" else f"{problem.place} (empty)"
        for problem in problems
        if problem.kind in ("missing", Reason.KEY_MISSING.code)
    ]
    if missing:
        return Rejected(Reason.KEY_MISSING, f"{where}, key{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
    first = problems[0]
    if first.kind == "type":
        what = f"is {type(first.value).__name__}, expected {first.expected}"
        return Rejected(Reason.WRONG_TYPE, f"{where}, key {first.place} {what}")
    if first.kind == "range":
        what = f"= {str(first.value)[:60]}, expected {first.expected}"
        return Rejected(Reason.VALUE_OUT_OF_RANGE, f"{where}, key {first.place} {what}")
    reason = Reason.__members__.get(first.kind.upper(), Reason.WRONG_TYPE)
    return Rejected(reason, f"{where}, key {first.place} {first.expected}")
