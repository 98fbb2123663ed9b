"""What is said of a comparison of benchmarks, on the pages and in the terminal alike."""

from __future__ import annotations

from perfreg_assets.how_many import how_many
from perfreg_assets.methods.benchmark_comparison import Comparison


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
