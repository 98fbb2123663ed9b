"""Power rails: energy counters interpolated at the borders, and what is not known left out."""

from pathlib import Path

import numpy as np
import pytest

from perfreg_assets import catalogue
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.energies import every_charge
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.rail_series import Rail, mean_mw, partly_covered_ns, rail_name, rail_series, whole_mj
from perfreg_assets.traces.scope import Scope

DATA = Path(__file__).parents[1] / "data" / "android-traces"
S = 1_000_000_000


def rail(*samples):
    ts, energy = zip(*samples, strict=True)
    return Rail(np.array([round(at * S) for at in ts]), np.array(energy, float))


def grid(count):
    return Grid(0, S, count)


def test_counters_are_interpolated_at_the_borders():
    # 1000 µJ in the first half second, 3000 in the next second, then nothing
    found = mean_mw(rail((0, 0), (0.5, 1000), (1.5, 4000), (3, 4000)), grid(3))
    assert found == pytest.approx([1.0 + 1.5, 1.5, 0.0])


def test_a_counter_that_falls_leaves_its_stretch_out_and_is_not_zero():
    found = mean_mw(rail((0, 0), (1, 1000), (1.5, 20), (2.25, 400), (4, 400)), grid(4))
    assert found[0] == pytest.approx(1.0)
    assert np.isnan(found[1])
    assert found[2] == pytest.approx((400 - 20) / 0.75 * 0.25 / 1e3)
    assert found[3] == 0.0


def test_what_is_covered_by_less_than_half_is_not_known():
    found = mean_mw(rail((0.6, 0), (1.4, 800), (2.2, 1600)), grid(3))
    assert np.isnan(found[0])  # covered from .6 s on
    assert found[1] == pytest.approx(1.0)
    assert np.isnan(found[2])
    half = mean_mw(rail((0.5, 0), (1.0, 500)), grid(1))
    assert half == pytest.approx([1.0])  # the mean over what is covered


def test_the_energy_of_a_run_is_that_of_its_series_where_the_rail_begins_or_ends_within_an_interval():
    """Of a run of a second .2 s are a fifth of the energy."""
    measured = rail((0.2, 0), (0.9, 700))
    assert whole_mj(measured, grid(1)) == pytest.approx(1.0)
    assert whole_mj(measured, grid(1)) == pytest.approx(mean_mw(measured, grid(1)).sum())
    both_ends = rail((0.4, 0), (1.0, 600), (3.0, 6600), (3.7, 8000))
    assert whole_mj(both_ends, grid(4)) == pytest.approx(1.0 + 6.0 + 2.0)
    assert whole_mj(rail((0.3, 0), (1.0, 700), (4.0, 6700)), grid(4)) == pytest.approx(1.0 + 6.0)
    # Of less than half an interval no mean is known, as in the series.
    assert whole_mj(rail((0.7, 0), (1.0, 300), (4.0, 6300)), grid(4)) == pytest.approx(0.3 + 6.0)


def test_a_rail_that_fell_or_lacks_more_than_an_interval_or_half_of_the_run_has_no_energy_of_the_run():
    assert whole_mj(rail((0, 0), (1, 900), (1.5, 20), (4, 400)), grid(4)) is None
    assert whole_mj(rail((1.2, 0), (4, 400)), grid(4)) is None
    assert whole_mj(rail((0.6, 0), (1, 400)), grid(1)) is None
    assert whole_mj(rail((0, 0), (1, 400)), grid(0)) is None


def test_equal_samples_are_samples():
    """The standard library's view drops them, and what is between would be interpolated away."""
    found = mean_mw(rail((0, 0), (1, 0), (2, 0), (3, 3000)), grid(3))
    assert found == pytest.approx([0, 0, 3.0])


@pytest.mark.parametrize(
    ("track", "name"),
    [
        ("power.rails.cpu.big", "cpu_big"), ("power.rails.wifi.bt", "wifi_bt"),
        ("power.S2S_VDD_G3D_uws", "s2s_vdd_g3d"),
        ("power.rails.gpu", "gpu"),
    ],
)  # fmt: skip
def test_names_of_rails(track, name):
    assert rail_name(track) == name
    assert catalogue.definition_of(f"power_rail_{name}").unit == "mW"


def test_the_rails_of_a_recorded_trace_sum_up_to_what_their_counters_say(settings):
    with open_trace(DATA / "pixel7pro_60s_sched_rss_cpufreq_rails.perfetto-trace.gz", settings) as session:
        contents = load_contents(session)
        scope = Scope(session, contents, Grid.covering(*contents.recorded_ns, 1.0), "none")
        found = {one.name: one.values for one in rail_series(scope)}
        rows = session.query(
            "SELECT min(value) AS low, max(value) AS high, min(ts) AS first, max(ts) AS last FROM counter "
            "JOIN counter_track AS t ON t.id = track_id WHERE t.name = 'power.rails.display'",
            {"low": "float64", "high": "float64", "first": "int64", "last": "int64"},
        )
    assert len(found) > 20
    assert np.isfinite(found["power_rail_cpu"]).all()
    cpu = [values for name, values in found.items() if name.startswith("power_rail_cpu_")]
    assert np.sum(cpu, axis=0) == pytest.approx(found["power_rail_cpu"])
    mean_mw_of_counter = (rows["high"][0] - rows["low"][0]) / 1e3 / ((rows["last"][0] - rows["first"][0]) / S)
    assert found["power_rail_display"].mean() == pytest.approx(mean_mw_of_counter, rel=0.03)


@pytest.mark.parametrize(("later_s", "places"), [(0.0, [0, 4]), (0.1, [4]), (0.6, [])])
def test_intervals_that_the_cores_rails_cover_in_part_are_named(settings, later_s, places):
    """The Pixel 6's rails begin .1 s after its trace and end .2 s before it; such intervals have a mean, too."""
    with open_trace(DATA / "pixel6_api32_odpm_rails.perfetto-trace.gz", settings) as session:
        contents = load_contents(session)
        first_ns, last_ns = contents.recorded_ns
        grid = Grid.covering(first_ns + round(later_s * S), last_ns, 1.0)
        scope = Scope(session, contents, grid, "none")
        (told,) = (one.values for one in rail_series(scope) if one.name == "power_rail_cpu")
        found = partly_covered_ns(scope)
        rows = session.query(
            "SELECT min(ts) AS first, max(ts) AS last FROM counter JOIN counter_track AS t ON t.id = track_id "
            "WHERE t.name LIKE 'power.%cpu%' GROUP BY t.name",
            {"first": "int64", "last": "int64"},
        )
    assert found == tuple(grid.borders[places].tolist())
    assert np.isfinite(told[places]).all()
    whole = (grid.borders[:-1] >= rows["first"].max()) & (grid.borders[1:] <= rows["last"].min())
    assert np.flatnonzero(~whole).tolist() == places


@pytest.mark.parametrize("name", ["pixel6_api32_odpm_rails", "pixel6a_api32_startup_warm"])
def test_what_the_rails_of_a_short_trace_took_is_what_their_series_say(settings, name):
    """The Pixel 6a's rails begin .2 s after its trace, of which one second is judged."""
    with open_trace(DATA / f"{name}.perfetto-trace.gz", settings) as session:
        contents = load_contents(session)
        scope = Scope(session, contents, Grid.covering(*contents.recorded_ns, 1.0), "none")
        mean = {one.name: np.mean(one.values) for one in rail_series(scope)}
        taken = {one.component: one.energy_mj for one in every_charge(scope).charges if one.source == "rail"}
    assert len(taken) > 10
    assert taken == pytest.approx({rail: mean[f"power_{rail}"] * scope.grid.count for rail in taken})


def test_a_trace_without_rails_says_what_to_record(make_trace, settings, tmp_path):
    made = make_trace().process(1, "a").schedule([(0, 1, S, 2 * S)])
    with open_trace(made.write(tmp_path / "t.pftrace"), settings) as session:
        scope = Scope(session, load_contents(session), Grid.covering(S, 2 * S, 1.0), "a")
        (found,) = rail_series(scope)
        assert partly_covered_ns(scope) == ()
    assert (found.name, found.values) == ("power_rail_cpu", None)
    assert "collect_power_rails" in found.missing_reason
