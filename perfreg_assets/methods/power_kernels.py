"""Compiled kernel of `power_states`; in a file of its own, so that numba is loaded when it is called.

Arrays: ts, core, kind, value (n,) int64 events in order of time; cluster_of (cores,); owner_of (threads,);
shares (cores + 1,), shares[k] = unit / k; the results (segments, states, 3) and (threads, states, 3) int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from perfreg_assets.methods.power_states import AWAKE, SEGMENT, STATE, THREAD


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(
    ts: Any, core: Any, kind: Any, value: Any, cluster_of: Any, owner_of: Any, shares: Any, state_count: int,
    segment_count: int, quiet_ns: int,
) -> Any:  # fmt: skip
    """Times of all segments and threads, each (busy, share of the cluster, share of the processor)."""
    core_count = cluster_of.shape[0]
    is_quiet = quiet_after(ts, core, kind, value, core_count, quiet_ns)
    times = np.zeros((segment_count, state_count, 3, 3), np.int64)
    of_threads = np.zeros((owner_of.shape[0], state_count, 3), np.int64)
    thread = np.full(core_count, -1, np.int64)
    state = np.zeros(core_count, np.int64)
    awake = np.zeros(core_count, np.bool_)
    is_on = np.zeros(core_count, np.bool_)
    on_in = np.zeros(core_count, np.int64)
    on = 0
    segment = -1
    last = np.int64(0)
    for event in range(ts.shape[0]):
        now = ts[event]
        elapsed = now - last
        if elapsed > 0 and segment >= 0 and on > 0:
            of_all = elapsed * shares[on]
            for c in range(core_count):
                if not is_on[c]:
                    continue
                of_cluster = elapsed * shares[on_in[cluster_of[c]]]
                owner = 2
                if thread[c] >= 0:
                    owner = owner_of[thread[c]]
                    own = of_threads[thread[c], state[c]]
                    own[0] += elapsed
                    own[1] += of_cluster
                    own[2] += of_all
                at = times[segment, state[c], owner]
                at[0] += elapsed
                at[1] += of_cluster
                at[2] += of_all
        last = now
        what = kind[event]
        c = core[event]
        if what == SEGMENT:
            segment = value[event]
            continue
        if what == STATE:
            state[c] = value[event]
            continue
        if what == THREAD:
            thread[c] = value[event]
        else:
            awake[c] = value[event] != 0
        costs = thread[c] >= 0 or (awake[c] and not is_quiet[event])
        if costs != is_on[c]:
            is_on[c] = costs
            change = 1 if costs else -1
            on += change
            on_in[cluster_of[c]] += change
    return times, of_threads


@njit(cache=True, nogil=True, error_model="numpy")
def quiet_after(ts: Any, core: Any, kind: Any, value: Any, core_count: int, quiet_ns: int) -> Any:
    """Of each event (n,), whether its core tells nothing of threads or idle states for longer than `quiet_ns` after
    it, and then not that it goes idle; what it would tell after the last event counts as told then."""
    found = np.zeros(ts.shape[0], np.bool_)
    if ts.shape[0] == 0:
        return found
    following = np.full(core_count, ts[-1], np.int64)
    goes_idle = np.zeros(core_count, np.bool_)
    for event in range(ts.shape[0] - 1, -1, -1):
        if kind[event] == THREAD or kind[event] == AWAKE:
            c = core[event]
            found[event] = following[c] - ts[event] > quiet_ns and not goes_idle[c]
            following[c] = ts[event]
            goes_idle[c] = kind[event] == AWAKE and value[event] == 0
    return found
