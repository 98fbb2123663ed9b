"""What `perfreg serve` answers to two runs or versions chosen in the index: the page of their comparison.

It reads only, by names of the warehouse: no address opens a file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports.list_endpoint import LONGEST_TEXT
from perfreg_assets.reports.refusals import refusal

Compare = Callable[[str, str, str | None], str]
"""(A, B, app or None) → the page as HTML text; raises Rejected. A and B are runs or versions of the warehouse."""
_UNKNOWN = (Reason.RUN_UNKNOWN, Reason.VERSION_UNKNOWN, Reason.APP_UNKNOWN, Reason.WAREHOUSE_MISSING)


def compare_route(compare: Compare) -> Callable[[Request], Response]:
    """The answer to `/compare?a=…&b=…&app=…`. One at a time: each holds the samples of both sides."""
    free = threading.Semaphore(1)

    def answer(request: Request) -> Response:
        try:
            a, b, app = parse(dict(request.query_params))
        except ValueError as error:
            return refusal(request, str(error), 400)
        try:
            with free:
                return HTMLResponse(compare(a, b, app).encode("utf-8", "replace"))
        except Rejected as rejected:
            return refusal(request, str(rejected), 404 if rejected.reason in _UNKNOWN else 409)

    return answer


def parse(given: Mapping[str, str]) -> tuple[str, str, str | None]:
    """A, B and the app that an address names.

    Raises:
        ValueError: one is missing, unknown or too long; in a sentence that quotes nothing of it.
    """
    if given.keys() - {"a", "b", "app"}:
        raise ValueError("A comparison knows these parameters only: a, b, app.")
    if any(len(value) > LONGEST_TEXT for value in given.values()):
        raise ValueError(f"A parameter is longer than {LONGEST_TEXT} characters.")
    a, b = given.get("a", ""), given.get("b", "")
    if not a or not b or a == b:
        raise ValueError("a and b must be two different runs or versions.")
    return a, b, given.get("app") or None
