"""Dagster's processes with a log without colours: `python -m perfreg_assets.automation.plain_log MODULE ARGUMENT…`.

Dagster writes them into files and pipes as well, and has no setting for it. Its log is set up by `logging.config`,
which lets a process choose who reads the configuration.
"""

from __future__ import annotations

import logging
import logging.config
import runpy
import sys
from collections.abc import Mapping
from typing import Any, TextIO


def is_wanted(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether what is written to `stream` has no colours: it is no terminal, or somebody set NO_COLOR to anything."""
    return not stream.isatty() or bool(environment.get("NO_COLOR"))


class PlainConfigurator(logging.config.DictConfigurator):
    """Makes formatters with styles, which are colours, as if they had none."""

    def configure_formatter(self, config: Any) -> logging.Formatter | Any:
        if "level_styles" not in config:
            return super().configure_formatter(config)
        return logging.Formatter(config["fmt"], config["datefmt"])


def main() -> None:
    """Runs the module that is named as `python -m` would."""
    logging.config.dictConfigClass = PlainConfigurator
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
