"""What came of some runs in one sentence that says what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perfreg_assets.terminal import listed

FINER_GRID = "`perfreg settings set interval_s 0.25`, or less, has traces read on a finer grid"
_NAMED = 5


def answer(runs: Sequence[Mapping[str, Any]], versions: Sequence[Mapping[str, Any]]) -> str:
    """Of the verdicts on whole runs, and on their versions as a whole.

    Args:
        runs: rows of marts.verdicts, one per run.
        versions: rows of marts.version_verdicts, one per version.
    """
    worse = sorted(
        (row for row in runs if row["is_anomalous"]), key=lambda row: row["excess_ratio"] or 0.0, reverse=True
    )
    if worse:
        named = listed([row["run_id"] for row in worse[:_NAMED]], len(worse))
        return (
            f"{len(worse)} anomalous of {len(runs)} runs: look at {named} "
            f"(perfreg causes {worse[0]['run_id']} says what grew, perfreg serve shows it)"
        )
    if together := [row["version_name"] for row in versions if row["is_anomalous"]]:
        return (
            f"No run is anomalous by itself, but together those of {', '.join(together)} are: "
            "look at perfreg verdicts --by version"
        )
    judged = sum(row["is_anomalous"] is not None for row in runs)
    if judged:
        return f"Nothing is anomalous: {judged} of {len(runs)} runs were judged"
    told = counted(row["state"] for row in runs)
    return f"Nothing could be judged yet ({told or 'no runs'}): the table says what each run lacks"


def counted(states: Iterable[str]) -> str:
    """`2 anomalous, 5 normal`; empty of none."""
    return ", ".join(f"{count} {state}" for state, count in sorted(Counter(states).items()))
