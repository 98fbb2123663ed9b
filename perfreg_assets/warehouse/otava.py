"""Export for Apache Otava, so that its change-point detection can be pointed at the levels of the versions.

One CSV per app and series, a row per version in their order, and `otava.yaml` that lists them as tests:
`OTAVA_CONFIG=otava.yaml otava analyze <test>`. Otava wants a number in every cell, so a figure that some
version does not have is left out of that file.
"""

from __future__ import annotations

import csv
import json
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from perfreg_assets.warehouse.connection import Reader

CONFIG_NAME = "otava.yaml"
METRICS = ("mean", "median", "percentile_95", "maximum", "growth_per_s")
_LOWER_IS_BETTER, _HIGHER_IS_BETTER = -1, 1

_LEVELS = """
SELECT
    levels.app, levels.series, any_value(levels.unit) AS unit, any_value(names.polarity) AS polarity,
    versions.version_name AS version, versions.first_started_at AS time, count(*) AS run_count,
    median(levels.mean) AS mean, median(levels.median) AS median, median(levels.percentile_95) AS percentile_95,
    median(levels.maximum) AS maximum, median(levels.growth_per_s) AS growth_per_s
FROM marts.series_levels AS levels
JOIN marts.version_ranks AS versions ON versions.app = levels.app AND versions.version_name = levels.version_name
LEFT JOIN marts.series_names AS names ON names.series = levels.series
GROUP BY levels.app, levels.series, versions.version_name, versions.version_rank, versions.first_started_at
ORDER BY levels.app, levels.series, versions.version_rank
"""


def export(reader: Reader, folder: Path) -> list[Path]:
    """Writes the CSV files and otava.yaml into `folder` (made if missing); the written paths, otava.yaml last.

    Each figure of a version is the median over its runs, in the unit of the series (growth: per second).
    """
    folder.mkdir(parents=True, exist_ok=True)
    tests: dict[str, dict[str, Any]] = {}
    written: list[Path] = []
    for (app, series), group in groupby(reader.dicts(_LEVELS), key=lambda row: (row["app"], row["series"])):
        versions = list(group)
        metrics = [name for name in METRICS if all(row[name] is not None for row in versions)]
        # Names come from outside: in a file name everything unusual is percent-encoded.
        path = folder / f"{quote(app, safe='')}-{quote(series, safe='')}.csv"
        _write(path, versions, metrics)
        written.append(path)
        tests[f"{app}.{series}"] = _test(path, metrics, versions[0]["polarity"])
    config = folder / CONFIG_NAME
    # JSON is YAML, and quotes whatever a name may hold.
    config.write_text(json.dumps({"tests": tests}, indent=2, ensure_ascii=True) + "\n", encoding="utf-8")
    return [*written, config]


def _write(path: Path, versions: list[dict[str, Any]], metrics: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "version", "unit", "run_count", *metrics])
        for row in versions:
            time = row["time"].isoformat(timespec="seconds")
            writer.writerow(
                [time, row["version"], row["unit"], row["run_count"], *(repr(row[name]) for name in metrics)]
            )


def _test(path: Path, metrics: list[str], polarity: str | None) -> dict[str, Any]:
    direction = _HIGHER_IS_BETTER if polarity == "HIGHER_IS_BETTER" else _LOWER_IS_BETTER
    return {
        "type": "csv",
        "file": str(path.absolute()),
        "time_column": "time",
        "attributes": ["version", "unit", "run_count"],
        "metrics": {name: {"column": name, "direction": direction, "scale": 1} for name in metrics},
    }
