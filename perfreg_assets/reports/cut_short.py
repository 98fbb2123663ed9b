"""A file that changes while it is sent: an answer is as long as it said, or ends early and the log has a line of it.

How long it is was said before its first byte, and whoever reads it learns from that that it is not whole. To the
server it is an application that failed, which it logs with the whole traceback through code that is not to blame.
"""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOGGER = "uvicorn.error"


class _CutShortError(Exception):
    """Says of which address, and how many bytes did not come."""


class CutShort:
    """Leaves out what is beyond the length that an answer said, and ends those that are shorter."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        logging.getLogger(_LOGGER).addFilter(_in_a_line)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] == "HEAD":
            await self._app(scope, receive, send)
            return
        left: int | None = None
        is_whole = False

        async def counted(message: Message) -> None:
            nonlocal left, is_whole
            if message["type"] == "http.response.start":
                stated = dict(message["headers"]).get(b"content-length")
                left = None if stated is None else int(stated)
            elif left is not None:
                if is_whole:
                    return
                body = message.get("body", b"")[:left]
                left -= len(body)
                is_whole = not left
                if left and not message.get("more_body", False):
                    missing = f"{left:,} bytes are missing"
                    raise _CutShortError(f"{scope['path']}: the file changed while it was sent, {missing}")
                message = {**message, "body": body, "more_body": not is_whole}
            await send(message)

        await self._app(scope, receive, counted)


def _in_a_line(record: logging.LogRecord) -> bool:
    """Filter of the server's log: changes the records of these alone, and lets all pass."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, _CutShortError):
        record.msg, record.args, record.exc_info = str(error), (), None
    return True
