"""What is said of a comparison of benchmarks, on the pages and in the terminal alike."""

from __future__ import annotations

import math

from perfreg_assets.how_many import how_many
from perfreg_assets.methods.benchmark_comparison import Comparison

FACTOR = 100.0
"""From such a factor on a change is told by it: −99.99 % and −99.9999 % read alike, and are far apart."""


def told_ratio(ratio: float) -> str:
    """Four decimals of what is near 1, else digits that say something: 0.9104, 1208.7, 1.07e-09."""
    if FACTOR <= ratio < FACTOR**3:
        return f"{ratio:.1f}"
    return f"{ratio:.4f}" if 1 / FACTOR <= ratio < FACTOR or math.isnan(ratio) else f"{ratio:#.3g}"


def told_change(ratio: float) -> str:
    """A ratio as the change that it is: +5.44%, or ÷ 9.32e+08."""
    if ratio >= FACTOR:
        return f"× {ratio:.3g}"
    return f"÷ {1 / ratio:.3g}" if ratio < 1 / FACTOR else f"{ratio - 1:+.2%}"


def told_p(p_value: float) -> str:
    """Two significant digits; a dash of NaN."""
    return "–" if math.isnan(p_value) else f"{p_value:.2g}"


def caveats(found: Comparison) -> list[str]:
    """What its intervals and verdicts are to be taken with, sentences without a capital and a full stop."""
    told = []
    if found.has_single_launches:
        told.append("one launch: noise between launches is not in the intervals, so they are too narrow")
    count, needed = found.too_few
    if count:
        told.append(
            f"{how_many(count, 'benchmark')} with too few iterations for a verdict: {needed} on each side would do, "
            "two launches tell more"
        )
    if found.without_noise and found.is_judged:
        blind = how_many(found.without_noise, "benchmark")
        told.append(f"nothing tells the noise of {blind}, nor that of the means with such a one")
    if not found.is_judged and not count:
        is_repeated = all(min(one.launches_a, one.launches_b) > 1 for one in found.tests)
        why = "the launches of a side are equal to the last digit" if is_repeated else "measure more than once"
        told.append(f"nothing tells the noise: {why}")
    return told
