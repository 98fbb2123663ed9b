"""What `perfreg compare` finds of made-up regressions and tells without any: `comparison_power.py [held-out] [400]`.

Per noise and number of runs a side: comparisons of sides without a difference that tell one, or tell one that is worse;
and of leaks and extra load, by size, the share that is called anomalous. Apps are those of `perfreg evaluate held-out
--protocol shifts`; what constants are chosen by are the `developers`.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from perfreg_assets.catalogue import definition_of
from perfreg_assets.evaluation.shift_streams import INTERVAL_S, SERIES, SHIFTS, Session, stream
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.side_comparison import Courses, SidesCompared, compare_sides

LEAKS = (0.05, 0.1, 0.2)  # of the median memory, at the end of the session
EXCESSES = (0.15, 0.4)  # of the core-seconds
KINDS = [*((kind, size) for kind in ("leak", "sawtooth") for size in LEAKS), *(("load", size) for size in EXCESSES)]


def compared(a: list[Session], b: list[Session]) -> SidesCompared:
    return compare_sides(
        {
            name: Courses(
                unit=definition_of(name).unit, a=[one.series[name] for one in a], b=[one.series[name] for one in b],
                worse="more", is_judged=True, is_memory=name == "rss_app", interval_s=INTERVAL_S,
            )
            for name in SERIES
        }
    )  # fmt: skip


def regressed(one: Session, kind: str, size: float, random: np.random.Generator) -> Session:
    load, memory = one.series["cpu_app"], one.series["rss_app"]
    begin = int(random.uniform(0.1, 0.4) * len(load))
    since: Floats = np.maximum(0.0, np.arange(len(load)) - begin) / (len(load) - begin)
    if kind == "load":
        places = since > 0
        return Session({**one.series, "cpu_app": load + size * float(load.sum()) / int(places.sum()) * places})
    ramp = since if kind == "leak" else (3 * since) % 1
    return Session({**one.series, "rss_app": memory + size * float(np.median(memory)) * ramp})


def main() -> None:
    family, draws = (sys.argv[1:] + ["held-out", "400"][len(sys.argv) - 1 :])[:2]
    for noise in (1.0, 2.0):
        for count in (3, 5, 10):
            told: Counter[object] = Counter()
            for number in range(int(draws)):
                random = np.random.default_rng([7, number, count, round(noise)])
                steps = stream(family, SHIFTS[0], noise=noise, seed=31, number=number // 8)
                known = [*next(steps).history, *(run for step in steps for run in step.normal)]
                drawn = random.permutation(len(known))[: 2 * count]
                a, b = ([known[place] for place in half] for half in (drawn[:count], drawn[count:]))
                verdict = compared(a, b).verdict
                told["differs"] += verdict != "normal"
                told["worse"] += verdict == "anomalous"
                for kind, size in KINDS:
                    found = compared(a, [regressed(one, kind, size, random) for one in b])
                    told[kind, size] += found.verdict == "anomalous"
            shares = {key: told[key] / int(draws) for key in ("differs", "worse", *KINDS)}
            words = (
                f"{' '.join(map(str, key)) if isinstance(key, tuple) else key} {share:.3f}"
                for key, share in shares.items()
            )
            print(f"{family}, noise {noise:g}, {count} runs a side: {', '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
