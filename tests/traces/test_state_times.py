"""Runs of devices without frequency events: an upper bound by the kernel's times in state, or why there is none."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_power_series import APP, PROFILE, T0, S, at, scoped  # noqa: F401  (a fixture)

from perfreg_assets.traces.energies import energies
from perfreg_assets.traces.power_series import power_series
from perfreg_assets.traces.profile_choice import SETTING, Offered, Profiles

TIMES = {
    "start_s": 50.0, "end_s": 51.2,
    "policies": {
        "0": {"core_count": 1, "start": [[300000, 0], [600000, 3], [1200000, 9]],
              "end": [[300000, 50], [600000, 63], [1200000, 19]]},
        "1": {"core_count": 1, "start": [[500000, 1], [1000000, 0], [2000000, 0]],
              "end": [[500000, 1], [1000000, 120], [2000000, 0]]},
    },
}  # fmt: skip


def policy(core_count=1, end=120):
    return {"0": {"core_count": core_count, "start": [[300000, 0]], "end": [[300000, end]]}}


GIVEN = Profiles(forced=Offered(PROFILE.encode(), "two.xml", "", SETTING), forced_name="two", state_times=TIMES)


@pytest.fixture
def without_frequencies(make_trace):
    return make_trace().process(101, APP, ts=T0 - S).schedule([(0, 101, at(0), at(2))])


def test_a_run_without_frequencies_has_an_upper_bound_and_no_estimate(without_frequencies, scoped):  # noqa: F811
    scope = scoped(without_frequencies, GIVEN)
    found = energies(scope)
    ((one,), reason) = found.charges, found.reason
    assert (one.component, one.scope, one.source) == ("cpu_core", "device", "time_in_state")
    assert one.charge_mas == pytest.approx(23.0 + 1.2 * 80)
    assert (found.reason_code, found.chosen) == ("series_missing", None)
    assert "power/cpu_frequency" in reason
    assert {series.values for series in power_series(scope)} == {None}  # never judged


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"end_s": 51.5}, "the ticks are 1.20 s, 1.500 s passed"),
        ({"policies": {"0": {}}}, "KeyError"),
        ({"policies": 5}, "AttributeError"),
        ({"policies": policy(end=10**400)}, "too large"),
        ({"policies": policy(core_count=-2)}, "core_count is -2"),
        ({"policies": policy(core_count=10**12)}, "core_count is 1000000000000"),
        ({"policies": {str(10**12): policy()["0"]}}, "policy is 1000000000000"),
        ({"start_s": "nan"}, "nan s passed"),
    ],
)
def test_times_that_cannot_be_used_are_told_and_are_no_charge(without_frequencies, scoped, changed, words):  # noqa: F811
    found = energies(scoped(without_frequencies, replace(GIVEN, state_times={**TIMES, **changed})))
    assert found.charges == ()
    assert "no upper bound either" in found.reason
    assert words in found.reason


def test_without_a_profile_the_reason_is_told(without_frequencies, scoped):  # noqa: F811
    found = energies(scoped(without_frequencies, Profiles(state_times=TIMES)))
    assert found.charges == ()
    assert "No power profile is known" in found.reason
