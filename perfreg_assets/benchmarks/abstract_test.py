"""What a benchmark in Python is: a class with init, iteration and done, and fields `param…` that a suite sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints


class ValidationError(Exception):
    """What was computed is not what it should be."""

    def __init__(self, test: str, expected: object, got: object) -> None:
        super().__init__(f"{test}: expected {expected!r}, got {got!r}")
        self.test, self.expected, self.got = test, expected, got


class AbstractTest:
    """A benchmark. Fields that begin with `param`, inherited ones too, are set from the suite before `init`.

    Attributes:
        is_validating: whether `iteration` should check what it computed (and raise `ValidationError`).
    """

    is_validating: bool = False

    def init(self, config: Mapping[str, str]) -> None:
        """Prepares; `config` holds all that the suite says, as text."""

    def iteration(self) -> int:
        """Does some operations; how many."""
        raise NotImplementedError

    def done(self) -> None:
        """Tidies up; called whatever happened before."""


def make(kind: type[AbstractTest], config: Mapping[str, str], params: Mapping[str, str]) -> AbstractTest:
    """A test of a class with its fields set.

    Raises:
        ValueError: there is no such field, or the text is not of its type.
    """
    test = kind()
    hints = get_type_hints(kind)
    known = {name for name in (*hints, *dir(kind)) if name.lstrip("_").startswith("param")}
    for name, text in params.items():
        field = next((one for one in known if one.lstrip("_") == name), None)
        if field is None:
            told = ", ".join(sorted(one.lstrip("_") for one in known)) or "no field that begins with param"
            raise ValueError(f"{kind.__name__} has no {name}; it has {told}")
        setattr(test, field, _converted(name, text, hints.get(field, type(getattr(kind, field, "")))))
    test.is_validating = config.get("is_validating") == "true"
    return test


def _converted(name: str, text: str, kind: Any) -> Any:
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError(f"{name} = {text!r}: expected true or false")
        return text == "true"
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError as error:
            raise ValueError(f"{name} = {text!r}: expected a number ({kind.__name__})") from error
    return text
