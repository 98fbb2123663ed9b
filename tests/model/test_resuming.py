"""A recording whose watcher was killed: the rest is judged as if nothing had happened, and only then dropped."""

from __future__ import annotations

import json

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.model.resuming import left_over, resume
from perfreg_assets.model.watching import STATUS, TraceWatch
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.packets import framed
from perfreg_assets.traces.reduced import DOCUMENT
from perfreg_assets.traces.spool import Spool, find_spool
from tests.model.judged_as_whole import assert_judged_as_whole, assert_seconds_add_up
from tests.traces.long_traces import START_NS, write_long_trace

SECOND = 1_000_000_000
SETTINGS = Settings(reduction_reference_s=130)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Five minutes; two seconds are disturbed before the kill, two after it, and there is a hang."""
    folder = tmp_path_factory.mktemp("recording")
    return write_long_trace(folder / "t", 300, (250, 252), per_bundle=400, silent=range(150, 154))


def killed(recording, folder, until):
    """Watched until a share of it; then what a sweep does: the rest is appended, and the spool gets its name."""
    content = recording.read_bytes()
    watch = TraceWatch(folder, SETTINGS, None, lag_s=4.0)
    for begin in range(0, round(len(content) * until), 40_000):
        watch.append(content[begin : begin + 40_000])
        try:
            watch.step()
        except KeyboardInterrupt:
            break
    spool = find_spool(folder)
    spool.append(content[spool.offset :])
    spool.path.rename(folder / "unjudged.perfetto-trace")
    return watch


def assert_resumed_as_whole(folder, recording):
    told = json.loads((folder / DOCUMENT).read_text("utf-8"))
    whole = assert_judged_as_whole(told, recording, SETTINGS)
    stored = [part for one in told["files"] for part in one["stretches"]]
    assert [(one["start_ns"], one["end_ns"]) for one in stored] == list(whole.stretches)
    assert {path.name for path in folder.iterdir()} == {DOCUMENT, STATUS, *(one["name"] for one in told["files"])}
    return told


def test_the_rest_is_judged_as_if_nothing_had_happened(recording, tmp_path):
    place = tmp_path / "endurance"
    folder = place / "a"
    place.mkdir()
    killed(recording, folder, 0.7)
    assert left_over([place, tmp_path / "nowhere"]) == [folder]
    resume(folder, Settings())  # what it was judged with is known
    told = assert_resumed_as_whole(folder, recording)
    assert told["state"] == "killed"
    assert len(told["files"]) >= 2  # one before, one after
    assert left_over([place]) == []


def test_killed_between_writing_down_and_dropping_nothing_is_judged_twice_or_lost(recording, tmp_path, monkeypatch):
    folder, replace, died = tmp_path / "a", Spool.replace, []

    def dies(spool, write):
        if len(list((folder / ".judged").glob("0*.npz"))) == 4:
            died.append(spool.path)
            raise KeyboardInterrupt
        return replace(spool, write)

    monkeypatch.setattr(Spool, "replace", dies)
    killed(recording, folder, 0.9)
    assert len(died) == 1
    resume(folder, SETTINGS)
    assert_resumed_as_whole(folder, recording)


def test_killed_while_it_learned_it_learns_from_what_was_fetched(recording, tmp_path):
    killed(recording, tmp_path / "a", 0.2)
    resume(tmp_path / "a", SETTINGS)
    assert_resumed_as_whole(tmp_path / "a", recording)


def test_too_little_to_learn_from_stays_as_it_was_fetched(recording, tmp_path):
    short = write_long_trace(tmp_path / "t", 20, (0, 0), per_bundle=400)
    killed(short, tmp_path / "a", 0.2)
    with pytest.raises(Rejected) as caught:
        resume(tmp_path / "a", SETTINGS)
    assert caught.value.reason is Reason.REFERENCE_TOO_SHORT
    assert left_over([tmp_path]) == [tmp_path / "a"]


def test_recordings_of_their_own_are_taken_up_in_their_order(recording, tmp_path):
    """As rounds and copies of buffers are fetched: each begins before the one before has ended."""
    content = recording.read_bytes()
    watch = TraceWatch(tmp_path / "a", SETTINGS, None, lag_s=4.0)
    cut = [write_part(content, tmp_path / name, first, last) for name, first, last in (
        ("1", 0, 200), ("2", 190, 250), ("3", 240, 300)
    )]  # fmt: skip
    watch.take_file(cut[0])
    for name, path in (("z", cut[1]), ("a", cut[2])):
        path.rename(tmp_path / "a" / f"unjudged-{name}.perfetto-trace")
    found = resume(tmp_path / "a", SETTINGS)
    told = json.loads((tmp_path / "a" / DOCUMENT).read_text("utf-8"))
    assert told["unseen"] == []
    starts = np.array([one["start_ns"] for one in told["windows"]])
    assert set(np.diff(starts)) == {SECOND // 4}
    kept = [((one["start_ns"] - START_NS) // SECOND, (one["end_ns"] - START_NS) // SECOND) for one in told["stretches"]]
    assert any(a <= 250 and b >= 252 for a, b in kept)
    assert found.finished is not None
    assert_seconds_add_up(told)


def write_part(content, path, first, last):
    chosen = []
    for packet in proto.Trace.FromString(content).packet:
        times = packet.ftrace_events.compact_sched.switch_timestamp
        if not times or first <= (times[0] - START_NS) // SECOND < last:
            chosen.append(framed(packet.SerializeToString()))
    path.write_bytes(b"".join(chosen))
    return path
