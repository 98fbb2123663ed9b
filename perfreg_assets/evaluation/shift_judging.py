"""The runs of a made-up app, judged in order of time by the product's rules: series, correction, run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from perfreg_assets.catalogue import SeriesDefinition, definition_of
from perfreg_assets.detection import RunRule
from perfreg_assets.evaluation.shift_streams import INTERVAL_S, SERIES, VersionStep
from perfreg_assets.methods.multiple_testing import combine, correct
from perfreg_assets.methods.samples import Sample, Score


@dataclass(frozen=True)
class ScoredVersion:
    """A version's runs as a detector scores their series, uncorrected.

    Attributes:
        scores: series → a score per run, first the normal ones, then those with a regression.
    """

    step: VersionStep
    scores: dict[str, list[Score]]

    @property
    def of_normal(self) -> dict[str, list[Score]]:
        """Of the runs that make the app's past."""
        return {series: scores[: len(self.step.normal)] for series, scores in self.scores.items()}

    @property
    def is_past(self) -> bool:
        """Whether its normal runs tell later ones what is normal: not where people saw a change, and accepted it."""
        return not self.step.is_accepted


@dataclass(frozen=True)
class JudgedRun:
    """One run and its score as a whole.

    Attributes:
        app: number of the app, whose runs are not independent.
        past: how many of the app's runs had been judged before its version.
    """

    app: int
    past: int
    is_anomalous: bool
    score: Score


class Scorer(Protocol):
    """What judges series: a detector, or what it is compared with."""

    def score_all(
        self, history: Sequence[Sample], targets: Sequence[Sample], *, series: SeriesDefinition, interval_s: float
    ) -> list[Score]:
        """As `Detector.score_all`.

        Raises:
            ValueError: as there.
        """
        ...


def score_versions(steps: Sequence[VersionStep], detector: Scorer) -> list[ScoredVersion]:
    """Every version beside its own history."""
    found = []
    for step in steps:
        targets = (*step.normal, *step.anomalous)
        scores = {
            series: detector.score_all(
                [one.sample(series) for one in step.history],
                [one.sample(series) for one in targets],
                series=definition_of(series),
                interval_s=INTERVAL_S,
            )
            for series in SERIES
        }
        found.append(ScoredVersion(step, scores))
    return found


def judge_runs(versions: Sequence[ScoredVersion], app: int, run_rule: RunRule) -> list[JudgedRun]:
    """The runs as wholes, but for those of versions whose change was accepted: their alarms are not false."""
    found, past = [], 0
    for version in versions:
        if not version.is_past:
            continue
        normal = len(version.step.normal)
        for place in range(normal + len(version.step.anomalous)):
            of_run = {series: scores[place] for series, scores in version.scores.items()}
            corrected = {series: correct(score, len(of_run), run_rule) for series, score in of_run.items()}
            found.append(JudgedRun(app, past, place >= normal, combine(corrected, run_rule)))
        past += normal
    return found
