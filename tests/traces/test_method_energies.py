"""What methods cost: the note's fixture by hand, additivity, and equality with a slow sum over nanosecond pieces."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets import bundled
from perfreg_assets.methods.thread_times import REST
from perfreg_assets.traces import energies as energy_tables
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.energies import energies
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.frequency import Clock
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.method_energies import MethodCharge, ThreadCharge, most_of
from perfreg_assets.traces.profile_choice import BUNDLED, Offered, Profiles
from perfreg_assets.traces.scope import Scope

DATA = Path(__file__).parents[1] / "data" / "android-traces"
SECOND = 1_000_000_000


def mas(micro):
    return micro / 1e12


def test_a_method_with_a_child_is_what_the_note_says():
    """600 MHz = 20 mA until 1.0 s, 900 MHz = 40 mA from then; on core 0 from .25 to 1.25 s."""
    clock = Clock(np.array([0, SECOND]), np.array([20_000.0, 40_000.0]))
    charge = ThreadCharge(np.array([SECOND // 4]), np.array([5 * SECOND // 4]), np.array([0]), {0: clock})
    borders = np.array([0.3, 1.2, 0.9, 1.1]) * SECOND
    start, end, child_start, child_end = charge.until(borders.astype(np.int64))
    assert mas(end - start) == pytest.approx(22.0, abs=1e-9)
    assert mas(child_end - child_start) == pytest.approx(6.0, abs=1e-9)
    assert mas((end - start) - (child_end - child_start)) == pytest.approx(16.0, abs=1e-9)


def slowly(pieces, clocks, lo, hi):
    total = 0
    for start, end, core in pieces:
        for moment in range(max(start, lo), min(end, hi)):
            ts, ua = clocks[core]
            total += ua[max(0, sum(t <= moment for t in ts) - 1)]
    return total


@st.composite
def threads(draw):
    borders = sorted(draw(st.sets(st.integers(0, 60), min_size=2, max_size=12)))
    count = len(borders) // 2
    pieces = [(borders[2 * k], borders[2 * k + 1], draw(st.integers(0, 1))) for k in range(count)]
    clocks = {}
    for core in (0, 1):
        ts = sorted(draw(st.sets(st.integers(0, 60), min_size=1, max_size=5)))
        clocks[core] = (ts, [draw(st.integers(0, 1000)) for _ in ts])
    return pieces, clocks


@given(threads(), st.lists(st.integers(-5, 70), min_size=2, max_size=6))
def test_any_stretch_costs_what_its_single_nanoseconds_do_and_parts_add_up(made, moments):
    pieces, clocks = made
    start, end, core = (np.array(column, np.int64) for column in zip(*pieces, strict=True))
    charge = ThreadCharge(
        start, end, core, {c: Clock(np.array(ts), np.array(ua, float)) for c, (ts, ua) in clocks.items()}
    )
    at = np.array(sorted(moments), np.int64)
    found = np.diff(charge.until(at))
    assert found.tolist() == [slowly(pieces, clocks, lo, hi) for lo, hi in pairwise(at.tolist())]


def test_what_is_beyond_the_most_is_one_rest_so_that_the_sum_is_whole(monkeypatch):
    monkeypatch.setattr("perfreg_assets.traces.method_energies.MOST_METHODS", 2)
    values = (("c", 1.0), ("a", 3.0), ("b", 2.0), ("d", 0.5))
    found = most_of([MethodCharge("app", "main", name, 1, value, value) for name, value in values])
    assert [one.method for one in found] == ["a", "b", REST]
    assert found[2] == MethodCharge("app", REST, REST, 2, 1.5, 1.5)


def test_threads_that_cost_most_are_told_the_apps_own_whoever_costs_more_and_the_rest_as_one(monkeypatch):
    monkeypatch.setattr("perfreg_assets.traces.energies._MOST_THREADS", 2)
    costs = (
        *(("z", "z", False, 40.0), ("system", "a", False, 30.0), ("system", "b", False, 20.0)),
        *(("app", "main", True, 4.0), ("app", "worker", True, 4.0), ("app", "gc", True, 1.5)),
        *(("app:push", "main", True, 0.25), ("tiny", "t", False, 0.25)),
    )
    made = [energy_tables.ThreadCharge(*one) for one in costs]
    for given_order in (made, made[::-1]):
        found = energy_tables.shortened(replace(energy_tables.NOT_RECORDED, threads=tuple(given_order))).threads
        assert [(one.process, one.thread, one.is_app, one.charge_mas) for one in found] == [
            ("z", "z", False, 40.0), ("system", "a", False, 30.0), (REST, REST, False, 20.25),
            ("app", "main", True, 4.0), ("app", "worker", True, 4.0), ("app", REST, True, 1.5),
            ("app:push", REST, True, 0.25),
        ]  # fmt: skip


def test_on_a_phone_methods_take_no_more_than_their_threads(settings):
    installed = {
        path.stem: Offered(path.read_bytes(), path.name, path.stem, BUNDLED)
        for path in bundled.power_profiles_dir().glob("*.xml")
    }
    app = "androidx.benchmark.integration.macrobenchmark.target"
    session = open_trace(DATA / "pixel6a_api32_startup_warm.perfetto-trace.gz", settings)
    try:
        contents = load_contents(session)
        grid = Grid.covering(*contents.recorded_ns, 1.0)
        found = energies(Scope(session, contents, grid, app, Profiles(of_devices=installed)))
        without = energies(Scope(session, contents, grid, app, Profiles()))
    finally:
        session.close()
    assert len(found.methods) > 100
    assert any(one.method == "activityResume" for one in found.methods)
    assert all(0 <= one.self_mas <= one.total_mas + 1e-9 for one in found.methods if one.method != REST)
    of_threads = {(one.process, one.thread): one.charge_mas for one in found.threads if one.is_app}
    own = {}
    for one in found.methods:
        key = (one.process, one.thread)
        own[key] = own.get(key, 0.0) + one.self_mas
    assert own
    # (threads that took little are told together)
    assert all(charge <= of_threads[key] for key, charge in own.items() if key in of_threads)
    cores = sum(one.charge_mas for one in found.charges if (one.component, one.scope) == ("cpu_core", "app"))
    assert 0.5 * cores < sum(own.values()) < cores
    assert "No power profile is known" in without.methods
