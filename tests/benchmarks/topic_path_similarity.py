"""Path similarity of one run with 1,000 candidates, against difflib."""

from __future__ import annotations

import difflib
import random
import time
from collections.abc import Iterator
from functools import partial

from measuring import Row, medians, under

from perfreg_assets.methods.path_similarity import similarities

STEPS, STATES, MINIMUM = 900, 49, 0.8


def explorations(count: int, *, changed: float, dropped: float, seed: int = 7) -> tuple[list[str], list[list[str]]]:
    """(a path of 900 steps, others of the same app with up to these shares of steps changed and dropped)."""
    source = random.Random(seed)
    states = [f"{source.getrandbits(256):064x}" for _ in range(STATES)]
    new = [source.choice(states) for _ in range(STEPS)]
    paths = []
    for _ in range(count):
        share_changed, share_dropped = source.random() * changed, source.random() * dropped
        kept = (state for state in new if source.random() >= share_dropped)
        paths.append([source.choice(states) if source.random() < share_changed else state for state in kept])
    return new, paths


def rows(quick: bool) -> Iterator[Row]:
    for kind, changed, dropped in (("of all kinds", 0.5, 0.3), ("nearly all similar", 0.1, 0.05)):
        new, candidates = explorations(1000, changed=changed, dropped=dropped)
        compare = partial(similarities, candidates, new, minimum=MINIMUM)
        similar = sum(value is not None and value >= MINIMUM for value in compare())
        (ours,) = medians(compare, rounds=3 if quick else 7)
        sample = candidates[:: 100 if quick else 20]
        started = time.perf_counter()
        for candidate in sample:
            difflib.SequenceMatcher(None, candidate, new, autojunk=False).ratio()
        theirs = (time.perf_counter() - started) * len(candidates) / len(sample)
        case = f"1000 candidates x {STEPS} steps, {kind} ({similar} similar)"
        reference = f"difflib (from {len(sample)} of them)"
        yield under("paths", case, ours, 1.0, reference=reference, reference_s=theirs)
