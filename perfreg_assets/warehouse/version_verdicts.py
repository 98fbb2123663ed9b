"""Verdicts on versions: their runs combined, computed in SQL from the latest distances (marts.version_verdicts_at)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.asked_once import rows_of
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.key_conditions import among_named

WHOLE = "all"
"""The axis of the version as a whole."""

_LISTING = """
SELECT judged.*
FROM marts.version_verdicts_at($omega, $detector) AS judged
LEFT JOIN marts.version_ranks AS versions ON versions.app = judged.app AND versions.version_name = judged.version_name
{where}
ORDER BY judged.app, versions.version_rank NULLS LAST, judged.version_name, judged.axis <> 'all', judged.axis
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

    Oldest version first, each as a whole and then by axis; those with nothing but refused folders at the end.

    Args:
        versions: only these names.

    Raises:
        SettingError: no ω can have this value.
    """
    current = settings_table.current(reader)
    chosen = Settings.checked("omega", float(current["omega"] if omega is None else omega))
    named = {"app": app, "version_name": version_name}
    known = {name: value for name, value in named.items() if value is not None}
    conditions = [f"judged.{name} = ${name}" for name in known]
    if versions is not None:
        of, marks = among_named(versions, "judged.version_name", "version")
        conditions.append(of)
        known |= marks
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return reader.dicts(
        _LISTING.format(where=where), {**known, "omega": chosen, "detector": detector or current["detector"]}
    )


_OF_VERSIONS = """
SELECT app, version_name, axis, state, is_anomalous, run_count, judged_count, anomalous_count, confirmed_count, score,
       excess_ratio, series, explanation
FROM marts.version_verdicts_at($omega, $detector)
WHERE app = $app AND {of}
ORDER BY version_name, axis <> 'all', axis
"""


def of_versions(
    reader: Reader, versions: Iterable[tuple[str, str]], omega: float, detector: str
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(app, version) → its verdicts at ω, as a whole and then by axis, of those of some versions that have any."""
    return rows_of(
        reader, (_OF_VERSIONS, omega, detector), versions, lambda few: _of_versions(reader, few, omega, detector)
    )


def _of_versions(
    reader: Reader, versions: Iterable[tuple[str, str]], omega: float, detector: str
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    wanted: dict[str, list[str]] = {}
    for app, version in versions:
        wanted.setdefault(app, []).append(version)
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for app, names in wanted.items():
        of, marks = _of(names)
        named = {"omega": float(omega), "detector": detector, "app": app, **marks}
        for row in reader.dicts(_OF_VERSIONS.format(of=of), named):
            found.setdefault((row["app"], row["version_name"]), []).append(row)
    return found


def _of(names: Iterable[str]) -> tuple[str, dict[str, str]]:
    """The condition that a version is one of these, and what its marks stand for.

    Marks however many: only they reach the tables below the mart, so that no other version is looked at.
    """
    return among_named(names, "version_name", "version")
