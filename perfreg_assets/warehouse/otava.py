"""Export for Apache Otava, so that its change-point detection can be pointed at the levels of the versions.

One CSV per app and series, a row per version in their order, and `otava.yaml` that lists them as tests:
`OTAVA_CONFIG=otava.yaml otava analyze <test>`. Runs of another test configuration or scenario are a file of their own:
they are no change of a version. Otava wants a number in every cell, so a figure that some version does not have is left
out of that file.
"""

from __future__ import annotations

import csv
import io
import json
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from perfreg_assets.named_files import write_named
from perfreg_assets.warehouse.connection import Reader

CONFIG_NAME = "otava.yaml"
METRICS = ("mean", "median", "percentile_95", "maximum", "growth_per_s")
_ATTRIBUTES = ("version", "unit", "run_count", "device", "scenario")
_LOWER_IS_BETTER, _HIGHER_IS_BETTER = -1, 1

_HASH_DIGITS = 8

_LEVELS = """
SELECT
    levels.app, levels.series, setups.config_hash, setups.device, setups.scenario, setups.is_first,
    any_value(levels.unit) AS unit, any_value(names.polarity) AS polarity,
    versions.version_name AS version, versions.first_started_at AS time, count(*) AS run_count,
    median(levels.mean) AS mean, median(levels.median) AS median, median(levels.percentile_95) AS percentile_95,
    median(levels.maximum) AS maximum, median(levels.growth_per_s) AS growth_per_s
FROM marts.series_levels AS levels
JOIN marts.counted_runs AS runs ON runs.run_no = levels.run_no
JOIN marts.version_ranks AS versions ON versions.app = levels.app AND versions.version_name = levels.version_name
JOIN (
    SELECT
        known.app, known.config_hash, known.scenario, min(known.device) AS device,
        min(known.run_no) = min(min(known.run_no)) OVER (PARTITION BY known.app) AS is_first
    FROM marts.counted_runs AS known
    GROUP BY known.app, known.config_hash, known.scenario
) AS setups
    ON setups.app = runs.app AND setups.config_hash = runs.config_hash
    AND setups.scenario IS NOT DISTINCT FROM runs.scenario
LEFT JOIN marts.series_names AS names ON names.series = levels.series
GROUP BY
    levels.app, levels.series, setups.config_hash, setups.device, setups.scenario, setups.is_first,
    versions.version_name, versions.version_rank, versions.first_started_at
ORDER BY
    levels.app, levels.series, NOT setups.is_first, setups.scenario NULLS FIRST, setups.config_hash,
    versions.version_rank
"""


def export(reader: Reader, folder: Path) -> list[Path]:
    """Writes the CSV files and otava.yaml into `folder` (made if missing); the written paths, otava.yaml last.

    Each figure of a version is the median over its runs that count, in the unit of the series (growth: per second). Of
    the configuration and scenario that an app was first run in, the files are named by app and series alone, so that
    they keep their names when others come.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tests: dict[str, dict[str, Any]] = {}
    written: list[Path] = []
    for (app, series, *setup), group in groupby(reader.dicts(_LEVELS), key=_key):
        versions = list(group)
        metrics = [name for name in METRICS if all(row[name] is not None for row in versions)]
        told = () if versions[0]["is_first"] else tuple(one for one in setup if one is not None)
        # Names come from outside: in a file name everything unusual is percent-encoded.
        path = folder / f"{'-'.join(quote(one, safe='') for one in (app, series, *told))}.csv"
        _write(path, versions, metrics)
        written.append(path)
        tests[f"{app}.{'-'.join((series, *told))}"] = _test(path, metrics, versions[0]["polarity"])
    config = folder / CONFIG_NAME
    # JSON is YAML, and quotes whatever a name may hold.
    write_named(config, json.dumps({"tests": tests}, indent=2, ensure_ascii=True) + "\n")
    return [*written, config]


def _key(row: dict[str, Any]) -> tuple[str, str, str | None, str]:
    return row["app"], row["series"], row["scenario"], row["config_hash"][:_HASH_DIGITS]


def _write(path: Path, versions: list[dict[str, Any]], metrics: list[str]) -> None:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["time", *_ATTRIBUTES, *metrics])
    for row in versions:
        time = row["time"].isoformat(timespec="seconds")
        writer.writerow([time, *(row[name] for name in _ATTRIBUTES), *(repr(row[name]) for name in metrics)])
    write_named(path, file.getvalue())


def _test(path: Path, metrics: list[str], polarity: str | None) -> dict[str, Any]:
    direction = _HIGHER_IS_BETTER if polarity == "HIGHER_IS_BETTER" else _LOWER_IS_BETTER
    return {
        "type": "csv",
        "file": str(path.absolute()),
        "time_column": "time",
        "attributes": list(_ATTRIBUTES),
        "metrics": {name: {"column": name, "direction": direction, "scale": 1} for name in metrics},
    }
