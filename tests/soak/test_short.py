"""The short form of tests/soak/run.py: broken input of every kind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import hostile


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_broken_input_is_refused_by_a_reason_or_taken(kind, tmp_path):
    (found,) = hostile.run(tmp_path, cases=25, seed=15, kinds=(kind,))
    assert found.count == 25
    assert found.faults == []
    assert set(found.outcomes) - {"taken"}, "nothing of it was refused"


def test_a_fault_would_be_told(tmp_path, monkeypatch):
    def broken(work):
        return lambda chance: [][chance.randrange(3)]

    monkeypatch.setitem(hostile.KINDS, "made up", broken)
    (found,) = hostile.run(tmp_path, cases=2, seed=1, kinds=("made up",))
    assert [fault.partition(": ")[0] for fault in found.faults] == ["made up:1:0", "made up:1:1"]
