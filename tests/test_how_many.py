"""Counts in sentences: one of a thing is told in the singular, everywhere alike."""

import re
from pathlib import Path

import pytest

from perfreg_assets.how_many import how_many

PACKAGE = Path(__file__).parents[1] / "perfreg_assets"


@pytest.mark.parametrize(("count", "told"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (12_345, "12,345 runs")])
def test_one_is_told_in_the_singular(count, told):
    assert how_many(count, "run") == told


def test_what_has_a_plural_of_its_own_is_told_by_it():
    assert [how_many(count, "history", "histories") for count in (1, 3)] == ["1 history", "3 histories"]


def test_nobody_else_makes_plurals():
    ending = re.compile(r"""["']s["'] if """)
    found = [
        str(path.relative_to(PACKAGE))
        for path in [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.j2")]
        if "_bundled" not in path.parts and ending.search(path.read_text("utf-8"))
    ]
    assert found == ["collection/run_json.py", "reports/templates/index.html.j2"], "without their count beside them"
