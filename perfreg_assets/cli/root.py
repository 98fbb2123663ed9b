"""The command group and what all its commands share: `--warehouse`, `--debug`, one line per expected problem."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from perfreg_assets import __version__, terminal
from perfreg_assets.automation.command_lock import computing
from perfreg_assets.cli import interruption
from perfreg_assets.cli.given import check_what_is_given
from perfreg_assets.cli.output import OutputError
from perfreg_assets.cli.usage import Commands
from perfreg_assets.cli.variables import tell_disagreements, tell_misspelt
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import SettingError, Settings


class _Command(click.Command):
    """Takes several values after one repeatable option, `--omega 0 0.5 1` and what has a metavar with `…`, as the
    public contract writes it; and SQL that begins with a comment, which is no option."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for param in self.params:
            check_what_is_given(param)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        lists = {
            name for param in self.params if isinstance(param, click.Option) and param.multiple for name in param.opts
        }
        any_text = {name for param in self.params if str(param.metavar).endswith("…") for name in param.opts} & lists

        def is_value_of(option: str | None, text: str) -> bool:
            return _is_number(text) or (option in any_text and not text.startswith("-"))

        taking = {
            name
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag
            for name in param.opts
        }
        spread: list[str] = []
        current: str | None = None
        for position, text in enumerate(args):
            if current is not None and position and args[position - 1] != current and is_value_of(current, text):
                spread.append(current)
            elif text in lists:
                current = text
            elif not is_value_of(current, text):
                current = None
            is_value = position and args[position - 1] in taking
            spread.append(f"\n{text}" if _COMMENT.match(text) and not is_value else text)
        return super().parse_args(ctx, spread)


_COMMENT = re.compile(r"--\s")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def command(
    name: str,
    *,
    example: str,
    group: click.Group | None = None,
    ends_itself: bool = False,
    begins_anew: bool = False,
    computes: bool = False,
) -> Callable[[Callable[..., Any]], click.Command]:
    """A subcommand with `--warehouse` and `--debug`; expected problems become one line and exit status 1, Ctrl-C one
    line and 130, SIGTERM 143.

    Args:
        ends_itself: it has something to do when it is interrupted: a device to clean up, servers to stop.
        begins_anew: it stores nothing, or only when it is done: interrupted, it has kept nothing that could be gone on
            with.
        computes: it changes something and computes what follows: the daemon of the same home keeps off meanwhile.
    """

    def decorate(body: Callable[..., Any]) -> click.Command:
        @click.option(
            "--warehouse",
            type=click.Path(dir_okay=False, path_type=Path),
            help="DuckDB file; default perfreg.duckdb here, or PERFREG_WAREHOUSE.",
        )
        @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
        @functools.wraps(body)
        def run(warehouse: Path | None, debug: bool, **options: Any) -> None:
            interruption.hear(goes_on=not (ends_itself or begins_anew))
            if not ends_itself:
                interruption.begin()
            settings: Settings | None = None
            try:
                settings = Settings.from_environment(warehouse=warehouse)
                tell_misspelt()
                tell_disagreements(settings)
                with computing(settings) if computes else nullcontext():
                    body(settings, **options)
            except KeyboardInterrupt:
                interruption.tell()
                sys.exit(interruption.status())
            except OutputError:  # nothing that the command did: the process tells it
                raise
            except (Rejected, SettingError, ValueError, OSError) as error:
                if debug or interruption.happened():
                    raise
                terminal.fail(_told(error, settings) or str(error))
                sys.exit(1)
            except Exception as error:  # a defect: named as one, its traceback is one option away
                if debug or interruption.happened():
                    raise
                first = (str(error).splitlines() or [""])[0]
                defect = f"unexpected {type(error).__name__}: {first}; --debug shows where"
                terminal.fail(_told(error, settings) or defect)
                sys.exit(1)

        run.__doc__ = _help(body, example)
        return (group or main).command(name, cls=_Command)(run)

    return decorate


def group(
    name: str, *, example: str, cls: type[click.Group] = click.Group
) -> Callable[[Callable[[], None]], click.Group]:
    """A command with subcommands, one of which is its example."""

    def decorate(body: Callable[[], None]) -> click.Group:
        return main.group(name, cls=cls, help=_help(body, example))(body)

    return decorate


def _help(body: Callable[..., Any], example: str) -> str:
    return f"{inspect.cleandoc(body.__doc__ or '')}\n\n\b\nExample:\n  {example}"


def _told(error: Exception, settings: Settings | None) -> str | None:
    from perfreg_assets.cli.disk import disk_full
    from perfreg_assets.collection.errors import CollectionError

    if settings is not None and (full := disk_full(error, settings)) is not None:
        return full
    return f"[{error.reason.code}] {error}" if isinstance(error, CollectionError) else None  # as those of a batch


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="perfreg")
def main() -> None:
    """Finds performance regressions of Android apps in Perfetto traces: whether, where, and why."""
