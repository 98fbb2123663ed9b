"""Rows that are asked of a reader several times are read once, and are those that are there."""

from __future__ import annotations

import os
import shutil

import pytest

from perfreg_assets.warehouse import asked_once
from perfreg_assets.warehouse.asked_once import FEW, last_of, rows_of
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.kept_instances import Instance


@pytest.fixture
def warehouse(tmp_path):
    made = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=10)
    with made.writing():
        pass
    return made


class Table:
    """What there is of some keys; `asked` counts."""

    def __init__(self, **rows):
        self.rows, self.asked = rows, []

    def __call__(self, keys):
        self.asked.append(list(keys))
        return {key: self.rows[key] for key in keys if key in self.rows}


def test_a_few_are_read_once_per_reader_and_those_that_are_not_there_too(warehouse):
    table = Table(a=1, b=2)
    with warehouse.reading() as reader:
        assert rows_of(reader, "kind", ["a", "gone"], table) == {"a": 1}
        assert list(rows_of(reader, "kind", ["gone", "b", "a"], table).items()) == [("b", 2), ("a", 1)]
        assert rows_of(reader, "kind", ["a", "a"], table) == {"a": 1}
        assert table.asked == [["a", "gone"], ["b"]]
        assert rows_of(reader, "another kind", ["a"], table) == {"a": 1}
        assert len(table.asked) == 3
    with warehouse.reading() as reader:
        table.rows["a"] = 3
        assert rows_of(reader, "kind", ["a"], table) == {"a": 3}


def test_the_steps_of_a_job_share_what_was_asked_until_one_of_them_writes(tmp_path):
    warehouse = Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=10, publish_every_s=3600)
    with warehouse.writing():
        pass
    warehouse.publish()
    table = Table(a=1)

    def asked():
        with warehouse.reading() as reader:
            return rows_of(reader, "kind", ["a"], table)["a"]

    def write(value):
        table.rows["a"] = value
        with warehouse.writing() as writer:
            assert rows_of(writer, "kind", ["a"], table) == {"a": value}
            writer.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'omega', ?)", [value])

    write(2)
    assert [asked(), asked()] == [2, 2]
    write(3)
    assert [asked(), asked()] == [3, 3]
    assert table.asked == [["a"]] * 4  # each writer and, after it, the first reader


def test_who_ran_a_job_knows_of_what_it_published_what_its_steps_asked(tmp_path):
    path = tmp_path / "perfreg.duckdb"
    of_steps = Warehouse(path, lock_timeout_s=10, publish_every_s=3600)
    with of_steps.writing():
        pass
    table, answers = Table(a=1), []

    def asked(reader):
        last_of(reader, "last", "question", lambda: answers.append("asked"))
        return rows_of(reader, "kind", ["a"], table)["a"]

    def asked_afterwards(**how):
        with Warehouse(path, lock_timeout_s=10).reading(**how) as reader:
            return asked(reader)

    with of_steps.reading() as reader:
        asked(reader)
    of_steps.publish()
    assert asked_afterwards(goes_on=True) == 1
    assert (len(table.asked), len(answers)) == (1, 1)
    assert asked_afterwards() == 1  # whoever reads at any time keeps nothing beyond the reading
    assert (len(table.asked), len(answers)) == (2, 2)

    other = tmp_path / "of another process"
    shutil.copy(of_steps.published, other)
    os.replace(other, of_steps.published)
    table.rows["a"] = 2
    assert asked_afterwards(goes_on=True) == 2


def test_a_copy_that_is_replaced_while_it_is_opened_has_no_known_state(tmp_path, monkeypatch):
    path = tmp_path / "perfreg.duckdb"
    of_steps = Warehouse(path, lock_timeout_s=10, publish_every_s=3600)
    with of_steps.writing():
        pass
    of_steps.publish()
    attach = Instance.attach

    def attach_and_replace(instance, published):
        attach(instance, published)
        other = tmp_path / "of another process"
        shutil.copy(published, other)
        os.replace(other, published)

    with of_steps.reading() as reader:
        assert reader.state is not None
    monkeypatch.setattr(Instance, "attach", attach_and_replace)
    with of_steps.reading() as reader:
        assert reader.state is None


def test_many_at_once_are_not_kept(warehouse):
    table = Table(**{str(number): number for number in range(FEW + 1)})
    with warehouse.reading() as reader:
        for _ in range(2):
            assert rows_of(reader, "kind", table.rows, table) == table.rows
    assert len(table.asked) == 2


def test_what_a_writer_reads_may_be_another_thing_the_next_time(warehouse):
    table = Table(a=1)
    with warehouse.writing() as writer:
        rows_of(writer, "kind", ["a"], table)
        table.rows["a"] = 2
        assert rows_of(writer, "kind", ["a"], table) == {"a": 2}


def test_no_more_are_kept_than_memory_should_hold(warehouse, monkeypatch):
    monkeypatch.setattr(asked_once, "MOST", 2)
    table = Table(a=1, b=2, c=3)
    with warehouse.reading() as reader:
        for key in ("a", "b", "c", "a"):
            assert rows_of(reader, "kind", [key], table) == {key: table.rows[key]}
    assert table.asked == [["a"], ["b"], ["c"], ["a"]]


def test_the_last_answer_of_a_kind_is_kept_for_its_reader(warehouse):
    asked = []

    def load(answer):
        asked.append(answer)
        return [answer]

    with warehouse.reading() as reader:
        assert last_of(reader, "kind", "a", lambda: load(1)) == last_of(reader, "kind", "a", lambda: load(2)) == [1]
        assert last_of(reader, "another kind", "a", lambda: load(3)) == [3]
        assert last_of(reader, "kind", "b", lambda: load(4)) == [4]
        assert last_of(reader, "kind", "a", lambda: load(5)) == [5]
    with warehouse.reading() as reader:
        assert last_of(reader, "kind", "a", lambda: load(6)) == [6]
    with warehouse.writing() as writer:
        assert last_of(writer, "kind", "a", lambda: load(7)) != last_of(writer, "kind", "a", lambda: load(8))
    assert asked == [1, 3, 4, 5, 6, 7, 8]
