"""Power of cores against the design's exact figures, against a slow second way, and against measured rails."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets import bundled
from perfreg_assets.methods.power_calibration import accuracy, calibrate
from perfreg_assets.methods.power_states import PARTS, SCOPES
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces import chips
from perfreg_assets.traces.contents import load_contents
from perfreg_assets.traces.energies import energies
from perfreg_assets.traces.engine import open_trace
from perfreg_assets.traces.grid import Grid
from perfreg_assets.traces.power_profile import parse_profile
from perfreg_assets.traces.power_series import drawn, power_series
from perfreg_assets.traces.power_times import core_states
from perfreg_assets.traces.profile_choice import BUNDLED, RUN_FOLDER, SETTING, Offered, Profiles
from perfreg_assets.traces.rail_series import rail_series, rails_of
from perfreg_assets.traces.sched_series import frequency_series, sched_series
from perfreg_assets.traces.scope import Scope

DATA = Path(__file__).parents[1] / "data"
S = 1_000_000_000
APP = "com.example.app"
T0 = 100 * S
PROFILE = """<device name="Android">
<array name="cpu.clusters.cores"><value>1</value><value>1</value></array>
<item name="cpu.active">12</item><item name="cpu.idle">3</item>
<item name="cpu.cluster_power.cluster0">2</item><item name="cpu.cluster_power.cluster1">5</item>
<array name="cpu.core_speeds.cluster0"><value>300000</value><value>600000</value><value>1200000</value></array>
<array name="cpu.core_power.cluster0"><value>10</value><value>20</value><value>60</value></array>
<array name="cpu.core_speeds.cluster1"><value>500000</value><value>1000000</value><value>2000000</value></array>
<array name="cpu.core_power.cluster1"><value>30</value><value>80</value><value>200</value></array>
</device>"""
LEVELS = {0: ([300e3, 600e3, 1200e3], [10, 20, 60], 2), 1: ([500e3, 1000e3, 2000e3], [30, 80, 200], 5)}
SLICES = ((0, 101, 0.25, 1.25), (1, 202, 0.5, 2.0), (0, 103, 1.5, 1.75))
CLOCKS = ((0, 0.0, 600_000), (0, 1.0, 900_000), (1, 0.0, 1_000_000), (1, 1.5, 2_000_000), (1, 1.75, 2_400_000))
FORCED = Profiles(forced=Offered(PROFILE.encode(), "two.xml", "", SETTING), forced_name="two")


def at(seconds):
    return T0 + round(seconds * S)


@pytest.fixture
def two_cores(make_trace):
    """T1 and T3 of the app, T2 of another process, on two cores with a clock each; 0 to 2 s."""
    made = make_trace()
    made.process(101, APP, {103: "worker"}, ts=T0 - S)
    made.process(202, "com.example.other", ts=T0 - S)
    made.schedule([(core, tid, at(begin), at(end)) for core, tid, begin, end in SLICES])
    for core, ts, khz in CLOCKS:
        made.frequency(core, at(ts), khz)
    return made


@pytest.fixture
def scoped(settings, tmp_path):
    """A scope over a made trace, from T0 on."""
    opened = []

    def make(made, profiles=FORCED, *, seconds=2.0, screens=(), interval_s=1.0):
        session = open_trace(made.write(tmp_path / f"{len(opened)}.pftrace"), settings)
        opened.append(session)
        grid = Grid.covering(T0, at(seconds), interval_s)
        return Scope(session, load_contents(session), grid, APP, profiles, screens)

    yield make
    for session in opened:
        session.close()


def by_name(series):
    return {one.name: one for one in series}


# ---- the exact figures -------------------------------------------------------------------------------
def test_the_series_are_exactly_those_of_the_example(two_cores, scoped):
    found = by_name(power_series(scoped(two_cores)))
    assert found["power_cpu_app"].values == pytest.approx([86.625, 92.4], rel=1e-12)
    assert found["power_cpu_total"].values == pytest.approx([261.8, 685.3], rel=1e-12)
    assert found["power_cpu_app"].unit == "mW"
    # What the processor draws as a whole (12 mA while any core is on) is of no cluster.
    clusters = found["power_cpu_cluster_0"].values + found["power_cpu_cluster_1"].values
    assert found["power_cpu_total"].values - clusters == pytest.approx([12 * 0.75 * 3.85, 12 * 3.85], rel=1e-12)


def test_the_charges_are_exactly_those_of_the_example(two_cores, scoped):
    found = energies(scoped(two_cores))
    charges = {(one.component, one.scope): one.charge_mas for one in found.charges}
    assert charges == pytest.approx(
        {
            ("cpu_core", "app"): 35.0, ("cpu_core", "others"): 180.0, ("cpu_core", "wakeups"): 0.0,
            ("cpu_cluster", "app"): 2.5, ("cpu_cluster", "others"): 7.5, ("cpu_cluster", "wakeups"): 0.0,
            ("cpu_active", "app"): 9.0, ("cpu_active", "others"): 12.0, ("cpu_active", "wakeups"): 0.0,
            ("base", "device"): 6.0,
        }
    )  # fmt: skip
    total = sum(charge for (component, _), charge in charges.items() if component in PARTS)
    assert total == pytest.approx(246.0)
    assert total * 3.85 == pytest.approx(947.1)
    assert total / 3600 == pytest.approx(0.068333, abs=5e-7)
    threads = [(one.is_app, one.charge_mas) for one in found.threads]
    assert threads == [(False, pytest.approx(199.5)), (True, pytest.approx(34.5)), (True, pytest.approx(12.0))]
    assert (found.has_idle_states, found.late_ratio) == (False, 0.0)
    # cpu1 is at 2.4 GHz for a quarter of a second, beyond its table.
    assert found.outside_ratio == pytest.approx(0.25 / 2.75)


def slow_power(instant_s, awake=()):
    """mA for (app, others, wake-ups) at an instant, by the example's own words."""
    running = {core: tid for core, tid, begin, end in SLICES if begin <= instant_s < end}
    on = set(running) | {core for core, begin, end in awake if begin <= instant_s < end}
    found = {"app": 0.0, "others": 0.0, "wakeups": 0.0}
    for core in on:
        khz = [value for number, ts, value in CLOCKS if number == core and ts <= instant_s][-1]
        speeds, charges, cluster_ma = LEVELS[core]
        scope = "wakeups" if core not in running else "app" if running[core] in (101, 103) else "others"
        found[scope] += float(np.interp(khz, speeds, charges)) + cluster_ma + 12 / len(on)
    return found


@pytest.mark.parametrize("idle", [(), ((0, 0.1, 0.4), (1, 0.2, 2.0), (0, 1.6, 1.9))])
def test_two_ways_agree_and_app_others_and_wake_ups_are_the_total(two_cores, scoped, idle):
    """The integral against a look at every instant between two borders; with wake-ups and without."""
    for core, begin, end in idle:
        two_cores.told(at(begin), "cpu_idle", cpu=core, cpu_id=core, state=2**32 - 1)
        two_cores.told(at(end), "cpu_idle", cpu=core, cpu_id=core, state=1)
    scope = scoped(two_cores)
    borders = sorted(
        {0.0, 1.0, 2.0, *(t for row in (*SLICES, *CLOCKS, *idle) for t in row[1:] if isinstance(t, float))}
    )
    slow = {name: [0.0, 0.0] for name in SCOPES}
    for begin, end in pairwise(borders):
        for name, charge in slow_power(begin, idle).items():
            slow[name][int(begin)] += charge * (end - begin)
    found, series = energies(scope), by_name(power_series(scope))
    totals = {name: sum(one.charge_mas for one in found.charges if one.scope == name) for name in SCOPES}
    assert totals == pytest.approx({name: sum(values) for name, values in slow.items()})
    assert series["power_cpu_app"].values == pytest.approx(np.array(slow["app"]) * 3.85)
    assert series["power_cpu_total"].values == pytest.approx(np.sum(list(slow.values()), axis=0) * 3.85)
    assert found.has_idle_states is bool(idle)
    assert (totals["wakeups"] > 0) is bool(idle)
    # The series times the interval are the charges.
    assert series["power_cpu_total"].values.sum() == pytest.approx(sum(totals.values()) * 3.85, rel=1e-12)


def test_a_trace_is_asked_once_for_what_its_cores_did_whoever_needs_it(two_cores, scoped):
    """An answer costs a millisecond however short the trace is: more than the series of two seconds themselves."""
    two_cores.told(at(0.1), "cpu_idle", cpu=0, cpu_id=0, state=1)
    scope, asked = scoped(two_cores), []

    class Listening:
        def query(self, sql, schema):
            asked.append(sql)
            return scope.session.query(sql, schema)

    heard = replace(scope, session=Listening())
    for series in (sched_series(heard), frequency_series(heard), power_series(heard)):
        assert all(one.values is not None for one in series)
    assert len(asked) == 1


def test_twice_the_current_is_twice_the_power(two_cores, scoped):
    twice = PROFILE
    for value in ("10", "20", "60", "30", "80", "200"):
        twice = twice.replace(f"<value>{value}</value>", f"<value>{2 * int(value)}.0</value>")
    for name, value in (("active", 12), ("cluster_power.cluster0", 2), ("cluster_power.cluster1", 5)):
        twice = twice.replace(f'"cpu.{name}">{value}<', f'"cpu.{name}">{2 * value}<')
    other = replace(FORCED, forced=Offered(twice.encode(), "twice.xml", "", SETTING))
    once, doubled = (by_name(power_series(scoped(two_cores, own)))["power_cpu_total"].values for own in (FORCED, other))
    assert doubled == pytest.approx(2 * once)


def test_steps_are_paid_for_exactly(two_cores, scoped):
    """A step's border lies within an interval."""
    screens = [(at(0.5), "list"), (at(1.5), "note")]
    found = energies(scoped(two_cores, screens=screens))
    assert [(one.step_index, one.screen, one.duration_s) for one in found.steps] == [
        (0, "list", 0.5), (1, "note", 1.0), (2, "", 0.5),
    ]  # fmt: skip
    assert [one.app_mas for one in found.steps] == pytest.approx([0.25 * 34, 0.5 * 28 + 0.25 * 48, 0.25 * 48])
    assert sum(one.total_mas for one in found.steps) == pytest.approx(246.0)
    # What is left at the end before the run's first moment or begins after its last took no time and is not told.
    beyond = energies(scoped(two_cores, screens=[(at(-0.5), "start"), (at(2.0), "list"), (at(2.5), "note")]))
    assert [(one.step_index, one.screen, one.duration_s) for one in beyond.steps] == [(1, "list", 2.0)]


# ---- what is missing ---------------------------------------------------------------------------------
def test_without_frequencies_or_scheduling_the_source_to_record_is_named(make_trace, scoped):
    made = make_trace().process(101, APP, ts=T0 - S).schedule([(0, 101, at(0), at(2))])
    for one in power_series(scoped(made)):
        assert (one.values, one.reason_code) == (None, "series_missing")
        assert "power/cpu_frequency" in one.missing_reason
    bare = make_trace().process(101, APP, ts=T0 - S).memory(at(1), 101, rss=5).frequency(0, at(0), 600_000)
    found = energies(scoped(bare))
    assert "sched/sched_switch" in found.reason
    assert (found.times, found.charges) == ((), ())


def test_without_a_profile_the_times_are_kept_and_the_reason_is_told(two_cores, scoped):
    scope = scoped(two_cores, Profiles())
    found = energies(scope)
    assert (found.reason_code, found.charges, found.first_cores) == ("profile_missing", (), (0, 1))
    assert sum(one.busy_s for one in found.times) == pytest.approx(2.75)
    assert {one.reason_code for one in power_series(scope)} == {"profile_missing"}
    unknown = energies(scoped(two_cores, Profiles(forced_name="nobodys")))
    assert unknown.reason_code == "profile_unknown"


STUB = """<device name="Android">
<array name="cpu.speeds"><value>400000</value></array><array name="cpu.active"><value>0.1</value></array>
</device>"""


def clocked(make_trace, *cores):
    """A trace of which each core has frequencies [(second, kHz), …]."""
    made = make_trace().process(101, APP, ts=T0 - S)
    made.packet().system_info.android_build_fingerprint = "rig/twin/twin:13/A/1:user/release-keys"
    made.schedule([(core, 101, at(core / 10), at((core + 1) / 10)) for core in range(len(cores))])
    for core, samples in enumerate(cores):
        for second, khz in samples:
            made.frequency(core, at(second), khz)
    return made


STEPS = [(place / 100, (300_000, 600_000, 1_200_000)[place % 3]) for place in range(150)]


def with_others(count, *, late_s=1e-4):
    """STEPS a moment later, some of them a step higher or lower."""
    return [
        (second + late_s, 600_000 if place < count and khz != 600_000 else khz)
        for place, (second, khz) in enumerate(STEPS)
    ]


@pytest.mark.parametrize(
    ("other", "first_cores"),
    [
        (STEPS, (0,)), (with_others(4), (0,)), (with_others(0, late_s=0.005), (0,)), (with_others(40), (0, 1)),
        (with_others(4, late_s=0.005), (0, 1)), ([*STEPS[:-1], (1.49, 900_000)], (0, 1)), (STEPS[:-1], (0, 1)),
    ],
    ids=["equal", "a step apart now and then", "equal, told later", "on their own", "at other moments",
         "a frequency more", "a sample less"],
)  # fmt: skip
def test_cores_that_change_together_are_a_cluster_though_few_samples_differ(make_trace, scoped, other, first_cores):
    found = core_states(scoped(clocked(make_trace, STEPS, other)))
    assert found.seen_clusters == first_cores


@pytest.mark.parametrize(
    ("known", "first_cores"),
    [("twin", (0, 1)), ("of its chip", (0, 1)), ("of other frequencies", (0,)), ("unreadable", (0,)), ("", (0,))],
)
def test_a_run_whose_profile_is_refused_has_the_clusters_that_are_known_of_its_device(
    make_trace, scoped, tmp_path, monkeypatch, known, first_cores
):
    """So that another profile can be put on it; two clusters alike may change together all the time."""
    twin = PROFILE.replace("500000", "300000").replace("1000000", "600000").replace("2000000", "1200000")
    content = {"of other frequencies": twin.replace("600000", "700000"), "unreadable": "<device>"}.get(known, twin)
    name = "sister" if known == "of its chip" else "twin"
    monkeypatch.setattr(chips, "_CHIPS", (frozenset({"twin", "sister"}),))
    offered = {name: Offered(content.encode(), f"{name}.xml", name, BUNDLED)} if known else {}
    own = tmp_path / "power_profile.xml"
    own.write_text(STUB)
    found = energies(scoped(clocked(make_trace, STEPS, STEPS), Profiles(own=own, of_devices=offered)))
    assert (found.reason_code, found.first_cores) == ("profile_stub", first_cores)
    assert {one.cluster for one in found.times} == set(range(len(first_cores)))


def test_the_run_folders_own_profile_goes_first_and_a_stub_is_refused(two_cores, scoped, tmp_path):
    own = tmp_path / "power_profile.xml"
    # 900 and 2400 MHz are in no table of this example: two of five samples.
    own.write_text(PROFILE)
    assert energies(scoped(two_cores, Profiles(own=own))).reason_code == "profile_misfit"
    own.write_text(
        PROFILE.replace("1200000", "900000")
        .replace("2000000</value>", "2000000</value><value>2400000</value>")
        .replace("<value>200<", "<value>200</value><value>200<")
    )
    found = energies(scoped(two_cores, Profiles(own=own)))
    assert found.chosen is not None
    assert (found.chosen.offered.origin, found.chosen.fit_ratio, found.chosen.is_foreign) == (RUN_FOLDER, 1.0, False)
    tables = (("speeds", 400000), ("active", 0.1))
    arrays = (f'<array name="cpu.{name}"><value>{value}</value></array>' for name, value in tables)
    own.write_text(f"<device>{''.join(arrays)}</device>")
    assert energies(scoped(two_cores, Profiles(own=own))).reason_code == "profile_stub"


def test_a_forced_profile_that_does_not_fit_is_taken_and_called_foreign(two_cores, scoped):
    found = drawn(scoped(two_cores))
    assert found.chosen.is_foreign
    assert found.chosen.fit_ratio == pytest.approx(3 / 5)


def test_a_frequency_that_is_told_late_is_held_backwards_and_said_so(make_trace, scoped):
    made = make_trace().process(101, APP, ts=T0 - S).schedule([(0, 101, at(0), at(2))]).frequency(0, at(0.5), 600_000)
    found = energies(scoped(made))
    assert found.late_ratio == pytest.approx(0.25)
    assert {(one.frequency_khz, one.busy_s) for one in found.times} == {(600_000.0, 2.0)}
    # Of the time of all cores together.
    of_two = energies(scoped(made.schedule([(1, 101, at(1), at(2))]).frequency(1, at(0), 600_000)))
    assert of_two.late_ratio == pytest.approx(0.125)


def test_a_core_that_runs_without_a_frequency_is_named(make_trace, scoped):
    made = make_trace().process(101, APP, ts=T0 - S).schedule([(0, 101, at(0), at(2)), (1, 101, at(1), at(2))])
    found = energies(scoped(made.frequency(0, at(0), 600_000)))
    assert found.reason == "core 1 ran without a recorded frequency"


def test_an_unplugged_core_costs_nothing(make_trace, scoped):
    """Clusters of which no core ran have no time in state."""
    made = make_trace().process(101, APP, ts=T0 - S).schedule([(0, 101, at(0), at(2))]).frequency(0, at(0), 600_000)
    found = energies(scoped(made))
    assert {one.cluster for one in found.times} == {0}
    assert sum(one.charge_mas for one in found.charges if one.component in PARTS) == pytest.approx(2 * (20 + 2 + 12))


def test_a_core_that_is_taken_down_costs_nothing_until_it_is_back(make_trace, scoped):
    """It leaves idle for the thread that stops it, and says nothing more: for ten seconds, and for the rest."""
    made = make_trace()
    made.process(101, APP, ts=T0 - S)
    busy = ((0, 101, 0.0, 20.0), (1, 101, 0.0, 1.0), (1, 101, 12.0, 13.0))
    made.schedule([(core, tid, at(begin), at(end)) for core, tid, begin, end in busy])
    made.frequency(0, T0, 600_000).frequency(1, T0, 1_000_000)
    # 0.2 s of cpu 1 are a wake-up; it is down from 2.7 to 12 and from 13 on.
    for second, state in ((0.0, 2**32 - 1), (1.2, 1), (2.7, 2**32 - 1)):
        made.told(at(second), "cpu_idle", cpu=1, cpu_id=1, state=state)
    scope = scoped(made, seconds=20.0)
    charges = {(one.component, one.scope): one.charge_mas for one in energies(scope).charges}
    assert charges["cpu_core", "wakeups"] == pytest.approx(0.2 * 80)
    assert charges["cpu_core", "app"] == pytest.approx(20 * 20 + 2 * 80)
    assert charges["cpu_cluster", "app"] == pytest.approx(20 * 2 + 2 * 5)
    total = by_name(power_series(scope))["power_cpu_total"].values
    assert total[[5, 19]] == pytest.approx([3.85 * (20 + 2 + 12)] * 2)


def test_a_wake_up_that_ends_in_idle_costs_however_long_it_was(make_trace, scoped):
    made = make_trace()
    made.process(101, APP, ts=T0 - S)
    made.schedule([(core, 101, at(begin), at(end)) for core, begin, end in ((0, 0.0, 20.0), (1, 0.0, 1.0))])
    made.frequency(0, T0, 600_000).frequency(1, T0, 1_000_000)
    for second, state in ((0.0, 2**32 - 1), (3.0, 1), (5.0, 2**32 - 1), (9.0, 0)):
        made.told(at(second), "cpu_idle", cpu=1, cpu_id=1, state=state)
    charges = {(one.component, one.scope): one.charge_mas for one in energies(scoped(made, seconds=20.0)).charges}
    assert charges["cpu_core", "wakeups"] == pytest.approx((2 + 4) * 80)


def test_steps_without_frequencies_take_those_of_the_trace_where_they_are_as_many(two_cores, scoped):
    steps = "<device>" + "".join(
        f'<array name="cpu.scaling_step_power.policy{core}">{"".join(f"<value>{ma}</value>" for ma in own)}</array>'
        for core, own in ((0, (20, 40)), (1, (80, 200, 250)))
    ) + "</device>"  # fmt: skip
    forced = Profiles(forced=Offered(steps.encode(), "steps.xml", "", SETTING), forced_name="steps")
    found = energies(scoped(two_cores, forced))
    charges = {one.scope: one.charge_mas for one in found.charges if one.component == "cpu_core"}
    assert charges["app"] == pytest.approx(35.0)
    assert charges["others"] == pytest.approx(80 + 0.25 * 200 + 0.25 * 250)
    fewer = replace(forced, forced=Offered(steps.replace("<value>250</value>", "").encode(), "steps.xml", "", SETTING))
    assert energies(scoped(two_cores, fewer)).reason_code == "profile_misfit"
    told = replace(fewer, frequencies_khz={0: [600e3, 900e3], 1: [1000e3, 2000e3]})
    found = energies(scoped(two_cores, told))
    assert found.outside_ratio == pytest.approx(0.25 / 2.75)


# ---- real devices ------------------------------------------------------------------------------------
INSTALLED = {
    path.stem: Offered(path.read_bytes(), path.name, path.stem, BUNDLED)
    for path in bundled.power_profiles_dir().glob("*.xml")
}
DEVICES = {
    "pixel7pro_60s_sched_rss_cpufreq_rails": "cheetah", "pixel6_api32_odpm_rails": "oriole",
    "pixel6a_api32_startup_warm": "bluejay", "pixel4_api31_commas_in_slice_names": "flame",
    "nexus5x_api24_startup_cold": "bullhead",
}  # fmt: skip
SAME_TABLES = ({"cheetah", "lynx"}, {"oriole", "bluejay"})
MEASURED = [  # trace, width of an interval, ratio, r, MAPE against the rails of the cores
    ("pixel7pro_60s_sched_rss_cpufreq_rails", 1.0, 0.73, 0.962, 0.28),
    ("pixel6_api32_odpm_rails", 1.0, 0.58, 0.999, 0.47),
    ("pixel6a_api32_startup_warm", 0.25, 0.78, 0.955, 0.24),
]


@pytest.fixture(scope="module")
def real(settings):
    """(session, contents) of a recorded trace."""
    known = {}

    def load(name):
        if name not in known:
            session = open_trace(DATA / "android-traces" / f"{name}.perfetto-trace.gz", settings)
            known[name] = session, load_contents(session)
        return known[name]

    yield load
    for session, _ in known.values():
        session.close()


def measured_scope(real, name, interval_s, profiles=None):
    """Over the time in which rails and scheduling were both recorded."""
    session, contents = real(name)
    whole = Scope(session, contents, Grid.covering(*contents.recorded_ns, interval_s), "none")
    rails = rails_of(whole)
    begin = max(contents.recorded_ns[0], *(int(rail.ts[0]) for rail in rails.values()))
    end = min(contents.recorded_ns[1], *(int(rail.ts[-1]) for rail in rails.values()))
    return Scope(
        session, contents, Grid.covering(begin, end, interval_s), "none", profiles or Profiles(of_devices=INSTALLED)
    )


@pytest.mark.parametrize(("name", "interval_s", "ratio", "r", "mape"), MEASURED, ids=lambda value: str(value)[:8])
def test_the_estimate_is_as_near_to_the_rails_as_it_is_said_to_be(real, name, interval_s, ratio, r, mape):
    scope = measured_scope(real, name, interval_s)
    estimated = by_name(power_series(scope))["power_cpu_total"].values
    measured = by_name(rail_series(scope))["power_rail_cpu"].values
    assert estimated.sum() / measured.sum() == pytest.approx(ratio, abs=0.02)
    assert np.corrcoef(estimated, measured)[0, 1] == pytest.approx(r, abs=0.02)
    assert np.corrcoef(estimated, measured)[0, 1] >= 0.95
    assert np.mean(np.abs(estimated - measured) / measured) == pytest.approx(mape, abs=0.02)


@pytest.mark.parametrize(("name", "device"), DEVICES.items(), ids=DEVICES.values())
def test_the_right_file_fits_and_every_foreign_chips_does_not(real, tmp_path, name, device):
    session, contents = real(name)
    scope = Scope(session, contents, Grid.covering(*contents.recorded_ns, 0.25), "none")
    assert scope.contents.code_name == device
    seen = core_states(scope)
    files = {one.device: one.content for one in INSTALLED.values()}
    files |= {
        path.stem: path.read_bytes()
        for path in (DATA / "power-profiles").glob("*.xml")
        if "sdk_gphone" not in path.stem and "sm-t810" not in path.stem and "scaling_policy" not in path.stem
    }
    same_tables = next((names for names in SAME_TABLES if device in names), {device})
    seen, own = core_states(scope), tmp_path / "power_profile.xml"
    for other, content in files.items():
        own.write_bytes(content)
        profiles = Profiles(own=own, of_devices=INSTALLED)
        if other in same_tables or other == f"LineageOS_google_{device}":
            found = profiles.choose(device, seen)
            assert (found.fit_ratio, found.doubt) == (1.0, None), other
        else:
            with pytest.raises(Rejected) as caught:
                profiles.choose(device, seen)
            assert caught.value.reason is Reason.PROFILE_MISFIT, other


def states_of(real, name):
    session, contents = real(next(one for one in DEVICES if one.startswith(name)))
    return core_states(Scope(session, contents, Grid.covering(*contents.recorded_ns, 0.25), "none"))


@pytest.mark.parametrize(("name", "device"), DEVICES.items(), ids=DEVICES.values())
def test_cores_of_recorded_traces_are_grouped_as_they_are_in_the_device(real, name, device):
    """The Pixel 7 Pro's small cores tell their frequency 3055 times each, now and then a step apart."""
    wanted = parse_profile(INSTALLED[device].content, device, nominal_voltage_v=3.85).first_cores
    assert states_of(real, name).seen_clusters == wanted


def test_a_siblings_file_is_refused_by_what_is_known_of_the_chip(real, tmp_path):
    """A Pixel 6 Pro has no profile here, a Pixel 6 and 6a of the same chip have; a 7's ends above it."""
    own = tmp_path / "power_profile.xml"
    for name, device, right, wrong in (
        ("pixel6a", "raven", "oriole", "cheetah"), ("pixel7pro_60s", "panther", "lynx", "bluejay"),
    ):  # fmt: skip
        seen = states_of(real, name)
        own.write_bytes(INSTALLED[right].content.replace(b"12.37", b"12.38"))
        found = Profiles(own=own, of_devices=INSTALLED).choose(device, seen)
        assert (found.fit_ratio, found.doubt, found.is_unconfirmed) == (1.0, None, False)
        own.write_bytes(INSTALLED[wrong].content)
        with pytest.raises(Rejected) as caught:
            Profiles(own=own, of_devices=INSTALLED).choose(device, seen)
        assert caught.value.reason is Reason.PROFILE_MISFIT
    with pytest.raises(Rejected, match="ends at 2253 MHz"):
        Profiles(own=own).choose("", states_of(real, "pixel7pro_60s"))


def test_a_siblings_file_is_refused_by_the_frequencies_that_the_trace_names(real, tmp_path):
    """The Pixel 7 Pro's trace has what the kernel told (linux.system_info); of no device is anything known here."""
    own = tmp_path / "power_profile.xml"
    own.write_bytes(INSTALLED["cheetah"].content)
    session, contents = real(next(one for one in DEVICES if one.startswith("pixel7pro_60s")))
    grid = Grid.covering(*contents.recorded_ns, 0.25)
    seen = core_states(Scope(session, contents, grid, "none", Profiles(own=own)))
    assert [len(one) for one in seen.available_frequencies((0, 4, 6))] == [11, 15, 18]
    found = Profiles(own=own).choose("unheard", seen)
    assert (found.doubt, found.is_unconfirmed) == (None, False)
    # What a 6a's trace shows is in a 7's tables; that its cores end below is in the trace from now on.
    low = states_of(real, "pixel6a")
    table = {core: khz[khz < 2_810_000][:-1] for core, khz in seen.available().items()}
    with pytest.raises(Rejected, match="ends at 1803 MHz, the kernel says that cores of cluster 0 reach 1704"):
        Profiles(own=own).choose("unheard", replace(low, available=lambda: table))


def test_a_siblings_file_is_refused_by_the_frequencies_that_the_collection_noted(real, tmp_path):
    own = tmp_path / "power_profile.xml"
    seen = states_of(real, "pixel6a")
    noted = dict(zip((0, 4, 6), _tables("bluejay"), strict=True))
    own.write_bytes(INSTALLED["bluejay"].content)
    assert not Profiles(own=own, frequencies_khz=noted).choose("unheard", seen).is_unconfirmed
    own.write_bytes(INSTALLED["cheetah"].content)
    with pytest.raises(Rejected, match="the kernel says that cores of cluster 1 reach 2253"):
        Profiles(own=own, frequencies_khz=noted).choose("unheard", seen)
    short = noted | {4: noted[4][1:]}
    own.write_bytes(INSTALLED["bluejay"].content)
    assert Profiles(own=own, frequencies_khz=short).choose("unheard", seen).is_unconfirmed, "not all of them"


def _tables(device):
    profile = parse_profile(INSTALLED[device].content, device, nominal_voltage_v=3.85)
    return [one.khz.tolist() for one in profile.clusters]


def test_a_file_that_nothing_confirms_is_told_and_not_judged(real, tmp_path):
    own = tmp_path / "power_profile.xml"
    own.write_bytes(INSTALLED["cheetah"].content)
    found = Profiles(own=own, of_devices=INSTALLED).choose("unheard", states_of(real, "pixel6a"))
    assert "no profile of unheard is known" in found.doubt
    assert found.is_unconfirmed
    session, contents = real(next(one for one in DEVICES if one.startswith("pixel6a")))
    known = {name: one for name, one in INSTALLED.items() if name not in ("oriole", "bluejay")}
    profiles = Profiles(own=own, of_devices=known)
    for one in power_series(Scope(session, contents, Grid.covering(*contents.recorded_ns, 0.25), "none", profiles)):
        assert one.values is not None
        assert one.reason_code == Reason.PROFILE_UNCONFIRMED.code
        assert "no profile of bluejay is known" in one.missing_reason


def test_other_values_of_the_same_chip_are_doubted_and_those_of_the_device_itself_are_not(real, tmp_path):
    own = tmp_path / "power_profile.xml"
    own.write_bytes(INSTALLED["bluejay"].content.replace(b"12.37", b"12.38"))
    seen = states_of(real, "pixel6a")
    changed = Profiles(own=own, of_devices=INSTALLED)
    found = changed.choose("bluejay", seen)
    assert "states other values" in found.doubt
    assert not found.is_unconfirmed
    fetched = replace(changed, fetched_sha256=changed.own_sha256)
    assert fetched.choose("bluejay", seen).doubt is None


def test_a_foreign_profile_is_refused_and_one_of_a_stored_device_is_found_by_its_code_name(real):
    session, contents = real("pixel4_api31_commas_in_slice_names")
    scope = Scope(session, contents, Grid.covering(*contents.recorded_ns, 0.25), "none")
    seen = core_states(scope)
    assert Profiles(of_devices=INSTALLED).choose("flame", seen).fit_ratio == 1.0
    wrong = Profiles(of_devices={"flame": INSTALLED["cheetah"]})
    with pytest.raises(Rejected) as caught:
        wrong.choose("flame", seen)
    assert caught.value.reason is Reason.PROFILE_MISFIT
    with pytest.raises(Rejected) as caught:
        Profiles(of_devices=INSTALLED).choose("raven", seen)
    assert caught.value.reason is Reason.PROFILE_MISSING


def test_a_measured_curve_estimates_as_well(real):
    content = (DATA / "measured-curves" / "freqbench__gs201.csv").read_bytes()
    curve = Profiles(of_devices={"cheetah": Offered(content, "gs201.csv", "cheetah", BUNDLED)})
    scope = measured_scope(real, "pixel7pro_60s_sched_rss_cpufreq_rails", 1.0, curve)
    estimated = by_name(power_series(scope))["power_cpu_total"].values
    measured = by_name(rail_series(scope))["power_rail_cpu"].values
    assert estimated.sum() / measured.sum() == pytest.approx(0.64, abs=0.02)
    assert {one.source for one in energies(scope).charges} == {"curve", "rail"}


def test_calibrated_on_one_half_the_estimate_holds_on_the_other(real):
    scope = measured_scope(real, "pixel7pro_60s_sched_rss_cpufreq_rails", 1.0)
    estimated = by_name(power_series(scope))["power_cpu_total"].values
    measured = by_name(rail_series(scope))["power_rail_cpu"].values
    half = len(estimated) // 2
    for fitted, judged in ((slice(None, half), slice(half, None)), (slice(half, None), slice(None, half))):
        found = calibrate(estimated[fitted], measured[fitted])
        told = accuracy(found.apply(estimated[judged]), measured[judged])
        assert told.energy_ratio == pytest.approx(1.0, abs=0.05)
        assert told.mape_ratio <= 0.15
    # What comparing rests on: both say that the second half took less, by about as much.
    change = [series[half:].mean() / series[:half].mean() - 1 for series in (estimated, measured)]
    assert change[0] == pytest.approx(change[1], abs=0.02)
