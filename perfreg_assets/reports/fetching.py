"""Traces that lie elsewhere: fetched to this machine when somebody opens one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from perfreg_assets.run import RUN_ID

Fetch = Callable[[str], object]
"""Brings a registered run's folder to its place below `runs_dir`, if it can."""

_PLACES = ("traces", "runs")


class Fetching:
    """Before a file of a run is asked for that has no folder here, the folder is fetched."""

    def __init__(self, app: ASGIApp, runs_dir: Path, fetch: Fetch) -> None:
        self._app = app
        self._runs_dir = runs_dir
        self._fetch = fetch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        run_id = _run_id(scope)
        if run_id is not None and not (self._runs_dir / run_id).exists():
            await run_in_threadpool(self._fetch, run_id)
        await self._app(scope, receive, send)


def _run_id(scope: Scope) -> str | None:
    """Of the run whose file is asked for."""
    parts = str(scope.get("path", "")).split("/")
    is_file = scope["type"] == "http" and len(parts) > 2 and parts[1] in _PLACES
    return parts[2] if is_file and RUN_ID.fullmatch(parts[2]) else None
