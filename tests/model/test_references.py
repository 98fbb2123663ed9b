"""Stored references: what they are made of comes back as it was, and those of earlier releases say what they lack."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from perfreg_assets.model.references import learned_of
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import references
from perfreg_assets.warehouse.connection import Warehouse


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "w.duckdb")


def row(largest, dtype=np.uint16, **named):
    counts = np.random.default_rng(0).integers(1, 30, (600, 3)).astype(dtype)
    counts[7, 1] = largest
    return references.ReferenceRow(
        reference_name="usual", app=None, device=None, config_hash=None, window_s=0.25,
        event_types=[["sched_switch", "a", "b"], ["sched_switch", "a", "c"]], counts=counts, trace_sha256s=("ab",),
        **named,
    )  # fmt: skip


def as_before(writer):
    """What an earlier release stored: two bytes a count."""
    packed = zlib.compress(references.find(writer, "usual").counts.astype("<u2").tobytes())
    writer.execute("UPDATE core.trace_references SET window_counts = ?", [packed])


@pytest.mark.parametrize(("largest", "dtype"), [
    (30, np.uint16), (65_534, np.uint16), (65_535, np.uint16), (65_535, np.uint32), (70_000, np.uint32),
    (5_000_000_000, np.uint64),
])  # fmt: skip
def test_counts_of_any_size_come_back(settings, largest, dtype):
    stored = row(largest, dtype)
    with Warehouse.of(settings).writing() as writer:
        assert references.add(writer, stored)
        found = references.find(writer, "usual")
        assert np.array_equal(found.counts, stored.counts)
        assert not found.is_cut
        assert np.array_equal(learned_of(writer, "usual", settings)[0].counts, stored.counts)
        assert not references.add(writer, stored)


def test_one_of_an_earlier_release_is_read_and_one_whose_counts_were_cut_is_added_again(settings):
    with Warehouse.of(settings).writing() as writer:
        references.add(writer, row(65_534))
        as_before(writer)
        assert learned_of(writer, "usual", settings)[0].counts.max() == 65_534
        writer.execute("DELETE FROM core.trace_references")
        references.add(writer, row(65_535))
        as_before(writer)
        with pytest.raises(Rejected) as caught:
            learned_of(writer, "usual", settings)
        assert caught.value.reason is Reason.REFERENCE_CUT
        assert "add it again under the same name" in str(caught.value)
        assert references.add(writer, row(70_000, np.uint32))
        assert learned_of(writer, "usual", settings)[0].counts.max() == 70_000
