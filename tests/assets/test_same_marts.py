"""The same run folders, in whatever order and on however many threads, make the same marts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numba
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))

from synthetic import snapshot

from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.warehouse import connection, kept_instances, settings_table

NAMES = ("notes-000", "notes-001", "notes-003", "notes-010", "notes-018", "notes-019", "notes-020", "notes-026")
BATCHES = {"in order": [NAMES], "backwards": [NAMES[4:][::-1], NAMES[:4][::-1]], "mixed": [NAMES[1::2], NAMES[::2]]}


@pytest.fixture
def on_threads(monkeypatch):
    """As on a machine with so many cores."""
    usual = numba.get_num_threads()

    def limit(count):
        monkeypatch.setattr(os, "cpu_count", lambda: count)
        numba.set_num_threads(min(count, usual))
        for config in (connection._WRITER_CONFIG, kept_instances.NO_EXTENSIONS, kept_instances.OF_JOBS):
            monkeypatch.setitem(config, "threads", count)

    yield limit
    numba.set_num_threads(usual)


def marts_of(site, batches):
    with site.warehouse.writing() as writer:
        settings_table.change(writer, "path_similarity_minimum", "0.6")
    for names in batches:
        done, refused = site.ingest(*(demo_runs_dir() / name for name in names))
        assert (done.failures, refused) == ([], [])
        assert site.bring_up_to_date().left.keys == []
    with site.warehouse.reading() as reader:
        return snapshot(reader)


def test_neither_order_nor_threads_change_a_byte_of_the_marts(make_site, on_threads):
    found = {}
    for order, threads in (("in order", 2), ("backwards", 1), ("mixed", 2)):
        on_threads(threads)
        site = make_site()
        found[order] = marts_of(site, BATCHES[order])
        with site.warehouse.reading() as reader:
            assert reader.value("SELECT current_setting('threads')") == threads
    expected = found.pop("in order")
    assert {row[0] for row in expected["runs"]}
    assert any("anomalous" in str(row) for row in expected["verdicts"])
    for order, marts in found.items():
        assert set(marts) == set(expected)
        for name, rows in marts.items():
            assert rows == expected[name], (order, name)
