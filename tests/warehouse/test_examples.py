"""The example questions of sql/examples: each is a question, and has an answer in a filled warehouse."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from perfreg_assets.bundled import sql_dir
from perfreg_assets.warehouse.connection import Warehouse

EXAMPLES = sorted((sql_dir() / "examples").glob("*.sql"))


def test_examples_are_numbered_without_gaps() -> None:
    assert [path.name[:3] for path in EXAMPLES] == [f"{number:02d}_" for number in range(1, 24)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_asks_a_question_and_reads_marts_only(path: Path) -> None:
    text = path.read_text()
    assert re.match(r"-- [A-Z].*\?", text.splitlines()[0])
    assert "marts." in text
    assert "core." not in text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_an_answer(sample: Warehouse, path: Path) -> None:
    # As a data team does it: a plain client on the published file.
    with duckdb.connect(str(sample.published), read_only=True) as client:
        rows = client.execute(path.read_text()).fetchall()
    assert rows
    assert all(any(value is not None for value in row) for row in rows)


def test_detectors_are_compared_where_only_one_of_them_was_evaluated(sample_copy: Warehouse) -> None:
    """As in every warehouse but this one: other detectors' distances are stored, their verdicts are not."""
    with sample_copy.writing() as writer:
        writer.execute(
            "DELETE FROM core.verdicts WHERE distance_id IN "
            "(SELECT distance_id FROM core.distances WHERE detector <> 'default')"
        )
    (path,) = (path for path in EXAMPLES if path.stem.startswith("17_"))
    with duckdb.connect(str(sample_copy.published), read_only=True) as client:
        pairs = {row[:2] for row in client.execute(path.read_text()).fetchall()}
    assert pairs == {("default", "iqr")}
