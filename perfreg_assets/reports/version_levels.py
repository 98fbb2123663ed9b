"""The levels on a version's page: of one scenario and configuration after the other, each set against the versions
before that were run so."""

from __future__ import annotations

from typing import Any

from perfreg_assets.reports import wording
from perfreg_assets.reports.data import Level, SeriesPoints, SetupLevels
from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.loading_levels import most_in_common
from perfreg_assets.reports.loading_version_pages import VersionView

SHOWN_SETUPS = 10
"""Beside the first, on a page."""


def level_tables(view: VersionView) -> tuple[dict[str, Any] | None, list[dict[str, Any]], int]:
    """(of the setup that most runs of the version and of one before have in common, of the others, how many more there
    are); None where no run has a level."""
    first = most_in_common(view.row.setups, [levels for _, levels in view.earlier])
    if first is None:
        return None, [], 0
    others = [one for one in view.row.setups if one.setup != first.setup]
    tables = [_table(view, one) for one in others[:SHOWN_SETUPS]]
    return _table(view, first), tables, len(others) - len(tables)


def _table(view: VersionView, own: SetupLevels) -> dict[str, Any]:
    """
    `before`: the last version before that was run so; `is_previous`: whether it is the version before. `earliest`: the
    first of those on the page that was, where it is another.
    """
    alike = [
        (len(view.earlier) - place, name, one)
        for place, (name, levels) in enumerate(view.earlier)
        for one in levels
        if one.setup == own.setup
    ]
    before = alike[-1] if alike else None
    earliest = alike[0] if len(alike) > 1 else None
    compared = (own, before and before[2], earliest and earliest[2])
    return {
        "setup": wording.setup_text(own.setup),
        "run_count": own.run_count,
        "before": before and {"name": before[1], "page": version_page(view.app, before[1])},
        "is_previous": before is not None and before[0] == 1,
        "earliest": earliest and {"name": earliest[1], "ago": earliest[0]},
        "rows": [
            _row(name, points, *(None if one is None else one.levels.get(name) for one in compared))
            for name, points in sorted(view.row.points.items())
        ],
    }


def _row(
    name: str, points: SeriesPoints, level: Level | None, before: Level | None, earliest: Level | None
) -> dict[str, Any]:
    """Level of a series, that of its history, and how much it is more than in versions before."""
    unit = wording.unit_of(name, points.unit)
    usual = None
    if level is not None and level.history_low is not None and level.history_high is not None:
        low, high = (wording.number(one * unit.factor) for one in (level.history_low, level.history_high))
        usual = f"{low} to {high}"
    return {
        "name": name,
        "label": wording.series_label(name),
        "level": None if level is None else level.median * unit.factor,
        "unit": unit.axis,
        "usual": usual,
        "step": _change(level, before),
        "slow": _change(level, earliest),
    }


def _change(now: Level | None, before: Level | None) -> float | None:
    """As a share of what was before; None where that is nothing or not known."""
    return now.median / before.median - 1 if now is not None and before is not None and before.median else None
