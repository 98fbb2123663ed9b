"""Who may change something through a web server of ours: this machine's user, from the server's own pages, nobody else.

A request that may change something must come from a page of the server itself, or from no page at all, and bring a
token: a browser has it as a cookie that only the server's own pages send (SameSite=Strict), a program reads it from a
file of the user's and sends it as a header. A browser gets the cookie at the address that the command printed, whose
secret nobody else knows (`entrance`): other users of this machine can open connections to the server, too. A cookie
counts only together with the page's own `Origin`, which browsers send with everything but plain reading: pages of other
ports of this machine count as the same site.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from perfreg_assets.reports.guard import header, own_hosts, refuse

TOKEN = "token"
"""File in the home that is asked for it."""
TOKEN_HEADER = "x-perfreg-token"
SAFE = ("GET", "HEAD", "OPTIONS")
FOREIGN = "This server takes nothing from pages of other sites.", 403
"""Sentence and status of a refusal."""
FORM = "application/x-www-form-urlencoded"
_BODY_BYTES = 64 << 10
_KEPT_S = 30 * 86_400
"""So long a browser keeps the cookie, over starts of the server."""
_MAY_CHANGE = "perfreg.may_change"
"""In the scope of a request: whether it brings the token."""


def may_change(scope: Scope) -> bool:
    """Whether whoever reads this page could change something from it; said by the guard before the application."""
    return bool(scope.get(_MAY_CHANGE, False))


def token_of(home: Path) -> str:
    """The token of a home's web server, made when it is first asked for; the file is its owner's alone."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / TOKEN
    part = path.with_name(f"{TOKEN}.part-{os.getpid()}")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(32))
    try:
        os.link(part, path)
    except FileExistsError:
        pass  # made before: who has a page open keeps it
    finally:
        part.unlink()
    return path.read_text("ascii")


class OwnPages:
    """What tells a server's own pages, and programs of its user, from others.

    Args:
        port: of the server, on this machine.
        hosts: the names by which its own pages are addressed; default: all of the server's.
    """

    def __init__(self, port: int, token: str, *, hosts: Collection[str] | None = None) -> None:
        self._token = token
        self._hosts = own_hosts(port) if hosts is None else frozenset(hosts)
        self._origins = {f"http://{host}" for host in self._hosts}
        self._cookie = f"perfreg_token_{port}"  # browsers share the cookies of all ports

    def is_at_home(self, scope: Scope) -> bool:
        """Whether a request is addressed as own pages are."""
        return all(host.lower() in self._hosts for host in header(scope, b"host"))

    def is_foreign(self, scope: Scope) -> bool:
        """Whether the request says that it comes from a page of another origin."""
        return any(origin.lower() not in self._origins for origin in header(scope, b"origin"))

    def has_token(self, scope: Scope) -> bool:
        """Whether a request that is not foreign brings the token: in the header, or from an own page as the cookie."""
        given = header(scope, TOKEN_HEADER.encode())
        return any(map(self._is_token, given)) or (bool(header(scope, b"origin")) and self.has_cookie(scope))

    def marked(self, scope: Scope) -> Scope:
        """The request with what `may_change` says of it: its page shows controls, or how to come by them."""
        return {**scope, _MAY_CHANGE: self.has_token(scope) or self.has_cookie(scope)}

    def has_cookie(self, scope: Scope) -> bool:
        found = []
        for text in header(scope, b"cookie"):
            try:
                cookies = SimpleCookie(text)
            except CookieError:
                continue
            found += [cookies[self._cookie].value] if self._cookie in cookies else []
        return any(map(self._is_token, found))

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    @property
    def new_cookie(self) -> str:
        """What gives a browser the token, as the header `set-cookie`."""
        return f"{self._cookie}={self._token}; Path=/; Max-Age={_KEPT_S}; HttpOnly; SameSite=Strict"


class ChangeGuard:
    """Refuses what may change something and is no form of an own page or of a program with the token.

    Args:
        needs_token: what a program is told that brings none.
    """

    def __init__(self, app: ASGIApp, own: OwnPages, *, needs_token: str) -> None:
        self._app, self._own, self._needs_token = app, own, needs_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await refuse(scope, receive, send, "This server speaks HTTP only.")
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] in SAFE:
            await self._app(self._own.marked(scope), receive, send)
        elif refusal := self._refusal(scope):
            await refuse(scope, receive, send, *refusal)
        else:
            await self._app(self._own.marked(scope), receive, send)

    def _refusal(self, scope: Scope) -> tuple[str, int] | None:
        if self._own.is_foreign(scope):
            return FOREIGN
        if not self._own.has_token(scope):
            return self._needs_token, 403
        kinds = header(scope, b"content-type")
        if len(kinds) != 1 or kinds[0].split(";")[0].strip().lower() != FORM:
            return f"What changes something is sent as {FORM}.", 415
        lengths = header(scope, b"content-length")
        if len(lengths) != 1 or not lengths[0].isdigit() or int(lengths[0]) > _BODY_BYTES:
            return f"A form has at most {_BODY_BYTES >> 10} kB, and says how many.", 413
        return None
