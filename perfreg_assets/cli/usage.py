"""Commands that were written wrongly: one line, as of every other error, where click takes four."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from perfreg_assets import terminal


class WrittenWrongly(click.ClickException):
    """Ends a command like click's own error, with exit status 2."""

    exit_code = click.UsageError.exit_code

    def show(self, file: Any = None) -> None:
        terminal.fail(self.format_message())


class Commands(click.Group):
    """The outermost group: what it and all within find wrong with a command line is told in one line."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _in_one_line():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_line():
            return super().invoke(ctx)


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:  # a group by itself: its help
        raise
    except click.UsageError as error:
        raise WrittenWrongly(_sentence(error)) from error


def _sentence(error: click.UsageError) -> str:
    told = " ".join(error.format_message().split())  # choices come a line each
    if not told.endswith((".", "?", "!", ")")):
        told += "."
    return f"{told} See {error.ctx.command_path} --help" if error.ctx is not None else told
