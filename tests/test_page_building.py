"""Who asks for pages gets them in seconds, whatever is to be written before all are as they should be."""

from __future__ import annotations

import threading
import time

import pytest

from perfreg_assets import terminal
from perfreg_assets.cli.page_building import bring_up_to_date


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(terminal, "note", found.append)
    return found


def wait_until(told: list[str], count: int) -> None:
    end = time.monotonic() + 30
    while len(told) < count and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.parametrize("has_pages", [True, False])
def test_what_is_done_in_time_is_waited_for_without_a_word(told: list[str], has_pages: bool) -> None:
    done: list[bool] = []
    bring_up_to_date(lambda: done.append(True), has_pages=has_pages, patience_s=30)
    assert (done, told) == ([True], [])


def test_a_long_build_goes_on_beside_the_pages_that_are_there(told: list[str]) -> None:
    may_end = threading.Event()
    bring_up_to_date(lambda: may_end.wait(30), has_pages=True, patience_s=0.01)
    assert told == ["the pages are being brought up to date; until then some show what was known before"]
    may_end.set()
    wait_until(told, 2)
    assert told[1:] == ["the pages are up to date"]


def test_where_there_are_none_they_are_waited_for(told: list[str]) -> None:
    may_end = threading.Event()
    threading.Timer(0.2, may_end.set).start()
    bring_up_to_date(lambda: may_end.wait(30), has_pages=False, patience_s=0.01)
    assert may_end.is_set()
    assert told == ["all pages are being written, for the first time; they are shown when they are there"]


@pytest.mark.parametrize("has_pages", [True, False])
def test_a_failure_in_time_is_the_callers(told: list[str], has_pages: bool) -> None:
    with pytest.raises(ZeroDivisionError):
        bring_up_to_date(lambda: 1 / 0, has_pages=has_pages, patience_s=30)
    assert told == []


def test_a_late_failure_is_told(told: list[str]) -> None:
    may_end = threading.Event()

    def fail() -> None:
        may_end.wait(30)
        raise ValueError("no room")

    bring_up_to_date(fail, has_pages=True, patience_s=0.01)
    may_end.set()
    wait_until(told, 2)
    assert told[1:] == ["the pages are not up to date: no room"]
