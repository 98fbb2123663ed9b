"""What `perfreg archive` says where it does nothing."""

from __future__ import annotations

import sys
from pathlib import Path

from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parent / "warehouse"))

import sample_warehouse


def test_who_archives_and_nothing_happens_is_told_why(tmp_path):
    """`0 traces reduced` was all, with the setting at 0, which is never, as with runs that are too young."""
    place = tmp_path / "perfreg.duckdb"
    sample_warehouse.build(place, runs=3, samples=10)

    def told(*options):
        return CliRunner().invoke(main, ["archive", *options, "--warehouse", str(place)]).stderr.splitlines()[-1]

    assert (
        told() == "reduction_after_days is 0, which is never: --days N, or perfreg settings set reduction_after_days N"
    )
    with Warehouse(place, lock_timeout_s=5).writing() as writer:
        settings_table.change(writer, "reduction_after_days", "36500")
    none = "no normal run that was registered 36500 days ago or earlier has a trace that is still to be reduced"
    assert told() == none
    assert told("--days", "36499") == none.replace("36500", "36499")
