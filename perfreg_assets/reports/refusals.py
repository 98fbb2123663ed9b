"""What is answered where nothing can be shown: a page with the way on to a browser, a line to a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from perfreg_assets.reports.templating import render

_NO_PAGE = {
    "runs": "There is no page of this run: its id is not known here, or its page waits to be written. `perfreg status` "
    "shows what is due, `perfreg catch-up` writes it.",
    "versions": "There is no page of this version: no run of it is known here, or its page waits to be written. "
    "`perfreg status` shows what is due, `perfreg catch-up` writes it.",
}
_NOTHING = "There is nothing at this address."


class Way(NamedTuple):
    """A page that says what was looked for."""

    address: str
    name: str


def missing(path: str) -> str:
    """Why there is nothing at an address, of which nothing is quoted."""
    folder, _, name = path.strip("/").partition("/")
    return _NO_PAGE.get(folder, _NOTHING) if name.endswith(".html") else _NOTHING


def refusal(request: Request, sentence: str, status: int, ways: Sequence[Way] = ()) -> Response:
    """The sentence, and ways on, as a page where a browser asks, else as lines of text."""
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse("".join(f"{one}\n" for one in (sentence, *(way.address for way in ways))), status)
    page = render("refusal.html.j2", {"root": "/", "page": "refusal", "sentence": sentence, "ways": ways})
    return HTMLResponse(page.encode("utf-8", "replace"), status)
