"""Synthetic runs for the pages: real shapes and sizes, no warehouse needed."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfreg_assets.reports.data import (
    AxisVerdict,
    Band,
    Discord,
    Distances,
    History,
    HistoryMember,
    Profile,
    Run,
    RunDetail,
    SeriesView,
    SimilarityMatrix,
    Verdict,
)
from perfreg_assets.reports.site import build_site
from perfreg_assets.run import PathStep
from perfreg_assets.warehouse.connection import Warehouse

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENS = ("list", "note", "chart", "settings", "search")
START_NS = 1_279_364_786_441
NAUGHTY = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}\u202e\u2028&amp;"


def make_run(run_id: str = "shop-040", **changes: object) -> Run:
    base = Run(
        run_id=run_id, app="com.rig.shop", version_name="1.5.0", state="complete", version_code=150,
        device="Pixel 6a / Android 13", strategy="dfs_greedy", time_limit_s=180.0, action_interval_s=2.0,
        started_at=datetime(2026, 11, 20, 9, 12, tzinfo=UTC), step_count=90, exploration_start_ns=START_NS,
        exploration_end_ns=START_NS + 180_000_000_000, has_trace=True, trace_sha256="ab" * 32, trace_bytes=916_092,
        verdict="normal",
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def make_verdict(series: str, state: str, run_id: str = "shop-040", **changes: object) -> Verdict:
    judged = state in ("anomalous", "normal", "improved")
    base = Verdict(
        run_id=run_id, series=series, state=state, detector="default", omega=1.5,
        is_anomalous=(state == "anomalous") if judged else None,
        distance=(4.1 if state == "anomalous" else 0.9) if judged else None,
        q1=-0.6745 if judged else None, q3=0.6745 if judged else None, threshold=2.698 if judged else None,
        critical_omega=2.5 if state == "anomalous" else 0.2 if judged else None, direction="more" if judged else None,
        explanation="Far outside its history (p = 0.00002)." if state == "anomalous" else None,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def make_discord(start: int, end: int, confidence: float, screens: tuple[str, ...]) -> Discord:
    return Discord(
        start_s=float(start), end_s=float(end), peak_s=start + 4.0, start_ns=START_NS + start * 10**9,
        end_ns=START_NS + end * 10**9, confidence=confidence, profile_value=5.2, screens=screens,
    )  # fmt: skip


def make_series(
    name: str, *, state: str | None = "normal", n: int = 180, seed: int = 0, leak: float = 0.0
) -> SeriesView:
    rng = np.random.default_rng([seed, len(name), *name.encode()])
    seconds = np.arange(n)
    if name.startswith("rss"):
        unit, base, noise = "bytes", 180e6 + 20e6 * np.tanh(seconds / 20), 1.5e6
    else:
        unit, base, noise = "core_s_per_s", 0.35 + 0.25 * (np.sin(seconds / 7) > 0.4), 0.06
    history = base + noise * rng.standard_normal((12, n))
    values = base + noise * rng.standard_normal(n) + leak * np.maximum(0, seconds - n // 3)
    anomalous = state == "anomalous"
    start = 2 * n // 3
    distances = Distances(
        detector="iqr", distance=31.0 if anomalous else 11.0, q1=8.1, q3=10.2, threshold=13.35,
        history_distances=(7.2, 8.1, 8.4, 9.0, 9.6, 9.9, 10.2, 10.4, 11.0, 8.8, 9.1, 7.9),
        input_hash="c0ffee" * 10, parameters_hash="beef" * 16, engine_version="Perfetto v52.0", code_version="0.1.0",
    )  # fmt: skip
    profile = np.abs(rng.standard_normal(n - 9)) * 0.4 + 1 + (4.0 * (seconds[: n - 9] > start - 5) if anomalous else 0)
    profile = np.asarray(profile, dtype=float)
    profile[:15] = np.nan
    return SeriesView(
        name=name, unit=unit, interval_s=1.0, start_ns=START_NS, values=values,
        verdict=make_verdict(name, state) if state else None, barycenter=history.mean(axis=0), barycenter_id="ba" * 32,
        band=Band(*np.quantile(history, (0.1, 0.5, 0.9), axis=0), 12),
        distances=(distances, replace(distances, detector="default", distance=4.1)),
        profile=Profile(10.0, profile, 2.4, 4.1) if anomalous else None,
        discords=(
            make_discord(start, start + 24, 0.93, ("chart", "list")),
            make_discord(40, 52, 0.41, ("note",)),
        ) if anomalous else (),
    )  # fmt: skip


def make_path(n: int = 90) -> tuple[PathStep, ...]:
    rng = np.random.default_rng(5)
    at = rng.integers(0, len(SCREENS), n).repeat(3)[:n]
    return tuple(
        PathStep(i, START_NS + (20 * i + 1) * 10**8, f"{at[i]:040x}", SCREENS[at[i]], f"tap {SCREENS[at[i]]}")
        for i in range(n)
    )


def make_history(size: int = 12, minimum: int = 5) -> History:
    start = datetime(2026, 11, 19, 20, tzinfo=UTC)
    members = [
        HistoryMember(f"shop-{39 - i:03d}", i + 1, 0.97 - 0.01 * i, None, "1.4.0", start - timedelta(hours=i))
        for i in range(size)
    ]
    near = [
        HistoryMember("shop-020", None, 0.74, "path_dissimilar", "1.4.0", start - timedelta(days=1)),
        HistoryMember("shop-019", None, None, "functional_problems", "1.4.0", start - timedelta(days=1, hours=2)),
        HistoryMember("shop-018", None, 0.88, "reviewed_out", "1.3.2", start - timedelta(days=1, hours=3)),
    ]
    return History(
        state="ready" if size >= minimum else "not_enough_history", way="path", size=size, maximum=12, minimum=minimum,
        similarity_minimum=0.8, candidate_count=31,
        excluded_counts={"path_dissimilar": 12, "functional_problems": 3, "reviewed_out": 1}, members=(*members, *near),
    )  # fmt: skip


def make_matrix(last: str, n: int = 15) -> SimilarityMatrix:
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, n)
    values = np.where(group[:, None] == group[None, :], 0.9, 0.55) + rng.uniform(-0.05, 0.08, (n, n))
    np.fill_diagonal(values, 1.0)
    return SimilarityMatrix((*(f"shop-{40 - n + 1 + i:03d}" for i in range(n - 1)), last), np.clip(values, 0, 1))


def make_detail(kind: str = "anomalous", *, n: int = 180) -> RunDetail:
    """A run's page contents: anomalous, normal, not_enough_history, incomplete_trace, series_missing or quarantined."""
    more = ("rss_anon_app", "rss_file_app", "cpu_core_0", "cpu_core_1", "cpu_app_core_0", "cpu_app_core_1")
    extra = tuple(make_series(name, state=None, n=n) for name in more)
    path, history, matrix = make_path(n // 2), make_history(), make_matrix("shop-040")
    run = make_run(verdict=kind, exploration_end_ns=START_NS + n * 10**9)
    names = ("cpu_app", "cpu_total", "rss_app")
    if kind == "anomalous":
        series = (
            make_series("cpu_app", n=n),
            make_series("cpu_total", n=n),
            make_series("rss_app", state="anomalous", n=n, leak=0.6e6),
        )
        axes = (
            AxisVerdict(run.run_id, "cpu", "normal", "cpu_total", 0.33, "cpu_total is normal"),
            AxisVerdict(run.run_id, "memory", "anomalous", "rss_app", 1.52, "rss_app is anomalous: score 4.1"),
        )
        return RunDetail(
            run, make_verdict("*", "anomalous"), series + extra, path, history, matrix, "shop-039", "shop-041",
            axes=axes,
        )  # fmt: skip
    if kind == "normal":
        series = tuple(make_series(name, n=n) for name in names)
        return RunDetail(run, make_verdict("*", "normal"), series + extra, path, history, matrix, "shop-039", None)
    if kind == "not_enough_history":
        series = tuple(
            replace(make_series(name, n=n), verdict=make_verdict(name, kind), barycenter=None, band=None, distances=())
            for name in names
        )
        return RunDetail(run, make_verdict("*", kind), series + extra, path, make_history(size=2), matrix)
    if kind == "series_missing":
        gone = replace(
            make_series("rss_app"), values=None, verdict=make_verdict("rss_app", kind), band=None, barycenter=None,
            distances=(), missing_reason="The trace has no mem.rss counters of the app.",
        )  # fmt: skip
        whole = make_verdict(
            "*", kind, missing_series=("rss_app",), distance=0.9, q1=-0.6745, q3=0.6745, threshold=2.698,
            explanation="The run as a whole is not judged, missing although the history has it: rss_app; of what was "
            "judged (cpu_app) the score 0.9 is not above 2.698 = q3 0.6745 + ω 1.5 × (q3 − q1) 1.349.",
        )  # fmt: skip
        axes = (
            AxisVerdict(run.run_id, "cpu", "normal", "cpu_app", 0.33),
            AxisVerdict(
                run.run_id, "memory", kind, "rss_app", None, "Not judged, missing although the history has it."
            ),
        )
        return RunDetail(run, whole, (make_series("cpu_app"), gone), path, history, matrix, axes=axes)
    reason = "trace.perfetto-trace.gz: The trace ends inside a packet; it was cut short, copy or record it again."
    if kind == "incomplete_trace":
        run = replace(run, state=kind, reason_code="trace_truncated", reason=reason)
        return RunDetail(run, make_verdict("*", kind), (), path, None, None)
    if kind == "quarantined":
        run = make_run(
            state=kind,
            reason_code="time_without_zone",
            reason="run.json: started_at has no time zone.",
            has_trace=False,
        )
        return RunDetail(run, None, (), (), None, None)
    raise ValueError(kind)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window; what asks for it is skipped where it or playwright is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    with playwright.sync_playwright() as engine:
        found = engine.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def watched(browser: Any) -> Callable[..., AbstractContextManager[Any]]:
    """Opens a page that fails the test on any script error, refused resource, dialog of a script or request that goes
    elsewhere than `own`, a pattern of addresses."""

    @contextmanager
    def open_page(*, width: int = 1280, own: str = r"(file|data|blob):|http://127\.0\.0\.1:") -> Iterator[Any]:
        context = browser.new_context(viewport={"width": width, "height": 900})
        found = context.new_page()
        problems: list[str] = []
        found.on("pageerror", lambda error: problems.append(f"error: {error}"))
        found.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        found.on("dialog", lambda dialog: (problems.append("a script ran"), dialog.dismiss()))
        found.on("request", lambda asked: None if re.match(own, asked.url) else problems.append(asked.url))
        yield found
        context.close()
        assert problems == []

    return open_page


@pytest.fixture
def detail() -> Callable[..., RunDetail]:
    """Builds a run's page contents by kind, see `make_detail`."""
    return make_detail


@pytest.fixture
def builders() -> SimpleNamespace:
    """The single parts: run, verdict, series and the like."""
    return SimpleNamespace(
        run=make_run, verdict=make_verdict, series=make_series, history=make_history, naughty=NAUGHTY
    )


@pytest.fixture(scope="session")
def sample_site(made_once: Callable[..., Path]) -> tuple[Warehouse, Path]:
    """A filled warehouse and the site built from it. Read both only."""

    def fill(folder: Path) -> None:
        with build_sample(folder / "perfreg.duckdb").reading() as reader:
            build_site(reader, folder / "reports")

    folder = made_once("site", fill)
    return Warehouse(folder / "perfreg.duckdb", lock_timeout_s=10.0), folder / "reports"


def build_sample(path: Path, **options: object) -> Warehouse:
    """The sample warehouse of tests/warehouse."""
    source = Path(__file__).parents[1] / "warehouse" / "sample_warehouse.py"
    spec = importlib.util.spec_from_file_location("sample_warehouse", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    warehouse: Warehouse = module.build(path, **options)
    return warehouse


@pytest.fixture(scope="session")
def copied() -> Callable[[Warehouse, Path], Warehouse]:
    """Copies a warehouse into another folder, where it may be written to."""

    def copy(original: Warehouse, folder: Path) -> Warehouse:
        own = Warehouse(folder / "perfreg.duckdb", lock_timeout_s=10.0)
        shutil.copy(original.path, own.path)
        shutil.copytree(original.data.root, own.data.root)
        shutil.copy(original.published, own.published)
        return own

    return copy


@pytest.fixture
def own_sample(
    sample_site: tuple[Warehouse, Path], copied: Callable[[Warehouse, Path], Warehouse], tmp_path: Path
) -> Warehouse:
    """A filled warehouse that a test may write to."""
    return copied(sample_site[0], tmp_path)


@pytest.fixture
def built(sample_site: tuple[Warehouse, Path], tmp_path: Path) -> Path:
    """A site of `own_sample` that a test may disturb."""
    return shutil.copytree(sample_site[1], tmp_path / "reports")


@pytest.fixture
def build_sample_warehouse() -> Callable[..., Warehouse]:
    """Builds a sample warehouse of a given size."""
    return build_sample
