"""Which screen was shown when: recorded runs into which load was injected on known screens.

A step's screen holds until its action was sent. The recorder noted each injected stretch with the screen that the app
itself was showing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfreg_assets.methods.states import StatePath, state_codes
from perfreg_assets.reports.run_page import _path_payload
from perfreg_assets.run import PathStep, screens_between, timed_screens

DATA = Path(__file__).parents[1] / "data"
INJECTED = json.loads((DATA / "injected-intervals.json").read_text())
LENGTH_S = 70


def recorded(run_id):
    """(start, path) of a recorded run."""
    document = json.loads((DATA / "sessions" / run_id / "run.json").read_text())
    return document["exploration"]["start_ns"], tuple(PathStep(**step) for step in document["path"])


@pytest.fixture(params=sorted(INJECTED))
def injected(request):
    """(start, path, [(screen, begin, end)]) from the start to the last action, after which the path says nothing."""
    start_ns, path = recorded(request.param)
    return start_ns, path, [one for one in INJECTED[request.param] if start_ns <= one[1] < path[-1].ts_ns]


def test_a_window_names_the_screen_that_was_shown(injected):
    _, path, intervals = injected
    assert [screens_between(path, begin, begin + 1) for _, begin, _ in intervals] == [(name,) for name, *_ in intervals]
    assert all(screen in screens_between(path, begin, end) for screen, begin, end in intervals)


def test_the_page_draws_the_screen_where_it_was_shown(injected):
    start_ns, path, intervals = injected
    drawn = _path_payload(path, start_ns, LENGTH_S)

    def shown(ts_ns):
        last = [n for n, start in enumerate(drawn["starts"]) if start <= (ts_ns - start_ns) / 1e9][-1]
        return drawn["screens"][drawn["codes"][last]]

    # half a millisecond further: the page rounds to milliseconds
    assert [shown(begin + 500_000) for _, begin, _ in intervals] == [name for name, *_ in intervals]
    assert drawn["codes"][-1] is None, "what the last action led to was not recorded"


def test_states_of_samples_are_those_of_the_screen_that_was_shown(injected):
    start_ns, path, intervals = injected
    until, after = timed_screens(path)
    offsets = [((ts_ns - start_ns) / 1e9, name) for ts_ns, name in until]
    names = sorted({name for _, name in until})
    # The second path spells the codes out: each screen in turn, one second after an action.
    legend = StatePath([(-1.0, names[0]), *((2.0 * n, name) for n, name in enumerate(names))], None)
    interval_s = 0.01
    codes, known = state_codes([StatePath(offsets, after), legend], [LENGTH_S * 100, 200 * len(names)], interval_s)
    screen_of = {
        int(code): name for n, name in enumerate(names) for code in known[max(200 * n - 150, 0) : 200 * n : 50]
    }
    found = [screen_of.get(int(codes[int((begin - start_ns) / 1e7) + 1])) for _, begin, _ in intervals]
    assert [one for one in found if one] == [name for one, (name, *_) in zip(found, intervals, strict=True) if one]
    assert sum(one is not None for one in found) > len(found) / 2
