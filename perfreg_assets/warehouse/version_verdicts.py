"""Verdicts on versions: their runs combined, computed in SQL from the latest distances (marts.version_verdicts_at)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.connection import Reader

WHOLE = "all"
"""The axis of the version as a whole."""

_LISTING = """
SELECT judged.*
FROM marts.version_verdicts_at($omega) AS judged
JOIN marts.app_versions AS versions ON versions.app = judged.app AND versions.version_name = judged.version_name
WHERE judged.detector = $detector
  AND ($app IS NULL OR judged.app = $app) AND ($version_name IS NULL OR judged.version_name = $version_name)
  AND ($versions IS NULL OR list_contains($versions, judged.version_name))
ORDER BY judged.app, versions.version_rank, judged.version_name, judged.axis <> 'all', judged.axis
"""


def listing(
    reader: Reader,
    *,
    app: str | None = None,
    version_name: str | None = None,
    versions: Iterable[str] | None = None,
    omega: float | None = None,
    detector: str | None = None,
) -> list[dict[str, Any]]:
    """Verdicts on versions as rows of marts.version_verdicts; at the current detector and ω by default.

    Oldest version first, each as a whole and then by axis.

    Args:
        versions: only these names.

    Raises:
        SettingError: no ω can have this value.
    """
    current = settings_table.current(reader)
    chosen = Settings.checked("omega", float(current["omega"] if omega is None else omega))
    named = {"detector": detector or current["detector"], "app": app, "version_name": version_name, "omega": chosen}
    return reader.dicts(_LISTING, {**named, "versions": None if versions is None else list(versions)})


_OF_VERSIONS = """
SELECT app, version_name, axis, state, is_anomalous, run_count, judged_count, score, series, explanation
FROM marts.version_verdicts_at($omega)
WHERE detector = $detector AND (app, version_name) IN (SELECT unnest($apps), unnest($versions))
ORDER BY app, version_name, axis <> 'all', axis
"""


def of_versions(
    reader: Reader, versions: Iterable[tuple[str, str]], omega: float, detector: str
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(app, version) → its verdicts at ω, as a whole and then by axis, of those of some versions that have any."""
    wanted = list(versions)
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    named = {"omega": float(omega), "detector": detector}
    lists = {"apps": [app for app, _ in wanted], "versions": [version for _, version in wanted]}
    for row in reader.dicts(_OF_VERSIONS, {**named, **lists}) if wanted else ():
        found.setdefault((row["app"], row["version_name"]), []).append(row)
    return found
