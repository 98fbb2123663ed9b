"""One command, one table: `python tests/benchmarks/run.py [TOPIC …] [--quick] [--json FILE]`.

A topic is a file `topic_<name>.py` in this folder with a function `rows(quick: bool) -> Iterable[measuring.Row]`; it is
found by its name. Ours and the reference are timed in turns in one process, so a busy machine slows both.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parents[1])) if path not in sys.path]

from measuring import Row, as_table  # noqa: E402  (the folder is put on the path above)


def topics() -> list[str]:
    return sorted(path.stem.removeprefix("topic_") for path in HERE.glob("topic_*.py"))


def collect(names: Sequence[str], *, quick: bool) -> list[Row]:
    """Rows of the topics, in the order given; says on stderr what it is at."""
    found: list[Row] = []
    for name in names:
        started = time.perf_counter()
        print(f"measuring {name} ...", end=" ", file=sys.stderr, flush=True)
        found += importlib.import_module(f"topic_{name}").rows(quick)
        print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    return found


VECTORS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512vl", "asimd", "sve")
"""Features, as Linux names them, that decide how many numbers a core works on at once."""


def processor(info: str) -> dict[str, str]:
    """What a table's ratios depend on: model, family, clock, caches and vector features, from /proc/cpuinfo."""
    facts: dict[str, str] = {}
    for line in info.splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    flags = set((facts.get("flags") or facts.get("Features") or "").split())
    numbers = [facts[name] for name in ("cpu family", "model", "stepping") if name in facts]
    return {
        "cpu": facts.get("model name", platform.processor() or platform.machine()),
        "family/model/stepping": "/".join(numbers) or "unknown",
        "MHz": facts.get("cpu MHz", "unknown").partition(".")[0],
        "cache": facts.get("cache size", "unknown"),
        "vectors": " ".join(name for name in VECTORS if name in flags) or "unknown",
    }


def machine() -> dict[str, str]:
    info = Path("/proc/cpuinfo")
    packages = ("numpy", "numba", "tslearn", "stumpy", "duckdb", "dagster")
    return {
        **processor(info.read_text() if info.exists() else ""),
        "kernels compiled for": os.environ.get("NUMBA_CPU_NAME") or "this processor",  # set by perfreg_assets.methods
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown",
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Benchmarks of perfreg; prints one table. Exit status 1: a target was missed."
    )
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=f"any of: {', '.join(topics())}; default: all")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.topics) - set(topics()))
    if unknown:
        parser.error(f"no such topic: {', '.join(unknown)}; there are {', '.join(topics())}")
    warnings.simplefilter("ignore")  # the references' own, about optional packages; the table is what is read
    rows = collect(options.topics or topics(), quick=options.quick)
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(as_table(rows))
    if options.json:
        options.json.write_text(json.dumps({"machine": facts, "rows": [asdict(row) for row in rows]}, indent=1) + "\n")
    missed = [row for row in rows if row.is_met is False]
    seconds = statistics.fsum(row.ours_s for row in rows)
    print(f"{len(rows)} rows, {len(missed)} targets missed ({seconds:.1f} s in the medians of ours)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
