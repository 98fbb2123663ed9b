"""Compiled kernel of the simulated media pipeline, see `evaluation.endurance_stream`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

import perfreg_assets.methods  # noqa: F401  (says where kernels are cached)

NT = 16
NTYPES = NT * 2 + 24


@njit(cache=True)
def simulate(seed: int, secs: int, ref: int, period: int, plen: int, nhog: int, drift: float, benign: bool) -> Any:
    """(windows, types) counts, (windows,) late frames and perturbed windows: `plen` seconds at each period's end."""
    np.random.seed(seed)
    window_count = int(secs * 25)
    counts = np.zeros((window_count, NTYPES), np.float32)
    late = np.zeros(window_count, np.int16)
    pert = np.zeros(window_count, np.int8)
    vr = np.zeros(NT)
    work = np.zeros(NT)
    q = np.zeros(4, np.int64)
    last = -1
    minv = 0.0
    hold = 0.0
    frame = 0
    scene = 1.0
    shown = 0
    due = 0
    buf = 12
    base = np.array([5.5, 3.2, 1.6, 0.35, 0.5, 0.3, 0.3, 0.3])
    inprog = np.zeros(4, np.int64)
    for ms in range(int(secs * 1000)):
        w = ms // 40
        t = ms / 1000.0
        ph = (t - ref) % period
        is_on = t >= ref and ph >= period - plen
        if is_on:
            pert[w] = 1
        day = 1.0 + drift * np.sin(2 * np.pi * t / 7200.0)
        if ms % 40 == 0:
            if np.random.random() < 1 / (25 * 12.0):
                scene = np.exp(np.random.normal(0, 0.18))
            if q[0] < 20:
                q[0] += 1
            counts[w, NT * 2 + 0] += 1
        if ms % 21 == 0:
            work[4] += base[4] * np.random.lognormal(0, 0.15)
            counts[w, NT + 4] += 1
            counts[w, NT * 2 + 1] += 2
        for d in range(5, 8):
            if np.random.random() < (0.004 if d < 7 else 0.0006) * day:
                work[d] += np.random.exponential(0.8 if d < 7 else 6.0)
                counts[w, NT + d] += 1
                counts[w, NT * 2 + 2 + d - 5] += np.random.poisson(3)
        if benign and np.random.random() < 1 / 240000.0:
            work[7] += np.random.exponential(250.0)
        # pipeline stages 0..2 take a buffer when idle
        for s in range(3):
            if inprog[s] == 0 and q[s] > 0:
                q[s] -= 1
                inprog[s] = 1
                k = 1.0
                if s == 0 and frame % 50 == 0:
                    k = 2.2
                if s == 0:
                    frame += 1
                work[s] += base[s] * scene * day * k * np.random.lognormal(0, 0.12)
                counts[w, NT + s] += 1
                counts[w, NT * 2 + 5 + s] += 1 + np.random.poisson(0.3)
        # hogs
        for h in range(8, 8 + nhog):
            if is_on:
                work[h] = 1.0
            else:
                work[h] = 0.0
        # choose thread: smallest vruntime among runnable, slice 3 ms
        budget = 1.0
        guard = 0
        while budget > 1e-9 and guard < 8:
            guard += 1
            c = -1
            if last >= 0 and work[last] > 0 and hold > 0:
                c = last
            else:
                b = 1e300
                for i in range(NT):
                    if work[i] > 0:
                        if vr[i] < minv - 6.0:
                            vr[i] = minv - 6.0
                        if vr[i] < b:
                            b = vr[i]
                            c = i
                if c >= 0:
                    hold = 3.0
                    if c != last:
                        counts[w, c] += 1
                        last = c
            if c < 0:
                if last != 15:
                    counts[w, 15] += 1
                    last = 15
                break
            u = min(budget, work[c], hold)
            work[c] -= u
            budget -= u
            hold -= u
            vr[c] += u
            if vr[c] > minv:
                minv = max(minv, min(vr[c], minv + u))
            if work[c] <= 1e-9:
                work[c] = 0.0
                hold = 0.0
                if c < 3 and inprog[c] == 1:
                    inprog[c] = 0
                    counts[w, NT * 2 + 8 + c] += 1 + np.random.poisson(0.2)
                    if c < 2:
                        q[c + 1] += 1
                        counts[w, NT + c + 1] += 1
                    else:
                        q[3] += 1
                elif c >= 8:
                    work[c] = 1.0
        if ms % 40 == 20:  # the sink's clock
            if buf > 0 and due < buf:
                due += 1
            else:
                if q[3] > 0:
                    q[3] -= 1
                    shown += 1
                    work[3] += base[3]
                    counts[w, NT + 3] += 1
                    counts[w, NT * 2 + 12] += 2
                else:
                    late[w] += 1
                    counts[w, NT * 2 + 13] += 1
                    counts[w, NT * 2 + 12] += 1
    return counts, late, pert
