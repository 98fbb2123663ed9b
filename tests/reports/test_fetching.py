"""Traces that lie elsewhere, as `perfreg serve` answers for them: fetched, away for now, or not to be had here."""

from __future__ import annotations

import errno
import os
import urllib.error
import urllib.request

import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse
from tests.reports.served import served

UI = "https://ui.perfetto.dev"


def ask(address: str, method: str = "GET", **headers: str) -> tuple[int, str, str | None]:
    """(status, text, whom the browser lets read it)."""
    request = urllib.request.Request(address, headers={"origin": UI, **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), answer.headers["access-control-allow-origin"]
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers["access-control-allow-origin"]


@pytest.fixture
def registered(own_sample: Warehouse) -> tuple[Settings, str]:
    """A warehouse's settings and one of its runs, that has no folder here."""
    with own_sample.reading() as reader:
        run_id = reader.value("SELECT min(run_id) FROM core.runs")
    return Settings(warehouse=own_sample.path), run_id


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (Rejected(Reason.EXCHANGE_UNAVAILABLE, "s3://bucket (ConnectionError)"), "s3://bucket (ConnectionError)"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
    ],
)
def test_a_trace_that_cannot_be_fetched_now_is_503_and_the_reason(registered, problem, told):
    settings, run_id = registered

    def away(_: str) -> None:
        raise problem

    with served(settings, fetch=away) as port:
        server = f"http://127.0.0.1:{port}"
        for place in (f"traces/{run_id}", f"runs/{run_id}/x.png"):
            status, text, reader = ask(f"{server}/{place}")
            assert status == 503
            assert told in text
            assert reader == (UI if place.startswith("traces/") else None)
        assert ask(f"{server}/traces/{run_id}", "OPTIONS") == (204, "", UI)


@pytest.mark.parametrize("fetch", [None, lambda _: False])
def test_a_registered_run_whose_trace_is_not_here_is_not_called_unknown(registered, fetch):
    settings, run_id = registered
    with served(settings, fetch=fetch) as port:
        server = f"http://127.0.0.1:{port}"
        status, text, reader = ask(f"{server}/traces/{run_id}")
        assert (status, reader) == (404, UI)
        assert text.startswith("This run is registered, and its trace is not on this machine")
        assert ask(f"{server}/traces/nobodys-run") == (404, "No registered run has this id.\n", UI)
