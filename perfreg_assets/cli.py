"""`perfreg …`: thin; each command calls the functions that the assets call, and shows what came of it."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from perfreg_assets import __version__, bundled, terminal
from perfreg_assets.catalogue import AXES
from perfreg_assets.detection import detector_names
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import SettingError, Settings

SOME_ANOMALOUS = 3
NOTHING_JUDGED = 4
DEMO_SIMILARITY = "0.6"
VERDICT_COLUMNS = ("run_id", "version_name", "series", "state", "distance", "threshold", "excess_ratio", "explanation")


class _Command(click.Command):
    """Takes several values after one repeatable option, `--omega 0 0.5 1`, as the public contract writes it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        lists = {
            name for param in self.params if isinstance(param, click.Option) and param.multiple for name in param.opts
        }
        spread: list[str] = []
        current: str | None = None
        for position, text in enumerate(args):
            if current is not None and position and args[position - 1] != current and _is_number(text):
                spread.append(current)
            elif text in lists:
                current = text
            elif not _is_number(text):
                current = None
            spread.append(text)
        return super().parse_args(ctx, spread)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def command(
    name: str, *, example: str, group: click.Group | None = None
) -> Callable[[Callable[..., Any]], click.Command]:
    """A subcommand with `--warehouse` and `--debug`; expected problems become one line and exit status 1."""

    def decorate(body: Callable[..., Any]) -> click.Command:
        @click.option(
            "--warehouse",
            type=click.Path(dir_okay=False, path_type=Path),
            help="DuckDB file; default perfreg.duckdb here, or PERFREG_WAREHOUSE.",
        )
        @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
        @functools.wraps(body)
        def run(warehouse: Path | None, debug: bool, **options: Any) -> None:
            try:
                body(Settings.from_environment(warehouse=warehouse), **options)
            except (Rejected, SettingError, ValueError, OSError) as error:
                if debug:
                    raise
                terminal.fail(str(error))
                sys.exit(1)
            except Exception as error:  # a defect: named as one, its traceback is one option away
                if debug:
                    raise
                terminal.fail(f"unexpected {type(error).__name__}: {str(error).splitlines()[0]}; --debug shows where")
                sys.exit(1)

        run.__doc__ = f"{body.__doc__}\n\n\b\nExample:\n  {example}"
        return (group or main).command(name, cls=_Command)(run)

    return decorate


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="perfreg")
def main() -> None:
    """Finds performance regressions of Android apps in Perfetto traces: whether, where, and why."""


# ---- the main job --------------------------------------------------------------------------------
@command("demo", example="perfreg demo")
def demo(settings: Settings) -> None:
    """Runs the whole pipeline on the bundled recorded runs and shows what it found."""
    if "PERFREG_PATH_SIMILARITY_MINIMUM" not in os.environ:
        # Sessions of 70 s: few actions, so that one detour makes a path dissimilar.
        os.environ["PERFREG_PATH_SIMILARITY_MINIMUM"] = DEMO_SIMILARITY
        terminal.say(f"demo: paths {DEMO_SIMILARITY} similar or more are comparable (PERFREG_PATH_SIMILARITY_MINIMUM)")
    from perfreg_assets.reports.pictures import picture_of_worst
    from perfreg_assets.warehouse.connection import Warehouse

    _ingest(settings, [bundled.demo_runs_dir()])
    _show_verdicts(settings)
    picture = settings.home_dir / "demo.png"
    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).reading() as reader:
        worst = picture_of_worst(reader)
    terminal.say()
    if worst is not None:
        picture.write_bytes(worst.png)
        terminal.say(f"picture    {picture}   ({worst.caption})")
    terminal.say(f"report     {settings.reports_dir / 'index.html'}   (or: perfreg serve)")
    terminal.say(f'DuckDB     {settings.published_warehouse}   (or: perfreg sql "FROM marts.verdicts")')
    terminal.say("Dagster    perfreg ui")


@command("ingest", example="perfreg ingest runs/ other/run-17")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
def ingest(settings: Settings, paths: tuple[Path, ...]) -> None:
    """Takes in run folders (or folders of them) and materialises everything downstream."""
    _ingest(settings, list(paths))
    _show_verdicts(settings)


def _ingest(settings: Settings, paths: list[Path]) -> None:
    from perfreg_assets.automation import jobs
    from perfreg_assets.automation.materialise import Materialised, materialise
    from perfreg_assets.automation.upkeep import bring_up_to_date
    from perfreg_assets.collection import registry
    from perfreg_assets.methods.warmup import warm_up
    from perfreg_assets.partitions import to_key
    from perfreg_assets.warehouse import runs as run_table

    begin = time.perf_counter()
    defs, project = _project(settings)
    warm_up()
    done = Materialised()
    with terminal.progress("perfreg") as show:
        folders, rejected = registry.sort_out(registry.find_run_folders(paths), settings, to_key)
        refused = registry.register(rejected, settings, project.open(), to_key) if rejected else []
        if folders:
            given = [str(path.absolute()) for paths in folders.values() for path in paths]
            done += materialise(
                defs,
                jobs.EVERYTHING_JOB,
                list(folders),
                settings,
                op_config={"runs": {"folders": given}},
                progress=show,
            )
        upkeep = bring_up_to_date(defs, project, progress=show)
    done += upkeep.done
    names = [path.name for paths in folders.values() for path in paths] + [outcome.folder.name for outcome in refused]
    with project.open().reading() as reader:
        quarantined = run_table.quarantined(reader, names)
    for name, code, reason in quarantined:
        terminal.fail(f"quarantined {name} [{code}] {reason}")
    seconds = time.perf_counter() - begin
    accounted = ", ".join(f"{name} {done.parts[name]:.1f}" for name in sorted(done.parts))
    terminal.say(
        f"{len(names) - len(quarantined)} runs of {len(folders)} versions, {len(quarantined)} quarantined, "
        f"in {seconds:.1f} s" + (f" (worker seconds: {accounted})" if accounted else "")
    )
    _tell_upkeep(done, upkeep.left)


def _project(settings: Settings) -> tuple[Any, Any]:
    """Dagster's definitions and the project resource for these settings."""
    from perfreg_assets.assets.project import Project
    from perfreg_assets.definitions import build_defs

    project = Project.of(settings)
    return build_defs(resources={"project": project}), project


def _bring_up_to_date(settings: Settings) -> None:
    """Computes what is due and says what was done; exit status 1 when something failed."""
    from perfreg_assets.automation.upkeep import bring_up_to_date

    defs, project = _project(settings)
    with terminal.progress("perfreg") as show:
        upkeep = bring_up_to_date(defs, project, progress=show)
    _tell_upkeep(upkeep.done, upkeep.left)


_DONE = {
    "selected_now": "histories selected",
    "runs_measured_now": "runs measured",
    "localised_now": "series localised",
    "pages_written_now": "pages written",
}


def _tell_upkeep(done: Any, left: Any) -> None:
    told = [f"{done.counts[name]} {what}" for name, what in _DONE.items() if done.counts.get(name)]
    terminal.say(", ".join(told) if told else "nothing was due")
    for failure in done.failures:
        terminal.fail(failure)
    if left.keys:
        terminal.fail(f"still due: {len(left.due)} runs, {len(left.pages)} pages; `perfreg status` says what and why")
    if done.failures or left.keys:
        sys.exit(1)


# ---- reading -------------------------------------------------------------------------------------
@command("verdicts", example="perfreg verdicts --app com.rig.notes --app-version 1.5.0 --format json")
@click.option("--app", help="Only this application id.")
@click.option("--app-version", help="Only this version name.")
@click.option("--omega", type=float, help="At this ω instead of the current one; nothing is stored.")
@click.option("--detector", type=click.Choice(detector_names()), help="Instead of the current one.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def verdicts(
    settings: Settings, app: str | None, app_version: str | None, omega: float | None, detector: str | None, form: str
) -> None:
    """Shows verdicts. Exit status: 0 something was judged and nothing is anomalous, 3 something is anomalous, 4 nothing
    could be judged, other: an error. How many runs are in which state is said on stderr."""
    rows = _verdict_rows(settings, app, app_version, omega, detector)
    if form == "json":
        click.echo(terminal.as_json(rows))
    elif form == "csv":
        click.echo(terminal.as_csv(rows, list(rows[0]) if rows else VERDICT_COLUMNS), nl=False)
    else:
        terminal.table(rows, VERDICT_COLUMNS)
    states = Counter(row["state"] for row in rows if row["series"] == "*")
    terminal.note(", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "no runs")
    if any(row["is_anomalous"] for row in rows):
        sys.exit(SOME_ANOMALOUS)
    if all(row["is_anomalous"] is None for row in rows):
        sys.exit(NOTHING_JUDGED)


def _verdict_rows(
    settings: Settings, app: str | None, app_version: str | None, omega: float | None, detector: str | None
) -> list[dict[str, Any]]:
    from perfreg_assets.warehouse import verdicts as table
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).reading() as reader:
        return table.listing(reader, app=app, version_name=app_version, omega=omega, detector=detector)


def _show_verdicts(settings: Settings) -> None:
    rows = [row for row in _verdict_rows(settings, None, None, None, None) if row["series"] == "*"]
    terminal.say()
    terminal.table(rows, ("run_id", "version_name", "state", "axes", "explanation"))


@command("sql", example='perfreg sql "SELECT run_id, series, state FROM marts.verdicts WHERE is_current"')
@click.argument("query")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def sql(settings: Settings, query: str, form: str) -> None:
    """Runs a query on the published warehouse, read-only; the tables people query are in schema marts."""
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.queries import run_query

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).reading() as reader:
        rows, columns = run_query(reader, query)
    if form == "json":
        click.echo(terminal.as_json(rows))
    elif form == "csv":
        click.echo(terminal.as_csv(rows, columns), nl=False)
    else:
        terminal.table(rows, columns)


@command("dictionary", example="perfreg dictionary > dictionary.md")
def dictionary(settings: Settings) -> None:
    """Prints the data dictionary of the marts as Markdown."""
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.dictionary import markdown

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).reading() as reader:
        click.echo(markdown(reader))


# ---- judging again -------------------------------------------------------------------------------
@command("reevaluate", example="perfreg reevaluate --omega 0.5")
@click.option("--omega", type=click.FloatRange(0, 100), help="IQRs above Q3.")
@click.option(
    "--level", type=click.FloatRange(0, 0.25, min_open=True), help="Or: nominal false-alarm level per run, 0.05 say."
)
@click.option("--detector", type=click.Choice(detector_names()), help="Instead of the current one.")
@click.option("--make-current", is_flag=True, help="From now on this ω and detector are the current ones (logged).")
@click.option("--note", help="Why; kept with the change.")
def reevaluate(
    settings: Settings,
    omega: float | None,
    level: float | None,
    detector: str | None,
    make_current: bool,
    note: str | None,
) -> None:
    """Gives the verdicts of the whole history at another ω: one SQL pass, nothing is measured again."""
    from perfreg_assets.methods.calibration import omega_of_level
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse import verdicts as table
    from perfreg_assets.warehouse.connection import Warehouse

    if (omega is None) == (level is None):
        raise ValueError("give either --omega or --level")
    chosen = omega if omega is not None else omega_of_level(float(level or 0))
    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).writing() as writer:
        current = settings_table.in_force(writer, settings)
        name = detector or current.detector
        begin = time.perf_counter()
        count = table.evaluate(writer, chosen, name)
        seconds = time.perf_counter() - begin
        flips = table.flips(writer, (current.detector, current.omega), (name, chosen))
        if make_current:
            table.make_current(writer, omega=chosen, detector=name, note=note)
    terminal.say(
        f"{count} verdicts at ω = {chosen:g} by {name} in {seconds:.3f} s; against ω = {current.omega:g} by "
        f"{current.detector}: {flips['appeared']} alarms more, {flips['vanished']} fewer"
    )
    if make_current:
        _bring_up_to_date(settings)


@main.group("settings")
def settings_group() -> None:
    """The current ω and detector, kept in the warehouse; and every parameter with its source."""


@command("list", example="perfreg settings list", group=settings_group)
def settings_list(settings: Settings) -> None:
    """Lists every parameter: value, unit, allowed range, source, variable; and what the warehouse has in force."""
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    rows = [{**row, "value": getattr(settings, row["name"])} for row in Settings.describe()]
    terminal.table(rows, ("name", "value", "unit", "allowed", "source", "variable"))
    if settings.published_warehouse.exists():
        with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).reading() as reader:
            current = settings_table.current(reader)
        terminal.say()
        terminal.table([{"in force": name, "value": value} for name, value in current.items()], ("in force", "value"))


@command("set", example='perfreg settings set omega 0.5 --note "fewer misses"', group=settings_group)
@click.argument("name", type=click.Choice(["omega", "detector", "localisation"]))
@click.argument("value")
@click.option("--note", help="Why; kept with the change.")
def settings_set(settings: Settings, name: str, value: str, note: str | None) -> None:
    """Changes a current setting; logged, and used by every run from now on. Old verdicts stay."""
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse import verdicts as verdict_table
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).writing() as writer:
        changed = settings_table.change(writer, name, value, note)
        verdict_table.evaluate_current(writer)  # so that every run has a current verdict
    terminal.say(f"{name} = {value}" if changed else f"{name} was {value} already")
    _bring_up_to_date(settings)


@command("review", example='perfreg review notes-026 --status rejected --note "battery was low"')
@click.argument("run_id")
@click.option("--status", type=click.Choice(["confirmed", "rejected", "accepted"]), required=True)
@click.option("--note")
@click.option("--reviewer", default=lambda: os.environ.get("USER"))
def review(settings: Settings, run_id: str, status: str, note: str | None, reviewer: str | None) -> None:
    """Says what a person found: confirmed (out of future histories), rejected (false alarm), accepted (new normal)."""
    from perfreg_assets.warehouse import reviews
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).writing() as writer:
        reviews.add(writer, run_id, status, note=note, reviewer=reviewer)
    terminal.say(f"{run_id}: {status}")
    _bring_up_to_date(settings)


# ---- health --------------------------------------------------------------------------------------
@command("status", example="perfreg status --format json")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def status(settings: Settings, form: str) -> None:
    """Shows what does not hold any more and why: run by run the earliest step that is due, and pages to be written.

    Under `perfreg ui` the next tick asks for just that; `perfreg ingest` of anything, or a changed setting, does too.
    """
    from perfreg_assets.assets.outstanding import STEPS, outstanding
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).reading() as reader:
        found = outstanding(reader, settings)
    rows = [
        {"run_id": one.run_id, "version": one.partition_key, "due": STEPS[one.stage][0], "why": one.why}
        for one in found.due
    ]
    known = {one.run_id for one in found.due}
    rows += [
        {"run_id": run_id, "version": key, "due": "reports", "why": "its page would come out different"}
        for run_id, key in found.pages.items()
        if run_id not in known
    ]
    columns = ("run_id", "version", "due", "why")
    if form == "json":
        click.echo(terminal.as_json(rows))
    elif form == "csv":
        click.echo(terminal.as_csv(rows, columns), nl=False)
    else:
        terminal.table(rows, columns)
    terminal.note(f"{len(found.due)} runs and {len(found.pages)} pages are due" if rows else "nothing is due")


@command("doctor", example="perfreg doctor")
def doctor(settings: Settings) -> None:
    """Checks this installation: the kernels against tslearn and stumpy, the trace engine, the warehouse."""
    from perfreg_assets.model.health import examine

    with terminal.progress("doctor") as show:
        rows = examine(settings, progress=show)
    terminal.table(rows, ("check", "state", "detail"))
    if any(row["state"] == "failed" for row in rows):
        sys.exit(1)


@command("exclude", example='perfreg exclude notes-017 --reason "the device was charging"')
@click.argument("run_id")
@click.option("--reason", required=True, help="Why; it stands beside the run from then on.")
def exclude(settings: Settings, run_id: str, reason: str) -> None:
    """Takes a run out of the histories of later ones; nothing is deleted."""
    _set_excluded(settings, run_id, reason)


@command("include", example="perfreg include notes-017")
@click.argument("run_id")
def include(settings: Settings, run_id: str) -> None:
    """Takes an exclusion back."""
    _set_excluded(settings, run_id, None)


def _set_excluded(settings: Settings, run_id: str, reason: str | None) -> None:
    from perfreg_assets.warehouse import runs
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).writing() as writer:
        if reason is None:
            runs.include(writer, run_id)
        else:
            runs.exclude(writer, run_id, reason)
    what = "in histories again" if reason is None else "in no history"
    terminal.say(f"{run_id}: {what}, from the next selection on")


# ---- quality -------------------------------------------------------------------------------------
@command(
    "evaluate",
    example="perfreg evaluate tests/data/evaluation/simulated_noise1.parquet --omega 0 0.5 1 1.5 --out result.json",
)
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--protocol", type=click.Choice(["thesis", "aa", "chronological"]), default="thesis", show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=30, show_default=True, help="Histories drawn per app.")
@click.option("--history", type=click.IntRange(2), default=12, show_default=True, help="Runs drawn as history.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--omega", "omegas", type=float, multiple=True, help="One or several: --omega 0 0.5 1 1.5.")
@click.option(
    "--level", "levels", type=float, multiple=True, help="Nominal false-alarm levels of the default detector."
)
@click.option("--detector", "detectors", type=click.Choice(detector_names()), multiple=True, help="Repeatable.")
@click.option("--localisation-repeats", type=click.IntRange(0), help="Repeats that are localised as well; 0: none.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The result as JSON.")
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), help="The reliability curve as PNG.")
@click.option("--keep", is_flag=True, help="Store the result in the warehouse as well.")
def evaluate(
    settings: Settings, dataset: Path, out: Path | None, picture: Path | None, keep: bool, **options: Any
) -> None:
    """Measures quality on a labelled data set: the thesis' protocol, its printed tables beside ours."""
    import json

    from perfreg_assets.evaluation import evaluate as evaluation
    from perfreg_assets.evaluation.reliability import plot_reliability
    from perfreg_assets.evaluation.show import print_tables
    from perfreg_assets.methods.jit import compilation_notice
    from perfreg_assets.warehouse import evaluations
    from perfreg_assets.warehouse.connection import Warehouse

    given = {name: value for name, value in options.items() if value not in (None, ())}
    given.setdefault("omegas", tuple(sorted({*evaluation.OMEGAS, settings.omega})))
    with terminal.progress("evaluate") as show, compilation_notice():
        result = evaluation.evaluate(
            dataset, settings=settings, progress=lambda done, total, what: show(f"{done}/{total} {what}"), **given
        )
    print_tables(result, sys.stdout)
    if out is not None:
        out.write_text(json.dumps(result, allow_nan=False, indent=1))
    if picture is not None:
        plot_reliability([result], picture)
    if keep:
        with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).writing() as writer:
            terminal.say(f"kept as {evaluations.add(writer, result)}")


# ---- servers -------------------------------------------------------------------------------------
@command("ui", example="perfreg ui --port 3000")
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
def ui(settings: Settings, port: int) -> None:
    """Dagster's web UI and daemon on 127.0.0.1: lineage, partitions, plots; the inbox is watched."""
    from perfreg_assets.automation.materialise import prepare_home

    home = prepare_home(settings)
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "PERFREG_WAREHOUSE": str(settings.warehouse.absolute()),
        "PERFREG_HOME": str(settings.home_dir),
        "PERFREG_INBOX": str(settings.inbox_dir),
        "PYTHONWARNINGS": "ignore",
    }
    terminal.say(f"http://127.0.0.1:{port}   inbox {settings.inbox_dir}   stop with Ctrl-C")
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    # Before the start: what is caught here is at its default in the child. A shell's background jobs ignore SIGINT,
    # and Dagster takes its handler of SIGTERM from that of SIGINT: it could not be stopped then.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "dagster", "dev", "--module-name", "perfreg_assets.definitions"),
            *("--host", "127.0.0.1", "--port", str(port)),
        ],
        env=environment,
        start_new_session=True,
    )
    while process.poll() is None:
        if stopping:
            process.terminate()
            process.wait()
        time.sleep(0.2)
    _end_group(process.pid)
    sys.exit(0 if stopping else 1)


def _end_group(group: int) -> None:
    """Webserver, daemon and code servers end with Dagster's own process; whoever has not after 10 s is killed."""
    for number, patience_s in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 2.0)):
        deadline = time.monotonic() + patience_s
        try:
            os.killpg(group, number)
            while time.monotonic() < deadline:
                time.sleep(0.1)
                os.killpg(group, 0)
        except ProcessLookupError:
            return


@command("serve", example="perfreg serve --port 9001")
@click.option("--port", type=click.IntRange(1, 65535), help="Default: the setting serve_port, 9001.")
def serve(settings: Settings, port: int | None) -> None:
    """Shows the report pages, with the traces and Perfetto's UI beside them, on 127.0.0.1."""
    from perfreg_assets.reports import serve as server
    from perfreg_assets.reports.site import build_site
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).reading() as reader:
        build_site(reader, settings.reports_dir, server=settings.reports_address)
    server.serve(settings, port, on_ready=lambda address: terminal.say(f"{address}   stop with Ctrl-C"))


@command("export", example="perfreg export otava/")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def export(settings: Settings, folder: Path) -> None:
    """Writes per-version figures as CSV, with a configuration for Apache Otava to look for change points in them."""
    from perfreg_assets.warehouse import otava
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).reading() as reader:
        for path in otava.export(reader, folder):
            terminal.say(str(path))


# ---- collecting ----------------------------------------------------------------------------------
@command("collect", example="perfreg collect --app com.rig.notes --apk notes-1.6.0.apk --time-limit 600")
@click.option("--app", help="Application id; with --apk it may be left out.")
@click.option(
    "--apk", "apks", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Repeatable."
)
@click.option("--app-version", help="The version that is expected; another one is refused.")
@click.option("--device", "serial", help="adb serial; default: the only attached device.")
@click.option(
    "--explorer",
    type=click.Choice(["monkey", "droidbot", "fastbot2", "command"]),
    default="monkey",
    show_default=True,
)
@click.option("--explorer-command", help="The explorer's program with its arguments, as one text; see README.")
@click.option("--strategy", help="Name of the strategy S; default: the explorer's name.")
@click.option("--time-limit", type=float, default=600.0, show_default=True, help="T, seconds.")
@click.option("--action-interval", type=float, default=2.0, show_default=True, help="I, seconds between actions.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Sessions per build.")
@click.option("--seed", "seeds", type=click.IntRange(0), multiple=True, help="Repeatable: one per repeat.")
@click.option(
    "--for",
    "axes",
    metavar="AXIS,…",
    help="Record, besides scheduler, memory and CPU frequency, all that the series of some axes are made of: "
    f"{', '.join(AXES)}. What changes the load by itself (syscalls, heap, atrace) only by --data-source.",
)
@click.option("--data-source", "sources", multiple=True, help="Repeatable; default: scheduler, memory, CPU frequency.")
@click.option("--max-bytes-per-minute", type=float, help="A trace that grows faster ends the session.")
@click.option("--keep-data", is_flag=True, help="Do not clear the app's data before the session.")
@click.option("--reconnect-timeout", type=float, help="Seconds that a device which went away is waited for.")
@click.option("--max-battery-celsius", type=float, help="Wait until the battery is cooler.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Any other field of the configuration.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Where run folders go; default: the inbox."
)
@click.option("--sweep", "sweep_only", is_flag=True, help="Only clean up what earlier collections left on devices.")
def collect(settings: Settings, sweep_only: bool, serial: str | None, **options: Any) -> None:
    """Explores an app on a device while Perfetto records; leaves run folders, and nothing on the device."""
    from perfreg_assets.collection.sweep import sweep

    if sweep_only:
        swept = sweep(settings, serial=serial)
        for text in swept.cleaned:
            terminal.say(f"cleaned    {text}")
        for text in (*swept.remaining, *swept.unlisted):
            terminal.say(f"remaining  {text}")
        sys.exit(1 if swept.remaining or swept.unlisted else 0)
    if not _collect(settings, serial, **options):
        sys.exit(1)


def _collect(
    settings: Settings, serial: str | None, app: str | None, apks: tuple[Path, ...], out: Path | None, **options: Any
) -> bool:
    """Whether every session left a run folder; each session is a row of the warehouse either way."""
    import dataclasses

    from perfreg_assets.collection.batch import collect_batch
    from perfreg_assets.collection.builds import read_build
    from perfreg_assets.warehouse import collections as table
    from perfreg_assets.warehouse.connection import Warehouse

    if app is None and not apks:
        raise ValueError("name the app with --app, or a build with --apk")
    config = _collection_config(app or read_build(apks[0]).app, serial, **options)
    with terminal.progress("collect") as show:
        batch = collect_batch(
            config,
            apks,
            settings=settings,
            runs_out=(out or settings.inbox_dir).absolute(),
            progress=lambda progress: show(str(progress)),
        )
    ends = [outcome.result or outcome.error for outcome in batch.outcomes]
    records = [end.record for end in ends if end is not None]
    with Warehouse(settings.warehouse, lock_timeout_s=settings.lock_timeout_s).writing() as writer:
        table.upsert(writer, [table.CollectionRow(**dataclasses.asdict(record)) for record in records])
    for outcome in batch.outcomes:
        if outcome.error is not None:
            terminal.fail(f"[{outcome.error.reason}] {outcome.error}")
        elif outcome.result is not None:
            result = outcome.result
            terminal.say(
                f"{result.run_folder}   {result.step_count} steps, {result.state_count} states, "
                f"{result.record.trace_bytes or 0:,} bytes, stopped by {result.stop_reason}"
                + (f"; still on the device: {', '.join(result.leftovers)}" if result.leftovers else "")
            )
    if batch.skipped:
        terminal.fail(f"{batch.skipped} sessions were not begun")
    return batch.is_complete


def _collection_config(app: str, serial: str | None, **options: Any) -> Any:
    import dataclasses
    import json
    import shlex

    from perfreg_assets.collection.config import CollectionConfig
    from perfreg_assets.collection.perfetto_config import choose_sources

    further: dict[str, Any] = {}
    for text in options["options"]:
        name, separator, value = text.partition("=")
        if not separator:
            raise ValueError(f"--option {text}: write NAME=VALUE")
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = value  # plain text needs no quotes
        further[name] = tuple(parsed) if isinstance(parsed, list) else parsed
    given = {
        "version_name": options["app_version"],
        "explorer": options["explorer"],
        "explorer_command": tuple(shlex.split(options["explorer_command"] or "")),
        "strategy": options["strategy"],
        "time_limit_s": options["time_limit"],
        "action_interval_s": options["action_interval"],
        "repeats": options["repeats"],
        "seeds": options["seeds"] or None,
        "data_sources": choose_sources(options["axes"], options["sources"]) or None,
        "max_battery_celsius": options["max_battery_celsius"],
        "max_bytes_per_minute": options["max_bytes_per_minute"],
        "reconnect_timeout_s": options["reconnect_timeout"],
        "clear_data": False if options["keep_data"] else None,
        **further,
    }
    unknown = sorted(set(further) - {spec.name for spec in dataclasses.fields(CollectionConfig)})
    if unknown:
        raise ValueError(f"--option {', '.join(unknown)}: not a field of the collection's configuration")
    return CollectionConfig(app=app, serial=serial, **{key: value for key, value in given.items() if value is not None})


if __name__ == "__main__":
    main()
