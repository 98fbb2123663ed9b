"""Traces that lie elsewhere: fetched to this machine when somebody opens one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from perfreg_assets.reasons import Rejected
from perfreg_assets.reports import refusals
from perfreg_assets.run import RUN_ID

_LOG = logging.getLogger(__name__)

Readers = Callable[[Request], dict[str, str]]
"""The headers that let another origin read what is answered about a trace."""

Fetch = Callable[[str], object]
"""Brings a registered run's folder to its place below `runs_dir`, if it can."""

_PLACES = ("traces", "runs")


class Fetching:
    """Before a file of a run is asked for that has no folder here, the folder is fetched. Where that fails it is 503
    and the reason, which those who may read the trace may read, too."""

    def __init__(self, app: ASGIApp, runs_dir: Path, fetch: Fetch, readers: Readers) -> None:
        self._app = app
        self._readers = readers
        self._runs_dir = runs_dir
        self._fetch = fetch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        run_id = _run_id(scope)
        if run_id is not None and not (self._runs_dir / run_id).exists():
            try:
                await run_in_threadpool(self._fetch, run_id)
            except (Rejected, OSError) as error:
                _LOG.warning("%s is not fetched: %s", run_id, error)
                request = Request(scope)
                told = f"This run is not on this machine, and was not fetched: {error}"
                answer = refusals.refusal(request, told, 503)
                if _is_of_trace(scope):
                    answer.headers.update(self._readers(request))
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_of_trace(scope: Scope) -> bool:
    return str(scope["path"]).startswith("/traces/")


def _run_id(scope: Scope) -> str | None:
    """Of the run whose file is asked for; a browser that asks first whether it may (OPTIONS) asks for none yet."""
    parts = str(scope.get("path", "")).split("/")
    is_asked = scope["type"] == "http" and scope["method"] != "OPTIONS"
    is_file = is_asked and len(parts) > 2 and parts[1] in _PLACES
    return parts[2] if is_file and RUN_ID.fullmatch(parts[2]) else None
