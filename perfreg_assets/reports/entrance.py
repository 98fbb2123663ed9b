"""The address that a command prints, by which the browser of its user gets the token of `change_guard`: as in Jupyter.

`/?token=<secret>` sets the cookie and leads to `/`, so that the secret stays in no page, referrer or address bar. It is
made anew at each start, known to whoever reads the terminal, and opens nothing but this server.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import parse_qs

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from perfreg_assets.reports.change_guard import OwnPages
from perfreg_assets.reports.guard import LOOPBACK, refuse

UI_VARIABLE = "PERFREG_UI_SECRET"
"""Variable of the environment of the web server of `perfreg ui`: on its command line others could read the secret."""
_QUERY = "token"
_OF_ANOTHER_START = "This address is of another start of this server: open the one that it printed last."


def new_secret() -> str:
    """For one start of a server."""
    return secrets.token_urlsafe(32)


def address(port: int, secret: str | None) -> str:
    """What a command prints: the way in, or without a secret the pages to read."""
    return f"http://{LOOPBACK}:{port}/" + (f"?{_QUERY}={secret}" if secret else "")


class Entrance:
    """Answers the printed address; all else is the application's.

    Args:
        own: whose cookie it gives.
    """

    def __init__(self, app: ASGIApp, own: OwnPages, secret: str) -> None:
        self._app, self._own, self._secret = app, own, secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = self._given(scope)
        if given is None:
            await self._app(scope, receive, send)
        elif hmac.compare_digest(given.encode(), self._secret.encode()):
            headers = {"set-cookie": self._own.new_cookie, "cache-control": "no-store"}
            await RedirectResponse("/", 303, headers)(scope, receive, send)
        elif self._own.has_cookie(scope):
            await RedirectResponse("/", 303, {"cache-control": "no-store"})(scope, receive, send)
        else:
            await refuse(scope, receive, send, _OF_ANOTHER_START)

    def _given(self, scope: Scope) -> str | None:
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or scope["path"] != "/"
            or not self._own.is_at_home(scope)
        ):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get(_QUERY)
        return given[0] if given else None
