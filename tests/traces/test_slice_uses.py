"""The app's slices by screen, against a slow count of moments, and on a recorded trace."""

from __future__ import annotations

import re
from collections import defaultdict

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.traces import slice_uses as module
from perfreg_assets.traces.columns import Nullable, QueryResult, Table
from perfreg_assets.traces.contents import SchedSlices, TraceContents, load_contents
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.scope import Scope
from perfreg_assets.traces.slice_uses import NO_SLICES, slice_uses

SECOND = 1_000_000_000
APP = "com.rig.app"
BENCHMARK = "androidx.benchmark.integration.macrobenchmark.target"
NAMES = ["draw 1", "draw 22", "load", "parse"]


def nullable(values):
    return Nullable(np.array([value or 0 for value in values]), np.array([value is None for value in values], bool))


class Slices:
    """An engine with some slices of the app's main thread: (start, end, name, parent, depth); end -1: open."""

    def __init__(self, slices):
        self.slices = slices

    def query(self, _, schema):
        rows = sorted(enumerate(self.slices), key=lambda one: (one[1][4], one[0]))
        if not rows:
            return QueryResult((), "", ()).table(schema)
        return Table(
            {
                "id": np.array([number for number, _ in rows]),
                "ts": np.array([row[0] for _, row in rows]),
                "dur": np.array([-1 if row[1] < 0 else row[1] - row[0] for _, row in rows]),
                "name": np.array([row[2] for _, row in rows], dtype=object),
                "depth": np.array([row[4] for _, row in rows]),
                "parent_id": nullable([row[3] for _, row in rows]),
                "utid": np.ones(len(rows), dtype=np.int64),
            }
        )


def scope_of(slices, count=10, has_slices=True):
    none = np.empty(0, dtype=np.int64)
    contents = TraceContents(
        0,
        60,
        Table(
            {
                "upid": np.array([1]), "pid": nullable([10]), "name": np.array([APP], dtype=object),
                "start_ts": nullable([None]), "end_ts": nullable([None]),
            }
        ),
        Table(
            {
                "utid": np.array([1]), "tid": nullable([10]), "upid": nullable([1]), "end_ts": nullable([None]),
                "name": np.array(["main"], dtype=object),
            }
        ),
        SchedSlices(none, none, none, none, 0),
        has_slices,
    )  # fmt: skip
    return Scope(Slices(slices), contents, Grid(5, 5, count), APP)


@st.composite
def nested(draw, start=0, end=60, depth=0, parent=None, number=0):
    found = []
    borders = sorted(draw(st.lists(st.integers(start, end), max_size=6)))
    for begin, until in zip(borders[::2], borders[1::2], strict=False):
        own = number + len(found)
        found.append((begin, until, draw(st.sampled_from(NAMES)), parent, depth))
        if depth < 3:
            found += draw(nested(begin, until, depth + 1, own, own + 1))
    return found


SCREENS = st.lists(st.tuples(st.integers(0, 70), st.sampled_from(["list", "note", ""])), max_size=6).map(sorted)


@hypothesis.settings(deadline=None)
@given(nested(), SCREENS)
def test_each_moment_belongs_to_the_innermost_slice_and_to_the_screen(slices, screens):
    found = slice_uses(scope_of(slices), screens)
    if not slices:
        assert found == NO_SLICES
        return

    def screen_at(moment):
        return next((name for until, name in screens if moment < until), "")

    slow = defaultdict(lambda: [0, 0, 0, 0, 0])
    for moment in range(5, 55):
        here = [k for k, one in enumerate(slices) if one[0] <= moment < one[1]]
        names = [re.sub(r"\d+", "#", slices[k][2]) for k in here]
        for name in set(names):
            slow[screen_at(moment), name][4] += 1
        if here:
            slow[screen_at(moment), names[-1]][3] += 1
    for begin, until, name, _, _ in slices:
        if 5 <= begin < 55:
            row = slow[screen_at(begin), re.sub(r"\d+", "#", name)]
            row[0] += 1
            row[1] += until - begin
            row[2] = max(row[2], until - begin)
    columns = (found.call_count, found.called_ns, found.max_ns, found.self_ns, found.total_ns)
    mine = {
        (screen, name): [int(column[k]) for column in columns]
        for k, (screen, name) in enumerate(zip(found.screen, found.slice, strict=True))
    }
    assert mine == dict(slow)
    assert set(found.thread) | set(found.process) <= {"main", APP}
    for k, screen in enumerate(found.screen):
        assert found.screen_ns[k] == sum(row[3] for key, row in slow.items() if key[0] == screen)


def test_what_took_least_is_one_rest_per_screen(monkeypatch):
    monkeypatch.setattr(module, "_MOST", 2)
    slices = [(5, 15, "a", None, 0), (15, 24, "b", None, 0), (24, 27, "c", None, 0), (27, 29, "d", None, 0)]
    slices.append((40, 41, "a", None, 0))
    found = slice_uses(scope_of(slices), [(30, "list"), (50, "note")])
    rows = list(zip(found.screen, found.slice, found.call_count, found.self_ns, found.max_ns, strict=True))
    assert rows == [
        ("list", "a", 1, 10, 10), ("list", "b", 1, 9, 9), ("list", "*", 2, 5, 3), ("note", "*", 1, 1, 1),
    ]  # fmt: skip


def test_a_trace_without_slices_is_not_asked():
    class Untouched:
        def query(self, *_):
            raise AssertionError("it costs as much as all else that is asked of a small trace")

    scope = scope_of([], has_slices=False)
    assert slice_uses(Scope(Untouched(), scope.contents, scope.grid, APP), []) == NO_SLICES


def test_a_recorded_start(data_folder, settings):
    path = data_folder / "android-traces" / "pixel6a_api32_startup_warm.perfetto-trace.gz"
    with open_trace(path, settings) as session:
        contents = load_contents(session)
        grid = Grid.covering(contents.start_ns, contents.end_ns, 1.0)
        middle = (grid.start_ns + grid.end_ns) // 2
        found = slice_uses(Scope(session, contents, grid, BENCHMARK), [(middle, "before"), (grid.end_ns, "after")])
        table = session.query(
            "SELECT s.name, count(*) AS n, sum(s.dur) AS ns FROM slice AS s "
            "JOIN thread_track AS k ON k.id = s.track_id "
            f"JOIN thread USING (utid) JOIN process AS p USING (upid) WHERE p.name = '{BENCHMARK}' "
            f"AND s.ts >= {grid.start_ns} AND s.ts < {grid.end_ns} AND s.dur >= 0 GROUP BY 1",
            {"name": "string", "n": "int64", "ns": "int64"},
        )
    library = defaultdict(lambda: [0, 0])
    for name, count, ns in zip(*(table[name] for name in table.columns), strict=True):
        library[re.sub(r"\d+", "#", name)][0] += count
        library[re.sub(r"\d+", "#", name)][1] += ns
    mine = defaultdict(lambda: [0, 0])
    for name, count, ns in zip(found.slice, found.call_count.tolist(), found.called_ns.tolist(), strict=True):
        mine[name][0] += count
        mine[name][1] += ns
    assert len(library) > 50
    assert dict(mine) == dict(library)
    assert set(found.screen) <= {"before", "after"}
    assert (found.self_ns <= found.total_ns).sum() >= 0.9 * len(found.slice)
    assert found.self_ns.sum() == pytest.approx(
        sum(dict(zip(found.screen, found.screen_ns.tolist(), strict=True)).values())
    )
