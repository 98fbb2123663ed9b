"""Which verdicts are in force: what a page asks the server that it came from, because it was written before."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from perfreg_assets.reasons import Rejected
from perfreg_assets.reports.list_endpoint import unread
from perfreg_assets.reports.loading_lists import load_settings
from perfreg_assets.warehouse.connection import Warehouse


def in_force_route(warehouse: Warehouse) -> Callable[[Request], Response]:
    """The answer to `/in-force`: `{"detector": …, "omega": …}`."""

    def answer(_request: Request) -> Response:
        try:
            with warehouse.reading() as reader:
                detector, omega = load_settings(reader)
        except Rejected as rejected:
            return unread(rejected)
        return JSONResponse({"detector": detector, "omega": omega})

    return answer
