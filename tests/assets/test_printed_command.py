"""The `dagster asset materialize` of docs/verdicts.md, as printed, in a project that `perfreg ingest` left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.test_docs import PAGES, fences


def test_a_what_if_from_a_shell(demo_copy):
    (script,) = (body for body in fences(PAGES["docs/verdicts.md"], "sh") if "dagster asset materialize" in body)
    folder = demo_copy.settings.warehouse.parent
    before = demo_copy.rows("FROM marts.settings ORDER BY ALL")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    judged = demo_copy.rows(
        "SELECT DISTINCT version_name, omega FROM marts.verdicts WHERE omega = 0.5 ORDER BY version_name"
    )
    assert judged == [{"version_name": "1.4.0", "omega": 0.5}, {"version_name": "1.5.0", "omega": 0.5}]
    assert demo_copy.rows("FROM marts.settings ORDER BY ALL") == before
    assert demo_copy.rows("SELECT count(*) AS n FROM marts.verdicts WHERE omega = 0.5 AND is_current") == [{"n": 0}]
