"""What grew between two sides: threads, slices and call stacks, with intervals over the runs; states where none is."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.methods.thread_times import REST, RUNNABLE, RUNNING, ThreadTimes
from perfreg_assets.methods.window_causes import Entity
from perfreg_assets.model import sides
from perfreg_assets.model.side_growth import what_grew
from perfreg_assets.model.side_stacks import NO_STACKS, NOT_OPENED
from perfreg_assets.model.sides import RunOfSide, Side
from perfreg_assets.settings import Settings
from perfreg_assets.traces.contents import CALL_STACKS
from perfreg_assets.traces.slice_uses import NO_SLICES


def threads(*entities):
    process, thread, state, seconds = zip(*entities, strict=True)
    return ThreadTimes(0, process, thread, state, np.ones(len(entities), bool), np.array(seconds, float))


def slices(*rows):
    """(screen, thread, slice, own seconds)."""
    screen, thread, name, seconds = zip(*rows, strict=True)
    numbers = np.array([round(1e9 * one) for one in seconds], np.int64)
    return SliceUses(screen, ("app",) * len(rows), thread, name, numbers, numbers, numbers, numbers, numbers, numbers)


def stack(*path):
    return Entity("stack", "app", "main", path[-1], path)


def side(*runs):
    return Side("s", tuple(runs))


def run(own=None, *, slices=NO_SLICES, stacks=NO_STACKS, seconds=10.0):
    return RunOfSide("r", {}, {}, own, frozenset(), slices, stacks, seconds)


def grown(a, b):
    return {one.source: one for one in what_grew(a, b)}


def test_threads_that_run_more_are_told_as_means_over_the_runs_without_waits_and_rests():
    before = side(run(threads(("app", "main", RUNNING, [0.2, 0.4]))), run(threads(("app", "old", RUNNING, [1, 1]))))
    after = side(
        run(
            threads(
                ("app", "main", RUNNING, [0.6, 0.6]), ("app", "main", RUNNABLE, [9, 9]), ("app", REST, RUNNING, [9, 9]),
                ("app", "new", RUNNING, [0.1, 0.1]),
            )
        )
    )  # fmt: skip
    found = grown(before, after)["threads"]
    assert [(one.entity.thread, round(one.mean_a, 9), round(one.mean_b, 9)) for one in found.rows] == [
        ("main", 0.15, 0.6), ("new", 0.0, 0.1),
    ]  # fmt: skip
    assert (found.state, found.runs_a, found.runs_b) == ("compared", 2, 1)


def test_slices_are_summed_over_screens_and_divided_by_the_length_of_the_run():
    before = side(run(slices=slices(("home", "main", "draw", 1.0), ("cart", "main", "draw", 2.0))))
    after = side(
        run(slices=slices(("home", "main", "draw", 9.0), ("cart", REST, REST, 99.0), ("x", "io", "load", 2.0)),
            seconds=20.0)
    )  # fmt: skip
    (draw, load) = grown(before, after)["slices"].rows
    assert (draw.entity.name, draw.mean_a, draw.mean_b) == ("draw", pytest.approx(0.3), pytest.approx(0.45))
    assert (load.entity.thread, load.entity.name, load.difference) == ("io", "load", pytest.approx(0.1))
    assert math.isnan(draw.low)
    assert math.isnan(draw.p_value)


def test_stacks_of_repeats_have_welchs_interval_and_a_run_without_one_counts_as_nothing():
    a = [{stack("f", "g"): 0.1}, {stack("f", "g"): 0.2}, {}]
    b = [{stack("f", "g"): value, stack("h"): 0.01} for value in (0.4, 0.5, 0.7)]
    found = grown(side(*(run(stacks=one) for one in a)), side(*(run(stacks=one) for one in b)))["stacks"]
    first = found.rows[0]
    assert (first.entity.name, first.entity.path) == ("g", ("f", "g"))
    told = stats.ttest_ind([0.4, 0.5, 0.7], [0.1, 0.2, 0.0], equal_var=False)
    assert first.p_value == pytest.approx(told.pvalue)
    assert (first.low, first.high) == pytest.approx(tuple(told.confidence_interval()))
    assert math.isnan(found.rows[1].p_value)  # equal to the last digit in all runs: no noise was seen


def test_what_a_side_does_not_tell_is_a_state_with_its_reason_and_never_nothing_grew():
    told = run(threads(("app", "main", RUNNING, [0.2])), slices=slices(("", "main", "draw", 1.0)))
    found = grown(side(run()), side(told))
    assert (found["threads"].state, found["threads"].rows) == ("missing_in_a", ())
    assert (found["slices"].state, found["slices"].reason) == ("missing_in_a", f"A: {NO_SLICES}")
    assert (found["stacks"].state, found["stacks"].reason) == ("missing", NO_STACKS)
    assert grown(side(told), side(run()))["slices"].reason == f"B: {NO_SLICES}"
    assert grown(side(run(stacks="x")), side(run(stacks="y")))["stacks"].reason == "A: x; B: y"
    assert grown(side(run(slices=told.slices, seconds=0)), side(told))["slices"].state == "missing_in_a"


def test_traces_of_a_warehouse_are_opened_for_stacks_only_where_there_are_some_and_only_if_that_is_wanted(monkeypatch):
    rows = {name: SimpleNamespace(trace_sha256=name, app="app") for name in ("with", "without", "no seconds")}
    traces = {
        name: SimpleNamespace(data_sources=() if name == "without" else (CALL_STACKS,), unpacked_bytes=7)
        for name in rows
    }
    opened = []

    def stacks_of(_trace, sha256, app, seconds, _settings, _engines, *, unpacked_bytes, profiles):
        opened.append((sha256, app, seconds, unpacked_bytes, profiles))
        return {stack("f"): 0.5}

    monkeypatch.setattr(sides.trace_table, "find", lambda reader, ids: traces)
    monkeypatch.setattr(sides, "profiles_of", lambda reader, rows, settings: {name: [] for name in rows})
    told = threads(("app", "main", RUNNING, [0.2, 0.4]))
    monkeypatch.setattr(sides.thread_table, "load", lambda reader, ids: {"with": told})
    monkeypatch.setattr(sides, "stacks_of", stacks_of)
    quiet = sides._stored_stacks(None, rows, Settings(), opens_traces=False)
    assert quiet == {"with": NOT_OPENED, "without": NO_STACKS, "no seconds": NOT_OPENED}
    assert opened == []
    found = sides._stored_stacks(None, rows, Settings(), opens_traces=True)
    assert (found["with"], found["without"]) == ({stack("f"): 0.5}, NO_STACKS)
    assert "nothing is known of its seconds" in found["no seconds"]
    assert opened == [("with", "app", [(0, 10**9), (10**9, 2 * 10**9)], 7, [])]
