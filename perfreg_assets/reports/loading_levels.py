"""Levels of series in versions, each scenario and configuration apart, as marts.trends_by_scenario has them.

Of some versions with some of their runs, so that a question costs the same however many others there are.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from perfreg_assets.reports.data import Level, Setup, SetupLevels
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.key_conditions import among
from perfreg_assets.warehouse.run_conditions import grouped, of

_SETUPS = """
SELECT run_id, config_hash, scenario, device, strategy, time_limit_s, action_interval_s
FROM core.runs WHERE NOT is_quarantined AND {of}
"""
_MEMBERS = """
SELECT sets.run_id, members.history_run_id
FROM marts.history_states AS sets JOIN marts.compared_with AS members ON members.run_no = sets.run_no
WHERE (sets.state = 'ready' OR members.way = 'any_path') AND {of}
"""
_LEVELS = """
SELECT run_id, series, unit, mean FROM marts.series_levels WHERE {of} AND {of_series}
"""


@dataclass(frozen=True, slots=True)
class Means:
    """What levels are made of: of each (run_id, series) its mean, and of each series its unit."""

    units: Mapping[str, str] = field(default_factory=dict)
    of_runs: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Levels:
    """Of one version.

    Attributes:
        setups: those with a level, that of most runs first.
        run_setups: of each run its place among them; None of one whose setup has no level. A run that people left out
            of verdicts has its place, too, although no level counts it.
    """

    setups: tuple[SetupLevels, ...] = ()
    run_setups: tuple[int | None, ...] = ()


def load_levels(
    reader: Reader, runs: Mapping[str, Sequence[str]], series: Sequence[str], *, with_history: bool
) -> tuple[dict[str, Levels], Means]:
    """Version → levels of its runs that count: the median of their means beside the range of their histories' means.

    Args:
        runs: version → its runs.
        with_history: whether to look for the range; without, none is known.
    """
    everyone = [run_id for ids in runs.values() for run_id in ids]
    setup_of, counted = _setups(reader, everyone), _counted(reader, everyone)
    members = _members(reader, everyone) if with_history else {}
    means = _means(reader, {*everyone, *(one for group in members.values() for one in group)}, series)
    return {version: _apart(ids, series, setup_of, counted, members, means) for version, ids in runs.items()}, means


def _apart(
    run_ids: Sequence[str],
    series: Sequence[str],
    setup_of: Mapping[str, Setup],
    counted: set[str],
    members: Mapping[str, Sequence[str]],
    means: Means,
) -> Levels:
    groups: dict[Setup, list[str]] = defaultdict(list)
    for run_id in run_ids:
        if run_id in setup_of and run_id in counted and any((run_id, name) in means.of_runs for name in series):
            groups[setup_of[run_id]].append(run_id)
    ordered = sorted(groups, key=lambda one: (-len(groups[one]), one.scenario or "", one.config_hash))
    place = {setup: number for number, setup in enumerate(ordered)}
    return Levels(
        tuple(SetupLevels(one, len(groups[one]), _levels(groups[one], series, members, means)) for one in ordered),
        tuple(place.get(setup_of[run_id]) if run_id in setup_of else None for run_id in run_ids),
    )


def _levels(
    run_ids: Sequence[str], series: Sequence[str], members: Mapping[str, Sequence[str]], means: Means
) -> dict[str, Level]:
    """Of the runs of one setup, the series that are known of them."""
    history = {member for run_id in run_ids for member in members.get(run_id, ())}
    found = {}
    for name in series:
        known = [means.of_runs[run_id, name] for run_id in run_ids if (run_id, name) in means.of_runs]
        if known:
            band = [means.of_runs[member, name] for member in history if (member, name) in means.of_runs]
            found[name] = Level(statistics.median(known), min(band, default=None), max(band, default=None))
    return found


def _setups(reader: Reader, run_ids: Iterable[str]) -> dict[str, Setup]:
    """Not from marts.runs, which looks for the verdicts of the whole app."""
    found: dict[str, Setup] = {}
    for ids in grouped(reader, run_ids):
        found |= {run_id: Setup(*told) for run_id, *told in reader.rows(_SETUPS.format(of=of(reader, ids)))}
    return found


def _counted(reader: Reader, run_ids: Iterable[str]) -> set[str]:
    return {one for ids in grouped(reader, run_ids) for one in run_table.counted(reader, ids)}


def _members(reader: Reader, run_ids: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for ids in grouped(reader, run_ids):
        for run_id, member in reader.rows(_MEMBERS.format(of=of(reader, ids, "sets.run_no"))):
            found[run_id].append(member)
    return found


def _means(reader: Reader, run_ids: Iterable[str], series: Sequence[str]) -> Means:
    units: dict[str, str] = {}
    means: dict[tuple[str, str], float] = {}
    for ids in grouped(reader, sorted(run_ids)):
        for run_id, name, unit, mean in reader.rows(
            _LEVELS.format(of=of(reader, ids), of_series=among(series, "series")), series
        ):
            units[name] = unit
            means[run_id, name] = mean
    return Means(units, means)


def most_in_common(own: Sequence[SetupLevels], earlier: Sequence[Sequence[SetupLevels]]) -> SetupLevels | None:
    """The setup that most runs of a version and the latest one before that has any of its setups have in common; where
    none before has, that of most of its runs. None of a version without levels.

    Args:
        earlier: of the versions before, the latest last.
    """
    for group in reversed(earlier):
        counts = {one.setup: one.run_count for one in group}
        shared = [one for one in own if one.setup in counts]
        if shared:
            return max(shared, key=lambda one: (min(one.run_count, counts[one.setup]), one.run_count))
    return own[0] if own else None
