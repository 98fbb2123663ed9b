"""What stands before every web server of ours: who may ask, and by which name.

A page of another site, open in the user's browser, can send requests to 127.0.0.1, and by rebinding its own name to
that address (DNS rebinding) read the answers. Requests whose Host is not the server's own are refused, over HTTP and
websocket.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Of every answer that does not say otherwise."""
POLICY_VIOLATION = 1008
"""RFC 6455, 7.4.1: how a websocket is told that it was refused."""


def own_hosts(port: int) -> frozenset[str]:
    """How a server on this machine is addressed, as a Host header says it."""
    return frozenset({f"{LOOPBACK}:{port}", f"localhost:{port}"})


def header(scope: Scope, name: bytes) -> list[str]:
    """The values of a header, in order."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


async def refuse(scope: Scope, receive: Receive, send: Send, sentence: str, status: int = 403) -> None:
    """Answers a request with one sentence, or closes a websocket before it is open."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": sentence})
        return
    await PlainTextResponse(f"{sentence}\n", status)(scope, receive, send)


class HostGuard:
    """Refuses foreign Host headers and adds headers to every answer, unless it has them.

    Args:
        hosts: as `own_hosts` gives them.
        headers: name and value of each, lower case.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], *, headers: Sequence[tuple[bytes, bytes]] = HEADERS) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._headers = tuple(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                added = [one for one in self._headers if one[0] not in present]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        hosts = [value.lower() for value in header(scope, b"host")]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            await refuse(scope, receive, with_headers, "This server answers only to its own address on this machine.")
            return
        await self._app(scope, receive, with_headers)
