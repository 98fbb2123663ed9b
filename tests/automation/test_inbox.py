"""The inbox: new and changed folders are taken once, half-copied ones are left alone."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.automation.inbox import decide, digest_of
from perfreg_assets.collection.inbox import Sighting, look, note


def put(folder, name, content, mtime):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    os.utime(path, (mtime, mtime))
    os.utime(folder, (mtime, mtime))


def names(decision):
    return [sighting.name for sighting in decision.ready]


def test_what_was_asked_for_waits_and_what_was_dealt_with_is_passed_over(tmp_path):
    put(tmp_path / "a", "run.json", b"{}", 100)
    first = decide(look(tmp_path), None, now=110, settle_s=5, limit=10)
    assert names(first) == ["a"]
    asked = {digest_of(sighting) for sighting in first.ready}
    assert names(decide(look(tmp_path), first.cursor, now=120, settle_s=5, limit=10, asked=asked)) == []
    assert names(decide(look(tmp_path), first.cursor, now=120, settle_s=5, limit=10)) == ["a"]
    note(first.ready[0], tmp_path)
    assert names(decide(look(tmp_path), first.cursor, now=120, settle_s=5, limit=10)) == []


def test_a_folder_being_copied_waits_and_is_taken_when_it_is_quiet(tmp_path):
    put(tmp_path / "a", "run.json", b"{}", 100)
    early = decide(look(tmp_path), None, now=102, settle_s=5, limit=10)
    assert (names(early), early.waiting) == ([], ("a",))
    put(tmp_path / "a", "trace.pftrace", b"xx", 104)
    growing = decide(look(tmp_path), early.cursor, now=106, settle_s=5, limit=10)
    assert names(growing) == []
    assert names(decide(look(tmp_path), growing.cursor, now=110, settle_s=5, limit=10)) == ["a"]


def test_a_changed_folder_is_taken_again(tmp_path):
    put(tmp_path / "a", "run.json", b"{", 100)
    first = decide(look(tmp_path), None, now=110, settle_s=5, limit=10)
    note(first.ready[0], tmp_path)
    put(tmp_path / "a", "run.json", b"{}", 120)
    asked = {digest_of(sighting) for sighting in first.ready}
    assert names(decide(look(tmp_path), first.cursor, now=130, settle_s=5, limit=10, asked=asked)) == ["a"]


def test_hidden_folders_files_and_unfinished_copies_are_not_looked_at(tmp_path):
    put(tmp_path / ".building", "run.json", b"{}", 100)
    put(tmp_path / "copying", "trace.pftrace.part", b"", 100)
    put(tmp_path / "b.part", "run.json", b"{}", 100)
    (tmp_path / "loose.txt").write_text("x")
    assert look(tmp_path) == []
    assert look(tmp_path / "nowhere") == []


def test_a_clock_in_the_future_does_not_keep_a_run_out(tmp_path):
    put(tmp_path / "a", "run.json", b"{}", 10_000)
    first = decide(look(tmp_path), None, now=100, settle_s=5, limit=10)
    assert names(first) == []
    assert names(decide(look(tmp_path), first.cursor, now=105, settle_s=5, limit=10)) == ["a"]


def test_more_folders_than_a_tick_may_take_come_in_the_next_ones():
    sightings = [Sighting(f"r{number}", "s", 0.0) for number in range(7)]
    taken, asked = [], set()
    for _ in range(3):
        decision = decide(sightings, None, now=100, settle_s=5, limit=3, asked=asked)
        asked |= {digest_of(sighting) for sighting in decision.ready}
        taken += names(decision)
    assert taken == [f"r{number}" for number in range(7)]


def test_the_cursor_does_not_grow_with_the_inbox():
    sightings = [Sighting(f"run-{number}", "s" * 24, 1e6) for number in range(5000)]
    assert len(decide(sightings, None, now=100, settle_s=5, limit=50).cursor) < 2000


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.floats(0, 50)), max_size=3), max_size=6
    )
)
def test_no_state_of_a_folder_is_taken_while_it_was_asked_for_and_every_quiet_one_is(ticks):
    cursor, asked = None, set()
    for number, tick in enumerate(ticks):
        now = 40.0 + number
        sightings = [Sighting(*entry) for entry in {entry[0]: entry for entry in tick}.values()]
        decision = decide(sightings, cursor, now=now, settle_s=5, limit=10, asked=asked)
        taken = {digest_of(sighting) for sighting in decision.ready}
        assert not taken & asked
        assert taken | asked >= {digest_of(one) for one in sightings if now - one.changed_at >= 5}
        asked |= taken
        cursor = decision.cursor
