"""The data dictionary is made of the comments in the warehouse."""

from __future__ import annotations

from perfreg_assets.warehouse import dictionary
from perfreg_assets.warehouse.connection import Warehouse


def test_every_mart_and_column_is_in_the_dictionary_with_its_comment(sample: Warehouse) -> None:
    with sample.reading() as reader:
        text = dictionary.markdown(reader)
        rows = reader.rows("SELECT object_name, column_name, description FROM marts.dictionary")
    for name, column, description in rows:
        section = text.split(f"\n## marts.{name}\n", 1)[1].split("\n## ", 1)[0]
        assert description.replace("|", "\\|") in section
        assert column is None or f"| `{column}` |" in section


def test_the_dictionary_is_the_same_every_time(sample: Warehouse) -> None:
    with sample.reading() as reader:
        assert dictionary.markdown(reader) == dictionary.markdown(reader)


def test_macros_are_listed_with_their_parameters(sample: Warehouse) -> None:
    with sample.reading() as reader:
        text = dictionary.markdown(reader)
    assert "## marts.verdicts_at(omega, detector)" in text
    assert "## marts.verdict_flips(omega_a, omega_b, detector)" in text


def test_columns_of_table_macros_are_described_like_those_of_views(sample: Warehouse) -> None:
    with sample.reading() as reader:
        text = dictionary.markdown(reader)
    macro = text.split("\n## marts.verdicts_at(omega, detector)\n", 1)[1].split("\n## ", 1)[0]
    view = text.split("\n## marts.verdicts\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in view.splitlines() if line.startswith("| `")]
    assert len(lines) > 20
    assert set(lines) < set(macro.splitlines())


def test_what_is_read_of_this_release_without_a_warehouse_is_what_a_warehouse_says(sample: Warehouse) -> None:
    with sample.reading() as reader:
        rows = reader.rows(
            "SELECT object_name, column_name, data_type, description FROM marts.dictionary "
            "WHERE column_name IS NOT NULL ORDER BY object_name, column_position"
        )
    told: dict[str, list[dictionary.Column]] = {}
    for mart, *column in rows:
        told.setdefault(mart, []).append(dictionary.Column(*column))
    known = dictionary.columns_of_release()
    assert len(told) > 80
    assert {mart: list(known[mart]) for mart in told} == told
