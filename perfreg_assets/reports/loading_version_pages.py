"""What the pages of some versions of one app show, from the marts; nothing of other versions but their levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfreg_assets.reports.causes_table import main_cause
from perfreg_assets.reports.data import Discord, ListedRun, Run, SetupLevels, Verdict, VersionRow, WrittenFor
from perfreg_assets.reports.loading import load_discords, load_runs, load_verdicts
from perfreg_assets.reports.loading_causes import load_explained
from perfreg_assets.reports.loading_lists import (
    latest_runs,
    load_earlier_levels,
    load_listed,
    load_settings,
    load_versions,
)
from perfreg_assets.reports.loading_unusual import load_unusual
from perfreg_assets.reports.run_order import Placed
from perfreg_assets.run import RUN_LEVEL
from perfreg_assets.warehouse import benchmarks, causes, energies, version_verdicts
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.run_conditions import of

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Nearest:
    """The run of a history whose path is most like the run's own."""

    run_id: str
    version_name: str | None
    similarity: float


@dataclass(frozen=True, slots=True)
class Worst:
    """The run of a version to look at first: the farthest beyond its limit, or the nearest to it.

    Attributes:
        verdict: on its worst series; None where nothing of it is judged.
        window: the surest suspicious window of that series.
        cause: what grew there, in a few words.
        nearest: of the runs of a similar path in its history; None where it was compared with runs of any.
    """

    run: Run
    verdict: Verdict | None = None
    window: Discord | None = None
    cause: str | None = None
    nearest: Nearest | None = None


@dataclass(frozen=True, slots=True)
class VersionView:
    """Everything on one version's page.

    Attributes:
        row: its counts, and per series the worst run and the level.
        runs: the latest ones, at most SHOWN_RUNS; the anomalous first, the worst of them at the top.
        verdicts: rows of marts.version_verdicts in force, the whole first; none where nothing was measured.
        earlier: names of the versions before, the latest last, with their levels in each setup; () without any.
        grown: rows of marts.causes_by_version.
        energy: rows as marts.energy_by_version; benchmarks: as `benchmarks.counts_of_versions`.
        written_for: whose verdicts they are; None as long as nothing is in force.
    """

    app: str
    row: VersionRow
    runs: tuple[ListedRun, ...]
    verdicts: Rows = ()
    earlier: tuple[tuple[str, tuple[SetupLevels, ...]], ...] = ()
    grown: Rows = ()
    energy: Rows = ()
    benchmarks: Rows = ()
    worst: Worst | None = None
    written_for: WrittenFor | None = None


def load_version_views(
    reader: Reader, app: str, versions: dict[str, list[Placed]], earlier: Mapping[str, Mapping[str, Sequence[Placed]]]
) -> dict[str, VersionView]:
    """Version → what its page shows.

    Args:
        versions: those asked for with their runs, oldest first.
        earlier: for each of them the versions before with their runs, the latest last.
    """
    rows = load_versions(reader, versions)
    shown = latest_runs(versions)
    listed = load_listed(reader, [run_id for ids in shown.values() for run_id in ids])
    series = sorted({name for row in rows.values() for name in row.points})
    befores = {name: runs for group in earlier.values() for name, runs in group.items()}
    levels = load_earlier_levels(reader, befores, series)
    detector, omega = load_settings(reader)
    named = [(app, version) for version in versions]
    written_for = WrittenFor.of(detector, omega)
    judged = {} if detector is None or omega is None else version_verdicts.of_versions(reader, named, omega, detector)
    grown = causes.of_versions(
        reader,
        app,
        [row.version_name for row in rows.values() if row.anomalous_count and row.run_count >= causes.SEVERAL_RUNS],
    )
    everyone = [one.run_id for runs in versions.values() for one in runs]
    energy = _by_version(energies.versions_of_runs(reader, everyone))
    measured = _by_version(benchmarks.counts_of_versions(reader, app, list(versions)))
    ordered = {version: worst_first([listed[run_id] for run_id in ids]) for version, ids in shown.items()}
    worst = _worst(reader, {version: runs[0].run_id for version, runs in ordered.items() if runs})
    return {
        version: VersionView(
            app=app,
            row=row,
            runs=ordered[version],
            verdicts=judged.get((app, version), []),
            earlier=tuple((name, levels[name]) for name in earlier[version]),
            grown=grown.get(version, []),
            energy=energy[version],
            benchmarks=measured[version],
            worst=worst.get(version),
            written_for=written_for,
        )
        for version, row in rows.items()
    }


def _by_version(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["version_name"]].append(row)
    return found


SAY_NOTHING = ("rejected", "excluded")
"""Of their version: as in marts.counted_runs."""


def worst_first(runs: Sequence[ListedRun]) -> tuple[ListedRun, ...]:
    """Anomalous ones first, those that people called false alarms or left out after the others; each group by distance,
    then by time, the latest first."""
    latest = sorted(runs, key=lambda run: (run.started_at is not None, run.started_at, run.run_id), reverse=True)
    return tuple(
        sorted(latest, key=lambda run: (run.state != "anomalous", run.review in SAY_NOTHING, -(run.ratio or -1.0)))
    )


_NEAREST = """
SELECT run_id, history_run_id, history_version_name, similarity_ratio FROM marts.history_sets
WHERE {of} AND similarity_ratio IS NOT NULL ORDER BY run_id, similarity_ratio, history_rank DESC
"""


def _worst(reader: Reader, run_of: Mapping[str, str]) -> dict[str, Worst]:
    """Version → its worst run."""
    ids = sorted(set(run_of.values()))
    runs, windows = load_runs(reader, ids), load_discords(reader, ids)
    explained = load_explained(reader, ids, with_stacks=False)
    unusual = load_unusual(reader, ids)
    # The last of a run's rows is the nearest; before them come those that do not show what is usual.
    members = sorted(
        reader.rows(_NEAREST.format(of=of(reader, ids))), key=lambda row: row[1] not in unusual.get(row[0], ())
    )
    nearest = {row[0]: Nearest(row[1], row[2], row[3]) for row in members}
    decisive: dict[str, Verdict] = {}
    for verdict in load_verdicts(reader, ids):
        known = decisive.get(verdict.run_id)
        is_judged = verdict.series != RUN_LEVEL and verdict.is_anomalous is not None
        if is_judged and (known is None or _severity(verdict) > _severity(known)):
            decisive[verdict.run_id] = verdict
    found = {}
    for version, run_id in run_of.items():
        judged = decisive.get(run_id)
        key = (run_id, judged.series if judged else "")
        found[version] = Worst(
            run=runs[run_id],
            verdict=judged,
            window=max(windows.get(key, ()), key=lambda one: one.confidence, default=None),
            cause=main_cause(explained.get(key, ())),
            nearest=nearest.get(run_id),
        )
    return found


def _severity(verdict: Verdict) -> tuple[bool, float]:
    return bool(verdict.is_anomalous), verdict.critical_omega if verdict.critical_omega is not None else -1.0
