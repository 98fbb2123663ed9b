"""Metadata that Dagster's UI shows beside a materialisation: columns with their comments, a picture, a link."""

import dagster as dg

from perfreg_assets.reports.charts import markdown_image
from perfreg_assets.reports.links import page_name
from perfreg_assets.reports.pictures import picture_of_worst
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.dictionary import columns_of

PICTURED_PARTITIONS = 20  # a picture takes 0.2 s: a backfill of the whole history does without


def of_partitions(
    reader: Reader, run_ids: dict[str, list[str]], settings: Settings, mart: str
) -> dict[str, dict[str, dg.MetadataValue | dg.TableSchema]]:
    """By partition what its rows of a mart show beside their numbers; pictures only where the partitions are few."""
    described = columns(reader, mart)
    few = len(run_ids) <= PICTURED_PARTITIONS
    return {key: {**(picture(reader, ids, settings) if few else {}), **described} for key, ids in run_ids.items()}


def columns(reader: Reader, name: str) -> dict[str, dg.TableSchema]:
    """`dagster/column_schema` of a mart (`marts.verdicts`), from the comments that data teams see too."""
    return {
        "dagster/column_schema": dg.TableSchema(
            columns=[
                dg.TableColumn(name=column.name, type=column.type, description=column.comment)
                for column in columns_of(reader, name)
            ]
        )
    }


def picture(reader: Reader, run_ids: list[str], settings: Settings) -> dict[str, dg.MetadataValue]:
    """The worst judged series of some runs as a Markdown preview, and a link to its page; empty if none was judged."""
    worst = picture_of_worst(reader, run_ids)
    if worst is None:
        return {}
    return {
        "preview": dg.MetadataValue.md(f"**{worst.caption}**\n\n{markdown_image(worst.png, worst.caption)}"),
        "report": dg.MetadataValue.url(f"{settings.reports_address}/runs/{page_name(worst.run_id)}.html"),
    }
