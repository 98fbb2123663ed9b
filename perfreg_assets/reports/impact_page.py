"""What to test again when methods or slices change, as one page that needs nothing else: a list of two sides.

On the left what changes, on the right where it runs: services of call logs, screens of an app with the runs that show
it. Every entry leads to its entries on the other side and back, by links alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfreg_assets.reports.templating import ALONE_POLICY, render

SHOWN_RUNS = 12


def render_impact_page(asked: str, rows: Sequence[dict[str, Any]]) -> str:
    """The page as HTML text.

    Args:
        asked: the name that was asked for.
        rows: method (or slice, or thread), service (or screen), self_share, children_share, calls; `run_ids` where it
            is a screen.
    """
    methods: dict[str, list[dict[str, Any]]] = {}
    services: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        methods.setdefault(row["method"], []).append(row)
        services.setdefault(row["service"], []).append(row)
    left = {name: f"m{number}" for number, name in enumerate(_by_share(methods))}
    right = {name: f"s{number}" for number, name in enumerate(_by_share(services))}
    return render(
        "impact.html.j2",
        {
            "content_policy": ALONE_POLICY,
            "asked": asked,
            "is_app": all(row.get("run_ids") for row in rows),
            "left": [_entry(name, left, methods[name], "service", right) for name in left],
            "right": [_entry(name, right, services[name], "method", left) for name in right],
        },
    )


def _by_share(groups: dict[str, list[dict[str, Any]]]) -> list[str]:
    return sorted(groups, key=lambda name: (-max(map(_share, groups[name])), name))


def _share(row: dict[str, Any]) -> float:
    return float(row["self_share"] + row["children_share"])


def _entry(
    name: str, anchors: dict[str, str], rows: Sequence[dict[str, Any]], other: str, others: dict[str, str]
) -> dict[str, Any]:
    """One entry of a side with its links to the other, the largest share first."""
    runs = sorted({run for row in rows for run in row.get("run_ids") or ()})
    return {
        "anchor": anchors[name],
        "name": name,
        "runs": runs[:SHOWN_RUNS],
        "more_runs": max(len(runs) - SHOWN_RUNS, 0),
        "links": [
            {
                "anchor": others[row[other]],
                "name": row[other],
                "share": f"{100 * _share(row):.3g} %",
                "width": round(100 * min(max(_share(row), 0.0), 1.0)),
                "calls": row["calls"],
            }
            for row in sorted(rows, key=lambda row: (-_share(row), row[other]))
        ],
    }
