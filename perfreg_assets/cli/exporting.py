"""`perfreg export`: copies for tools that do not open the warehouse."""

from __future__ import annotations

import os
from pathlib import Path

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command, group
from perfreg_assets.how_many import how_many
from perfreg_assets.settings import Settings

_FOLDER = click.Path(file_okay=False, path_type=Path)


class _Export(click.Group):
    """`perfreg export FOLDER` was the only export once, and still is the one for Otava."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((one for one in args if not one.startswith("-")), None)
        if first is not None and first not in self.commands and os.sep in first:
            args = ["otava", *args]
        return super().parse_args(ctx, args)


@group("export", example="perfreg export parquet marts/", cls=_Export)
def export() -> None:
    """Copies of what the warehouse holds: Parquet files of the marts, or figures per version for Apache Otava."""


@command("parquet", example="perfreg export parquet marts/", group=export)
@click.argument("folder", type=_FOLDER)
@click.option("--mart", "marts", multiple=True, help="Only this one; repeatable. Default: all.")
def parquet(settings: Settings, folder: Path, marts: tuple[str, ...]) -> None:
    """Writes every mart as a Parquet file, and each of its list columns in long form beside it: for pandas, Superset,
    Metabase, dbt, and for DuckDB before 1.5. Files that are there are replaced as a whole; docs/sql.md."""
    from perfreg_assets.warehouse import parquet_export
    from perfreg_assets.warehouse.connection import Warehouse

    with terminal.progress("export") as show, Warehouse.of(settings).reading_caught_up() as reader:
        count = rows = 0
        for one in parquet_export.export(reader, folder, marts):
            show(f"{one.path.name}, {one.row_count:,} rows")
            count, rows = count + 1, rows + one.row_count
    terminal.say(f"{how_many(count, 'file')} with {how_many(rows, 'row')} in {folder}")


@command("otava", example="perfreg export otava changes/", group=export)
@click.argument("folder", type=_FOLDER)
def otava(settings: Settings, folder: Path) -> None:
    """Writes per-version figures as CSV, with a configuration for Apache Otava to look for change points in them."""
    from perfreg_assets.warehouse import otava as table
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse.of(settings).reading_caught_up() as reader:
        for path in table.export(reader, folder):
            terminal.say(str(path))
