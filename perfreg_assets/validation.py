"""Values from outside, checked by pydantic and refused in one form: where, and what was expected there.

Types are strict: no text for a number, no true for 1; a whole number is a number. pydantic is loaded when there is
something to check, because commands without settings of their own need not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_EXPECTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list (in Python a tuple)",
    "dict": "an object",
    "model": "an object",
    "dataclass": "an object",
    "mapping": "names with texts",
    "path": "a path",
    "is": "a path",  # is_instance_of: the only class that is asked for
}
_LIMITS = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "above {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "below {lt}",
    "finite_number": "a finite number",
    "too_short": "at least {min_length} of them",
    "literal_error": "{expected}",
}


@dataclass(frozen=True)
class Problem:
    """One value that does not hold.

    Attributes:
        place: `config.time_limit_s`, `path[3].state_hash`; "" for the value itself.
        kind: missing, of another type, out of its range, or a rule's own name.
        expected: what would hold, as in "expected {expected}".
    """

    place: str
    kind: Literal["missing", "type", "range"] | str
    expected: str
    value: Any


def check(kind: Any, value: Any) -> Any:
    """The value if it is of the kind (a type, or one annotated with pydantic's constraints); strict.

    Raises:
        pydantic.ValidationError: see `problems`.
    """
    return _adapter(kind).validate_python(value)


def parse(kind: Any, text: str) -> Any:
    """The value that a text spells.

    Raises:
        pydantic.ValidationError: see `problems`.
    """
    return _adapter(kind).validate_python(text, strict=False)


def problems(error: ValidationError) -> list[Problem]:
    """What does not hold, in the order of the fields. What is null is missing."""
    return [_problem(one) for one in error.errors(include_url=False)]


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415

    return TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False))


def _problem(one: Mapping[str, Any]) -> Problem:
    place, code, limits = _place(one["loc"]), one["type"], one.get("ctx", {})
    if code == "missing" or one["input"] is None:
        return Problem(place, "missing", "a value", None)
    if code in _LIMITS:
        return Problem(place, "range", _LIMITS[code].format(**limits), one["input"])
    expected = _EXPECTED.get(code.split("_")[0])
    if expected is None:
        return Problem(place, code, one["msg"], one["input"])
    is_too_large = code == "int_parsing_size" or (code == "float_type" and type(one["input"]) is int)
    if is_too_large:
        return Problem(place, "range", "a smaller number", one["input"])
    return Problem(place, "type", expected, one["input"])


def _place(location: Iterable[str | int]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
