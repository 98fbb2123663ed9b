"""What `perfreg serve` answers to the lists of the pages: rows of runs over the marts, one page of them at a time."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports.index_page import UNKNOWN
from perfreg_assets.reports.loading_lists import SORTS, ListQuery, find_listed
from perfreg_assets.reports.run_list import packed
from perfreg_assets.warehouse.connection import Warehouse

LONGEST_PAGE = 1000
LONGEST_TEXT = 300
"""Of a filter: longer than any name of a run, app or version that a run folder may have."""
_FIELDS = {
    *(
        "app",
        "version",
        "device",
        "state",
        "reason",
        "axis",
        "series",
        "part",
        "anomalous",
        "open",
        "sort",
        "ascending",
        "offset",
        "limit",
    ),
    *("above", "upto"),
}
AT_ONCE = 2
"""Queries at the same time: each may take all cores and a good part of the memory."""


def list_route(warehouse: Warehouse) -> Callable[[Request], Response]:
    """The answer to `/lists/runs?…`: `{"total": …, "rows": [[run_id, *row], …]}`, rows as `run_list.packed`."""
    free = threading.Semaphore(AT_ONCE)

    def answer(request: Request) -> Response:
        try:
            query = parse(dict(request.query_params))
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 400)
        try:
            with free, warehouse.reading() as reader:
                total, runs = find_listed(reader, query)
        except Rejected as rejected:
            return unread(rejected)
        text = json.dumps({"total": total, "rows": [[run.run_id, *packed(run)] for run in runs]}, ensure_ascii=False)
        return Response(text.encode("utf-8", "replace"), media_type="application/json")

    return answer


def unread(rejected: Rejected) -> Response:
    """The answer where the warehouse cannot be read, or is not there yet."""
    return PlainTextResponse(f"{rejected}\n", 404 if rejected.reason is Reason.WAREHOUSE_MISSING else 503)


def parse(given: Mapping[str, str]) -> ListQuery:
    """The query that an address asks for.

    Raises:
        ValueError: a name or a value is not one of those that there are; in a sentence that quotes nothing of it.
    """
    if given.keys() - _FIELDS:
        raise ValueError(f"The list knows these parameters only: {', '.join(sorted(_FIELDS))}.")
    if any(len(value) > LONGEST_TEXT for value in given.values()):
        raise ValueError(f"A parameter is longer than {LONGEST_TEXT} characters.")
    axis, _, axis_state = given.get("axis", "").rpartition(".")
    if "axis" in given and not (axis and axis_state):
        raise ValueError("axis must be an axis and a state, as in cpu.anomalous.")
    sort = given.get("sort", "started")
    if sort not in SORTS:
        raise ValueError(f"sort must be one of {', '.join(SORTS)}.")
    if ("above" in given) != ("upto" in given):
        raise ValueError("above and upto belong together.")
    app = given.get("app")
    return ListQuery(
        app=None if app == UNKNOWN else app,
        has_no_app=app == UNKNOWN,
        version=given.get("version"),
        device=given.get("device"),
        state=given.get("state"),
        reason=given.get("reason"),
        axis=axis or None,
        axis_state=axis_state or None,
        series=given.get("series"),
        part=given.get("part"),
        is_anomalous=_flag(given, "anomalous"),
        is_open=_flag(given, "open"),
        omega_above=_number(given, "above"),
        omega_upto=_number(given, "upto"),
        sort=sort,
        is_ascending=_flag(given, "ascending"),
        offset=_count(given, "offset", 0, 10**9),
        limit=_count(given, "limit", 100, LONGEST_PAGE),
    )


def _flag(given: Mapping[str, str], name: str) -> bool:
    if given.get(name, "0") not in ("0", "1"):
        raise ValueError(f"{name} must be 0 or 1.")
    return given.get(name) == "1"


def _count(given: Mapping[str, str], name: str, default: int, largest: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and int(text) <= largest):
        raise ValueError(f"{name} must be a whole number up to {largest}.")
    return int(text)


def _number(given: Mapping[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        value = float(given[name])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a number.")
    return value
