"""Two `perfreg ui` on one home would both take what is in the inbox, and one that ends stop the other's ticks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings


def test_a_second_ui_on_a_home_ends_in_one_sentence_that_names_the_first(tmp_path: Path) -> None:
    settings = Settings(warehouse=tmp_path / "perfreg.duckdb")
    settings.dagster_home.mkdir(parents=True)
    held = (
        "import sys\nfrom pathlib import Path\nfrom perfreg_assets.warehouse.lock import file_lock\n"
        "with file_lock(Path(sys.argv[1]), timeout_s=0, what=''):\n"
        "    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", held, str(settings.ui_lock_file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert first.stdout is not None
    assert first.stdout.readline() == b"held\n"
    settings.stopping_file.touch()  # the first one's
    try:
        second = subprocess.run(
            [sys.executable, "-m", "perfreg_assets.cli", "ui", "--port", "1", "--warehouse", str(settings.warehouse)],
            env=os.environ, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        signed = json.loads(settings.ui_lock_file.read_bytes())["pid"]
    finally:
        first.communicate()
    assert second.returncode not in (0, 3, 4)
    assert second.stdout == ""
    [line] = second.stderr.strip().splitlines()
    assert f"is being served by process {signed}" in line
    assert line.endswith(Reason.UI_RUNNING.sentence)
    assert settings.stopping_file.exists()
