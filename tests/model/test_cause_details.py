"""Details of windows from traces: on the same screens, by name, beside the history; what cannot be read is told."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import APP, Project, reader_of, row

from perfreg_assets.methods.screens import stretches
from perfreg_assets.methods.window_causes import Entity, rank_named
from perfreg_assets.model.cause_details import explain_details
from perfreg_assets.model.causes import Window
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.memory_growth import MEMORY_SCHEMA
from perfreg_assets.traces.slices import FRAME_SCHEMA, SLICE_SCHEMA
from perfreg_assets.traces.stacks import STACK_SCHEMA
from perfreg_assets.traces.window_details import WindowDetails
from perfreg_assets.warehouse import settings_table

S = 1_000_000_000


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        made = Project(tmp_path_factory.mktemp("made"), reader_of({"made-008": ("cpu_app", 1.0)}))
        made.arrive(*(row(number, version="1" if number < 6 else "2") for number in range(9)))
        made.settle()
    return made


class Traces:
    """Stands for what reads traces: a slice that takes as much per second as its run and its screen say."""

    def __init__(self, slow=frozenset({"made-008"}), broken=frozenset()):
        self.slow, self.broken, self.asked = slow, broken, {}

    def __call__(self, path, sha256, app, ranges, settings):
        run_id = path.parent.name
        self.asked[run_id] = list(ranges)
        assert (path.name, sha256, app) == ("trace", run_id, APP)
        if run_id in self.broken:
            raise Rejected(Reason.TRACE_FILE_MISSING, str(path))
        slices, stacks, memory = [], [], []
        for number, (start, end) in enumerate(ranges):
            length = (end - start) / S
            slow = 0.4 if run_id in self.slow else 0.1
            slices.append((number, True, APP, "main", ["draw", "inflate"], False, slow * length, 3))
            slices.append((number, True, APP, "main", ["Lock contention on x (owner tid: #)"], True, 0.01 * length, 1))
            slices.append((number, False, "system", "ui", ["draw"], False, slow * length, 3))
            stacks.append((number, "perf", True, APP, "main", ["a", "b"], 9, slow * length, "s"))
            stacks.append((number, "perf", True, APP, "main", ["a", "b"], 9, 7.0, "instructions"))
            memory.append((number, True, f"{APP}:push", "anon", 50e6, 50e6 + slow * 100e6))
        tables = [
            pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)
            for rows, schema in ((slices, SLICE_SCHEMA), (stacks, STACK_SCHEMA), (memory, MEMORY_SCHEMA))
        ]
        return WindowDetails(tables[0], FRAME_SCHEMA.empty_table(), tables[1], tables[2], 0, 20, 2)


def explain(project, read, *windows):
    with project.warehouse.reading() as reader:
        settings = settings_table.in_force(reader, project.settings)
        return explain_details(reader, settings, "made-008", windows, read=read)


def test_a_slice_a_stack_and_a_process_that_grew(project):
    traces = Traces()
    details = explain(project, traces, Window("cpu_app", 20.0, 20 * S, 28 * S), Window("cpu_app", 5.0, 5 * S, 8 * S))
    assert len(details.windows) == 2
    for detailed in details.windows:
        (cause,) = detailed.slices.listed
        assert (cause.kind, cause.process, cause.thread, cause.name) == ("slice", APP, "main", "inflate")
        assert cause.path == ("draw", "inflate")
        assert (cause.value, cause.history_median) == pytest.approx((0.4, 0.1))
        assert (cause.is_matched, cause.history_count) == (True, 4)
        (stack,) = detailed.stacks.listed
        assert (stack.kind, stack.path, stack.value) == ("stack", ("a", "b"), pytest.approx(0.4))
        (memory,) = detailed.memory.listed
        assert (memory.kind, memory.process, memory.name) == ("memory", f"{APP}:push", "anon")
        assert (memory.value, memory.history_median) == pytest.approx((40e6, 10e6))
        assert {one.kind for one in detailed.slices.causes} == {"slice", "lock"}
    assert (details.sample_count, details.without_stack_count, details.left_out) == (20, 2, [])
    assert traces.asked["made-008"] == [(20 * S, 28 * S), (5 * S, 8 * S)]
    history = traces.asked["made-005"]
    assert (20 * S, 28 * S) in history, "memory is compared in the same seconds"
    assert all(start % S == end % S == 0 for start, end in history)


def test_nothing_grew_where_all_traces_tell_the_same(project):
    details = explain(project, Traces(slow=frozenset()), Window("cpu_app", 20.0, 20 * S, 28 * S))
    (detailed,) = details.windows
    assert [detailed.slices.listed, detailed.stacks.listed, detailed.memory.listed] == [[], [], []]


def test_traces_that_cannot_be_read_are_told_and_count_for_nothing(project):
    read = Traces(broken=frozenset({"made-005", "made-004"}))
    details = explain(project, read, Window("cpu_app", 20.0, 20 * S, 28 * S))
    assert {name for name, _ in details.left_out} == {"made-004", "made-005"}
    (detailed,) = details.windows
    assert not detailed.slices.has_history, "two are fewer than three"
    assert detailed.slices.listed[0].z is None
    gone = explain(project, Traces(broken=frozenset({"made-008"})), Window("cpu_app", 20.0, 20 * S, 28 * S))
    assert gone.windows == []
    assert gone.left_out[0][0] == "made-008"


def test_stretches_are_seconds_in_a_row_that_weigh_the_same():
    weights = np.array([0.0, 0.25, 0.25, 0.1, 0.0, 0.4])
    assert stretches(weights) == [(1, 3, 0.25), (3, 4, 0.1), (5, 6, 0.4)]
    assert stretches(np.array([])) == []


def test_names_that_only_the_history_has_do_not_count():
    one, other = (Entity("slice", "a", "m", name, (name,)) for name in ("x", "y"))
    found = rank_named({one: 1.0}, [{one: 0.1, other: 5.0}] * 3, floor=0.005, matched_count=2, minimum=3)
    (cause,) = found.listed
    assert (cause.name, cause.growth_share, cause.is_matched, cause.is_new) == ("x", 1.0, False, False)
    assert rank_named({}, [{one: 0.1}] * 3, floor=0.005, matched_count=3, minimum=3).causes == ()
