"""Call trees as folded stacks with two counts, `a;b;c before after`, as difffolded writes and flamegraph.pl reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from perfreg_assets.methods.call_trees import CallTrees
from perfreg_assets.methods.method_uses import Profile, profile_of


def before_and_after(
    trees: CallTrees, baselines: Sequence[Profile]
) -> dict[tuple[str, ...], tuple[float | None, float]]:
    """Path -> (before, after): self time of its last node in ms per call of the service.

    Before is the median over the baselines that have the service, 0 where most of them lack the path; None where no
    baseline has the service. Paths that only baselines have come too.
    """
    now = profile_of(trees)
    paths = dict.fromkeys([*now.path_self_ms, *(path for one in baselines for path in one.path_self_ms)])
    found: dict[tuple[str, ...], tuple[float | None, float]] = {}
    for path in paths:
        calls = now.service_calls.get(path[0])
        if not calls:
            continue
        history = [one for one in baselines if one.service_calls.get(path[0])]
        earlier = [one.path_self_ms.get(path, 0.0) / one.service_calls[path[0]] for one in history]
        before = float(np.median(earlier)) if earlier else None
        after = now.path_self_ms.get(path, 0.0) / calls
        if path in now.path_self_ms or before:
            found[path] = (before, after)
    return found


def folded_lines(trees: CallTrees, baselines: Sequence[Profile]) -> Iterator[str]:
    """Lines by path; counts are whole microseconds of self time per call of the service; before is 0 without."""
    for path, (before, after) in sorted(before_and_after(trees, baselines).items()):
        stack = ";".join(" ".join(name.replace(";", ":").split()) for name in path)
        yield f"{stack} {round((before or 0.0) * 1000)} {round(after * 1000)}"
