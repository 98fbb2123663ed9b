"""Loads every kernel once, so that a cold cache is paid for, and said, before the work starts.

Those of call logs and of reduction apart: whoever judges runs has no use for them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfreg_assets.methods.barycenter import dba
from perfreg_assets.methods.dtw import align, dtw_distance, dtw_distances, dtw_pairwise
from perfreg_assets.methods.excess_load import Compared, UsualDifferences, find_excess
from perfreg_assets.methods.jit import compilation_notice
from perfreg_assets.methods.leak_onset import find_onset
from perfreg_assets.methods.matrix_profile import ab_join
from perfreg_assets.methods.path_similarity import similarity
from perfreg_assets.methods.power_states import Events, States, times_in_states


def warm_up(write: Callable[[str], None] | None = None) -> None:
    """Compiles (about 8 s on a cold cache) or loads (0.3 s) the kernels of this package.

    Args:
        write: see `jit.compilation_notice`.
    """
    # Every kernel is reached from here, but for those of the two functions below (tested).
    some = np.linspace(0.0, 1.0, 64)
    other = some**2
    usual = UsualDifferences([Compared(some - other, some), Compared(other - some, other)])
    with compilation_notice(write):
        similarity(["a"], ["a"])
        dtw_distance(some, other)
        dtw_distances([some], other)
        dtw_pairwise([some, other])
        align(some, other)
        dba([some, other])
        find_onset(some, 1.0, 0.0)
        find_excess(usual, Compared(some - other, some), 1.0)
        ab_join(some, other, 4)
        ab_join(some, other, 4, normalize=False)
        nothing = np.zeros(0, np.int64)
        times_in_states(Events(*[nothing] * 4), States(nothing, np.zeros(0)), nothing, nothing, 0)


def warm_up_call_logs(write: Callable[[str], None] | None = None) -> None:
    """Compiles or loads the kernels that read call logs and build their trees.

    Args:
        write: see `jit.compilation_notice`.
    """
    from perfreg_assets.methods.call_trees import Calls, build_trees  # noqa: PLC0415  (not for who judges runs)
    from perfreg_assets.methods.line_fields import IGNORED, NONE  # noqa: PLC0415
    from perfreg_assets.methods.line_scanner import Layout, Scanner  # noqa: PLC0415

    with compilation_notice(write):
        literals = np.frombuffer(b" ", np.uint8)
        layout = Layout(literals, np.array([0, 1]), np.array([NONE, IGNORED]), 1.0)
        Scanner(layout).scan(np.frombuffer(b" a\n", np.uint8))
        one = np.zeros(1, np.int32)
        build_trees(Calls(one, one, one, one, np.ones(1), np.zeros(1, np.int64), ("t",), ("s",), ("1",), ("m",)))


def warm_up_reduction(write: Callable[[str], None] | None = None) -> None:
    """Compiles or loads the kernels that count a trace's events and judge its windows.

    Args:
        write: see `jit.compilation_notice`.
    """
    from perfreg_assets.methods import packet_scanner  # noqa: PLC0415  (not for who judges runs)
    from perfreg_assets.methods.atrace_pairs import MarkPairs, scan_marks  # noqa: PLC0415
    from perfreg_assets.methods.reduction import MODES, Judge, learn  # noqa: PLC0415
    from perfreg_assets.methods.running_seconds import RunningSeconds  # noqa: PLC0415

    with compilation_notice(write):
        packet = bytes([0x0A, 4, 0x0A, 2, 0x08, 1])
        data = np.frombuffer(packet, np.uint8)
        rows = packet_scanner.scan_packets(data)[0]
        events = packet_scanner.BundleScanner().scan(data, rows)
        packet_scanner.bundle_starts(data, rows)
        packet_scanner.scan_track_events(data, rows)
        MarkPairs(np.zeros(1, np.int64), np.ones(1, np.int64)).add(scan_marks(data, rows, 0))
        nobody = np.zeros(packet_scanner.MAX_TID, np.uint64)
        # From before the beginning: no bundle is needed.
        RunningSeconds(-2, nobody, np.zeros(0, np.uint64), -2).add(events)
        counter = packet_scanner.WindowCounter(np.ones(1, np.uint64), 0, 1)
        counter.add(np.zeros(1, np.int64), np.ones(1, np.uint64))
        counter.add(events.times, events.keys)
        windows = np.random.default_rng(0).integers(1, 9, (600, 3)).astype(np.float64)
        for mode in MODES.values():
            Judge(learn(windows, mode)).judge(windows)
