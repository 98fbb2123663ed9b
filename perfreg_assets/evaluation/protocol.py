"""Who is judged beside whom.

`thesis`: k history runs at random from an app's normal runs, all its other runs are targets, R repeats. `aa`: the same,
but only normal runs are targets: every alarm is false. `chronological`: each run beside the history the product would
choose for it, once; where that has too few members, beside the runs of any path that stand in for it.

All series of an app share its draws, so that a run's series can be combined to a verdict on the run.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfreg_assets.detection import DetectorDefinition, Way
from perfreg_assets.evaluation.dataset import Dataset, LabelledSeries
from perfreg_assets.methods.history import HistoryRules, RunFacts, select_history
from perfreg_assets.reasons import Reason, Rejected

PROTOCOLS = ("thesis", "aa", "chronological")


@dataclass(frozen=True)
class Draw:
    """One history and its targets; run ids in sorted order.

    Attributes:
        way: how the product would compare them; None where the history was drawn, whatever the paths.
        is_stand_in: the targets have too few runs of a similar path.
    """

    app: str
    repeat: int
    history: tuple[str, ...]
    targets: tuple[str, ...]
    way: Way | None = None
    is_stand_in: bool = False


def draws_of(detector: DetectorDefinition, draws: Sequence[Draw]) -> list[Draw]:
    """The draws that a detector judges: all that were drawn, of the others those of its own way and, where it has a
    fallback, those that stand in."""
    return [
        draw
        for draw in draws
        if draw.way in (None, detector.way) or (detector.fallback is not None and draw.is_stand_in)
    ]


def random_draws(dataset: Dataset, *, history: int, repeats: int, seed: int, with_anomalous: bool = True) -> list[Draw]:
    """Protocols `thesis` and `aa`.

    The generator of a draw is seeded by (seed, app, repeat), so a draw does not depend on what else is in the file.

    Raises:
        Rejected: DATASET_TOO_SMALL, an app has no normal run left over as a target.
    """
    draws = []
    for app in dataset.rows:
        normal = dataset.normal_runs(app)
        if len(normal) <= history:
            raise Rejected(
                Reason.DATASET_TOO_SMALL, f"{app} has {len(normal)} normal runs, a history of {history} needs more"
            )
        extra = dataset.anomalous_runs(app) if with_anomalous else []
        for repeat in range(repeats):
            generator = np.random.default_rng([seed, zlib.crc32(app.encode()), repeat])
            chosen = sorted(generator.choice(normal, size=history, replace=False).tolist())
            rest = [run_id for run_id in normal if run_id not in set(chosen)]
            draws.append(Draw(app, repeat, tuple(chosen), tuple(sorted([*rest, *extra]))))
    return draws


def chronological_draws(dataset: Dataset, rules: HistoryRules) -> tuple[list[Draw], dict[str, int]]:
    """One draw per run that has a history, one per run that has enough of any path, and how many runs of which label
    had neither.

    Raises:
        Rejected: DATASET_INVALID, the columns about version, time and path are missing.
    """
    draws, without = [], Counter[str]()
    for app, series in dataset.rows.items():
        anyone = {run_id: row for runs in series.values() for run_id, row in runs.items()}
        facts = {run_id: _facts(row) for run_id, row in anyone.items()}
        anomalous = set(dataset.anomalous_runs(app))
        for run_id, fact in facts.items():
            others = [other for other_id, other in facts.items() if other_id != run_id]
            selection = select_history(fact, others, rules)
            of_any_path = tuple(sorted(one.run_id for one in selection.of_any_path))
            is_stand_in = selection.way == "any_path"
            if selection.state == "ready":
                members = tuple(sorted(member.run_id for member in selection.members))
                draws.append(Draw(app, 0, members, (run_id,), way="path"))
            if len(of_any_path) >= rules.minimum:
                draws.append(Draw(app, 0, of_any_path, (run_id,), way="any_path", is_stand_in=is_stand_in))
            if selection.state != "ready" and not is_stand_in:
                without["anomalous" if run_id in anomalous else "normal"] += 1
    return draws, dict(without)


def _facts(row: LabelledSeries) -> RunFacts:
    known = row.provenance
    if known is None:
        raise Rejected(
            Reason.DATASET_INVALID,
            f"{row.run_id} has no version_name or started_at, which protocol chronological needs",
        )
    return RunFacts(
        run_id=row.run_id,
        app=row.app,
        version_name=known.version_name,
        config_hash="",
        load_sources=(),  # the file does not say: all are taken as recorded alike
        started_at=known.started_at,
        has_functional_problems=known.has_functional_problems,
        is_complete=True,
        state_hashes=tuple(step[2] for step in known.steps),
        review=None,
        is_excluded=False,
        is_anomalous=None,
    )
