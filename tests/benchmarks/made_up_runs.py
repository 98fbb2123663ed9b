"""A warehouse of N made-up runs in the shape that real ones leave, through the warehouse package's own functions.

20 apps with a version per ten runs; paths of 100 to 900 steps; twelve series of 70 to 1,800 samples each and twenty
that the trace lacks; energies of every second app; near misses, incomplete traces, quarantined folders, reviews.
Results carry the hashes that freshness asks for, so that nothing is due; the reports' folder says that all pages are
written. The first app is that of the bundled runs, so that these, under new ids, find a history here.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from unittest import mock

import dagster as dg
import duckdb
import numpy as np
import pyarrow as pa

from perfreg_assets.automation.materialise import prepare_home
from perfreg_assets.bundled import demo_runs_dir, power_profiles_dir
from perfreg_assets.catalogue import SERIES, definition_of
from perfreg_assets.collection.run_folder import read_run_folder, write_run_folder
from perfreg_assets.detection import detectors
from perfreg_assets.methods.power_profile import PowerProfile
from perfreg_assets.methods.power_states import PARTS, SCOPES
from perfreg_assets.methods.thread_times import RUNNING, ThreadTimes
from perfreg_assets.model import comparisons, freshness, inputs
from perfreg_assets.model.comparisons import Comparison, Planned
from perfreg_assets.model.freshness import Alarm
from perfreg_assets.model.past_scores import PastScores
from perfreg_assets.partitions import DIMENSION, to_key
from perfreg_assets.provenance import code_version, deciding_code
from perfreg_assets.reports import loading, site
from perfreg_assets.reports.templating import code_hash
from perfreg_assets.run import RUN_LEVEL, PathStep, explored_state_count
from perfreg_assets.settings import Settings
from perfreg_assets.traces.power_profile import parse_profile
from perfreg_assets.warehouse import (
    barycenters,
    causes,
    connection,
    discords,
    distances,
    energies,
    histories,
    measurements,
    power_profiles,
    reviews,
    runs,
    series,
    settings_table,
    slice_uses,
    states,
    thread_times,
    traces,
    verdicts,
)
from perfreg_assets.warehouse.connection import Warehouse, Writer
from tests.another_trace import another_trace

APP_COUNT = 20
RUNS_PER_VERSION = 10
LAST_START = datetime(2026, 11, 1, tzinfo=UTC)
BETWEEN_RUNS = timedelta(minutes=5)
BOOT_NS = 3_234_408_776_255
PAGE_BYTES = 64  # of a page that is only said to be written
PRESENT = (
    *("cpu_app", "cpu_total", "cpu_app_core_0", "cpu_app_core_1", "cpu_core_0", "cpu_core_1"),
    *("rss_app", "rss_anon_app", "rss_file_app", "swap_app", "threads_running_app", "frames_app"),
)
MISSING = tuple(
    name
    for spec in SERIES
    if spec.kind != "scalar" and "<name>" not in spec.name
    for name in ([spec.name] if "<n>" not in spec.name else [spec.name.replace("<n>", core) for core in "01"])
    if name not in PRESENT
)
METRICS = tuple(spec.name for spec in SERIES if spec.kind == "scalar")
SESSIONS = 64  # different paths of an app
BLOCK = 500  # runs stored at once
STATES, METHODS = 30, 200  # of a run with energies: times in state and methods
THREADS, THREADS_BLOCK = 48, 50  # entities of a run, and runs whose threads are stored at once
_STAMP = "synthetic.json"


def settings_of(folder: Path) -> Settings:
    return Settings(warehouse=folder / "perfreg.duckdb")


def built(folder: Path, count: int, *, seed: int = 0) -> Settings:
    """Settings of a warehouse with `count` made-up runs in `folder`: the one that is there, or a new one."""
    settings = settings_of(folder)
    stamp = {"n": count, "seed": seed, "code": [code_version("methods"), code_version("traces")]}
    found = read_stamp(folder)
    if {name: found.get(name) for name in stamp} != stamp:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _build(settings, count, seed)
        found = {**stamp, "taken": 0, "pages": None}
    if found["pages"] != _pages_stamp():
        pretend_pages(settings)
        found["pages"] = _pages_stamp()
    write_stamp(folder, found)
    return settings


def read_stamp(folder: Path) -> dict:
    path = folder / _STAMP
    return json.loads(path.read_text()) if path.exists() else {}


def write_stamp(folder: Path, stamp: dict) -> None:
    (folder / _STAMP).write_text(json.dumps(stamp))


def next_run(folder: Path) -> Path:
    """A bundled run in a folder of its own, under a new id, as the only run of a new version, later than all others."""
    stamp = read_stamp(folder)
    number = stamp["taken"] = stamp["taken"] + 1
    write_stamp(folder, stamp)
    bundled = sorted(demo_runs_dir().iterdir())
    source = bundled[number % len(bundled)]
    document = json.loads((source / "run.json").read_text("utf-8"))
    document |= {
        "run_id": f"{document['run_id']}-{number:06d}",
        "version_name": f"9.0.{number}",
        "version_code": 9_000_000 + number,
        "started_at": (LAST_START + timedelta(days=1, minutes=number)).isoformat().replace("+00:00", "Z"),
    }
    return write_another_run(folder / "given" / document["run_id"], document, source)


def write_another_run(target: Path, document: dict, source: Path) -> Path:
    """A run folder with a trace that tells what the one in `source` tells: a trace is one run, under any id."""
    told = {key: value for key, value in document.items() if key not in ("trace_bytes", "trace_sha256")}
    with tempfile.TemporaryDirectory(dir=target.parent.parent) as aside:
        trace = Path(aside) / told["trace"]
        another_trace(source / told["trace"], trace, told["run_id"])
        return write_run_folder(target, told, {told["trace"]: trace})


# ---- what there is to be made ----------------------------------------------------------------------
@dataclass(frozen=True)
class App:
    """An app: its configuration, the length of its sessions, and its paths."""

    name: str
    device: str
    strategy: str
    samples: int
    action_interval_s: float
    config_hash: str
    sessions: tuple[tuple[PathStep, ...], ...]
    load_sources: tuple[str, ...] = ()
    is_priced: bool = False


@dataclass(frozen=True)
class Made:
    """A made-up run. `kind`: good, incomplete, problem or excluded."""

    app: App
    run_id: str
    number: int
    version: int
    started_at: datetime
    kind: str
    session: tuple[PathStep, ...]

    @property
    def version_name(self) -> str:
        return f"{self.version // 100}.{self.version % 100}.0"

    @cached_property
    def start_ns(self) -> int:
        return int(self.session[0].ts_ns or BOOT_NS) - 17_000_000


def _apps(random: np.random.Generator) -> list[App]:
    lengths = np.unique(np.geomspace(70, 1800, APP_COUNT).round().astype(int))
    steps = np.geomspace(100, 900, APP_COUNT).round().astype(int)
    return [_bundled_app(random), *(_app(i, int(lengths[i]), int(steps[i]), random) for i in range(1, APP_COUNT))]


def _bundled_app(random: np.random.Generator) -> App:
    """That of the bundled runs; its paths are theirs and 30 to 50 steps more."""
    folders = [read_run_folder(folder, Settings()) for folder in sorted(demo_runs_dir().iterdir())]
    sessions = []
    for i in range(SESSIONS):
        path = list(folders[i % len(folders)].path)
        states = sorted({(step.state_hash, step.screen) for step in path}, key=str)
        for place in random.choice(len(path), 3, replace=False):
            path[place] = replace(path[place], state_hash=states[int(random.integers(len(states)))][0])
        for state, screen in (states[k] for k in random.integers(len(states), size=random.integers(30, 51))):
            path.append(PathStep(len(path), path[-1].ts_ns + 200_000_000, state, screen, "scroll down"))  # type: ignore[operator]
        sessions.append(tuple(path))
    first = folders[0]
    config = first.config
    return App(
        first.app, config.device, config.strategy, int(config.time_limit_s), config.action_interval_s, config.hash,
        tuple(sessions), is_priced=True,
    )  # fmt: skip


def _app(number: int, samples: int, steps: int, random: np.random.Generator) -> App:
    name = f"com.example.app{number:02d}"
    screens = [f"{name.rsplit('.', 1)[1]}/screen{k}" for k in range(12)]
    found = [(_hash(f"{name} state {k}"), screens[k % 12]) for k in range(60)]
    actions = ("scroll down", "back", *(f"click a##item[{k}]" for k in range(40)))
    route = random.integers(len(found), size=steps)
    step_ns = samples * 10**9 // steps
    sessions = []
    for session in range(SESSIONS):
        own = route.copy()
        changed = random.random(steps) < 0.04
        own[changed] = random.integers(len(found), size=int(changed.sum()))
        start = BOOT_NS + session * 4_000 * 10**9
        times = start + np.arange(steps) * step_ns + random.integers(0, step_ns // 2, size=steps)
        chosen = random.integers(len(actions), size=steps)
        sessions.append(
            tuple(
                PathStep(i, int(times[i]), *found[state], actions[chosen[i]]) for i, state in enumerate(own)
            )
        )  # fmt: skip
    return App(
        name, "emulator API 34", "dfs_greedy", samples, step_ns / 1e9, _hash(f"{name} config"), tuple(sessions),
        is_priced=number % 2 == 0,
    )  # fmt: skip


def _made(apps: Sequence[App], count: int, random: np.random.Generator) -> dict[str, list[Made]]:
    found: dict[str, list[Made]] = {app.name: [] for app in apps}
    kinds = random.choice(["good", "incomplete", "problem", "excluded"], size=count, p=[0.975, 0.01, 0.01, 0.005])
    sessions = random.integers(SESSIONS, size=count)
    for number in range(count):
        app = apps[number % APP_COUNT]
        found[app.name].append(
            Made(
                app=app,
                run_id=_hash(f"{app.name} run {number}")[:16],  # a hash, as that of a run folder that gives no id
                number=number,
                version=100 + number // APP_COUNT // RUNS_PER_VERSION,
                started_at=LAST_START - (count - number) * BETWEEN_RUNS,
                kind=str(kinds[number]),
                session=app.sessions[sessions[number]],
            )
        )
    return found


# ---- building --------------------------------------------------------------------------------------
def _build(settings: Settings, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    begin = time.perf_counter()
    apps = _apps(random)
    made = _made(apps, count, random)
    warehouse = Warehouse(settings.warehouse, lock_timeout_s=60)
    # Nobody reads before all is there, and a copy of the growing file per app would be most of the work.
    with mock.patch.object(connection, "publish"):
        with warehouse.writing() as writer:
            settings_table.change(writer, "path_similarity_minimum", "0.6", note="as perfreg demo does")
            _quarantine_some(writer, count)
        for i, app in enumerate(apps):
            with warehouse.writing() as writer:
                for block in _blocks(made[app.name]):
                    _store_runs(writer, block, settings, random)
            with warehouse.writing() as writer:
                _store_results(writer, made[app.name], settings_table.in_force(writer, settings), random)
            _say(f"{i + 1} of {APP_COUNT} apps, {time.perf_counter() - begin:.0f} s")
        with warehouse.writing() as writer:
            _put_in_order_of_time(writer)
        _compact(settings.warehouse)
    with warehouse.writing() as writer:
        verdicts.evaluate_current(writer)
        due = freshness.due(writer, settings)
    if due:
        raise AssertionError(f"{len(due)} made-up runs would be computed again, {due[0]}")
    prepare_home(settings)
    with dg.DagsterInstance.get() as instance:
        keys = {to_key(one.app.name, one.version_name): one.started_at for app in apps for one in made[app.name]}
        instance.add_dynamic_partitions(DIMENSION, sorted(keys, key=lambda key: keys[key]))
    _say(f"{count} runs, {settings.warehouse.stat().st_size / 1e6:.0f} MB, {time.perf_counter() - begin:.0f} s")


def _put_in_order_of_time(writer: Writer) -> None:
    """Numbers the runs and lays their rows as if they had come one by one, the apps by turns."""
    writer.execute(
        "CREATE TEMP TABLE numbers AS SELECT run_no AS old, (row_number() OVER (ORDER BY started_at, run_id))::INTEGER "
        "AS new FROM core.runs"
    )
    numbered = writer.rows(
        "SELECT table_name, list(column_name) FROM duckdb_columns() "
        "JOIN duckdb_tables() USING (database_name, schema_name, table_name) "
        "WHERE database_name = current_database() AND schema_name = 'core' "
        "AND column_name IN ('run_no', 'history_run_no') GROUP BY table_name"
    )
    for table, columns in numbered:
        joined = " ".join(f"LEFT JOIN numbers AS of_{name} ON of_{name}.old = rows.{name}" for name in columns)
        renumbered = ", ".join(f"of_{name}.new AS {name}" for name in columns)
        writer.execute(
            f"CREATE TEMP TABLE laid AS SELECT rows.* REPLACE ({renumbered}) FROM core.{table} AS rows {joined}"
        )
        writer.execute(f"DELETE FROM core.{table}")
        writer.execute(f"INSERT INTO core.{table} SELECT * FROM laid ORDER BY run_no")
        writer.execute("DROP TABLE laid")


def _compact(path: Path) -> None:
    """Writes the file anew: half of it are blocks that hold nothing any more, and no real one is half empty."""
    part = path.with_name(f"{path.name}.part")
    with duckdb.connect() as both:
        both.execute(f"ATTACH '{path}' AS laid (READ_ONLY)")
        both.execute(
            f"ATTACH '{part}' AS whole (STORAGE_VERSION '{connection.STORAGE_VERSION}', "
            f"BLOCK_SIZE {connection.BLOCK_BYTES})"
        )
        both.execute("COPY FROM DATABASE laid TO whole")
        both.execute("CHECKPOINT whole")
    part.replace(path)
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)


def _blocks(made: Sequence[Made]) -> Iterator[list[Made]]:
    for start in range(0, len(made), BLOCK):
        yield list(made[start : start + BLOCK])


def _quarantine_some(writer: Writer, count: int) -> None:
    runs.upsert(
        writer,
        [
            runs.RunRow(
                run_id=f"quarantined-{i:06d}", folder_name=f"broken {i}", content_hash=_hash(f"broken {i}"),
                is_quarantined=True, reason_code="time_without_zone",
                reason="run.json: started_at has no time zone; write it in UTC with a trailing Z.",
            )
            for i in range(max(1, count // 300))
        ],
    )  # fmt: skip


def _energies(one: Made, code: str) -> energies.RunEnergies:
    """Of every second app as of a device with frequencies and a profile; of the others none, as without frequencies."""
    row = energies.EnergyRunRow(
        run_id=one.run_id, device_name=None, duration_s=float(one.app.samples), nominal_voltage_v=3.85,
        reason_code="series_missing", code_version=code,
        reason="the trace has no CPU frequencies (power/cpu_frequency, sys_stats cpufreq)",
    )  # fmt: skip
    if not one.app.is_priced:
        return energies.RunEnergies(row, methods=str(row.reason))
    profile, stored = _profile()
    random = np.random.default_rng(one.number)
    row = replace(
        row, device_name="cheetah", reason_code=None, reason=None, profile_id=profile.profile_id,
        profile_name="cheetah.xml", profile_origin=power_profiles.BUNDLED, is_foreign_profile=False, fit_ratio=1.0,
        first_cores=profile.first_cores, has_idle_states=True, late_ratio=0.0, outside_ratio=0.0,
        threads=tuple(
            energies.ThreadCharge(one.app.name if k % 3 else f"system_{k}", f"thread {k}", k % 3 > 0, charge)
            for k, charge in enumerate(random.random(THREADS).tolist())
        ),
    )  # fmt: skip
    states = [(number, khz) for number, own in enumerate(profile.clusters) if own.khz is not None for khz in own.khz]
    chosen = [states[k] for k in np.linspace(0, len(states) - 1, STATES // len(SCOPES)).astype(int)]
    times = tuple(
        energies.TimeRow(
            run_id=one.run_id, cluster=cluster, frequency_khz=float(khz), scope=scope, busy_s=1.0, cluster_share_s=0.7,
            active_share_s=0.5,
        )
        for cluster, khz in chosen
        for scope in SCOPES
    )  # fmt: skip
    charges = tuple(
        energies.EnergyRow(
            run_id=one.run_id, component=component, scope=scope, energy_source="profile", charge_mah=charge,
            energy_mj=charge * 3600 * 3.85, is_estimated=True, profile_id=profile.profile_id,
        )
        for (component, scope), charge in zip(
            [*((part, scope) for part in PARTS for scope in SCOPES), ("base", "device")], random.random(10).tolist(),
            strict=True,
        )
    )  # fmt: skip
    steps = tuple(
        energies.StepCharge(index, str(step.screen or ""), 2.0, 0.001, 0.002) for index, step in enumerate(one.session)
    )
    methods = tuple(
        energies.MethodCharge(one.app.name, "main", f"method {k}", 10, charge, 2 * charge)
        for k, charge in enumerate(random.random(METHODS).tolist())
    )
    return energies.RunEnergies(row, times, charges, stored, steps, methods)


@cache
def _profile() -> tuple[PowerProfile, power_profiles.StoredProfile]:
    content = (power_profiles_dir() / "cheetah.xml").read_bytes()
    profile = parse_profile(content, "cheetah.xml", nominal_voltage_v=3.85)
    return profile, power_profiles.described(
        profile, name="cheetah.xml", device="cheetah", origin=power_profiles.BUNDLED, content=content
    )


def _store_runs(writer: Writer, made: list[Made], settings: Settings, random: np.random.Generator) -> None:
    app = made[0].app
    runs.upsert(writer, [_run_row(one) for one in made])
    for one in made:
        if one.kind == "excluded":
            runs.exclude(writer, one.run_id, "the device was charging")
        if random.random() < 0.005:
            reviews.add(writer, one.run_id, ("confirmed", "rejected", "accepted")[int(random.integers(3))])
    parameters, code = inputs.trace_parameters(settings), code_version("traces")
    traces.upsert(writer, [_trace_row(one, parameters, code) for one in made])
    whole = [one for one in made if one.kind != "incomplete"]
    values = _values(app.samples, len(whole), random)
    series.upsert(
        writer,
        [
            row
            for i, one in enumerate(whole)
            for row in _series_rows(one, {name: array[i] for name, array in values.items()}, code)
        ],
    )
    for start in range(0, len(whole), THREADS_BLOCK):
        thread_times.upsert(writer, [_threads(one, code) for one in whole[start : start + THREADS_BLOCK]])
    no_slices = ("series_missing", "the trace has no slices of the app (atrace)")
    slice_uses.upsert(
        writer,
        [slice_uses.missing(one.run_id, _path_hash(one), *no_slices, code_version=code) for one in whole],
    )
    energies.upsert(writer, [_energies(one, code) for one in whole])
    measurements.replace_subjects(
        writer,
        measurements.RUN,
        [one.run_id for one in whole],
        [
            measurements.MeasurementRow(
                subject_kind=measurements.RUN, subject_id=one.run_id, metric=metric, app=app.name,
                version_name=one.version_name, unit="s", worse="more", value=None, provenance={}, code_version=code,
                reason="the trace shows no launch of any app (atrace categories am and wm)",
            )
            for one in whole for metric in METRICS
        ],
    )  # fmt: skip
    # (there is no function for many runs: the pipeline records one at a time)
    writer.execute(
        "INSERT INTO core.timings SELECT run_id, phases.phase, 0.1 + random(), now(), run_no "
        "FROM (SELECT unnest(?::VARCHAR[]) AS run_id) AS ids JOIN core.runs USING (run_id) "
        "CROSS JOIN (SELECT unnest(['engine', 'file', 'series']) AS phase) AS phases",
        [[one.run_id for one in made]],
    )


def _run_row(one: Made) -> runs.RunRow:
    app = one.app
    return runs.RunRow(
        run_id=one.run_id,
        partition_key=to_key(app.name, one.version_name),
        app=app.name,
        version_name=one.version_name,
        version_code=one.version,
        device=app.device,
        strategy=app.strategy,
        time_limit_s=float(app.samples),
        action_interval_s=app.action_interval_s,
        config_hash=app.config_hash,
        started_at=one.started_at,
        exploration_start_ns=one.start_ns,
        exploration_end_ns=one.start_ns + app.samples * 10**9,
        step_count=len(one.session),
        path=one.session,
        path_hash=_path_hash(one),
        explored_state_count=_state_count(one.session),
        functional_problem_count=int(one.kind == "problem"),
        functional_problems=[{"kind": "crash", "message": "NullPointerException", "ts_ns": one.start_ns}]
        if one.kind == "problem"
        else [],
        extra={},
        folder_name=one.run_id,
        content_hash=_hash(one.run_id),
        trace_file="trace.perfetto-trace.gz",
        trace_bytes=9_000 * app.samples + one.number % 1000,
        trace_sha256=_hash(f"trace {one.run_id}"),
        registered_at=one.started_at + timedelta(minutes=40),
    )


_state_counts: dict[int, int] = {}


def _path_hash(one: Made) -> str:
    return _hash(f"path {one.run_id}")


def _state_count(session: tuple[PathStep, ...]) -> int:
    return _state_counts.setdefault(id(session), explored_state_count(session))


def _trace_row(one: Made, parameters: str, code: str) -> traces.TraceRow:
    is_complete = one.kind != "incomplete"
    return traces.TraceRow(
        run_id=one.run_id,
        is_complete=is_complete,
        reason_code=None if is_complete else "trace_truncated",
        reason=None if is_complete else "the trace ends inside a packet: it was cut short, copy or record it again.",
        trace_sha256=_hash(f"trace {one.run_id}"),
        trace_bytes=9_000 * one.app.samples + one.number % 1000,
        unpacked_bytes=20_000 * one.app.samples,
        start_ns=one.start_ns - 10**9,
        end_ns=one.start_ns + (one.app.samples + 1) * 10**9,
        duration_s=one.app.samples + 2.0,
        packet_count=8 * one.app.samples,
        data_sources=("process_memory", "sched"),
        process_count=205,
        app_processes=(one.app.name, f"{one.app.name}:renderer"),
        load_sources=one.app.load_sources,
        health={},
        engine="wasm",
        engine_version="Perfetto v52.0",
        engine_seconds=0.5 + one.app.samples / 300,
        parameters_hash=parameters,
        code_version=code,
        checked_at=one.started_at + timedelta(minutes=41),
    )


def _values(samples: int, count: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Per series (count, samples): CPU time in whole nanoseconds, memory in whole pages, as a trace has them."""
    time_s = np.arange(samples)
    level = 0.3 + 0.05 * random.standard_normal((count, 1))
    wave = 0.15 * (1 + np.sin(time_s / 7 + random.integers(0, 3, size=(count, 1))))
    app = np.clip(level + wave + 0.08 * random.standard_normal((count, samples)), 0, 2)
    total = np.clip(app + 0.4 + 0.1 * random.standard_normal((count, samples)), 0, 2)
    share = np.clip(0.5 + 0.1 * random.standard_normal((count, samples)), 0, 1)
    anon = 120e6 + 5e6 * random.standard_normal((count, 1)) + np.cumsum(
        random.integers(-8, 9, size=(count, samples)) * 4096, axis=1
    )  # fmt: skip
    file = np.repeat(60e6 + 2e6 * random.standard_normal((count, 1)), samples, axis=1)
    anon, file = 4096 * np.round(anon / 4096), 4096 * np.round(file / 4096)
    return {
        "cpu_app": app.round(9),
        "cpu_total": total.round(9),
        "cpu_app_core_0": (app * share).round(9),
        "cpu_app_core_1": (app * (1 - share)).round(9),
        "cpu_core_0": (total * share).round(9),
        "cpu_core_1": (total * (1 - share)).round(9),
        "rss_app": anon + file,
        "rss_anon_app": anon,
        "rss_file_app": file,
        "swap_app": np.zeros((count, samples)),
        "threads_running_app": (1.3 * app).round(9),
        "frames_app": random.integers(0, 61, size=(count, samples)).astype(float),
    }


def _threads(one: Made, code: str) -> thread_times.RunThreads:
    """As many threads as the bundled runs have; most of them do nothing in most seconds."""
    random, shape = np.random.default_rng(one.number), (THREADS, one.app.samples)
    times_ns = random.integers(0, 50_000_000, size=shape) * (random.random(shape) < 0.3)
    process = tuple(one.app.name if k % 3 else f"system_{k}" for k in range(THREADS))
    times = ThreadTimes(
        one.start_ns, process, tuple(f"thread {k}" for k in range(THREADS)), (RUNNING,) * THREADS,
        np.arange(THREADS) % 3 > 0, times_ns / 1e9,
    )  # fmt: skip
    return thread_times.described(one.run_id, times, code_version=code)


def _series_rows(one: Made, values: dict[str, np.ndarray], code: str) -> Iterator[series.SeriesRow]:
    extracted_at = one.started_at + timedelta(minutes=41)
    for name, array in values.items():
        yield series.SeriesRow(
            run_id=one.run_id, series=name, unit=_UNITS[name], interval_s=1.0, start_ns=one.start_ns, values=array,
            is_missing=False, values_hash=series.content_hash(array, 1.0, one.start_ns), code_version=code,
            extracted_at=extracted_at,
        )  # fmt: skip
    for name in MISSING:
        yield series.SeriesRow(
            run_id=one.run_id, series=name, unit=_UNITS[name], interval_s=1.0, start_ns=one.start_ns, values=None,
            is_missing=True, reason_code="series_missing", reason="the trace has none of it (power/cpu_idle)",
            code_version=code, extracted_at=extracted_at,
        )  # fmt: skip


_UNITS = {name: definition_of(name).unit for name in (*PRESENT, *MISSING)}


def _store_results(writer: Writer, made: list[Made], settings: Settings, random: np.random.Generator) -> None:
    """Histories, barycenters, distances, verdicts and windows of one app's runs, from the inputs that are stored."""
    if not made:
        return
    app = made[0].app
    run_ids = [one.run_id for one in made]
    hashes = inputs.history_hashes(writer, app.name, settings, set(run_ids))
    histories.upsert(writer, *_histories(made, hashes, settings, random))
    planned = comparisons.plan(writer, run_ids, settings)
    averaged = {
        (one.run_id, one.series): inputs.barycenter_id(one, settings)
        for family in planned.by_path.values()
        for one in family
        if one.has_barycenter
    }
    code = code_version("methods")
    for start in range(0, len(averaged), BLOCK):
        ids = list(averaged.values())[start : start + BLOCK]
        values = random.standard_normal((len(ids), app.samples))
        barycenters.insert_missing(
            writer,
            [
                barycenters.BarycenterRow(
                    barycenter_id=key, values=row, inertia=1.0, iteration_count=14, backend="numba", seconds=0.02,
                    code_version=code,
                )
                for key, row in dict(zip(ids, values, strict=True)).items()
            ],
        )  # fmt: skip
    barycenters.assign(
        writer,
        run_ids,
        [
            barycenters.RunBarycenterRow(run_id=run_id, series=name, barycenter_id=key)
            for (run_id, name), key in averaged.items()
        ],
    )
    measured = [row for run_id in planned.run_ids for row in _measured(planned, run_id, settings, random)]
    distances.upsert(writer, measured)
    _know_their_past(writer, planned, settings)
    verdicts.evaluate_current(writer, run_ids)
    alarms = states.alarms(writer, run_ids)
    _store_windows(
        writer,
        [
            Alarm(one, alarms[one.run_id, one.series])
            for family in planned.of(detectors()[settings.detector]).values()
            for one in family
            if (one.run_id, one.series) in alarms
        ],
        {one.run_id: one for one in made},
        settings,
        random,
    )
    _store_causes(writer, run_ids, settings, random)


def _store_causes(writer: Writer, run_ids: list[str], settings: Settings, random: np.random.Generator) -> None:
    """Three causes of every suspicious window."""
    marks, code = states.explained_from(writer, run_ids), code_version("methods")
    hashes = inputs.causes_hashes(marks, settings)
    found = []
    for run_id, windows in causes.suspicious(writer, hashes).items():
        rows = [
            causes.WindowRow(
                run_id=run_id, series=one.series, window_index=one.window_index or 0,
                is_whole_run=one.window_index is None, start_s=one.start_s, end_s=one.end_s, start_ns=one.start_ns,
                end_ns=one.end_ns, confidence=one.confidence, state="ranked", state_reason=None, disturbance=None,
                history_count=12, matched_count=12,
            )
            for one in windows
        ]  # fmt: skip
        grown = [
            causes.CauseRow(
                run_id=run_id, series=row.series, window_index=row.window_index, is_cause=True, rank=rank + 1,
                kind="thread", scope="app", process="com.example", thread=f"thread {rank}", name=f"thread {rank}",
                path=None, value=growth + 0.1, history_median=0.1, history_mad=0.01, growth=growth,
                growth_share=growth / 2, z=20 * growth, is_new=False, matched_count=12, history_count=12,
                source=causes.SCHED,
            )
            for row in rows
            for rank, growth in enumerate(sorted(random.random(3), reverse=True))
        ]  # fmt: skip
        sources = [
            causes.SourceRow(run_id=run_id, source=name, is_present=True, history_count=12, reason=None)
            for name in (causes.SCHED, causes.THREAD_STATE, causes.MEMORY, causes.SLICES, causes.CALL_STACKS)
        ]
        run = causes.RunRow(run_id=run_id, input_hash=hashes[run_id], inputs_mark=marks[run_id], code_version=code)
        found.append(causes.Explained(run, tuple(rows), tuple(grown), tuple(sources)))
    causes.replace(writer, hashes, found)


def _histories(
    made: Sequence[Made], hashes: dict[str, str], settings: Settings, random: np.random.Generator
) -> tuple[list[histories.HistoryRow], list[histories.CandidateRow]]:
    """The latest runs of earlier versions, every tenth left out for its path; of the others, what keeps them out."""
    sets: list[histories.HistoryRow] = []
    candidates: list[histories.CandidateRow] = []
    parameters, code = settings.hash_of(*inputs.HISTORY_PARAMETERS), code_version("methods")
    reasons = {"incomplete": "incomplete_trace", "problem": "functional_problems", "excluded": "excluded"}
    good: list[Made] = []
    bad: list[Made] = []
    waiting: list[Made] = []
    for place, one in enumerate(made):
        if waiting and waiting[0].version != one.version:
            good += [other for other in waiting if other.kind == "good"]
            bad += [other for other in waiting if other.kind != "good"]
            waiting = []
        waiting.append(one)
        latest = good[: -3 * settings.history_size : -1]
        similar = random.random(len(latest)) > 0.1
        members = [other for other, is_similar in zip(latest, similar, strict=True) if is_similar]
        members = members[: settings.history_size]
        places = {other.run_id: place for place, other in enumerate(latest[: settings.history_size], start=1)}
        near = [(other, reasons[other.kind]) for other in bad[:-18:-1]]
        near += [(other, "path_dissimilar") for other in latest[:12] if other not in members][:3]
        is_ready = len(members) >= settings.history_minimum
        sets.append(
            histories.HistoryRow(
                run_id=one.run_id,
                state="ready" if is_ready else "not_enough_history",
                history_size=len(members),
                history_maximum=settings.history_size,
                history_minimum=settings.history_minimum,
                similarity_minimum=settings.path_similarity_minimum,
                candidate_count=place,
                excluded_counts={"same_version": len(waiting) - 1, "beyond_size": max(0, place - 40)},
                explanation=f"{len(members)} of {place} earlier runs of {one.app.name} form the history.",
                parameters_hash=parameters,
                input_hash=hashes[one.run_id],
                code_version=code,
                selected_at=one.started_at + timedelta(minutes=42),
            )
        )
        ratios = random.uniform(0.8, 1.0, size=len(members))
        candidates += [
            histories.CandidateRow(
                run_id=one.run_id, history_run_id=other.run_id, history_rank=rank,
                screens_rank=places.get(other.run_id), similarity_ratio=float(ratios[rank - 1]), exclude_reason=None,
            )
            for rank, other in enumerate(members, start=1)
        ]  # fmt: skip
        candidates += [
            histories.CandidateRow(
                run_id=one.run_id, history_run_id=other.run_id, history_rank=None, similarity_ratio=None,
                exclude_reason=reason, screens_rank=places.get(other.run_id),
            )
            for other, reason in near
        ]  # fmt: skip
    return sets, candidates


def _measured(
    planned: Planned, run_id: str, settings: Settings, random: np.random.Generator
) -> Iterator[distances.DistanceRow]:
    for definition in detectors().values():
        family = planned.family(run_id, definition)
        blank = distances.DistanceRow(
            run_id=family[0].run_id,
            series=RUN_LEVEL,
            detector=definition.name,
            parameters_hash=inputs.measuring_parameters(definition, settings),
            state=family[0].state,
            state_reason=family[0].state_reason,
            missing_series=(),
            input_hash=inputs.run_hash(definition, family, settings, None),
            k=settings.history_size,
            interval_s=settings.interval_s,
            engine_version=family[0].engine_version,
            code_version=code_version("methods"),
        )
        rows = [_scored(one, blank, family, settings, random) for one in family]
        yield from rows
        scored = [row for row in rows if row.distance is not None]
        if not scored:
            yield blank
            continue
        worst = max(scored, key=lambda row: row.distance)
        yield replace(
            worst,
            series=RUN_LEVEL,
            missing_series=(),
            input_hash=blank.input_hash,
            barycenter_id=None,
            evidence={"series_count": float(len(scored)), **{f"{row.series}_distance": row.distance for row in scored}},
            evidence_text=f"{worst.series}: {worst.evidence_text}",
        )


def _know_their_past(writer: Writer, planned: Planned, settings: Settings) -> None:
    """The hashes of measurements beside earlier scores, which are stored by now."""
    for definition in detectors().values():
        if not definition.has_empirical_null:
            continue
        past = PastScores.of(writer, planned.run_ids, definition.name)
        hashes = [inputs.run_hash(definition, family, settings, past) for family in planned.of(definition).values()]
        writer.execute_with(
            pa.table({"run_id": planned.run_ids, "input_hash": hashes}),
            "UPDATE core.distances AS old SET input_hash = new.input_hash FROM staged_rows AS new "
            "WHERE old.run_id = new.run_id AND old.detector = ? AND old.series = '*' AND old.is_latest",
            [definition.name],
        )


def _scored(
    one: Comparison,
    blank: distances.DistanceRow,
    family: list[Comparison],
    settings: Settings,
    random: np.random.Generator,
) -> distances.DistanceRow:
    definition = detectors()[blank.detector]
    own = replace(
        blank,
        series=one.series,
        state=one.state,
        state_reason=one.state_reason,
        missing_series=None,
        input_hash=inputs.measurement_hash(one, definition, family, inputs.own_parameters(definition, settings)),
        history_size=one.history_size if one.is_scored else None,
    )
    if not one.is_scored:
        return own
    distance, mean = float(random.standard_normal()) + 2.5 * (random.random() < 0.02), float(random.random())
    return replace(
        own,
        distance=distance,
        q1=-0.6744897501960817,
        q3=0.6744897501960817,
        improvement=-distance,
        uncorrected_distance=distance + 0.3,
        p_value=float(random.random()),
        direction="more" if distance > 0 else "less",
        history_distances=random.standard_normal(one.history_size),
        evidence={"history_size": 12.0, "mean_cores": mean, "mean_cores_history_lowest": 0.07},
        evidence_text=f"uses {mean:.3g} cores on average; the {one.history_size} comparable runs used 0.0703 to 0.112",
        barycenter_id=inputs.barycenter_id(one, settings) if one.has_barycenter else None,
    )


def _store_windows(
    writer: Writer,
    anomalous: list[Alarm],
    made: dict[str, Made],
    settings: Settings,
    random: np.random.Generator,
) -> None:
    profiles: list[discords.ProfileRow] = []
    windows: list[discords.DiscordRow] = []
    code, parameters = code_version("methods"), inputs.localisation_parameters(settings)
    for one, score in anomalous:
        run = made[one.run_id]
        profile = np.clip(random.standard_normal(run.app.samples), 0, 1)
        profiles.append(
            discords.ProfileRow(
                run_id=one.run_id, series=one.series, localisation="default", window_s=1.0, profile=profile,
                threshold_low=0.5, threshold_high=0.7, parameters_hash=parameters,
                input_hash=inputs.windows_hash(one, score, settings), code_version=code,
            )
        )  # fmt: skip
        for index, start in enumerate(sorted(random.choice(run.app.samples - 5, 3, replace=False))):
            start_ns = run.start_ns + int(start) * 10**9
            windows.append(
                discords.DiscordRow(
                    run_id=one.run_id, series=one.series, window_index=index, start_s=float(start),
                    end_s=float(start + 3), peak_s=float(start + 1), start_ns=start_ns, end_ns=start_ns + 3 * 10**9,
                    confidence=float(random.uniform(0.5, 1)), profile_value=float(random.uniform(0.5, 1)),
                    screens=tuple(dict.fromkeys(str(step.screen) for step in run.session[index * 9 : index * 9 + 3])),
                )
            )  # fmt: skip
    discords.replace_runs(writer, made, profiles, windows)


# ---- pages -----------------------------------------------------------------------------------------
def pretend_pages(settings: Settings) -> None:
    """Builds the site with run pages of a typical size that say nothing: rendering them is not what is measured."""
    render, load = site.render_run_page, loading.load_details
    site.render_run_page = lambda *given, **named: "x" * PAGE_BYTES
    loading.load_details = lambda reader, run_ids, *given: [None] * len(run_ids)
    try:
        # Of an earlier release's marts all pages would be due again.
        with Warehouse(settings.warehouse, lock_timeout_s=60).reading_caught_up() as reader:
            written = site.build_site(reader, settings.reports_dir, server=settings.reports_address)
    finally:
        site.render_run_page, loading.load_details = render, load
    _say(f"{len(written)} pages said to be written")


def _pages_stamp() -> list[str]:
    """Of all code that decides whether a page holds: under another one they would be written one by one on the way."""
    return [code_version("methods"), code_version("traces"), deciding_code(), code_hash()]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    built(Path(sys.argv[1]), int(sys.argv[2]))
