"""Two sides beside each other: the fixtures of public data and of document 001's table."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from perfreg_assets.benchmarks.sides import of_files
from perfreg_assets.methods.benchmark_comparison import Entry, compare
from perfreg_assets.reasons import Reason, Rejected

DATA = Path(__file__).parents[1] / "data" / "benchmark-results"
TABLE = {  # document 001, table 1: operations per second on 32 and 64 bits
    "sort": (3322073, 3606652), "math": (99713394, 144153902), "runge_kutta": (21937984, 29046069),
    "game_ai": (3150, 125722), "vision": (30.56, 43.24), "compression": (168.1, 233.0), "crypto": (4.558, 6.44),
    "physics": (22.15, 26.68), "jni": (18452, 18497),
}  # fmt: skip


def entry(key, *scores, area="one", worse="less", unit="ops/s", iterations=None, **more):
    values = np.array(scores, dtype=float)
    return Entry(key=key, area=area, unit=unit, worse=worse, scores=values,
                 iterations=values if iterations is None else np.array(iterations, dtype=float), **more)  # fmt: skip


def files(a, b):
    sides = [of_files([DATA / f"{name}.json.gz"], with_inadequate=False).entries for name in (a, b)]
    return compare(*sides, change_minimum=0.05)


def test_document_001s_table():
    sides = [[entry(name, values[side], area=name) for name, values in TABLE.items()] for side in (0, 1)]
    found = compare(*sides, change_minimum=0.05)
    assert found.overall.mean_a == pytest.approx(8447.56, abs=0.005)
    assert found.overall.mean_b == pytest.approx(15783.56, abs=0.005)
    assert found.ratio(found.overall.change.log_ratio) == pytest.approx(1.8684, abs=5e-5)
    assert [one.key for one in found.tests if one.is_implausible] == ["game_ai"]
    z = {one.key: round(one.modified_z, 1) for one in found.tests}
    assert (z["game_ai"], z["jni"], z["sort"]) == (49.5, -4.8, -3.6)
    assert max(abs(one) for name, one in z.items() if name not in ("game_ai", "jni", "sort")) <= 2.1
    without = found.plausible_overall
    assert (without.mean_a, without.mean_b) == pytest.approx((9556.17, 12177.39), abs=0.005)
    assert found.ratio(without.change.log_ratio) == pytest.approx(1.2743, abs=5e-5)
    speedups = {one.area: found.ratio(one.change.log_ratio) for one in found.areas}
    assert [round(100 * speedups[name] - 100, 2) for name in ("sort", "math", "vision", "compression", "crypto")] == [
        8.57, 44.57, 41.49, 38.61, 41.29,
    ]  # fmt: skip


def test_pyperf_on_two_pythons():
    found = files("pyperf_mult_list_py36", "pyperf_mult_list_py38")
    ratios = {one.key: round(found.ratio(one.change.log_ratio), 4) for one in found.tests}
    assert ratios == {"[1]*1000 time": 0.9988, "[1,2]*1000 time": 0.8569, "[1,2,3]*1000 time": 0.8991}
    low, high = found.interval(found.overall.change)
    assert found.ratio(found.overall.change.log_ratio) == pytest.approx(0.9164, abs=5e-5)
    assert (low, high) == pytest.approx((0.9104, 0.9224), abs=5e-5)
    change = found.overall.change
    freedom = np.sum(change.terms) ** 2 / np.sum(change.terms**2 / change.degrees)
    assert freedom == pytest.approx(59.4, abs=0.05)
    assert (found.worse, found.overall.verdict, found.is_slower) == ("more", "faster", False)


def test_jetpack_one_launch_on_each_side():
    found = files("jetpack_startup_2025-07_disabled", "jetpack_startup_2025-07_enabled")
    (one,) = found.tests
    assert found.ratio(one.change.log_ratio) == pytest.approx(1.0544, abs=5e-5)
    assert found.interval(one.change) == pytest.approx((1.0265, 1.0832), abs=5e-5)
    assert one.change.p_value == pytest.approx(5e-6, abs=5e-7)
    assert found.has_single_launches
    assert found.is_slower


def test_ranks_are_those_of_launches_and_of_iterations_only_where_neither_side_has_two():
    five, seven = [1.0, 1.02, 1.01, 0.99, 1.03], [1.2, 1.21, 1.19, 1.22, 1.23, 1.18, 1.24]
    one, other = entry("x", 1.01, iterations=five), entry("x", 1.21, iterations=seven)
    many = entry("x", *seven[:5], iterations=five * 9)
    (single,) = compare([one], [other], change_minimum=0.05).tests
    assert single.p_rank == pytest.approx(stats.mannwhitneyu(five, seven).pvalue)
    for sides in ((one, many), (many, one)):
        (beside,) = compare(*([side] for side in sides), change_minimum=0.05).tests
        assert math.isnan(beside.p_rank)  # one launch has no rank among others
    more = entry("x", *five, iterations=seven * 9)
    (launches,) = compare([more], [many], change_minimum=0.05).tests
    assert launches.p_rank == pytest.approx(stats.mannwhitneyu(five, seven[:5]).pvalue)


def test_jmh_before_and_after_a_change():
    found = files("jmh_jcasbin_a", "jmh_jcasbin_b")
    assert len(found.tests) == 37
    assert len(found.excluded) == 86 - 37
    far = sorted(round(found.ratio(one.change.log_ratio), 3) for one in found.tests if one.is_implausible)
    assert far == [0.031, 0.039, 0.057]


def test_only_what_was_measured_on_both_sides_is_in_the_means_and_the_rest_is_listed():
    a = [entry("both", 1, 1.01), entry("a only", 5, 6), entry("late", 3, 3.1, why_left_out="not_warm"),
         entry("count", 2, 2, worse="either"), entry("unit", 2, 2.1)]  # fmt: skip
    b = [entry("both", 1.2, 1.21), entry("b only", 7, 8), entry("late", 9, 9.1),
         entry("count", 9, 9, worse="either"), entry("unit", 9, 9.1, unit="ns")]  # fmt: skip
    found = compare(a, b, change_minimum=0.05)
    assert [one.key for one in found.tests] == ["both"]
    reasons = dict(found.excluded)
    assert set(reasons) == {"a only", "b only", "late", "count", "unit"}
    assert reasons["late"] == "on the first side: not_warm"
    assert "ns on the second" in reasons["unit"]


def test_nothing_on_both_sides_is_refused():
    with pytest.raises(Rejected) as caught:
        compare([entry("a", 1, 2)], [entry("b", 1, 2)], change_minimum=0.05)
    assert caught.value.reason is Reason.NOTHING_PAIRED


def test_areas_count_the_same_and_tests_beside_it():
    tests = {"x1": ("x", 2.0), "x2": ("x", 2.0), "x3": ("x", 2.0), "y": ("y", 1.0)}
    a = [entry(name, 1, 1.001, area=area) for name, (area, _) in tests.items()]
    b = [entry(name, ratio, ratio * 1.001, area=area) for name, (area, ratio) in tests.items()]
    found = compare(a, b, change_minimum=0.05)
    assert found.ratio(found.overall.change.log_ratio) == pytest.approx(math.sqrt(2))
    assert found.ratio(found.over_tests.change.log_ratio) == pytest.approx(2**0.75)


def test_times_and_rates_meet_as_speeds():
    a = [entry("rate", 10, 10.1), entry("time", 10, 10.1, worse="more", unit="ns")]
    b = [entry("rate", 20, 20.2), entry("time", 5, 5.05, worse="more", unit="ns")]
    found = compare(a, b, change_minimum=0.05)
    assert found.worse == "less"
    assert found.ratio(found.overall.change.log_ratio) == pytest.approx(2)
    assert found.overall.mean_a is None
    assert {one.verdict for one in found.tests} == {"faster"}


def test_a_sure_but_small_change_is_none_and_a_large_unsure_one_neither():
    small = compare([entry("a", 100, 100.1, 99.9)], [entry("a", 97, 97.1, 96.9)], change_minimum=0.05)
    unsure = compare([entry("a", 100, 150, 60)], [entry("a", 80, 120, 50)], change_minimum=0.05)
    sure = compare([entry("a", 100, 100.1, 99.9)], [entry("a", 80, 80.1, 79.9)], change_minimum=0.05)
    assert [one.overall.verdict for one in (small, unsure, sure)] == ["no change", "no change", "slower"]
    assert [one.is_slower for one in (small, unsure, sure)] == [False, False, True]


def test_slower_is_whatever_is_told_so():
    """Of the tests, and of each mean that the table or JSON shows."""
    found = compare([entry("a", 100, 100.1)], [entry("a", 100, 100.1)], change_minimum=0.05)
    assert (found.is_slower, found.is_judged) == (False, True)
    slower = replace(found.overall, verdict="slower")
    for name in ("overall", "over_tests", "plausible_overall", "plausible_over_tests"):
        assert replace(found, **{name: slower}).is_slower, name
    for name in ("areas", "plausible_areas"):
        assert replace(found, **{name: (slower,)}).is_slower, name
    assert replace(found, tests=(replace(found.tests[0], verdict="slower"),)).is_slower


def test_without_noise_nothing_is_judged():
    found = compare([entry("a", 1)], [entry("a", 2)], change_minimum=0.05)
    assert found.overall.verdict == "unknown"
    assert not found.is_judged


def test_two_sides_of_the_same_noise_are_slower_in_few_comparisons():
    """Ten tests of five launches each, several verdicts per comparison: one in twenty at most may be wrong."""
    random = np.random.default_rng(0)

    def side():
        levels = random.normal(0, 0.02, (10, 5, 1)) + random.normal(0, 0.03, (10, 5, 9))
        return [entry(f"t{place}", *np.exp(np.median(one, axis=1))) for place, one in enumerate(levels)]

    wrong = sum(compare(side(), side(), change_minimum=0.0).is_slower for _ in range(200))
    assert wrong <= 0.09 * 200  # by tests and by means together, without the smallest change
    guarded = sum(compare(side(), side(), change_minimum=0.05).is_slower for _ in range(200))
    assert guarded <= 0.02 * 200


def test_order_of_the_entries_does_not_matter():
    a, b = ([entry(f"t{place}", value, value * 1.1, value * 0.97) for place, value in enumerate(values)]
            for values in ([1, 2, 3], [1.1, 2.5, 2]))  # fmt: skip
    one, other = compare(a, b, change_minimum=0.05), compare(a[::-1], b[::-1], change_minimum=0.05)
    assert [replace(each, change=None) for each in one.tests] == [replace(each, change=None) for each in other.tests]


@pytest.mark.parametrize(("tests", "iterations"), [(1, 3), (3, 4), (20, 5), (60, 6)])
def test_what_so_few_iterations_cannot_show_however_far_apart_is_unknown_and_no_change_of_none(tests, iterations):
    """Mann and Whitney's smallest p, after Holm's correction, is above the level: no p would be an alarm."""

    def beside(count, factor):
        random = np.random.default_rng(count)
        first = [entry(f"t{i}", 1.0, iterations=random.uniform(1, 1.1, count)) for i in range(tests)]
        second = [entry(f"t{i}", factor, iterations=factor * random.uniform(1, 1.1, count)) for i in range(tests)]
        return compare(first, second, change_minimum=0.05)

    for factor in (30.0, 1.0):
        few = beside(iterations, factor)
        assert {one.verdict for one in few.tests} == {"unknown"}
        assert few.too_few == (tests, iterations + 1)
    enough = beside(iterations + 1, 1 / 30)
    assert enough.too_few == (0, 0)
    assert {one.verdict for one in enough.tests} == {"slower"}


def test_two_iterations_alone_are_no_mean_either_and_those_of_many_tests_are():
    def beside(tests):
        sides = [[entry(f"t{i}", s, iterations=[s, 1.01 * s]) for i in range(tests)] for s in (1.0, 0.5)]
        return compare(*sides, change_minimum=0.05)

    assert (beside(1).overall.verdict, beside(1).is_slower, beside(1).is_judged) == ("unknown", False, False)
    # Six times of six on the same side.
    assert beside(6).overall.verdict == "slower"


def test_one_test_alone_is_as_its_area_and_all_of_them():
    """Whatever the test says: its p is of ranks, and a mean of the draws said otherwise in a tenth of cases."""
    verdicts = set()
    for seed in range(60):
        random = np.random.default_rng(seed)
        a, b = np.exp(random.normal(0, 0.12, 12)), np.exp(random.normal(0.1, 0.12, 12))
        sides = [[entry("t", float(np.median(one)), iterations=one, worse="more", unit="ns")] for one in (a, b)]
        found = compare(*sides, change_minimum=0.05)
        (one,) = found.tests
        verdicts.add(one.verdict)
        for mean in (*found.areas, found.overall, found.over_tests):
            assert (mean.verdict, found.interval(mean.change)) == (one.verdict, found.interval(one.change))
    assert verdicts >= {"slower", "no change"}


def test_launches_need_no_such_number():
    found = compare([entry("a", 1.0, 1.01)], [entry("a", 0.5, 0.505)], change_minimum=0.05)
    assert (found.tests[0].verdict, found.too_few) == ("slower", (0, 0))
