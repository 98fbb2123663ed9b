"""What changes a little with every version (marts.drifts), for those who ask about verdicts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from perfreg_assets.warehouse.connection import Reader

_WORTH_TELLING = """
SELECT
    app, device, version_name, series, measure, drift_state, since_version_name, drift_change_ratio, drift_p_value,
    explanation
FROM marts.drifts_of($app)
WHERE drift_state IN ('worse', 'changing') AND list_contains($series, series)
ORDER BY app, device, drift_p_value, series, measure
"""


def worth_telling(reader: Reader, apps: Collection[str], series: Collection[str]) -> list[dict[str, Any]]:
    """The drifts of some apps and series that are no improvement, by app and device the surest first."""
    return [row for app in sorted(apps) for row in of_app(reader, app, series)]


def of_app(reader: Reader, app: str, series: Collection[str]) -> list[dict[str, Any]]:
    """Those of one app, of whose runs alone they are made."""
    return reader.dicts(_WORTH_TELLING, {"app": app, "series": sorted(series)})
