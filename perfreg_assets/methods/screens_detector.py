"""Detector `screens`: what a run took on each screen, beside earlier runs of any path.

Where too few earlier runs went a similar way, the courses of two runs cannot be laid upon each other, but what the
app takes on the same screen so many seconds after an action can (`screen_load`). The statistic is the run's mean
beside the mean that earlier runs would have had on this run's screens; each earlier run, beside the others, says how
much of that is chance. The others' mean is less certain than that of all of them by a known factor, (k - 1)/k, which
the earlier runs' statistics are multiplied by.

Memory belongs to no screen: what one screen took another one keeps. Its growth and range are judged as by detector
`default`, which needs no path for them (measured: growth per visit finds no leak of the recorded sessions, this does).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.catalogue import SeriesDefinition, display_unit
from perfreg_assets.how_many import how_many
from perfreg_assets.methods.barycenter import Barycenter
from perfreg_assets.methods.calibrated_detector import CalibratedDetector
from perfreg_assets.methods.calibration import DISTURBED_LOG, SMALLEST_LOG_SD
from perfreg_assets.methods.detectors import Detector
from perfreg_assets.methods.explanation import span_told
from perfreg_assets.methods.features import RESOLUTION, SMALLEST_LEVEL_SHARE
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.one_more import OneMore, one_more
from perfreg_assets.methods.rare_load import event_of, is_rare, rare_amount, smallest_scatter
from perfreg_assets.methods.samples import Sample, Score, UnlikeHistoryError, checked_values
from perfreg_assets.methods.scalar_values import predictive
from perfreg_assets.methods.screen_load import Expected, UsualLoad
from perfreg_assets.methods.states import UNKNOWN
from perfreg_assets.readable import readable

SMALLEST_HISTORY = 3
ANY_PATH_RUNS = "any_path_runs"
"""In the evidence: how many earlier runs of any path it was compared with."""
KNOWN_MINIMUM = 0.5
"""A run that spends less of its time on screens that earlier ones showed is not judged by them."""


@dataclass(frozen=True)
class ScreensDetector(Detector):
    """See the module and `Detector`."""

    name: str = "screens"

    def score_all(
        self,
        history: Sequence[Sample],
        targets: Sequence[Sample],
        *,
        series: SeriesDefinition,
        interval_s: float,
        barycenter: Barycenter | None = None,
    ) -> list[Score]:
        """Several targets against one history.

        Raises:
            UnlikeHistoryError: a target was mostly on screens that the history does not know, or says of none when.
            ValueError: fewer than 3 history runs, a series is too short or not finite, or it has no time axis.
        """
        if series.kind == "scalar":
            raise ValueError(f"{series.name} is one value per run; score_value judges it")
        if not targets:
            return []
        values_known, states_known = checked_values(history, SMALLEST_HISTORY), [_states(one) for one in history]
        order = _canonical_order(values_known, states_known)
        known, own_states = [values_known[place] for place in order], [states_known[place] for place in order]
        judged, states = checked_values(targets, 1), [_states(one) for one in targets]
        state_count = 1 + max(0, *(int(codes.max()) for codes in (*own_states, *states)))
        usual = UsualLoad(known, own_states, interval_s, state_count=state_count)
        expected = [usual.expected(codes) for codes in states]
        for one in expected:
            if one.known_ratio < KNOWN_MINIMUM:
                raise UnlikeHistoryError(
                    f"Only {one.known_ratio:.0%} of the session is on screens that the {len(history)} earlier runs "
                    f"showed, {KNOWN_MINIMUM:.0%} are needed."
                )
        if series.kind == "memory":
            found = CalibratedDetector().score_all(history, targets, series=series, interval_s=interval_s)
            return [_of_memory(score, one, len(known)) for score, one in zip(found, expected, strict=True)]
        statistic = _Statistic.of(series, known)
        own = np.array(
            [
                statistic.of_run(values, usual.expected(codes, without=place))
                for place, (values, codes) in enumerate(zip(known, own_states, strict=True))
            ]
        )
        own *= (len(known) - 1) / len(known)
        own[order] = own.copy()  # as the history is listed
        return [statistic.score(own, values, one, series) for values, one in zip(judged, expected, strict=True)]

    def score_value(self, history: Floats, value: float, *, series: SeriesDefinition) -> Score:
        """See `Detector.score_value`: one value has no screens, it is judged as by detector `default`.

        Raises:
            ValueError: fewer than 2 values in the history, or one is not finite.
        """
        return predictive(history, value, series)


@dataclass(frozen=True)
class _Statistic:
    """How far a run's mean is from what was expected, on a scale where normal runs scatter evenly.

    Attributes:
        scale: a logarithm of the ratio (load); the difference, unit of the series; or that of the square roots, of a
            load that many runs have nothing of (`rare_load`): nothing has no ratio.
        floor: added to both means of a ratio, so that nothing is not infinitely less than little; unit of the series.
        smallest_sd, smallest_disturbance: see `one_more`; of roots the former is told by the run.
        lowest, highest: means of the earlier runs, unit of the series.
        event: what they have of a load that many have nothing of, where they have any, unit of the series.
    """

    scale: Literal["ratio", "difference", "root"]
    floor: float
    smallest_sd: float
    smallest_disturbance: float
    lowest: float
    highest: float
    event: float = 0.0

    @classmethod
    def of(cls, series: SeriesDefinition, known: Sequence[Floats]) -> _Statistic:
        pool, means = np.concatenate(known), [float(values.mean()) for values in known]
        span = min(means), max(means)
        if is_rare(series, known):
            # Having some is how it is at times, and no disturbance.
            return cls("root", 0.0, 0.0, np.inf, *span, event_of(known))
        if series.kind == "load":
            floor = max(RESOLUTION * float(pool.mean()), 1e-9)
            return cls("ratio", floor, SMALLEST_LOG_SD, DISTURBED_LOG, *span)
        size = max(SMALLEST_LEVEL_SHARE * abs(float(np.median(pool))), 1e-9)
        return cls("difference", 0.0, size, float(pool.std()), *span)

    def of_run(self, values: Floats, expected: Expected) -> float:
        mean = float(values.mean())
        if self.scale == "ratio":
            return float(np.log((mean + self.floor) / (expected.mean + self.floor)))
        if self.scale == "root":
            return float(rare_amount(mean) - rare_amount(expected.mean))
        return mean - expected.mean

    def score(self, own: Floats, values: Floats, expected: Expected, series: SeriesDefinition) -> Score:
        scatter = smallest_scatter(self.event, values) if self.scale == "root" else self.smallest_sd
        found = one_more(own, self.of_run(values, expected), series.worse, scatter, self.smallest_disturbance)
        set_aside = int((~found.is_kept).sum())
        evidence = {
            **_evidence(expected, len(own), set_aside),
            "mean": float(values.mean()),
            "expected_mean": expected.mean,
        }
        return found.score(evidence, self._sentence(own, values, expected, series, found))

    def _sentence(
        self, own: Floats, values: Floats, expected: Expected, series: SeriesDefinition, found: OneMore
    ) -> str:
        unit = display_unit(series.unit)
        name = f" {unit.axis}" if unit.axis else ""
        kept = own[found.is_kept]
        low, high = float(kept.min()), float(kept.max())
        if self.scale == "root":
            told_of = readable(self.lowest * unit.factor), readable(self.highest * unit.factor)
            range_told = f"{span_told(*told_of)}{name}"
        elif self.scale == "ratio":
            range_told = f"{span_told(f'{np.exp(low):.2f}', f'{np.exp(high):.2f}')} times what was usual on theirs"
        else:
            range_told = f"{span_told(readable(low * unit.factor), readable(high * unit.factor))}{name} off"
        now, usual = (readable(mean * unit.factor) for mean in (float(values.mean()), expected.mean))
        aside = f"; {how_many(len(own) - len(kept), 'disturbed one')} set aside" if len(kept) < len(own) else ""
        if series.unit == "core-seconds/s":
            told = f"uses {now} cores on average, where {usual} are usual on the same screens"
        else:
            told = f"{series.label}: on average {now}{name}, where {usual} is usual on the same screens"
        return f"{told}; the {len(kept)} earlier runs of any path were at {range_told}{aside}"


def _of_memory(score: Score, expected: Expected, runs: int) -> Score:
    told = _evidence(expected, runs, int(score.evidence.get("history_set_aside", 0)))
    return replace(score, evidence={**score.evidence, **told}, sentence=f"{score.sentence} (runs of any path)")


def _evidence(expected: Expected, runs: int, set_aside: int) -> dict[str, float]:
    return {
        "history_size": float(runs),
        "history_set_aside": float(set_aside),
        ANY_PATH_RUNS: float(runs),
        "known_screens_ratio": expected.known_ratio,
    }


def _states(one: Sample) -> NDArray[np.int64]:
    return np.full(len(one.values), UNKNOWN, dtype=np.int64) if one.states is None else one.states


def _canonical_order(known: Sequence[Floats], states: Sequence[NDArray[np.int64]]) -> list[int]:
    """Indices in an order of content: listing the history in another order changes no bit of the result."""
    return sorted(range(len(known)), key=lambda place: (known[place].tobytes(), states[place].tobytes()))
