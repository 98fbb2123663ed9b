"""What a "normal" is worth, where verdicts stand: which regressions of the app would have been seen, as measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfreg_assets.cli.power import sentences
from perfreg_assets.how_many import how_many

if TYPE_CHECKING:
    from perfreg_assets.warehouse.connection import Reader

_NORMAL = "normal"
_POWER = """
SELECT
    app, anomaly_kind AS kind, injected_unit AS unit, injected_size AS size, version_run_count AS repeats,
    found_ratio AS share, case_count AS cases, injected_run_count AS runs, detector, omega
FROM marts.detection_power
WHERE is_latest_of_app AND list_contains($apps::VARCHAR[], app)
ORDER BY app, kind, repeats, size
"""


def worth_told(reader: Reader, versions: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each app that has a normal version among these: what the rule would have found, by the latest
    `perfreg power`; or that nobody measured it.

    Args:
        versions: rows of marts.version_verdicts.
    """
    normal = {row["app"]: row for row in versions if row["state"] == _NORMAL}
    if not normal:
        return []
    measured: dict[str, list[dict[str, Any]]] = {}
    for row in reader.dicts(_POWER, {"apps": sorted(normal)}):
        measured.setdefault(row["app"], []).append(row)
    return [_sentence(app, normal[app], measured.get(app, [])) for app in sorted(normal)]


def _sentence(app: str, version: Mapping[str, Any], measured: Sequence[Mapping[str, Any]]) -> str:
    if not measured:
        return (
            f"what normal is worth for {app} is not known: `perfreg power --app {app}` measures how small a regression "
            "would have been seen; it takes three normal runs"
        )
    rule = {(row["detector"], row["omega"]) for row in measured}
    other = "" if rule == {(version["detector"], version["omega"])} else " (measured by another detector or ω)"
    runs = how_many(measured[0]["runs"], "normal run")
    return (
        f"what normal is worth for {app}{other}, by regressions injected into {runs}: found are "
        f"{'. '.join(sentences({'rows': measured}))}"
    )
