"""Pandas is not loaded by who has no use for it, and is whole for who has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUNS = Path(__file__).parent / "data" / "sessions"


def _says(program: str, **environment: str) -> list[str]:
    """Lines that a program prints in a process of its own."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=240, env=os.environ | environment
    )
    return done.stdout.splitlines()


def test_lists_become_arrow_tables_without_pandas() -> None:
    assert _says(
        "import sys, perfreg_assets.warehouse.rows, pyarrow as pa\n"
        "pa.table({'run': pa.array(['a', None], pa.string()), 'sizes': [[1], [2, 3]]})\n"
        "print('pandas' in sys.modules)"
    ) == ["False"]


def test_runs_are_taken_in_and_judged_without_pandas(tmp_path: Path) -> None:
    runs = ", ".join(f"'{RUNS / name}'" for name in ("notes-000", "notes-001"))
    *_, last = _says(
        "import sys\n"
        "from perfreg_assets.cli import main\n"
        f"main(['ingest', {runs}], standalone_mode=False)\n"
        "print('pandas' in sys.modules)",
        PERFREG_HOME=str(tmp_path),
        PERFREG_WAREHOUSE=str(tmp_path / "perfreg.duckdb"),
    )
    assert last == "False"


def test_who_imports_pandas_afterwards_has_it_whole_and_pyarrow_knows_it() -> None:
    assert _says(
        "import perfreg_assets.warehouse.rows, pyarrow as pa\n"
        "from importlib.util import find_spec\n"
        "print(find_spec('pandas').name)\n"  # to look whether it is there is not to import it
        "import pandas as pd\n"
        "frame = pd.DataFrame({'mean': [1.0, float('nan')]})\n"
        "print(pa.table(frame).column('mean').null_count)\n"
        "print(pa.array(frame['mean']).null_count)\n"
        "print(pa.table({'mean': [2.5]}).to_pandas().loc[0, 'mean'])\n"
        "from importlib.resources import files\n"
        "print(type(pd.__spec__.loader).__name__, files('pandas').joinpath('__init__.py').is_file())"
    ) == ["pandas", "1", "1", "2.5", "SourceFileLoader True"]


def test_pandas_that_is_there_already_is_left_alone() -> None:
    assert _says(
        "import pandas as pd, sys\n"
        "import perfreg_assets.warehouse.rows, pyarrow as pa\n"
        "print(sys.modules['pandas'] is pd, pa.table(pd.DataFrame({'mean': [1.0]})).num_rows)"
    ) == ["True 1"]


def test_a_pandas_that_cannot_be_imported_is_told_as_ever() -> None:
    assert _says(
        "import perfreg_assets.warehouse.rows, sys\n"
        "sys.path[:] = [place for place in sys.path if 'site-packages' not in place]\n"
        "try:\n"
        "    import pandas\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    ) == ["No module named 'pandas'"]
