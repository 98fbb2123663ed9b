"""ω on the command line: the numbers that the setting allows, and no others."""

from __future__ import annotations

import click

from perfreg_assets.settings import SettingError, Settings


class _Omega(click.ParamType[float]):
    name = "float"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(Settings.checked("omega", float(value)))
        except (ValueError, SettingError) as error:
            self.fail(str(error) if isinstance(error, SettingError) else f"{value!r} is not a number", param, ctx)


OMEGA = _Omega()
