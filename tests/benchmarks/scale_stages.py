"""The measurements of scale.py, one per process: `python scale_stages.py NAME FOLDER K` prints stage → cost as JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from unittest import mock

from cost import NOTHING, Cost, Meter, children_peak_bytes
from made_up_runs import next_run, pretend_pages, settings_of

from perfreg_assets import garbage
from perfreg_assets.assembly import build_defs
from perfreg_assets.assets.outstanding import outstanding
from perfreg_assets.assets.project import Project
from perfreg_assets.automation import jobs
from perfreg_assets.automation.materialise import materialise
from perfreg_assets.bundled import sql_dir
from perfreg_assets.collection import registry
from perfreg_assets.methods.warmup import warm_up
from perfreg_assets.model import freshness, settled
from perfreg_assets.partitions import to_key
from perfreg_assets.reports import site
from perfreg_assets.reports.loading_causes import told_version_causes
from perfreg_assets.warehouse import connection, settings_table, verdicts
from perfreg_assets.warehouse.connection import Reader, Warehouse
from perfreg_assets.warehouse.queries import run_query

ROOT = Path(__file__).resolve().parents[2]
Stages = dict[str, Cost]
INGEST = "ingest"  # the measurement that gives many stages
UPDATE = "update"  # the one that takes minutes, and only runs when asked for
_STEP = re.compile(r"step \d+ of \d+, (?P<name>[^:]+):")
OMEGA = 1.234567  # nobody's: what is stored at it is removed again


def measure_ingest(folder: Path, count: int) -> Stages:
    """One run after the other in a process set up as a command; the first is for imports, kernels and caches."""
    garbage.look_rarely()
    settings = settings_of(folder)
    defs = build_defs(resources={"project": Project.of(settings)})
    warm_up()
    found: list[Stages] = []
    for _ in range(1 + count):
        given = next_run(folder)
        stages: Stages = {}
        meter, step = Meter(), "Dagster, before the first step"

        def cut(text: str = "", stages: Stages = stages, meter: Meter = meter) -> None:
            nonlocal step
            stages[step] = stages.get(step, NOTHING) + meter.lap()
            step = f"step {_begun(text)}"

        with _published() as published:
            keys = list(registry.sort_out([given], settings, to_key)[0])
            done = materialise(
                defs, jobs.EVERYTHING_JOB, keys, settings, op_config={"runs": {"folders": [str(given)]}},
                progress=lambda text: cut(text) if _begun(text) else None,
            )  # fmt: skip
            cut()
        if done.failures:
            raise SystemExit(f"the ingest failed: {done.failures[0]}")
        total = sum(stages.values(), NOTHING)
        engine = Cost(total.children_cpu_s, total.children_cpu_s, 0, children_peak_bytes())
        found.append({"total": total, "engine": engine, "publish": sum(published, NOTHING), **stages})
    return {stage: middle([one.get(stage, NOTHING) for one in found[1:]]) for stage in found[-1]}


def _begun(text: str) -> str:
    """The step that progress says has begun ("step 2 of 10, runs: 1 version"); empty of other messages."""
    found = _STEP.match(text)
    return found["name"] if found else ""


@contextmanager
def _published() -> Iterator[list[Cost]]:
    """What publishing costs while the block runs."""
    costs: list[Cost] = []
    original: Callable[..., None] = connection.publish

    def publish(*arguments: object) -> None:
        written, cpu = _bytes_and_cpu()
        original(*arguments)
        later, cpu_later = _bytes_and_cpu()
        costs.append(Cost(cpu_later - cpu, 0.0, later - written, 0))

    with mock.patch.object(connection, "publish", publish):
        yield costs


def _bytes_and_cpu() -> tuple[int, float]:
    """(bytes written, CPU seconds) of this process alone, without touching a `Meter` that runs."""
    line = next(line for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("write_bytes"))
    return int(line.split()[1]), time.process_time()


def middle(costs: Sequence[Cost]) -> Cost:
    """The one with the median CPU, with the highest peak."""
    middle = sorted(costs, key=lambda cost: cost.cpu_s)[(len(costs) - 1) // 2]
    return replace(middle, peak_bytes=max(cost.peak_bytes for cost in costs))


def measure_index(folder: Path) -> Stages:
    """A build of a site in which nothing changed; what one more run costs of it stands in the stages of ingest."""
    settings = settings_of(folder)
    with _reading(folder) as reader:
        meter = Meter()
        site.build_site(reader, settings.reports_dir, server=settings.reports_address)
        same = meter.lap()
    size = (settings.reports_dir / "index.html").stat().st_size
    print(f"index.html: {size / 1e6:.2f} MB", file=sys.stderr)
    return {"site, nothing new": same}


def measure_example(folder: Path, path: Path) -> Stages:
    with _reading(folder) as reader:
        meter = Meter()
        run_query(reader, path.read_text("utf-8"))
        return {f"example {path.stem}": meter.lap()}


def measure_omega(folder: Path) -> Stages:
    """Another ω for every run, stored and published; it is taken back afterwards."""
    warehouse = Warehouse(settings_of(folder).warehouse, lock_timeout_s=60)
    with warehouse.reading() as reader:
        before = float(settings_table.current(reader)["omega"])
    meter = Meter()
    with warehouse.writing() as writer:
        verdicts.make_current(writer, omega=OMEGA)
    cost = meter.lap()
    with warehouse.writing() as writer:
        settings_table.change(writer, "omega", repr(before))
        writer.execute("DELETE FROM core.verdicts WHERE omega = ?", [OMEGA])
        writer.execute("DELETE FROM core.settings WHERE name = 'omega' AND value = ?", [repr(OMEGA)])
    return {"ω over everything": cost}


LOOK_UPS = ("runs", "run_paths", "axis_verdicts", "verdicts", "time_series", "history_sets", "series_levels")


def measure_version_causes(folder: Path) -> Stages:
    """What grew in several runs of each version, as the first build of a site asks for it."""
    with _reading(folder) as reader:
        versions: dict[str, list[str]] = defaultdict(list)
        for app, version in reader.rows("SELECT app, version_name FROM marts.app_versions"):
            versions[app].append(version)
        meter = Meter()
        told = [told_version_causes(reader, app, names) for app, names in versions.items()]
        cost = meter.lap()
    grown = sum(bool(lines) for one in told for lines in one.values())
    print(f"causes of {grown} of {sum(map(len, told))} versions", file=sys.stderr)
    return {"causes of all versions": cost}


def measure_look_up(folder: Path, mart: str) -> Stages:
    """All that a mart says of one run: of the last but some, so that neither end of the file is met by chance."""
    with _reading(folder) as reader:
        run_id = reader.value(
            "SELECT run_id FROM core.runs WHERE run_id NOT LIKE '%-%' ORDER BY started_at DESC LIMIT 1 OFFSET 40"
        )
        meter = Meter()
        rows = reader.rows(f"SELECT * FROM marts.{mart} WHERE run_id = ?", [run_id])
        cost = meter.lap()
    if not rows:
        raise SystemExit(f"marts.{mart} says nothing of {run_id}")
    return {f"one run in marts.{mart}": cost}


def measure_due(folder: Path) -> Stages:
    with _reading(folder) as reader:
        key = reader.value("SELECT partition_key FROM core.runs ORDER BY started_at DESC LIMIT 1")
        meter = Meter()
        freshness.due(reader, settings_of(folder), [key])
        return {"due of one version": meter.lap()}


def measure_outstanding(folder: Path) -> Stages:
    with _reading(folder) as reader:
        meter = Meter()
        found = outstanding(reader, settings_of(folder))
        cost = meter.lap()
    print(f"outstanding: {len(found.due)} runs, {len(found.pages)} pages", file=sys.stderr)
    return {"outstanding": cost}


def measure_process(folder: Path, count: int) -> Stages:
    """The command as people type it, its children with it, and in turns with it a script that only reads the trace
    and puts its series into a file (plain_script.py), and Dagster with assets that do nothing (empty_assets.py): the
    seconds depend on the machine, their ratios less."""
    found: dict[str, list[Cost]] = defaultdict(list)
    plain, empty = (str(Path(__file__).with_name(f"{name}.py")) for name in ("plain_script", "empty_assets"))
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        _command([empty, f"{aside}/home"], folder)  # makes Dagster's files
        for number in range(count):
            found["process"].append(_process(folder))
            found["plain script"].append(_command([plain, str(next_run(folder)), f"{aside}/{number}.duckdb"], folder))
            found["empty assets"].append(_command([empty, f"{aside}/home"], folder))
    return {stage: middle(costs) for stage, costs in found.items()}


def measure_update(folder: Path) -> Stages:
    """The command after an update of perfreg: nothing is known to hold, and all pages would come out different. The
    first, and the next, of which every page that was there waits. The pages are pretended anew afterwards."""
    settings = settings_of(folder)
    for name in (settled.FILE, settled.LOOK):
        (settings.home_dir / name).unlink(missing_ok=True)
    elsewhere = {"PERFREG_REPORTS_URL": f"{settings.reports_address}/elsewhere"}
    found = {name: _process(folder, elsewhere) for name in ("process, first after an update", "process, pages waiting")}
    pretend_pages(settings)
    return found


def _process(folder: Path, variables: Mapping[str, str] | None = None) -> Cost:
    return _command(["-m", "perfreg_assets.cli", "ingest", str(next_run(folder))], folder, variables)


def _command(arguments: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None) -> Cost:
    """A Python process from start to exit, which finds this warehouse."""
    settings = settings_of(folder)
    environment = {
        # Whoever keeps Python from writing bytecode would have every module of the project compiled each time.
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PERFREG_WAREHOUSE": str(settings.warehouse),
        "PERFREG_HOME": str(settings.home_dir),
        "PYTHONPATH": str(ROOT),
        **(variables or {}),
    }
    meter = Meter()
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    cost = meter.lap()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Cost(cost.cpu_s, cost.children_cpu_s, cost.bytes_written, children_peak_bytes())


@contextmanager
def _reading(folder: Path) -> Iterator[Reader]:
    with Warehouse(settings_of(folder).warehouse, lock_timeout_s=60).reading() as reader:
        yield reader


def measurements(ingests: int) -> dict[str, Callable[[Path], Stages]]:
    """Name → what measures it."""
    examples = sorted((sql_dir() / "examples").glob("*.sql"))
    return {
        INGEST: lambda folder: measure_ingest(folder, ingests),
        "process": lambda folder: measure_process(folder, ingests),
        "outstanding": measure_outstanding,
        "due": measure_due,
        "omega": measure_omega,
        "index": measure_index,
        "versions": measure_version_causes,
        **{f"look-up {mart}": lambda folder, mart=mart: measure_look_up(folder, mart) for mart in LOOK_UPS},
        **{f"example {path.stem}": lambda folder, path=path: measure_example(folder, path) for path in examples},
        UPDATE: measure_update,
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _name, _folder, _ingests = sys.argv[1:]
    _found = measurements(int(_ingests))[_name](Path(_folder))
    print(json.dumps({stage: asdict(cost) for stage, cost in _found.items()}))
