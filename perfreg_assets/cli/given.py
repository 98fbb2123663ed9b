"""What is given to options and arguments: no name is empty or has blanks around it (a file's last line break), every
number is finite, a time has its zone."""

from __future__ import annotations

import copy
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import click

ANY_TEXT = click.types.StringParamType()
"""Of what is no name: a note, a query, a value that may be empty."""


class _Pattern(click.types.StringParamType):
    """Text in which blanks count, also at its ends; not empty either. So are names of apps and versions that are looked
    up (`warehouse.named.spelt`): what run.json calls them is taken as it is."""


PATTERN = _Pattern()


class _Picture(click.Path):
    """A file that a picture is written to, of a kind that can be: checked before what it shows is measured."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from perfreg_assets import figures

        path: Any = super().convert(value, param, ctx)
        try:
            figures.require_kind(path)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return path


PICTURE = _Picture()


class _Checked(click.ParamType[Any]):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not value.strip():
            can_lack = isinstance(param, click.Option) and not param.required
            self.fail(f"it is empty; name it{' or leave it out' if can_lack else ''}", param, ctx)
        found = super().convert(value, param, ctx)
        if isinstance(found, str) and isinstance(self, click.types.StringParamType) and not isinstance(self, _Pattern):
            found = found.strip()
        if isinstance(found, float) and not math.isfinite(found):
            self.fail(f"{value} is no finite number", param, ctx)
        return found


_KINDS = (click.types.StringParamType, _Pattern, click.Path, _Picture, click.types.FloatParamType, click.FloatRange)
_CHECKED: dict[type, type] = {kind: type(kind.__name__, (_Checked, kind), {}) for kind in _KINDS}


def check_what_is_given(param: click.Parameter) -> None:
    """Names, paths and numbers are looked at from now on, in whatever command; what is `ANY_TEXT` is not."""
    if param.type is not ANY_TEXT and type(param.type) in _CHECKED:
        param.type = copy.copy(param.type)
        param.type.__class__ = _CHECKED[type(param.type)]


class _Moment(click.ParamType[datetime]):
    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        from perfreg_assets.benchmarks.taking_in import time_of

        if isinstance(value, datetime):
            return value
        try:
            return time_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


MOMENT = _Moment()
