"""Nobody but this machine's user commands Dagster: what stands between its web server and a browser.

Dagster's server takes any origin, and mutations by plain GET. Here whatever may change something needs what
`reports.change_guard` asks for.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfreg_assets.reports.change_guard import FOREIGN, SAFE, TOKEN_HEADER, OwnPages
from perfreg_assets.reports.guard import header, refuse

_GRAPHQL = "/graphql"
_BODY_BYTES = 16 << 20
_NEEDS_TOKEN = (
    "What changes something needs the token: open the address that perfreg ui printed, or send the header "
    f"{TOKEN_HEADER} with the content of the file `token` in Dagster's home."
)


class CommandGuard:
    """Refuses what a foreign page, or a program without the token, would have Dagster do.

    Reading by POST /graphql needs no token. GET /graphql is refused whatever it asks: queries and mutations differ in a
    parameter only.
    """

    def __init__(self, app: ASGIApp, own: OwnPages) -> None:
        self._app, self._own = app, own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif refusal := self._refusal(scope):
            await refuse(scope, receive, send, *refusal)
        elif scope["type"] == "http" and scope["method"] not in SAFE and scope["path"] == _GRAPHQL:
            await self._graphql(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[str, int] | None:
        """Why a request is refused by its head alone, and the status of the answer."""
        is_websocket = scope["type"] == "websocket"
        is_safe = not is_websocket and scope["method"] in SAFE
        is_graphql = scope["path"] == _GRAPHQL
        if is_safe:
            return ("GraphQL is answered to POST only.", 405) if is_graphql and scope["query_string"] else None
        if self._own.is_foreign(scope):
            return FOREIGN
        if is_graphql and not is_websocket:
            kinds = header(scope, b"content-type")
            is_json = len(kinds) == 1 and kinds[0].split(";")[0].strip().lower() == "application/json"
            return None if is_json else ("A GraphQL request is application/json.", 415)
        return None if self._own.has_token(scope) else (_NEEDS_TOKEN, 403)

    async def _graphql(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            await refuse(scope, receive, send, f"A GraphQL request has at most {_BODY_BYTES >> 20} MB.", 413)
        elif _changes_something(body) and not self._own.has_token(scope):
            await refuse(scope, receive, send, _NEEDS_TOKEN)
        else:
            await self._app(scope, _again(body, receive), send)


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None where it is too long."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > _BODY_BYTES:
            return None
        if not message.get("more_body"):
            break
    return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """What gives the body that was read, and then what comes after it."""
    is_given = False

    async def giving() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return giving


def _changes_something(body: bytes) -> bool:
    """Whether a GraphQL request holds anything but queries. What cannot be read does, until Dagster has refused it."""
    from graphql import GraphQLError, OperationDefinitionNode, OperationType, parse  # noqa: PLC0415  (40 ms)

    try:
        request: Any = json.loads(body)
        document = parse(request["query"])
    except (ValueError, RecursionError, TypeError, KeyError, GraphQLError):
        return True
    return any(
        isinstance(one, OperationDefinitionNode) and one.operation is not OperationType.QUERY
        for one in document.definitions
    )
