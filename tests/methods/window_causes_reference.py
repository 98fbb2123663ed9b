"""The ranking of a window, once more: second by second and thread by thread, in plain Python."""

from __future__ import annotations

import math
from statistics import median


def share_of(begin_ns, window):
    start_ns, end_ns = window
    return max(min(end_ns, begin_ns + 10**9) - max(start_ns, begin_ns), 0) / 1e9


def usual_on_screens(times, screens, key, wanted):
    """What a run did on average on some screens. `wanted`: screen → its seconds in the window."""
    of_key = {
        (process, thread, state): row.tolist()
        for process, thread, state, row in zip(times.process, times.thread, times.state, times.seconds, strict=True)
    }
    values = of_key.get(key, [0.0] * len(screens))
    means = {}
    for screen in wanted:
        seen = [value for value, shown in zip(values, screens, strict=True) if shown == screen]
        if seen:
            means[screen] = sum(seen) / len(seen)
    if not means:
        return sum(values) / len(values)
    return sum(wanted[screen] * mean for screen, mean in means.items()) / sum(wanted[screen] for screen in means)


def rank(window, run, history, *, is_of_app):
    """{(process, thread, state): (value, median, mad, z, share)} of running threads that explain the series."""
    times = run.times
    shares = [share_of(times.start_ns + second * 10**9, window) for second in range(times.seconds.shape[1])]
    wanted = {}
    for share, screen in zip(shares, run.screens, strict=True):
        if screen and share:
            wanted[str(screen)] = wanted.get(str(screen), 0.0) + share
    found = {}
    for row, key in enumerate(zip(times.process, times.thread, times.state, strict=True)):
        if key[2] != "running" or (is_of_app and not times.is_app[row]):
            continue
        value = sum(share * second for share, second in zip(shares, times.seconds[row], strict=True)) / sum(shares)
        usual = [usual_on_screens(one.times, one.screens, key, wanted) for one in history]
        middle = median(usual)
        mad = 1.4826 * median(abs(one - middle) for one in usual)
        z = (value - middle) / math.sqrt(mad**2 + (0.1 * middle) ** 2 + 0.01**2)
        found[key] = [value, middle, mad, z]
    grown = sum(max(value - middle, 0.0) for value, middle, *_ in found.values())
    return {key: (*row, max(row[0] - row[1], 0.0) / grown if grown else 0.0) for key, row in found.items()}
