"""A fresh process: what it costs until the kernels have run once, with a cold and with a warm cache on disk."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, under

ROOT = Path(__file__).resolve().parents[2]
OURS = "from perfreg_assets.methods.warmup import warm_up; warm_up()"
# The same jobs done by the libraries alone, as a project without kernels of its own would do them.
TSLEARN = (
    "import numpy as np; from tslearn.barycenters import dtw_barycenter_averaging; from tslearn.metrics import dtw;"
    "s = np.random.default_rng(0).random((12, 50)); dtw(s[0], dtw_barycenter_averaging(s)[:, 0])"
)
STUMPY = (
    "import numpy as np, stumpy; a, b = np.random.default_rng(0).random((2, 200));"
    "stumpy.stump(a, 10, b, ignore_trivial=False)"
)
STUMPY_CACHED = (
    "import numpy as np; from perfreg_assets.methods.matrix_profile import ab_join;"
    "a, b = np.random.default_rng(0).random((2, 200)); ab_join(a, b, 10, backend='stumpy')"
)


def seconds(code: str, cache: Path) -> float:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    started = time.perf_counter()
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def rows(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        cold = seconds(OURS, cache)
        warm = statistics.median(seconds(OURS, cache) for _ in range(3 if quick else 5))
        if quick:
            yield Row("start-up", "all kernels, cold cache", cold)
            yield under("start-up", "all kernels, warm cache", warm, 5)
            return
        tslearn = statistics.median(seconds(TSLEARN, cache) for _ in range(3))
        yield Row("start-up", "all kernels, cold cache", cold, "tslearn DBA and DTW (never cached)", tslearn)
        yield under(
            "start-up", "all kernels, warm cache", warm, 5, reference="tslearn DBA and DTW", reference_s=tslearn
        )
        plain = seconds(STUMPY, cache)
        yield Row(
            "start-up",
            "backend stumpy, cold cache",
            seconds(STUMPY_CACHED, cache),
            "stumpy alone (never cached)",
            plain,
        )
        yield Row("start-up", "backend stumpy, warm cache", seconds(STUMPY_CACHED, cache), "stumpy alone", plain)
