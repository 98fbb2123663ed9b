"""What the pages show, as plain values: one dataclass per thing a reader would name. No SQL, no HTML.

Units are the marts': CPU in core-seconds per second, memory in bytes, frequency in kHz; times of windows in
seconds since the series' start, `_ns` on the trace's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perfreg_assets import run
from perfreg_assets.run import PathStep


@dataclass(frozen=True, kw_only=True)
class Run(run.Run):
    """A registered or quarantined run as marts.runs has it; `state` is complete, reduced, incomplete_trace or
    quarantined."""

    run_id: str
    state: str
    step_count: int | None = None
    explored_state_count: int | None = None
    functional_problem_count: int = 0
    reason_code: str | None = None
    reason: str | None = None
    verdict: str | None = None
    explanation: str | None = None
    review_status: str | None = None
    review_note: str | None = None
    reviewer: str | None = None
    reviewed_at: datetime | None = None
    is_excluded: bool = False
    exclude_reason: str | None = None
    has_trace: bool = False
    is_trace_reduced: bool = False
    duration_s: float | None = None
    folder_name: str | None = None
    trace_start_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The current verdict on one series of a run, or on the run (`series` = '*')."""

    run_id: str
    series: str
    state: str
    detector: str
    omega: float
    is_anomalous: bool | None = None
    distance: float | None = None
    q1: float | None = None
    q3: float | None = None
    improvement: float | None = None
    threshold: float | None = None
    critical_omega: float | None = None
    direction: str | None = None
    missing_series: tuple[str, ...] = ()
    explanation: str | None = None

    @property
    def limit_ratio(self) -> float | None:
        """d over its threshold, 1.0 = at the limit; None where nothing was judged or the limit is not positive."""
        if self.distance is None or self.threshold is None or not self.threshold > 0:
            return None
        return max(self.distance, 0.0) / self.threshold

    @property
    def deciding_score(self) -> float | None:
        """What its state is by: of what improved the score towards the better side, of all else d."""
        return self.improvement if self.state == "improved" else self.distance


@dataclass(frozen=True, slots=True)
class AxisVerdict:
    """The current state of one axis of a run (cpu, memory, …) with the series that decides it, as the mart says it.

    `excess_ratio`: d over its threshold; None where nothing was judged or the threshold is not positive.
    """

    run_id: str
    axis: str
    state: str
    series: str
    excess_ratio: float | None = None
    explanation: str | None = None


@dataclass(frozen=True, slots=True)
class Distances:
    """D(H) and d of one series by one detector; `threshold` at the ω in force."""

    detector: str
    distance: float
    q1: float
    q3: float
    history_distances: tuple[float, ...]
    threshold: float | None = None
    p_value: float | None = None
    evidence_text: str | None = None
    input_hash: str | None = None
    parameters_hash: str | None = None
    engine_version: str | None = None
    code_version: str | None = None
    series_count: float | None = None
    """How many series and metrics of the run the distance is corrected for."""
    uncorrected_distance: float | None = None
    theoretical_score: float | None = None
    """Before earlier runs of the app were asked; None where they were not, as the next."""
    past_runs: float | None = None
    transient_runs: float | None = None
    """Those of them that had a passing disturbance; None where none had."""
    score_without_transient: float | None = None
    """By theory, without what passes in this run from one second to the other; None where nothing was taken off."""
    transient_start_s: float | None = None
    transient_end_s: float | None = None
    unit_runs: float | None = None
    """Earlier runs of the run's device unit; None where its history is of the same unit, or nobody says."""


@dataclass(frozen=True, slots=True)
class Discord:
    """A suspicious window of an anomalous series; seconds since the series' start, ns on the trace's clock."""

    start_s: float
    end_s: float
    peak_s: float
    start_ns: int
    end_ns: int
    confidence: float
    profile_value: float
    screens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Whether it was looked for where an anomalous series differs, and in which seconds since its start.

    `state`: windows, none or not_computed, see `marts.localisations`; the seconds are None where nothing was computed.
    """

    state: str
    reason: str | None = None
    examined_start_s: float | None = None
    examined_end_s: float | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """What grew in a window; amounts are core seconds per second, of memory bytes, see `marts.causes`."""

    rank: int
    kind: str
    scope: str
    process: str | None
    thread: str | None
    name: str
    value: float
    history_median: float | None
    growth: float | None
    growth_share: float | None
    z: float | None
    is_new: bool
    matched_count: int
    history_count: int
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """Names of slices or functions from the outermost on, and what the last one itself took: seconds per second, of a
    heap bytes; None where it is not known what is usual."""

    source: str
    process: str
    thread: str | None
    stack: tuple[str, ...]
    value: float
    history_median: float | None


@dataclass(frozen=True, slots=True)
class Explained:
    """A suspicious window of a series, or the whole run where none stands out, with what grew in it."""

    is_whole_run: bool
    start_s: float
    end_s: float
    start_ns: int
    end_ns: int
    confidence: float | None
    state: str
    state_reason: str | None
    disturbance: str | None
    causes: tuple[Cause, ...] = ()
    also_grew: tuple[Cause, ...] = ()
    stacks: tuple[Stack, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """Profile against the history: one value per window start (m,), NaN where trimmed."""

    window_s: float
    values: np.ndarray
    threshold_low: float | None
    threshold_high: float | None


@dataclass(frozen=True, slots=True)
class Band:
    """What the history did at each sample: 10 %, 50 % and 90 % quantiles, each (n,)."""

    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray
    run_count: int


@dataclass(frozen=True, slots=True)
class SeriesView:
    """All that is known of one series of one run. `values` is None where the series is missing."""

    name: str
    unit: str
    interval_s: float
    start_ns: int | None
    values: np.ndarray | None
    missing_reason: str | None = None
    verdict: Verdict | None = None
    barycenter: np.ndarray | None = None
    barycenter_id: str | None = None
    band: Band | None = None
    distances: tuple[Distances, ...] = ()
    profile: Profile | None = None
    discords: tuple[Discord, ...] = ()
    place: Place | None = None
    explained: tuple[Explained, ...] = ()
    history: tuple[np.ndarray | None, ...] = ()
    """Of each run of the history, the latest first, its values; None where it has none."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A screenshot, video, log or other file of the run folder; `offset_s` as of windows, None where not known."""

    file_name: str
    kind: str
    bytes: int
    offset_s: float | None = None


@dataclass(frozen=True, slots=True)
class MetricView:
    """A value without a time axis of one run, in `unit`; `value` is None where it is missing.

    `history`: the values of the history's runs, latest first. `limits`: what it may not fall below and not exceed.
    """

    name: str
    label: str
    unit: str
    value: float | None
    missing_reason: str | None = None
    history: tuple[float, ...] = ()
    limits: tuple[float | None, float | None] = (None, None)
    verdict: Verdict | None = None
    distances: tuple[Distances, ...] = ()


@dataclass(frozen=True, slots=True)
class CostRow:
    """A component of the cores and its charge in mAh, by whom it was for."""

    component: str
    app_mah: float
    others_mah: float
    wakeups_mah: float


@dataclass(frozen=True, slots=True)
class ScreenCost:
    """A screen and what the cores took while it was shown."""

    screen: str
    duration_s: float
    app_mah: float
    total_mah: float


@dataclass(frozen=True, slots=True)
class MethodCost:
    """A method of a thread and what the cores took for it: by itself, and with what it called."""

    thread: str
    method: str
    method_self_mah: float
    method_mah: float


@dataclass(frozen=True, slots=True)
class EnergyView:
    """What the cores took in a run, see `marts.energy_by_run`; changes are None without a history that has it.

    Attributes:
        doubts: clauses about what the estimate rests on, see `power_doubts`.
        energy_ratio, correlation, mape_ratio: of the estimate to the rails of the cores; None where none was measured.
    """

    app_mah_per_h: float
    total_mah_per_h: float
    battery_ratio_per_h: float | None
    history_count: int | None
    app_change_ratio: float | None
    total_change_ratio: float | None
    profile_name: str | None
    is_foreign_profile: bool | None
    has_idle_states: bool | None
    costs: tuple[CostRow, ...]
    screens: tuple[ScreenCost, ...]
    profile_doubt: str | None = None
    doubts: tuple[str, ...] = ()
    energy_ratio: float | None = None
    correlation: float | None = None
    mape_ratio: float | None = None
    methods: tuple[MethodCost, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryMember:
    """A run in the history (rank 1 = latest) or a near miss with the reason why it was left out."""

    run_id: str
    rank: int | None
    similarity: float | None
    exclude_reason: str | None
    version_name: str | None = None
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class WrittenFor:
    """The detector and ω whose verdicts a page shows."""

    detector: str
    omega: float

    @classmethod
    def of(cls, detector: str | None, omega: float | None) -> WrittenFor | None:
        """None as long as nothing is in force."""
        return None if detector is None or omega is None else cls(detector, omega)


@dataclass(frozen=True, slots=True)
class NearestRun:
    """The run of the history whose path is most alike; `start_ns`: where its second 0 is on its own trace's clock."""

    run_id: str
    version_name: str | None
    similarity: float
    has_trace: bool
    start_ns: int | None


@dataclass(frozen=True, slots=True)
class History:
    """How the history was chosen; `state` is ready or not_enough_history.

    `way`: path, or any_path where the run is compared with runs of any path, which `chosen` are then.
    """

    state: str
    way: str
    size: int
    maximum: int
    minimum: int
    similarity_minimum: float
    candidate_count: int
    excluded_counts: Mapping[str, int]
    members: tuple[HistoryMember, ...] = ()

    @property
    def chosen(self) -> tuple[HistoryMember, ...]:
        return tuple(sorted((m for m in self.members if m.rank is not None), key=lambda m: m.rank or 0))

    @property
    def is_judged_by_screens(self) -> bool:
        return self.way == "any_path"

    @property
    def near_misses(self) -> tuple[HistoryMember, ...]:
        return tuple(m for m in self.members if m.rank is None)


@dataclass(frozen=True, slots=True)
class SimilarityMatrix:
    """Path similarity of recent runs, oldest first; (n, n) in 0..1, the earlier run of a pair is the candidate."""

    run_ids: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True, slots=True)
class RunDetail:
    """Everything on one run's page."""

    run: Run
    run_verdict: Verdict | None
    series: tuple[SeriesView, ...]
    path: tuple[PathStep, ...]
    history: History | None
    similarity: SimilarityMatrix | None
    previous_run_id: str | None = None
    next_run_id: str | None = None
    metrics: tuple[MetricView, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    axes: tuple[AxisVerdict, ...] = ()
    energy: EnergyView | None = None
    nearest: NearestRun | None = None

    @property
    def start_ns(self) -> int | None:
        """Where second 0 of the charts is on the trace clock: the start of the series, else of the exploration."""
        starts = [series.start_ns for series in self.series if series.start_ns is not None]
        return min(starts, default=self.run.exploration_start_ns)

    @property
    def judged(self) -> tuple[SeriesView | MetricView, ...]:
        """Series and metrics with a verdict (even one that says why there is none), the worst first."""
        everything: tuple[SeriesView | MetricView, ...] = (*self.series, *self.metrics)
        judged = [one for one in everything if one.verdict is not None]
        return tuple(sorted(judged, key=lambda one: (-_severity(one.verdict), one.name)))

    @property
    def judged_series(self) -> tuple[SeriesView, ...]:
        """Without those that neither the run nor its history has: there is nothing to show of them."""
        return tuple(one for one in self.judged if isinstance(one, SeriesView) and not self.is_nowhere(one))

    @property
    def absent(self) -> tuple[SeriesView, ...]:
        """What the trace does not have and the history does not ask for."""
        return tuple(one for one in self.series if one.values is None and (one.verdict is None or self.is_nowhere(one)))

    def is_lacking(self, one: SeriesView | MetricView) -> bool:
        """The run does not have it although its history has."""
        return self.run_verdict is not None and one.name in self.run_verdict.missing_series

    def is_nowhere(self, one: SeriesView | MetricView) -> bool:
        """Neither the run nor its history has it."""
        return one.verdict is not None and one.verdict.state == "series_missing" and not self.is_lacking(one)

    @property
    def ordered_metrics(self) -> tuple[MetricView, ...]:
        """All metrics, those with a verdict first, the worst first."""
        return tuple(sorted(self.metrics, key=lambda one: (-_severity(one.verdict), one.name)))

    @property
    def unjudged(self) -> tuple[SeriesView, ...]:
        return tuple(s for s in self.series if s.verdict is None)


def _severity(verdict: Verdict | None) -> float:
    if verdict is None:
        return -2.0
    if verdict.is_anomalous:
        return 1e6 + (verdict.critical_omega or 0.0)
    return verdict.limit_ratio if verdict.limit_ratio is not None else -1.0


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run as a row of lists.

    Attributes:
        state: what stands on its badge: of its verdict, or why there is none.
        flagged: its anomalous series.
        ratio: the largest distance of its series in multiples of the limit.
        critical_omega: at every smaller ω the run is anomalous; -1 at none, 1e9 at all; None where it was not measured,
            and of a run that is excluded: it is none of its app.
        review: what a person said: the status of a review, or that it is `excluded`.
        is_lacking: a series of its history is missing, so that it is not judged where it is not anomalous.
        reason_code: why it was not taken in, or why its trace cannot be judged.
    """

    run_id: str
    app: str | None
    version_name: str | None
    started_at: datetime | None
    state: str
    axes: Mapping[str, str] = field(default_factory=dict)
    flagged: tuple[str, ...] = ()
    ratio: float | None = None
    review: str | None = None
    problems: int = 0
    critical_omega: float | None = None
    is_lacking: bool = False
    device: str | None = None
    reason_code: str | None = None


@dataclass(frozen=True, slots=True)
class SeriesCell:
    """One version and series: d over its limit in the worst run, counts of runs, and why none is judged if none is.

    `lacking`: runs that do not have the series although their history has.
    """

    ratio: float | None
    anomalous: int
    judged: int
    lacking: int
    state: str | None


@dataclass(frozen=True, slots=True)
class Level:
    """Of a series in some runs: the median of their means, and the range of those of their histories."""

    median: float
    history_low: float | None = None
    history_high: float | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """In which scenario and configuration runs were made: equal where marts.trends_by_scenario takes them together.

    The hash of the configuration stands for what it is made of.

    Attributes:
        scenario: None where none is stated.
        time_limit_s, action_interval_s: 0 where there is none.
    """

    config_hash: str
    scenario: str | None = None
    device: str | None = field(default=None, compare=False)
    strategy: str | None = field(default=None, compare=False)
    time_limit_s: float | None = field(default=None, compare=False)
    action_interval_s: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SetupLevels:
    """Of a version's runs of one scenario and configuration; `run_count`: those that count and have a level."""

    setup: Setup
    run_count: int
    levels: Mapping[str, Level] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeriesPoints:
    """A series in each run of a version: its mean in `unit`, its distance over its limit, and whether it is anomalous;
    None where there is no mean, or it was not judged."""

    unit: str
    means: tuple[float | None, ...] = ()
    ratios: tuple[float | None, ...] = ()
    anomalous: tuple[bool | None, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of an app as a row of the heat map and a moment of the trends.

    Attributes:
        run_ids: those of the points.
        run_setups: of each its place in `setups`; None of a setup without a level.
        setups: that of most runs first.
    """

    version_name: str
    run_count: int
    anomalous_count: int
    first_started_at: datetime
    last_started_at: datetime
    run_ids: tuple[str, ...] = ()
    cells: Mapping[str, SeriesCell] = field(default_factory=dict)
    points: Mapping[str, SeriesPoints] = field(default_factory=dict)
    setups: tuple[SetupLevels, ...] = ()
    run_setups: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class AlarmCounts:
    """At one ω, of whole runs: `alarms` of `judged` runs, and what people said of those alarms.

    `expected`: false alarms that the level of this ω lets through among the runs that nobody confirmed or accepted;
    None where the detector states no level.
    """

    detector: str
    omega: float
    judged: int
    alarms: int
    confirmed: int
    rejected: int
    unreviewed: int
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class QualityRow:
    """Precision and recall of the last evaluation, pooled over series, for one detector and ω."""

    dataset: str
    detector: str
    omega: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    false_positive_rate: float | None


@dataclass(frozen=True, slots=True)
class OmegaOverview:
    """What the ω page shows at once: how many runs are anomalous at each step of ω, and what people said of them.

    `measured`: runs with a critical ω. `counts`: anomalous ones at 0, 0.025, … 100. Excluded runs are in neither.
    """

    omega: float | None
    detector: str | None
    measured: int = 0
    counts: tuple[int, ...] = ()
    alarms: tuple[AlarmCounts, ...] = ()
    quality: tuple[QualityRow, ...] = ()
