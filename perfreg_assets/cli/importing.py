"""`perfreg import`: bare traces become run folders, and are taken in."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from perfreg_assets import terminal
from perfreg_assets.cli.given import MOMENT
from perfreg_assets.cli.ingesting import take_in, tell_missing
from perfreg_assets.cli.reading import show_verdicts
from perfreg_assets.cli.root import command
from perfreg_assets.how_many import how_many
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perfreg_assets.collection.bare_traces import BareTrace
    from perfreg_assets.collection.importing import ImportedRun, Origin
    from perfreg_assets.reasons import Rejected
    from perfreg_assets.traces.overview import Overview
    from perfreg_assets.warehouse.runs import Holder


@command("import", example="perfreg import traces/ --app com.rig.shop --app-version 1.5.0 --scenario cold-start")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True), metavar="TRACE…")
@click.option("--app", required=True, help="Application id: the process's name in the traces.")
@click.option("--app-version", "version_name", required=True, help="The version that was tested.")
@click.option("--version-code", type=click.IntRange(0), help="Android's integer version.")
@click.option("--scenario", help="What was done; only runs of one scenario are compared. Of tests: their name.")
@click.option("--device", help="Where it was recorded; default: as the trace says.")
@click.option("--strategy", default="imported", show_default=True, help="Name of the strategy S.")
@click.option(
    "--time-limit", "time_limit_s", type=click.FloatRange(0, min_open=True),
    help="T, seconds; default: as the runs before.",
)  # fmt: skip
@click.option(
    "--started-at", type=MOMENT, help="When, as 2026-11-20T09:12:00Z; default: as the trace says, else the file's time."
)
@click.option("--pattern", help="Which files of folders are traces, as in a shell: 'iter*.pb'.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Write the run folders here too, and keep them."
)
def import_traces(
    settings: Settings, paths: tuple[Path, ...], scenario: str | None, pattern: str | None, out: Path | None,
    **told: Any,
) -> None:  # fmt: skip
    """Makes runs of traces that have no run.json, and takes them in. TRACE is a file, a folder of them, what Jetpack
    Macrobenchmark left (its metrics are imported too), or - for a list of paths on standard input.

    A trace counts as a run without functional problems. The same trace is the same run: importing it again adds
    nothing, and corrects what was told of a run that is excluded. Exit status: 0 at least one run was taken in or known
    already, 1 none was, or a path that was named is not there or cannot be read (what the others hold is taken in).
    """
    from perfreg_assets.collection.bare_traces import find_bare_traces
    from perfreg_assets.collection.config import check_app_id
    from perfreg_assets.collection.importing import Origin
    from perfreg_assets.reasons import Reason, Rejected

    origin = Origin(**told)
    check_app_id(origin.app)
    listed = [Path(line) for line in sys.stdin.read().splitlines() if line.strip()] if Path("-") in paths else []
    found = find_bare_traces([*(path for path in paths if path != Path("-")), *listed], pattern)
    _tell(found.refused)
    if not found.traces and not found.refused and not found.results:
        raise Rejected(
            Reason.NO_TRACE_FOUND, "nothing was named on standard input" if Path("-") in paths else "nothing was found"
        )
    if found.results and not found.traces:
        terminal.note("there are metrics of tests and no traces: no run comes of them")
    beside = {one.parent for one in found.results}
    strange = [one.path.name for one in found.traces if one.scenario is None and one.path.parent in beside]
    if strange and scenario is None:
        terminal.note(
            f"{how_many(len(strange), 'trace')}, the first {strange[0]}: of no test of the results beside, so without "
            "a scenario and comparable with all that have none; --scenario names one"
        )
    ids = _import(settings, found.traces, origin, scenario, out) if found.traces else set()
    has_results = bool(found.results) and _import_results(settings, found.results, origin)
    if not ids and not has_results:
        sys.exit(1)
    if ids:
        show_verdicts(settings, ids)
    if found.missing:
        tell_missing(found.missing)
        sys.exit(1)


def _tell(refused: Sequence[Rejected]) -> None:
    for one in refused:
        terminal.fail(f"not imported [{one.reason.code}] {one}")


def _import(
    settings: Settings, traces: Sequence[BareTrace], origin: Origin, scenario: str | None, out: Path | None
) -> set[str]:
    """Ids of the runs that the traces are, those that were known among them."""
    with terminal.progress("import") as show:
        looked = _look(settings, traces, origin.app, show)
    found = _sort_out(settings, looked, origin, scenario)
    new, corrected, known = found.new, found.corrected, found.known
    _tell(found.refused)
    if any(one.is_dated_by_file for one in new):
        terminal.note("some traces do not say when they were recorded: their files' times stand for it (--started-at)")
    counts = f"{how_many(len(new) - len(corrected), 'new run')}, {len(known)} known already"
    counts += f", {how_many(len(found.refused), 'trace')} refused"
    terminal.say(counts + (f", {len(corrected)} corrected" if corrected else ""))
    if not new:
        return known
    staging = _staging(settings.home_dir)
    try:
        for one in new:
            folder = one.write(staging)
            if out is not None and not (out / one.run_id).exists():
                one.write(out)
            terminal.note(f"{one.trace.name} is run {folder.name}")
        return known | take_in(settings, [staging])
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _staging(home: Path) -> Path:
    """A folder of this process; those of processes on this machine that were killed are removed."""
    home.mkdir(parents=True, exist_ok=True)
    own = f"import-{socket.gethostname()}-"
    for left in home.glob(f"{own}*"):
        pid = left.name.removeprefix(own).partition("-")[0]
        if pid.isdecimal() and not _is_alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{own}{os.getpid()}-", dir=home))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _look(
    settings: Settings, traces: Sequence[BareTrace], app: str, show: Callable[[str], None]
) -> list[tuple[BareTrace, Overview | Rejected]]:
    from perfreg_assets.model.inspecting import usable_cores
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.traces.engines import Engines
    from perfreg_assets.traces.overview import look_over

    def look(one: BareTrace) -> Overview | Rejected:
        try:
            return look_over(one.path, settings, app, engines=engines)
        except Rejected as rejected:
            if rejected.reason is Reason.ENGINE_UNAVAILABLE:
                raise
            return rejected

    found = []
    with Engines(settings) as engines, ThreadPoolExecutor(usable_cores()) as pool:
        for number, (one, overview) in enumerate(zip(traces, pool.map(look, traces), strict=True), 1):
            show(f"{number} of {len(traces)} traces looked at")
            found.append((one, overview))
    return found


class _SortedOut(NamedTuple):
    """Attributes:
    new: runs to take in, ids of those among them that are there and are `corrected`.
    known: ids of runs that are there and stay.
    refused: why other traces are no runs.
    """

    new: list[ImportedRun]
    corrected: set[str]
    known: set[str]
    refused: list[Rejected]


def _sort_out(
    settings: Settings, looked: Sequence[tuple[BareTrace, Overview | Rejected]], origin: Origin, scenario: str | None
) -> _SortedOut:
    from perfreg_assets.collection.importing import TimeLimit, run_of
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.warehouse import runs
    from perfreg_assets.warehouse.connection import Warehouse

    overviews = [one for _, one in looked if not isinstance(one, Rejected)]
    holders: dict[str, runs.Holder] = {}
    limits: list[TimeLimit] = []
    warehouse = Warehouse.of(settings)
    if warehouse.published.is_file():
        with warehouse.reading_caught_up() as reader:
            holders = runs.holders(reader, [one.facts.content_sha256 for one in overviews])
            limits = [TimeLimit(*row) for row in runs.time_limits(reader, origin.app)]
    new: dict[str, ImportedRun] = {}
    known: set[str] = set()
    refused: list[Rejected] = []
    kept: set[str] = set()
    for trace, overview in looked:
        try:
            if isinstance(overview, Rejected):
                raise overview
            holder, used = holders.get(overview.facts.content_sha256), trace.scenario or scenario
            if holder is None or (holder.may_be_corrected and not _is_as_given(holder, origin, used)):
                run = run_of(overview, origin, used, limits)
                new.setdefault(run.run_id, run)
                limits.append(run.limit)
            elif _is_of_version(holder, origin):
                known.add(holder.run_id)
                kept |= _kept(holder, origin, used)
            else:
                raise Rejected(Reason.DUPLICATE_TRACE, _told_holder(trace, holder))
        except Rejected as rejected:
            refused.append(rejected)
    if kept:
        told = ", ".join(sorted(kept))
        terminal.note(
            f"known runs keep another {told} than given: importing a trace again changes nothing of its run, "
            "unless it was excluded"
        )
    corrected = new.keys() & {one.run_id for one in holders.values()}
    return _SortedOut(list(new.values()), corrected, known, refused)


def _is_of_version(holder: Holder, origin: Origin) -> bool:
    return (holder.app, holder.version_name) == (origin.app, origin.version_name)


def _is_as_given(holder: Holder, origin: Origin, scenario: str | None) -> bool:
    return _is_of_version(holder, origin) and not _kept(holder, origin, scenario)


def _told_holder(trace: BareTrace, holder: Holder) -> str:
    what = f"{trace.path.name} is run {holder.run_id} of {holder.app} {holder.version_name}"
    if not holder.is_imported:
        return what
    return f"{what}; if that is mistaken, `perfreg exclude {holder.run_id} --reason …` and import it again"


def _kept(holder: Holder, origin: Origin, scenario: str | None) -> set[str]:
    """What of a known run is other than what is given now."""
    from perfreg_assets.collection.importing import IMPORTED

    given = {
        "version code": (origin.version_code, holder.version_code),
        "scenario": (scenario, holder.scenario),
        "device": (origin.device, holder.device),
        "strategy": (None if origin.strategy == IMPORTED else origin.strategy, holder.strategy),
        "time limit": (origin.time_limit_s, holder.time_limit_s),
        "time": (origin.started_at, holder.started_at),
    }
    return {name for name, (now, before) in given.items() if now is not None and now != before}


def _import_results(settings: Settings, paths: Sequence[Path], origin: Origin) -> bool:
    """Takes in the metrics of tests; whether there were any."""
    from perfreg_assets.benchmarks.taking_in import Origin as Measured
    from perfreg_assets.benchmarks.taking_in import take_in as read_results
    from perfreg_assets.cli.benchmarks import store, told_score

    whose = Measured(app=origin.app, version_name=origin.version_name, device=origin.device)
    taken = read_results(paths, whose)
    _tell([one.rejected for one in taken if one.rejected is not None])
    found = [one.measured for one in taken if one.measured is not None]
    if not found:
        return False
    with terminal.progress("import") as show:
        rows = store(settings, found, show)
    shown = [{"benchmark": row["result_name"], "score": told_score(row), "state": row["state"]} for row in rows]
    terminal.table(shown, ("benchmark", "score", "state"))
    return True
