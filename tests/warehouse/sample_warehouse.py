"""A warehouse filled with plausible rows for tests of SQL and pages: made-up numbers, every state present.

The distances here are plain Euclidean ones to the mean of the history: good enough to fill tables, and made
without the numerics under test elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from perfreg_assets.methods.power_profile import CoreCluster, PowerProfile
from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.methods.thread_times import ThreadTimes
from perfreg_assets.warehouse import (
    attachments,
    barycenters,
    benchmarks,
    call_logs,
    causes,
    collections,
    discords,
    distances,
    energies,
    evaluations,
    histories,
    measurements,
    method_logs,
    notifications,
    power_calibrations,
    power_profiles,
    reductions,
    references,
    reviews,
    runs,
    series,
    slice_uses,
    states,
    thread_times,
    timings,
    traces,
    verdicts,
)
from perfreg_assets.warehouse.connection import Warehouse, Writer

APPS = ("com.example.notes", "com.example.shop")
DEFAULT_SERIES = ("cpu_app", "cpu_total", "rss_app")
SCREENS = ("list", "note", "settings", "search")
RUNS_PER_VERSION = 8
HISTORY_SIZE = 12
HISTORY_MINIMUM = 5
PARAMETERS_HASH = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
BOOT_NS = 3_234_408_776_255
FIRST_START = datetime(2026, 11, 1, 8, 0, tzinfo=UTC)
OMEGAS = (0.5, 1.5)  # 1.5 is the current one


def build(
    path: Path,
    *,
    runs: int = 48,
    series: Sequence[str] = DEFAULT_SERIES,
    samples: int = 90,
    seed: int = 0,
) -> Warehouse:
    """Fills a new warehouse at `path`: `runs` good runs over two apps, with some bad ones beside them.

    The last version of each app is worse: its memory grows, and its CPU is high in the middle of the run.
    One run each: quarantined, incomplete, with a functional problem, with a series missing, with other configuration.
    """
    warehouse = Warehouse(path, lock_timeout_s=10.0)
    with warehouse.writing() as writer:
        _fill(writer, runs, tuple(series), samples, np.random.default_rng(seed))
    return warehouse


def _fill(writer: Writer, count: int, names: tuple[str, ...], samples: int, random: np.random.Generator) -> None:
    per_app = max(1, count // len(APPS))
    everything: dict[str, list[object]] = {key: [] for key in ("runs", "traces", "series")}
    facts: dict[str, list[dict[str, object]]] = {app: [] for app in APPS}
    for app_index, app in enumerate(APPS):
        last_version = (per_app - 1) // RUNS_PER_VERSION
        for i in range(per_app):
            version = i // RUNS_PER_VERSION
            run_id = f"{app.rsplit('.', 1)[1]}-{i:04d}"
            is_worse = version == last_version and last_version > 0 and i % RUNS_PER_VERSION in (0, 1, 2, 4, 6)
            is_better = (version, i % RUNS_PER_VERSION) == (2, 7)
            values = {name: _values(name, samples, random, is_worse, is_better) for name in names}
            state = {(1, 3): "problem", (2, 4): "incomplete", (0, 5): "other_config", (1, 6): "missing"}.get(
                (version, i % RUNS_PER_VERSION), "good"
            )
            if state == "missing" and app_index == 0:
                values[names[-1]] = None
            facts[app].append({"run_id": run_id, "version": version, "values": values, "state": state, "i": i})
            everything["runs"].append(
                _run(run_id, app, app_index=app_index, i=i, version=version, samples=samples, state=state)
            )
            everything["traces"].append(_trace(run_id, samples, state))
            if state != "incomplete":
                everything["series"] += _series_rows(run_id, values)
                if run_id == "shop-0000":
                    everything["series"] += _power_rows(run_id, samples)
    everything["runs"].append(
        runs.RunRow(
            run_id="quarantined-5f3a", folder_name="broken copy", content_hash="5f3a" * 16, app=APPS[0],
            is_quarantined=True, reason_code="time_without_zone",
            reason="run.json: started_at has no time zone; write it in UTC with a trailing Z.",
        )
    )  # fmt: skip
    runs.upsert(writer, everything["runs"])
    traces.upsert(writer, everything["traces"])
    series.upsert(writer, everything["series"])
    thread_times.upsert(
        writer,
        [_threads(row.run_id, samples, seed) for seed, row in enumerate(everything["traces"]) if row.is_complete],
    )
    slice_uses.upsert(writer, [_slices(row.run_id) for row in everything["traces"] if row.is_complete])
    energies.upsert(
        writer,
        [_energies(row.run_id, n) for n, row in enumerate(everything["traces"]) if row.is_complete],
    )
    power_calibrations.store(
        writer,
        [
            power_calibrations.CalibrationRow(
                device_name="cheetah", profile_id="a1" * 32, scale_ratio=1.3, floor_mw=20.0, run_count=1,
                interval_count=90, energy_ratio=1.0, correlation=1.0, mape_ratio=0.01,
            )
        ],
    )  # fmt: skip
    for app in APPS:
        _judge(writer, facts[app], names, samples)
    verdicts.make_current(writer, omega=OMEGAS[-1], detector="default", note="fixed for the sample")
    for omega in OMEGAS:
        for detector in ("iqr", "default"):
            verdicts.evaluate(writer, omega, detector)
    _people_and_cost(writer, facts, samples)


def _values(name: str, samples: int, random: np.random.Generator, is_worse: bool, is_better: bool) -> np.ndarray:
    time_s = np.arange(samples)
    if name.startswith("rss"):
        base = 180e6 + 2e6 * np.sin(time_s / 9) + random.normal(0, 1e6) + random.normal(0, 3e5, samples)
        return base + (6e5 * np.maximum(0, time_s - samples // 5) if is_worse else 0)
    level = (0.9 if "total" in name else 0.4) - (0.2 if is_better else 0)
    base = level + 0.1 * np.sin(time_s / 5) + random.normal(0, 0.01) + random.normal(0, 0.03, samples)
    busy = (time_s > samples * 0.4) & (time_s < samples * 0.6)
    return np.maximum(0, base + (0.5 * busy if is_worse else 0))


def _run(run_id: str, app: str, *, app_index: int, i: int, version: int, samples: int, state: str) -> runs.RunRow:
    config = "other-config" if state == "other_config" else "config"
    start_ns = BOOT_NS + i * 10**9
    path = tuple(
        runs.PathStep(
            step=step,
            ts_ns=start_ns + (2 * step + 1) * 10**9,
            state_hash=hashlib.sha256(f"{app}{(step + (step == i % 7)) % 6}".encode()).hexdigest(),
            screen=SCREENS[step // 3 % len(SCREENS)],
            action=("tap", "scroll down", "back")[step % 3],
        )
        for step in range(samples // 2)
    )
    return runs.RunRow(
        run_id=run_id,
        partition_key=f"{app}@1.{version}.0",
        app=app,
        version_name=f"1.{version}.0",
        version_code=100 + 10 * version,
        device="Pixel 6a / Android 13",
        strategy="dfs_greedy",
        time_limit_s=float(samples),
        action_interval_s=2.0,
        config_hash=hashlib.sha256(config.encode()).hexdigest(),
        started_at=FIRST_START + timedelta(hours=2 * i, minutes=30 * app_index),
        exploration_start_ns=start_ns,
        exploration_end_ns=start_ns + samples * 10**9,
        step_count=len(path),
        path=path,
        functional_problem_count=int(state == "problem"),
        functional_problems=[{"kind": "crash", "message": "NullPointerException", "ts_ns": start_ns}]
        if state == "problem"
        else [],
        extra={},
        folder_name=run_id,
        content_hash=hashlib.sha256(run_id.encode()).hexdigest(),
        trace_file="trace.perfetto-trace.gz",
        trace_bytes=691_529 + i,
        trace_sha256=hashlib.sha256(f"trace {run_id}".encode()).hexdigest(),
        registered_at=FIRST_START + timedelta(days=30, seconds=i),
    )


def _trace(run_id: str, samples: int, state: str) -> traces.TraceRow:
    is_complete = state != "incomplete"
    return traces.TraceRow(
        run_id=run_id,
        is_complete=is_complete,
        reason_code=None if is_complete else "trace_truncated",
        reason=None if is_complete else "the trace ends inside a packet: it was cut short, copy or record it again.",
        start_ns=BOOT_NS,
        end_ns=BOOT_NS + samples * 10**9,
        duration_s=float(samples),
        packet_count=100_000,
        data_sources=("linux.ftrace", "linux.process_stats"),
        process_count=120,
        app_processes=("app",),
        health={},
        engine="wasm",
        engine_version="v52.0",
        engine_seconds=0.8,
    )


def _threads(run_id: str, samples: int, seed: int) -> thread_times.RunThreads:
    """Made-up threads; of one run the trace does not tell."""
    if run_id.endswith("-0002"):
        reason = "the trace has no scheduling events (sched/sched_switch)"
        return thread_times.missing(run_id, "series_missing", reason, code_version="0.1.0")
    entities = (
        ("app", "main", "running", True),
        ("app", "pool-#", "running", True),
        ("app", "*", "running", True),
        ("system_server", "binder:#_#", "running", False),
        ("*", "*", "running", False),
        ("app", "main", "uninterruptible:wait_on_page", True),
    )
    process, thread, state, is_app = zip(*entities, strict=True)
    times_ns = np.random.default_rng([seed, 1]).integers(0, 300_000_000, size=(len(entities), samples))
    times = ThreadTimes(
        BOOT_NS, process, thread, state, np.array(is_app), times_ns / 1e9, ("running", "uninterruptible")
    )
    return thread_times.described(run_id, times, code_version="0.1.0")


def _slices(run_id: str) -> slice_uses.RunSlices:
    """Made-up slices of every other run."""
    if int(run_id[-1]) % 2:
        reason = "the trace has no slices of the app (atrace)"
        return slice_uses.missing(run_id, "path", "series_missing", reason, code_version="0.1.0")
    rows = [("list", "draw", 5, 40, 9), ("list", "Feed.load", 2, 30, 20), ("note", "draw", 3, 12, 5)]
    count, called, longest = (np.array([row[k] for row in rows]) * 10**6 for k in (2, 3, 4))
    uses = SliceUses(
        screen=tuple(row[0] for row in rows), process=("app",) * 3, thread=("main",) * 3,
        slice=tuple(row[1] for row in rows), call_count=count // 10**6, called_ns=called, max_ns=longest,
        self_ns=called // 2, total_ns=called, screen_ns=np.array([35, 35, 6]) * 10**6,
    )  # fmt: skip
    return slice_uses.described(run_id, "path", uses, code_version="0.1.0")


_PROFILE = b"""<device name="Android">
<item name="battery.capacity">3000</item>
<array name="cpu.clusters.cores"><value>1</value><value>1</value></array>
<array name="cpu.core_speeds.cluster0"><value>300000</value><value>600000</value><value>1200000</value></array>
<array name="cpu.core_power.cluster0"><value>10</value><value>20</value><value>60</value></array>
<array name="cpu.core_speeds.cluster1"><value>500000</value><value>1000000</value><value>2000000</value></array>
<array name="cpu.core_power.cluster1"><value>30</value><value>80</value><value>200</value></array>
<item name="cpu.cluster_power.cluster0">2</item>
<item name="cpu.cluster_power.cluster1">5</item>
<item name="cpu.active">12</item>
<item name="cpu.idle">3</item>
</device>
"""


def _profile() -> PowerProfile:
    """Two cores, each a cluster."""
    return PowerProfile(
        profile_id="a1" * 32,
        dialect="cores",
        clusters=(
            CoreCluster(khz=np.array([300e3, 600e3, 1200e3]), charge_ma=np.array([10.0, 20, 60]), cluster_ma=2.0),
            CoreCluster(
                khz=np.array([500e3, 1000e3, 2000e3]),
                charge_ma=np.array([30.0, 80, 200]),
                cluster_ma=5.0,
            ),
        ),
        first_cores=(0, 1),
        core_count=2,
        active_ma=12.0,
        base_ma={"idle": 3.0},
        capacity_mah=3000.0,
    )


def _energies(run_id: str, number: int) -> energies.RunEnergies:
    """Of every fifth run nothing is known."""
    if number % 5 == 4:
        row = energies.EnergyRunRow(
            run_id=run_id, device_name=None, duration_s=90.0, nominal_voltage_v=3.85, reason_code="series_missing",
            reason="the trace has no CPU frequencies (power/cpu_frequency, sys_stats cpufreq)", code_version="0.1.0",
        )  # fmt: skip
        return energies.RunEnergies(row, methods="the trace has no slices of the app (atrace)")
    own, level = _profile(), 1 + number % 3
    row = energies.EnergyRunRow(
        run_id=run_id,
        device_name="cheetah",
        duration_s=90.0,
        profile_id=own.profile_id,
        profile_name="cheetah.xml",
        profile_origin="bundled",
        is_foreign_profile=False,
        fit_ratio=1.0,
        first_cores=(0, 1),
        has_idle_states=True,
        late_ratio=0.125 if number % 7 == 3 else 0.0,
        outside_ratio=0.25 if number % 7 == 3 else 0.0,
        nominal_voltage_v=3.85,
        threads=(energies.ThreadCharge("app", "main", True, 0.1 * level), energies.ThreadCharge("*", "*", False, 0.2)),
        code_version="0.1.0",
    )
    times = tuple(
        energies.TimeRow(
            run_id=run_id, cluster=cluster, frequency_khz=khz, scope=scope, busy_s=4.0 * level, cluster_share_s=3.0,
            active_share_s=2.0,
        )
        for cluster, khz in ((0, 600e3), (1, 1500e3))
        for scope in ("app", "others")
    )  # fmt: skip
    costs = tuple(
        energies.EnergyRow(
            run_id=run_id, component=component, scope=scope, energy_source="profile", charge_mah=0.05 * level,
            energy_mj=0.05 * level * 3600 * 3.85, is_estimated=True, profile_id=own.profile_id,
        )
        for component in ("cpu_core", "cpu_cluster", "cpu_active")
        for scope in ("app", "others", "wakeups")
    )  # fmt: skip
    known = power_profiles.described(
        own, name="cheetah.xml", device="cheetah", origin=power_profiles.BUNDLED, content=_PROFILE
    )
    steps = (
        energies.StepCharge(0, "list", 30.0, 0.04 * level, 0.1),
        energies.StepCharge(1, "note", 60.0, 0.06 * level, 0.2 * level),
    )
    methods = tuple(
        energies.MethodCharge("app", "main", name, calls, 0.02 * level, 0.03 * level)
        for calls, name in enumerate(("inflate", "bind item #"), start=1)
    )
    return energies.RunEnergies(row, times, costs, known, steps, methods)


def _series_rows(run_id: str, values: dict[str, np.ndarray | None]) -> list[series.SeriesRow]:
    number = int(run_id.rsplit("-", 1)[1])
    return [
        series.SeriesRow(
            run_id=run_id,
            series=name,
            unit="bytes" if name.startswith("rss") else "core-seconds/s",
            interval_s=1.0,
            start_ns=None if array is None else BOOT_NS + number * 10**9,
            values=array,
            is_missing=array is None,
            reason="the trace has no memory counters" if array is None else None,
        )
        for name, array in values.items()
    ]


def _power_rows(run_id: str, samples: int) -> list[series.SeriesRow]:
    """Estimated and measured power of the cores."""
    estimated = 100 + 50 * np.sin(np.arange(samples) / 7)
    rows = _series_rows(run_id, {"power_cpu_total": estimated, "power_rail_cpu": 1.3 * estimated + 20})
    return [replace(row, unit="mW") for row in rows]


def _judge(writer: Writer, facts: list[dict[str, object]], names: tuple[str, ...], samples: int) -> None:
    sets: list[histories.HistoryRow] = []
    candidates: list[histories.CandidateRow] = []
    centers: list[barycenters.BarycenterRow] = []
    assigned: list[barycenters.RunBarycenterRow] = []
    measured: list[distances.DistanceRow] = []
    profiles: list[discords.ProfileRow] = []
    windows: list[discords.DiscordRow] = []
    for fact in facts:
        others = [other for other in facts if other is not fact]
        earlier = [other for other in others if other["i"] < fact["i"]]
        usable = [other for other in earlier if other["state"] == "good" and other["version"] != fact["version"]]
        members = usable[::-1][:HISTORY_SIZE]
        is_ready = len(members) >= HISTORY_MINIMUM
        near = [other for other in earlier if other["state"] in ("problem", "other_config", "incomplete")][-3:]
        sets.append(_history_set(str(fact["run_id"]), is_ready, len(members), len(others), len(near)))
        candidates += _candidates(str(fact["run_id"]), members, near)
        rows = _measure(fact, members, names, is_ready)
        measured += rows
        if fact["state"] == "incomplete" or not is_ready:
            continue
        for name in names:
            if fact["values"][name] is None:
                continue
            barycenter_id = hashlib.sha256(f"{fact['run_id']}{name}".encode()).hexdigest()
            center = np.mean([member["values"][name] for member in members], axis=0)
            centers.append(
                barycenters.BarycenterRow(
                    barycenter_id=barycenter_id,
                    values=center,
                    inertia=1.0,
                    iteration_count=14,
                    backend="numba",
                    seconds=0.02,
                )
            )
            assigned.append(
                barycenters.RunBarycenterRow(run_id=str(fact["run_id"]), series=name, barycenter_id=barycenter_id)
            )
            if any(row.series == name and row.distance > row.q3 + 1.5 * (row.q3 - row.q1) for row in rows):
                profile, window = _localise(fact, name, np.abs(fact["values"][name] - center), samples)
                profiles.append(profile)
                windows.append(window)
    histories.upsert(writer, sets, candidates)
    barycenters.insert_missing(writer, centers)
    barycenters.assign(writer, {row.run_id for row in assigned}, assigned)
    distances.upsert(writer, measured)
    discords.replace_runs(writer, [row.run_id for row in sets], profiles, windows)
    causes.replace(writer, [row.run_id for row in sets], _explained(writer, windows))


def _explained(writer: Writer, windows: list[discords.DiscordRow]) -> list[causes.Explained]:
    """Two causes of each window, and another process that grew in each first one."""
    marks = states.explained_from(writer, [row.run_id for row in windows])
    return [
        causes.Explained(
            causes.RunRow(
                run_id=run_id,
                input_hash=f"causes {run_id}",
                inputs_mark=marks[run_id],
                stack_count=2,
                code_version="0.1.0",
            ),
            tuple(_cause_window(row) for row in windows if row.run_id == run_id),
            tuple(
                _cause(row, rank, is_cause)
                for row in windows
                if row.run_id == run_id
                for rank, is_cause in ((1, True), (2, True), (1, False))
                if is_cause or row.window_index == 0
            ),
            (
                causes.SourceRow(run_id=run_id, source="sched", is_present=True, history_count=7, reason=None),
                causes.SourceRow(
                    run_id=run_id, source="slices", is_present=False, history_count=0, reason="not looked at"
                ),
            ),
            tuple(
                causes.StackRow(
                    run_id=run_id,
                    position=place,
                    series=row.series,
                    window_index=row.window_index,
                    source="slices",
                    process="app",
                    thread="main",
                    stack=("draw", "inflate")[: place + 1],
                    value=0.2,
                    history_median=0.1,
                )
                for row in windows
                if row.run_id == run_id
                for place in range(2)
            )[:2],
        )
        for run_id in sorted({row.run_id for row in windows})
    ]


def _cause_window(row: discords.DiscordRow) -> causes.WindowRow:
    disturbance = "another process grew by 0.9 core (system_server)" if row.window_index == 0 else None
    return causes.WindowRow(
        run_id=row.run_id, series=row.series, window_index=row.window_index, is_whole_run=False,
        start_s=row.start_s, end_s=row.end_s, start_ns=row.start_ns, end_ns=row.end_ns, confidence=row.confidence,
        state="ranked", state_reason=None,
        disturbance=disturbance, history_count=7, matched_count=6,
    )  # fmt: skip


def _cause(row: discords.DiscordRow, rank: int, is_cause: bool) -> causes.CauseRow:
    is_memory = row.series.startswith("rss") and is_cause
    unit = 1e6 if is_memory else 0.01
    name = ("anon", "file")[rank - 1] if is_memory else ("main", "render <b>#")[rank - 1] if is_cause else "binder:#_#"
    return causes.CauseRow(
        run_id=row.run_id, series=row.series, window_index=row.window_index, is_cause=is_cause, rank=rank,
        kind="memory" if is_memory else "thread", scope="app" if is_cause else "other",
        process="app" if is_cause else "system_server", thread=None if is_memory else name, name=name, path=None,
        value=60 * unit / rank, history_median=10 * unit, history_mad=unit, growth=60 * unit / rank - 10 * unit,
        growth_share=0.7 / rank, z=40.0 / rank, is_new=rank == 2, matched_count=6, history_count=7,
        source="memory" if is_memory else "sched",
    )  # fmt: skip


def _history_set(run_id: str, is_ready: bool, size: int, others: int, excluded: int) -> histories.HistoryRow:
    return histories.HistoryRow(
        run_id=run_id,
        state="ready" if is_ready else "not_enough_history",
        history_size=size,
        history_maximum=HISTORY_SIZE,
        history_minimum=HISTORY_MINIMUM,
        similarity_minimum=0.8,
        candidate_count=others,
        excluded_counts={"functional_problems": excluded, "not_earlier": others - size - excluded},
        explanation=f"{size} comparable earlier runs of {others}; {HISTORY_MINIMUM} are needed.",
        parameters_hash=PARAMETERS_HASH,
    )


def _candidates(
    run_id: str, members: list[dict[str, object]], near: list[dict[str, object]]
) -> list[histories.CandidateRow]:
    reasons = {
        "problem": "functional_problems",
        "other_config": "other_configuration",
        "incomplete": "incomplete_trace",
    }
    return [
        histories.CandidateRow(
            run_id=run_id, history_run_id=str(member["run_id"]), history_rank=rank,
            similarity_ratio=1 - 0.01 * rank, exclude_reason=None,
        )
        for rank, member in enumerate(members, start=1)
    ] + [
        histories.CandidateRow(
            run_id=run_id, history_run_id=str(other["run_id"]), history_rank=None, similarity_ratio=None,
            exclude_reason=reasons[str(other["state"])],
        )
        for other in near
    ]  # fmt: skip


def _measure(
    fact: dict[str, object], members: list[dict[str, object]], names: tuple[str, ...], is_ready: bool
) -> list[distances.DistanceRow]:
    run_id = str(fact["run_id"])
    rows: list[distances.DistanceRow] = []
    for detector in ("iqr", "default"):
        common = {
            "run_id": run_id,
            "detector": detector,
            "parameters_hash": PARAMETERS_HASH,
            "k": HISTORY_SIZE,
            "interval_s": 1.0,
        }
        scored: list[distances.DistanceRow] = []
        for name in names:
            state = _unscored(fact, is_ready, name)
            if state is not None:
                rows.append(distances.DistanceRow(series=name, state=state, history_size=len(members), **common))
                continue
            scored.append(_score(fact, members, name, common))
        if scored:
            worst = max(scored, key=lambda row: (row.distance - row.q3) / (row.q3 - row.q1))
            run_level = {
                **common,
                **{
                    key: getattr(worst, key)
                    for key in ("state", "distance", "q1", "q3", "improvement", "p_value", "direction")
                },
            }
            rows.append(
                distances.DistanceRow(
                    series="*", history_size=len(members), evidence={"series_count": float(len(scored))},
                    evidence_text=f"furthest out is {worst.series}",
                    missing_series=tuple(name for name in names if fact["values"][name] is None), **run_level,
                )
            )  # fmt: skip
        else:
            state = "incomplete_trace" if fact["state"] == "incomplete" else "not_enough_history"
            rows.append(distances.DistanceRow(series="*", state=state, history_size=len(members), **common))
        rows += scored
    return rows


def _unscored(fact: dict[str, object], is_ready: bool, name: str) -> str | None:
    if fact["state"] == "incomplete":
        return "incomplete_trace"
    if not is_ready:
        return "not_enough_history"
    return "series_missing" if fact["values"][name] is None else None


def _score(
    fact: dict[str, object], members: list[dict[str, object]], name: str, common: dict[str, object]
) -> distances.DistanceRow:
    center = np.mean([member["values"][name] for member in members], axis=0)
    curves = np.array([member["values"][name] for member in members])
    # Each run against the mean of the others, as the judged run is: its own part in the mean would flatter it.
    own = np.linalg.norm(curves - (curves.sum(axis=0) - curves) / (len(curves) - 1), axis=1)
    distance = float(np.linalg.norm(fact["values"][name] - center))
    q1, q3 = np.quantile(own, [0.25, 0.75])
    z = float((distance - own.mean()) / own.std(ddof=1))
    if common["detector"] == "default":
        is_less = fact["values"][name].mean() < center.mean()
        distance, q1, q3, improvement = -z if is_less else z, -0.6745, 0.6745, z if is_less else -z
    else:
        improvement = None
    return distances.DistanceRow(
        series=name,
        state="scored",
        distance=distance,
        q1=float(q1),
        q3=float(q3),
        improvement=improvement,
        p_value=float(np.exp(-max(z, 0.0))) if common["detector"] == "default" else None,
        direction="more" if fact["values"][name].mean() > center.mean() else "less",
        history_distances=own,
        history_size=len(members),
        evidence={"mean": float(fact["values"][name].mean()), "history_mean": float(center.mean())},
        evidence_text=f"mean {fact['values'][name].mean():.4g}, history {center.mean():.4g}",
        barycenter_id=hashlib.sha256(f"{fact['run_id']}{name}".encode()).hexdigest(),
        input_hash=hashlib.sha256(f"input {fact['run_id']}{name}".encode()).hexdigest(),
        engine_version="v52.0",
        **common,
    )


def _localise(
    fact: dict[str, object], name: str, profile: np.ndarray, samples: int
) -> tuple[discords.ProfileRow, discords.DiscordRow]:
    run_id = str(fact["run_id"])
    peak = float(np.argmax(profile))
    start, end = max(0.0, peak - 5), min(float(samples), peak + 5)
    start_ns = BOOT_NS + int(fact["i"]) * 10**9
    row = discords.ProfileRow(
        run_id=run_id, series=name, localisation="default", window_s=10.0, profile=profile,
        threshold_low=float(np.quantile(profile, 0.9)), threshold_high=float(np.quantile(profile, 0.95)),
        parameters_hash=PARAMETERS_HASH, input_hash="windows",
    )  # fmt: skip
    window = discords.DiscordRow(
        run_id=run_id, series=name, window_index=0, start_s=start, end_s=end, peak_s=peak,
        start_ns=start_ns + int(start) * 10**9, end_ns=start_ns + int(end) * 10**9,
        confidence=0.9, profile_value=float(profile.max()), screens=SCREENS[1:3],
    )  # fmt: skip
    return row, window


def _people_and_cost(writer: Writer, facts: dict[str, list[dict[str, object]]], samples: int) -> None:
    flagged = writer.rows("SELECT run_id FROM marts.run_verdicts WHERE is_current AND is_anomalous ORDER BY run_id")
    for (run_id,), status in zip(flagged, ("confirmed", "rejected", "accepted"), strict=False):
        reviews.add(writer, run_id, status, note=f"looked at the trace: {status}", reviewer="ada")
    for (run_id,) in flagged[:2]:
        notifications.record(writer, f"{run_id}/default", run_id)
    everyone = [fact for app in APPS for fact in facts[app]]
    for number, fact in enumerate(everyone[:20]):
        timings.record(writer, str(fact["run_id"]), {"engine": 0.8, "series": 0.05 + 0.001 * number, "model": 0.1})
    shown = str(everyone[0]["run_id"])
    attachments.replace(
        writer,
        [shown],
        [
            attachments.AttachmentRow(
                run_id=shown, file_name=name, kind=kind, bytes=48_211, sha256="5c" * 32, ts_ns=ts_ns,
            )
            for name, kind, ts_ns in (("0003.png", "screenshot", BOOT_NS + 7 * 10**9), ("logcat.txt", "log", None))
        ],
    )  # fmt: skip
    collections.upsert(
        writer,
        [
            collections.CollectionRow(
                collection_id=f"c{i:03d}", run_id=None if i == 1 else str(everyone[i]["run_id"]),
                app=APPS[0], version_name="1.0.0",
                attempt=1, device_serial="emulator-5554", state="failed" if i == 1 else "collected",
                reason_code="trace_empty" if i == 1 else None,
                reason="The trace has no bytes; record it again." if i == 1 else None,
                trace_bytes=None if i == 1 else 691_529, duration_s=float(samples),
                bytes_per_minute=691_529 * 60 / samples,
                leftover_path="/data/misc/perfetto-traces/x.perfetto-trace" if i == 2 else None,
                started_at=FIRST_START + timedelta(hours=2 * i),
                ended_at=FIRST_START + timedelta(hours=2 * i, minutes=3),
            )
            for i in range(min(3, len(everyone)))
        ],
    )  # fmt: skip
    evaluations.add(writer, _evaluation())
    evaluations.add(writer, _power())
    for run_id, value, reason in ((everyone[0]["run_id"], 0.8, None), (everyone[1]["run_id"], None, "not launched")):
        writer.execute(
            "INSERT INTO core.measurements (subject_kind, subject_id, metric, app, version_name, unit, worse, value, "
            "reason, measured_at, run_no) SELECT 'run', run_id, 'startup_full', ?, '1.0.0', 's', 'more', ?, ?, now(), "
            "run_no FROM core.runs WHERE run_id = ?",
            [APPS[0], value, reason, run_id],
        )
        writer.execute(
            "INSERT INTO core.attachments SELECT run_id, 'screen.png', 'screenshot', 4096, ?, ?, run_no FROM core.runs "
            "WHERE run_id = ?",
            ["f0" * 32, BOOT_NS, run_id],
        )
    _add_call_log(writer)
    _add_method_log(writer)
    _add_reduction(writer)
    _add_benchmark(writer)


def _add_benchmark(writer: Writer) -> None:
    """A test of one version that was measured in two launches, and is not beyond what earlier ones scatter."""
    run_id, name = "ab" * 8, "sort"
    of = {"benchmark_run_id": run_id, "result_name": name}
    benchmarks.add(
        writer,
        [
            benchmarks.Measured(
                run=benchmarks.BenchmarkRunRow(
                    benchmark_run_id=run_id,
                    partition_key=f"{APPS[0]}@1.0.0",
                    app=APPS[0],
                    version_name="1.0.0",
                    device="Pixel",
                    variant="",
                    runner="jmh",
                    suite_hash=None,
                    source_name="results.json",
                    source_sha256="ab" * 32,
                    environment={"cpu": "arm64"},
                    started_at=FIRST_START,
                ),
                scores=(
                    measurements.MeasurementRow(
                        subject_kind=benchmarks.BENCHMARK_RUN,
                        subject_id=run_id,
                        metric=name,
                        app=APPS[0],
                        version_name="1.0.0",
                        unit="ns",
                        worse="more",
                        value=3.0,
                        reason=None,
                        provenance={},
                        code_version="sample",
                    ),
                ),
                results=(
                    benchmarks.ResultRow(
                        **of,
                        benchmark=name,
                        params={"size": 10},
                        area="sort",
                        quantity="time",
                        is_primary=True,
                        is_adequate=False,
                        launch_scores=np.array([2.9, 3.1]),
                        launch_count=2,
                        measured_iteration_count=6,
                    ),
                ),
                launches=tuple(
                    benchmarks.LaunchRow(
                        **of,
                        launch=launch,
                        thread_index=0,
                        iteration_values=(2.9, 3.0, 3.1),
                        operation_counts=None,
                        elapsed_ns=None,
                    )
                    for launch in (1, 2)
                ),
                warnings=(benchmarks.WarningRow(**of, warning_code="noisy", detail="12 %"),),
            )
        ],
    )
    benchmarks.replace_distances(
        writer,
        [benchmarks.JudgedRow(benchmark_run_id=run_id, input_hash="0", code_version="sample")],
        [
            benchmarks.BenchmarkDistanceRow(
                **of, detector="default", state="scored", state_reason=None, distance=0.5, q1=0.0, q3=1.0,
                improvement=0.0, history_size=12, earlier_low=1.9, earlier_median=2.0, earlier_high=2.1,
                evidence_text="3 ns beside 2 ns",
            )
        ],
    )  # fmt: skip


def _add_reduction(writer: Writer) -> None:
    """A reference, and a trace of three windows of which one was kept."""
    references.add(
        writer,
        references.ReferenceRow(
            reference_name="usual", app=APPS[0], device="Pixel", config_hash=None, window_s=0.25,
            event_types=[["sched_switch", APPS[0], "main"]], counts=np.ones((3, 2), np.uint16),
            trace_sha256s=("cd" * 32,),
        ),
    )  # fmt: skip
    reductions.store(
        writer,
        reductions.ReductionRow(
            original_sha256="cd" * 32, reduced_sha256="ef" * 32, trace_file="/a", reduced_file="/b",
            reference_name="usual", reduction_mode="default", window_s=0.25, kl_maximum=0.1, score_minimum=1.5,
            bytes_before=1000, bytes_after=100, kept_ratio=0.3, window_count=3, start_ns=10**9,
            event_types=["sched_switch main", "other"], window_events=(5, 5, 5), kls=np.array([0.1, 0.9, np.nan]),
            scores=np.array([np.nan, 3.0, np.nan]), anomalous=(False, True, False), kept=(False, True, False),
            reasons=("", "unusual", "empty"),
            second_events=[{"start_ns": 10**9, "is_kept": True, "counts": {"sched_switch main": 15}}],
        ),
    )  # fmt: skip


def _add_method_log(writer: Writer) -> None:
    """An imported log of entries and exits, with one thread that could not be used."""
    key = "5e" * 16
    log = method_logs.MethodLogRow(
        method_log_id=key, app=APPS[1], version_name="1.0.0", log_name="night", device_name="Pixel", profile_id="p",
        nominal_voltage_v=3.85, test_count=1, thread_count=2, refused_count=1,
        refused=(method_logs.RefusedThread("open", "worker", "method_log_lossy", "an exit without its entry"),),
    )  # fmt: skip
    charge = method_logs.MethodLogChargeRow(
        method_log_id=key, test="open", process="app", thread="main", method="draw", call_count=3,
        method_self_mah=0.1, method_mah=0.2,
    )  # fmt: skip
    method_logs.store(writer, log, [charge])


def _add_call_log(writer: Writer) -> None:
    """A log of one service: a calls b."""
    key = call_logs.call_log_id(APPS[1], "1.0.0", "night")
    row = call_logs.CallLogRow(
        call_log_id=key, app=APPS[1], version_name="1.0.0", log_name="night", log_file="night.txt", sha256="ab" * 32,
        unpacked_bytes=1000, template="{transaction} {label} {method} {elapsed_ms}", first_call_at=FIRST_START,
        last_call_at=FIRST_START, line_count=21, call_count=20, unfit_count=1, refused_counts={}, orphan_count=0,
        parallel_count=0, clipped_count=0, split_count=0, reason_code=None, baselines=("evening",),
    )  # fmt: skip
    node = {"call_log_id": key, "service": "login", "parallel_count": 0, "is_outermost": True, "call_count": 10}
    use = {"call_log_id": key, "service": "login", "call_count": 10}
    score = {"call_log_id": key, "std": 0.0, "service_count": 1, "call_count": 10}
    call_logs.replace(
        writer,
        row,
        {
            call_logs.SERVICES: [
                call_logs.ServiceRow(
                    call_log_id=key, service="login", call_count=10, total_ms=100, min_ms=10, mean_ms=10, max_ms=10,
                    std_ms=0, tree_count=1,
                )
            ],
            call_logs.NODES: [
                call_logs.NodeRow(
                    node_index=0, parent_index=None, method="a", depth_count=0, total_ms=100, self_ms=40, max_ms=10,
                    max_self_ms=4, **node,
                ),
                call_logs.NodeRow(
                    node_index=1, parent_index=0, method="b", depth_count=1, total_ms=60, self_ms=60, max_ms=6,
                    max_self_ms=6, **node,
                ),
            ],
            call_logs.USES: [
                call_logs.UseRow(
                    method="a", self_ms=40, children_ms=60, mean_ms=10, max_ms=10, self_share=0.4, children_share=0.6,
                    **use,
                ),
                call_logs.UseRow(
                    method="b", self_ms=60, children_ms=0, mean_ms=6, max_ms=6, self_share=0.6, children_share=0, **use
                ),
            ],
            call_logs.SCORES: [
                call_logs.ScoreRow(method="a", seed_score=0.4, rms=0.4, mean_ms=10, max_ms=10, **score),
                call_logs.ScoreRow(method="b", seed_score=0.6, rms=0.6, mean_ms=6, max_ms=6, **score),
            ],
            call_logs.CAUSES: [
                call_logs.CauseRow(
                    call_log_id=key, cause_rank=1, service="login", method="b", before_ms=2, mad_ms=0.1, after_ms=6,
                    growth_ms=4, growth_share=1, z=17.9, is_new=False, history_count=1,
                )
            ],
            call_logs.SLOW_CALLS: [
                call_logs.SlowCallRow(
                    call_log_id=key, slow_rank=1, service="login", transaction="t1", elapsed_ms=10,
                    called_at=FIRST_START,
                )
            ],
            call_logs.WINDOWS: [
                call_logs.WindowRow(
                    call_log_id=key, service="login", window_index=0, window_at=FIRST_START, window_s=60, call_count=10,
                    calls_per_s=1 / 6, mean_ms=10, max_ms=10,
                )
            ],
        },
    )  # fmt: skip


def _power() -> dict[str, object]:
    return {
        "dataset": "com.rig.notes",
        "protocol": "power",
        "detector": "default",
        "omega": 0.75,
        "runs": 12,
        "rows": [
            {"kind": "leak", "unit": "MB/min", "size": 9.0, "repeats": repeats, "share": share, "low": 0.5, "high": 1.0,
             "found": round(12 * share), "cases": 12}
            for repeats, share in ((1, 0.75), (3, 1.0))
        ],
    }  # fmt: skip


def _evaluation() -> dict[str, object]:
    def row(detector: str, omega: float, tp: float, fp: float) -> dict[str, object]:
        fn, tn = 100 - tp, 100 - fp
        precision, recall = tp / (tp + fp), tp / 100
        return {
            "detector": detector, "omega": omega, "level": None,
            "series": "all", "anomaly_kind": "all", "severity": "all",
            "tp": tp, "tn": tn, "fp": fp, "fn": fn, "precision": precision, "recall": recall,
            "f1": 2 * precision * recall / (precision + recall), "false_positive_rate": fp / 100,
            "mcc": 0.5, "roc_auc": 0.8, "average_precision": 0.8,
        }  # fmt: skip

    return {
        "dataset": "sample", "protocol": "thesis", "repeats": 30, "history": 12, "seed": 0, "seconds": 1.0,
        "rows": [row(d, w, 80 - 10 * w, 40 - 15 * w) for d in ("iqr", "default") for w in (0.0, 0.5, 1.0, 1.5)],
        "localisation": [
            {"detector": "default", "series": "all", **runs, "unit": "seconds", "precision": 0.7, "recall": 0.8,
             "f1": 0.75, "lift": lift, "flagged_per_clean_run": 0.5}
            for runs, lift in (({"runs": "all"}, 4.0), ({"runs": "alarmed"}, 5.0), ({}, 3.0))
        ],
    }  # fmt: skip
