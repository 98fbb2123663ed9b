"""What the command is compared with: `python plain_script.py RUN_FOLDER FILE` reads the trace of one run folder and
puts its series into a DuckDB file, as somebody would who needs them once: no history, checks, verdicts or pages."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

from perfreg_assets.settings import Settings
from perfreg_assets.traces.inspection import inspect_trace


def main(folder: Path, file: Path) -> None:
    document = json.loads((folder / "run.json").read_text("utf-8"))
    found = inspect_trace(
        folder / document["trace"],
        app=document["app"],
        exploration=None,
        time_limit_s=document["config"]["time_limit_s"],
        settings=Settings(),
    )
    if found.health.reason is not None:
        raise SystemExit(f"{folder}: {found.health.detail}")
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS series (run_id VARCHAR, series VARCHAR, samples DOUBLE[])")
        for one in found.series:
            if one.values is not None:
                connection.execute(
                    "INSERT INTO series VALUES (?, ?, ?)", [document["run_id"], one.name, one.values.tolist()]
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
