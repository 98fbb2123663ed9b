"""What is read of a recording part by part, while it grows and is dropped, is what is read of it whole."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from perfreg_assets.model.recording_parts import IN_PARTS, PartReader
from perfreg_assets.model.watching import TraceWatch
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings
from perfreg_assets.traces.inspection import inspect_trace

SESSION = Path(__file__).parents[1] / "data" / "sessions" / "notes-000"
SETTINGS = Settings(reduction_window_s=0.04, reduction_reference_s=22.0, reduction_rim_s=0.2, reduction_gap_s=0.2)
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def run():
    return json.loads((SESSION / "run.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def recording(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "t"
    path.write_bytes(gzip.decompress((SESSION / run["trace"]).read_bytes()))
    return path


@pytest.fixture(scope="module")
def joined(run, recording, tmp_path_factory):
    """Grown in pieces, of which what is usual is dropped."""
    exploration = run["exploration"]
    parts = PartReader(run["app"], SETTINGS, part_s=15.0)
    watch = TraceWatch(tmp_path_factory.mktemp("out") / "a", SETTINGS, None, lag_s=6.0, app=run["app"], parts=parts)
    parts.explore_from(exploration["start_ns"])
    content, sizes = recording.read_bytes(), []
    piece = len(content) // 25
    for begin in range(0, len(content), piece):
        watch.append(content[begin : begin + piece])
        if begin + piece >= len(content):
            parts.explore_until(exploration["end_ns"])
        watch.step(is_last=begin + piece >= len(content))
        sizes.append(watch.spool.size)
    assert min(sizes[15:-1]) < len(content) / 2  # dropped meanwhile
    return parts


def test_series_thread_times_and_starts_are_those_of_the_whole_trace(run, recording, joined):
    exploration = run["exploration"]
    whole = inspect_trace(
        recording, app=run["app"], exploration=(exploration["start_ns"], exploration["end_ns"]),
        time_limit_s=run["config"]["time_limit_s"], settings=SETTINGS,
    )  # fmt: skip
    found = joined.joined([], file_bytes=7, sha256="ab")
    assert whole.health.is_complete
    assert found.health.is_complete, found.health
    assert (found.health.file_bytes, found.health.sha256) == (7, "ab")
    assert [one.name for one in found.series] == [one.name for one in whole.series]
    compared = 0
    for own, other in zip(found.series, whole.series, strict=True):
        assert (own.values is None) == (other.values is None), own.name
        if own.values is not None:
            assert (own.start_ns, own.interval_s) == (other.start_ns, other.interval_s)
            np.testing.assert_array_equal(own.values, other.values, err_msg=own.name)
            compared += 1
    assert compared >= 9
    np.testing.assert_allclose(sums(found.threads), sums(whole.threads), atol=1e-9)
    assert [(one.metric, one.value) for one in found.measurements] == [
        (one.metric, one.value) for one in whole.measurements
    ]
    assert found.slices == IN_PARTS
    assert found.energies.reason == IN_PARTS


def sums(threads):
    """(2, seconds) what ran, of the app and in all."""
    running = threads.of_state("running")
    return np.stack([threads.seconds[running & threads.is_app].sum(axis=0), threads.seconds[running].sum(axis=0)])


def test_what_was_not_recorded_makes_the_run_incomplete(run, joined):
    start = run["exploration"]["start_ns"]
    lost = joined.joined([(start + 20 * SECOND, start + 23 * SECOND)], file_bytes=1, sha256="")
    assert lost.health.reason is Reason.TRACE_DATA_LOSS
    assert "3.0 s were not recorded" in lost.health.detail
    assert lost.series == []
    before = joined.joined([(start - 9 * SECOND, start - 2 * SECOND)], file_bytes=1, sha256="")
    assert before.health.is_complete


def test_a_recording_in_which_the_app_is_not_and_one_of_nothing_say_so(run, recording):
    parts = PartReader("com.nobody", SETTINGS, part_s=10.0)
    assert parts.joined([], file_bytes=0, sha256="").health.reason is Reason.TRACE_TOO_SHORT
    start = run["exploration"]["start_ns"]
    parts.explore_from(start)
    parts.read(recording, start + 5 * SECOND)
    assert parts.needed_from_ns == 0
    parts.read(recording, start + 12 * SECOND)
    assert parts.needed_from_ns == start + 12 * SECOND
    assert parts.joined([], file_bytes=0, sha256="").health.reason is Reason.PACKAGE_MISSING


def test_a_part_of_which_the_beginning_is_lacking_is_not_joined_at_a_wrong_time(run, recording):
    start = run["exploration"]["start_ns"]
    parts = PartReader(run["app"], SETTINGS.with_values(duration_tolerance_ratio=0.5), part_s=10.0)
    parts.explore_from(start - 8 * SECOND)  # the recording began later
    parts.read(recording, start + 32 * SECOND)
    lost = parts.joined([], file_bytes=0, sha256="")
    assert lost.health.reason is Reason.TRACE_DATA_LOSS
    assert "of 40.0 s" in lost.health.detail
    assert lost.series == []
