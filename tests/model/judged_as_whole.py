"""What was judged piece by piece is what is judged afterwards, of the whole recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfreg_assets.model.trace_source import Source
from perfreg_assets.model.window_judging import Windows, judge_trace
from perfreg_assets.settings import Settings


def assert_judged_as_whole(told: dict[str, Any], recording: Path, settings: Settings) -> Windows:
    """`told`: the document of a watch. What the whole recording is judged to be."""
    whole = judge_trace(Source(recording), settings)
    count = len(told["windows"])
    assert abs(count - len(whole.reason)) <= 1
    starts = whole.events.starts_ns()
    for number, window in enumerate(told["windows"][: count - 1]):
        assert window["start_ns"] == starts[number]
        assert window["events"] == int(whole.events.counts[number].sum())
        assert window["reason"] == whole.reason[number]
        for name, value in (("kl", whole.kl[number]), ("score", whole.score[number])):
            assert window[name] == (None if np.isnan(value) else pytest.approx(value, abs=1e-5))
    assert told["stretches"] == [{"start_ns": a, "end_ns": b} for a, b in whole.stretches]
    running = [second["running_s"] for second in told["seconds"]]
    assert running == [dict(one) for one in whole.events.use.running_s[: len(running)]]
    assert_seconds_add_up(told)
    return whole


def assert_seconds_add_up(told: dict[str, Any]) -> None:
    """Each second is told once, and what is told of all of them is what is told of all windows."""
    begin, seconds = told["windows"][0]["start_ns"], told["seconds"]
    assert [second["start_ns"] for second in seconds] == [begin + number * 10**9 for number in range(len(seconds))]
    counted = sum(count for second in seconds for count in second["counts"].values())
    assert counted == sum(window["events"] for window in told["windows"])
