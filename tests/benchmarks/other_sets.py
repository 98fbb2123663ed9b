"""Quality as shipped on sets of the second generator, pooled: `other_sets.py FIRST-LAST [REPEATS]`, a set per seed.

Per noise: F1, false alarms and recall at the default ω, of each series, of all, and of whole runs; and in seconds how
well the windows of alarms meet what was injected, with the windows that clean runs show.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perfreg_assets.evaluation.evaluate import evaluate
from perfreg_assets.settings import Settings
from tests.evaluation.other_generator import OtherGenerator, write_set

DETECTOR = "default"
REPEATS = 6


def evaluated(seed: int, noise: float, repeats: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"seed{seed}.parquet"
        write_set(OtherGenerator(seed, noise).rows(), path)
        return evaluate(path, repeats=repeats, omegas=(Settings().omega,), levels=(), detectors=[DETECTOR])


def told_of(results: list[dict[str, Any]]) -> list[str]:
    """A line per series: verdicts, and windows of alarms."""
    verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    windows: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in results:
        for row in one["rows"]:
            if row["anomaly_kind"] == row["severity"] == "all":
                verdicts[row["series"]].update({name: row[name] for name in ("tp", "fp", "tn", "fn")})
        for row in one["localisation"]:
            if (row["unit"], row["runs"]) == ("seconds", "alarmed"):
                found = {name: row[name] for name in ("tp", "fp", "fn")}
                windows[row["series"]].update({**found, "per_clean": row["flagged_per_clean_run"]})
    lines = []
    for series, one in verdicts.items():
        told = f"{series}: F1 {_f1(one):.3f}, false alarms {one['fp'] / (one['fp'] + one['tn']):.3f}"
        if series in windows:
            placed = windows[series]
            told += f"; seconds F1 {_f1(placed):.3f} (P {placed['tp'] / (placed['tp'] + placed['fp']):.2f}"
            told += f" R {placed['tp'] / (placed['tp'] + placed['fn']):.2f})"
            told += f", windows per clean run {placed['per_clean'] / len(results):.3f}"
        lines.append(told)
    return lines


def _f1(counts: Counter[str]) -> float:
    return 2 * counts["tp"] / (2 * counts["tp"] + counts["fp"] + counts["fn"])


def main() -> None:
    if not sys.argv[1:]:
        raise SystemExit("which seeds? For instance: other_sets.py 821-832")
    first, last = (int(number) for number in sys.argv[1].split("-"))
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else REPEATS
    for noise in (1, 2):
        for line in told_of([evaluated(seed, noise, repeats) for seed in range(first, last + 1)]):
            print(f"noise {noise}, {line}", flush=True)


if __name__ == "__main__":
    main()
