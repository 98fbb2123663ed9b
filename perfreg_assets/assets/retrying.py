"""Steps are tried again after errors that pass by themselves, and after no others: bad input stays bad."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import dagster as dg

from perfreg_assets.reasons import Reason, Rejected

PASSING = {Reason.WAREHOUSE_LOCKED}
ATTEMPTS = 4
FIRST_PAUSE_S = 2.0

_Body = TypeVar("_Body", bound=Callable[..., Any])


@contextmanager
def tried_again(attempt: int) -> Iterator[None]:
    """Turns a passing error of the block into the request to run the step again, after a pause that doubles.

    Args:
        attempt: how often the step was tried again before.

    Raises:
        dagster.RetryRequested: instead of an error that passes; after `ATTEMPTS` Dagster lets the step fail with it.
    """
    try:
        yield
    except Rejected as rejected:
        if rejected.reason not in PASSING:
            raise
        raise dg.RetryRequested(ATTEMPTS, FIRST_PAUSE_S * 2.0**attempt) from rejected


def retried(body: _Body) -> _Body:
    """Puts `tried_again` around the body of an asset or op, whose first argument is its context."""
    if inspect.isgeneratorfunction(body):

        @functools.wraps(body)
        def generator(context: dg.OpExecutionContext, *arguments: Any, **named: Any) -> Iterator[Any]:
            with tried_again(context.retry_number):
                yield from body(context, *arguments, **named)

        return _as_if_from(body, generator)

    @functools.wraps(body)
    def function(context: dg.OpExecutionContext, *arguments: Any, **named: Any) -> Any:
        with tried_again(context.retry_number):
            return body(context, *arguments, **named)

    return _as_if_from(body, function)


def _as_if_from(body: _Body, wrapper: Any) -> _Body:
    """Dagster's "open in editor" goes by the file of a function's code, not by what it wraps."""
    wrapper.__code__ = wrapper.__code__.replace(co_filename=body.__code__.co_filename)
    return wrapper  # type: ignore[no-any-return]
