"""Perfetto's UI on an origin of its own: what runs in it is no page of ours, and changes nothing.

Our pages are those of `127.0.0.1`; the UI is shown as `localhost`, the same server by another name. To a browser that
is another site: no cookie of the pages goes with its requests, and what it sends says that it comes from elsewhere. It
may read traces, which is what it is for.
"""

from __future__ import annotations

from starlette.datastructures import URL
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send


def ui_host(port: int) -> str:
    """As a Host header says it."""
    return f"localhost:{port}"


def ui_origin(port: int) -> str:
    """As an Origin header says it."""
    return f"http://{ui_host(port)}"


class OnItsOwnOrigin:
    """Leads whoever asks for the UI by the pages' name to its own; browsers keep what stands behind `#`."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app, self._host = app, ui_host(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = URL(scope=scope)
        if asked.netloc.lower() == self._host:
            await self._app(scope, receive, send)
        else:
            await RedirectResponse(asked.replace(netloc=self._host), 307)(scope, receive, send)
