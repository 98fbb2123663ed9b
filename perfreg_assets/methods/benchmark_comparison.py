"""Two sides of benchmark results beside each other: which tests pair, how much each changed, and means of them.

Only what was measured on both sides, and adequately on both, is in the means: a mean over other tests on each side
compares nothing (the overall row of document 001's table does that). What is left out is listed, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perfreg_assets.catalogue import Worse
from perfreg_assets.how_many import how_many
from perfreg_assets.methods import benchmark_statistics as statistics
from perfreg_assets.methods.benchmark_statistics import Change
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.reasons import Reason, Rejected

LEVEL = 0.05
"""Of alarms, after Holm's correction for the number of tests."""
_SIDES = ("first", "second")
_SHOWN_LOG = 700.0  # beyond it a double has no exponential

Verdict = Literal["slower", "faster", "no change", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One result of a side.

    Attributes:
        key: equal on both sides for what is the same benchmark.
        scores: (r,) of the launches.
        iterations: (n,) of all launches; needed where there is only one.
        why_left_out: a sentence, where it is not to be compared.
        why_no_result: a sentence, where nothing came of it, so that there are no scores.
        files_left_out: why, of each file that says something of it and does not count.
    """

    key: str
    area: str
    unit: str
    worse: Worse
    scores: Floats
    iterations: Floats
    is_primary: bool = True
    why_left_out: str | None = None
    why_no_result: str | None = None
    files_left_out: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Paired:
    """A test on both sides.

    Attributes:
        score_a, score_b: geometric means over the launches, in `unit`.
        p_holm: two-sided p of no change, corrected for the number of tests; `p_rank`: Mann and Whitney's, uncorrected.
        has_too_few: iterations for a verdict: however far apart the sides were, the corrected p would be no alarm.
        is_implausible: its ratio is far from those of the others.
    """

    key: str
    area: str
    unit: str
    worse: Worse
    score_a: float
    score_b: float
    launches_a: int
    launches_b: int
    change: Change
    p_holm: float
    p_rank: float
    modified_z: float
    is_implausible: bool
    has_too_few: bool
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A geometric mean over paired tests.

    Attributes:
        area: None: over all.
        mean_a, mean_b: geometric means of the scores; None where the tests' units differ.
    """

    area: str | None
    change: Change
    pairs: int
    mean_a: float | None
    mean_b: float | None
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Attributes:
    worse: how `ratio` is to be read: 'more' where all tests are times, so that it is one of times; else 'less', and it
        is one of speeds.
    overall: every area counts the same (document 001); `over_tests`: every test does.
    plausible_areas, plausible_overall, plausible_over_tests: without the implausible tests; the same where there is
        none.
    excluded: (key, reason) of what is in no mean.
    files_excluded: (key, reason) of each file of a test that does not count, because others of its side are adequate.
    """

    worse: Worse
    tests: tuple[Paired, ...]
    areas: tuple[Mean, ...]
    overall: Mean
    over_tests: Mean
    plausible_areas: tuple[Mean, ...]
    plausible_overall: Mean
    plausible_over_tests: Mean
    excluded: tuple[tuple[str, str], ...]
    files_excluded: tuple[tuple[str, str], ...] = ()

    @property
    def is_slower(self) -> bool:
        """Whether anything is that is told: a test, an area, or all, with the implausible tests or without them."""
        return "slower" in self._verdicts

    @property
    def is_judged(self) -> bool:
        """Whether there is noise known of anything."""
        return self._verdicts != {"unknown"}

    @property
    def _verdicts(self) -> set[Verdict]:
        means = (
            *(*self.areas, self.overall, self.over_tests),
            *(*self.plausible_areas, self.plausible_overall, self.plausible_over_tests),
        )
        return {one.verdict for one in self.tests} | {one.verdict for one in means}

    @property
    def without_noise(self) -> int:
        """How many tests nothing tells the noise of; the means that they are in are unknown for it."""
        return sum(math.isnan(one.change.p_value) for one in self.tests)

    @property
    def too_few(self) -> tuple[int, int]:
        """(tests with too few iterations for a verdict, how many on each side so many tests take); (0, 0) of none."""
        count = sum(one.has_too_few for one in self.tests)
        known = len(self.tests) - self.without_noise
        return (count, statistics.iterations_needed(known, LEVEL)) if count else (0, 0)

    @property
    def has_single_launches(self) -> bool:
        """Whether intervals rest on the iterations of one launch, so that noise between launches is not in them."""
        return any(one.change.basis == "iterations" for one in self.tests)

    def ratio(self, log_ratio: float) -> float:
        """The second side's over the first's, in the comparison's orientation."""
        signed = -log_ratio if self.worse == "more" else log_ratio
        return math.exp(min(max(signed, -_SHOWN_LOG), _SHOWN_LOG)) if not math.isnan(signed) else math.nan

    def interval(self, change: Change) -> tuple[float, float]:
        """(low, high) of the ratio; NaN where nothing tells the noise."""
        ends = sorted((self.ratio(change.low), self.ratio(change.high)))
        return ends[0], ends[1]


def compare(a: Sequence[Entry], b: Sequence[Entry], *, change_minimum: float) -> Comparison:
    """Compares two sides, each with unique keys.

    Args:
        change_minimum: a smaller share is no change worth a verdict, however sure it is.

    Raises:
        Rejected: NOTHING_PAIRED.
    """
    side_b = {one.key: one for one in b}
    pairs, excluded = [], []
    for one in sorted(a, key=lambda entry: entry.key):
        other = side_b.get(one.key)
        why = _why_not(one, other)
        if other is None or why is not None:
            excluded.append((one.key, why or ""))
        else:
            pairs.append((one, other))
    known = {one.key for one in a}
    excluded += [(one.key, "only on the second side") for one in b if one.key not in known]
    if not pairs:
        told = f"; {len(excluded)} left out, the first: {excluded[0][0]}: {excluded[0][1]}" if excluded else ""
        raise Rejected(Reason.NOTHING_PAIRED, f"{how_many(len(a), 'result')} beside {len(b)}{told}")
    tests = _tests(pairs, change_minimum)
    plausible = [one for one in tests if not one.is_implausible]
    areas, overall, over_tests = _means(tests, change_minimum)
    without = (areas, overall, over_tests) if len(plausible) == len(tests) else _means(plausible, change_minimum)
    return Comparison(
        worse="more" if all(one.worse == "more" for one in tests) else "less",
        tests=tuple(tests),
        areas=areas,
        overall=overall,
        over_tests=over_tests,
        plausible_areas=without[0],
        plausible_overall=without[1],
        plausible_over_tests=without[2],
        excluded=tuple(sorted(excluded)),
        files_excluded=tuple(
            (entry.key, f"on the {side} side: {why}")
            for pair in pairs
            for side, entry in zip(_SIDES, pair, strict=True)
            for why in entry.files_left_out
        ),
    )


def _why_not(one: Entry, other: Entry | None) -> str | None:
    """Why a result of the first side is in no mean."""
    if other is None:
        return "only on the first side"
    sides = tuple(zip(_SIDES, (one, other), strict=True))
    nothing = [f"no result on the {side} side: {entry.why_no_result}" for side, entry in sides if entry.why_no_result]
    if nothing:  # of which neither unit nor direction is sure
        return "; ".join(nothing)
    if not one.is_primary or one.worse == "either":
        return "not what the benchmark is about: a time or a rate"
    if one.unit != other.unit:
        return f"measured in {one.unit or 'no unit'} on the first side, in {other.unit or 'no unit'} on the second"
    told = [f"on the {side} side: {entry.why_left_out}" for side, entry in sides if entry.why_left_out is not None]
    return "; ".join(told) or None


def _tests(pairs: Sequence[tuple[Entry, Entry]], change_minimum: float) -> list[Paired]:
    random = np.random.default_rng(0)
    p_rank = statistics.rank_p_values(
        [_observed(one, one, other) for one, other in pairs], [_observed(other, one, other) for one, other in pairs]
    )
    changes = [_change(one, other, random, float(p)) for (one, other), p in zip(pairs, p_rank, strict=True)]
    p_values = np.array([change.p_value for change in changes])
    p_holm = statistics.holm(p_values)
    least = statistics.holm(np.where(np.isnan(p_values), np.nan, [change.least_p for change in changes]))
    logs = np.array([change.log_ratio for change in changes])
    far, distances = statistics.implausible(logs), statistics.modified_z(logs)
    return [
        Paired(
            key=one.key,
            area=one.area,
            unit=one.unit,
            worse=one.worse,
            score_a=math.exp(statistics.log_mean(one.scores)),
            score_b=math.exp(statistics.log_mean(other.scores)),
            launches_a=len(one.scores),
            launches_b=len(other.scores),
            change=change,
            p_holm=float(p_holm[place]),
            p_rank=float(p_rank[place]),
            modified_z=float(distances[place]),
            is_implausible=bool(far[place]),
            has_too_few=bool(least[place] > LEVEL),
            verdict=_verdict(change.log_ratio, float(p_holm[place]), float(least[place]), change_minimum),
        )
        for place, ((one, other), change) in enumerate(zip(pairs, changes, strict=True))
    ]


def _change(one: Entry, other: Entry, random: np.random.Generator, p_rank: float) -> Change:
    sign = -1 if one.worse == "more" else 1
    if len(one.scores) == 1 and len(other.scores) == 1:
        return statistics.of_iterations(one.iterations, other.iterations, sign, random, p_rank=p_rank)
    return statistics.of_launches(one.scores, other.scores, sign)


def _observed(wanted: Entry, one: Entry, other: Entry) -> Floats:
    """What the test by ranks looks at: launches, or the iterations where neither side has two."""
    return wanted.iterations if len(one.scores) == 1 and len(other.scores) == 1 else wanted.scores


def _means(tests: Sequence[Paired], change_minimum: float) -> tuple[tuple[Mean, ...], Mean, Mean]:
    """(of each area, of all with every area counting the same, of all with every test counting the same)."""
    by_area: dict[str, list[Paired]] = {}
    for one in tests:
        by_area.setdefault(one.area, []).append(one)
    areas = {area: _mean(area, own, np.full(len(own), 1 / len(own)), change_minimum) for area, own in by_area.items()}
    in_order = [one for own in by_area.values() for one in own]
    by_areas = np.array([1 / (len(by_area) * len(by_area[one.area])) for one in in_order])
    return (
        tuple(areas[area] for area in sorted(areas)),
        _mean(None, in_order, by_areas, change_minimum),
        _mean(None, in_order, np.full(len(in_order), 1 / len(in_order)), change_minimum),
    )


def _mean(area: str | None, tests: Sequence[Paired], weights: Floats, change_minimum: float) -> Mean:
    change = statistics.mean_change([one.change for one in tests], weights)
    is_one_unit = len({one.unit for one in tests}) == 1
    logs_a, logs_b = (np.log([getattr(one, side) for one in tests]) for side in ("score_a", "score_b"))
    return Mean(
        area=area,
        change=change,
        pairs=len(tests),
        mean_a=math.exp(float(np.sum(weights * logs_a))) if is_one_unit else None,
        mean_b=math.exp(float(np.sum(weights * logs_b))) if is_one_unit else None,
        verdict=_verdict(change.log_ratio, change.p_value, change.least_p, change_minimum),
    )


def _verdict(log_ratio: float, p_value: float, least_p: float, change_minimum: float) -> Verdict:
    if math.isnan(p_value) or least_p > LEVEL:
        return "unknown"
    if p_value > LEVEL or abs(log_ratio) < math.log1p(change_minimum):
        return "no change"
    return "faster" if log_ratio > 0 else "slower"
