"""Commands that change what is judged and how: ω, settings, reviews, exclusions."""

from __future__ import annotations

import time
from typing import Any

import click

from perfreg_assets import terminal
from perfreg_assets.cli.given import ANY_TEXT
from perfreg_assets.cli.omega import OMEGA
from perfreg_assets.cli.person import whoever_asks
from perfreg_assets.cli.root import command, group
from perfreg_assets.cli.upkeep import bring_up_to_date, refresh_pages, tell_refused
from perfreg_assets.detection import detector_names
from perfreg_assets.how_many import how_many
from perfreg_assets.near_names import did_you_mean
from perfreg_assets.settings import Settings


@command("reevaluate", example="perfreg reevaluate --omega 0.5", computes=True)
@click.option("--omega", type=OMEGA, help="IQRs above Q3.")
@click.option(
    "--level", type=click.FloatRange(0, 0.25, min_open=True), help="Or: nominal false-alarm level per run, 0.05 say."
)
@click.option("--detector", type=click.Choice(detector_names()), help="Instead of the current one.")
@click.option("--make-current", is_flag=True, help="From now on this ω and detector are the current ones (logged).")
@click.option("--note", type=ANY_TEXT, help="Why; kept with the change.")
@click.option("--who", default=whoever_asks, help="Who; kept with the change. Default: the user who asks.")
def reevaluate(
    settings: Settings,
    omega: float | None,
    level: float | None,
    detector: str | None,
    make_current: bool,
    note: str | None,
    who: str | None,
) -> None:
    """Gives the verdicts of the whole history at another ω: one SQL pass, nothing is measured again."""
    from perfreg_assets.methods.calibration import omega_of_level
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse import verdicts as table
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_warehouse

    if (omega is None) == (level is None):
        raise ValueError("give either --omega or --level")
    chosen = omega if omega is not None else omega_of_level(float(level or 0))
    require_warehouse(settings)
    with Warehouse.of(settings).writing() as writer:
        current = settings_table.in_force(writer, settings)
        name = detector or current.detector
        begin = time.perf_counter()
        count = table.evaluate(writer, chosen, name)
        seconds = time.perf_counter() - begin
        flips = table.flips(writer, (current.detector, current.omega), (name, chosen))
        if make_current:
            table.make_current(writer, omega=chosen, detector=name, note=note, changed_by=who)
    terminal.say(
        f"{how_many(count, 'verdict')} at ω = {chosen:g} by {name} in {seconds:.3f} s; "
        f"against ω = {current.omega:g} by {current.detector}: "
        f"of runs {flips['appeared']} alarms more, {flips['vanished']} fewer; "
        f"of their series {flips['series_appeared']} more, {flips['series_vanished']} fewer"
    )
    if make_current:
        bring_up_to_date(settings)
    else:
        refresh_pages(settings)


@group("settings", example="perfreg settings list")
def settings_group() -> None:
    """The current ω and detector, kept in the warehouse; and every parameter with its source."""


@command("list", example="perfreg settings list --format json", group=settings_group)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def settings_list(settings: Settings, form: str) -> None:
    """Lists every parameter: the value that counts here, where it is from (default, warehouse, variable), unit, allowed
    range, source, variable; and of what the warehouse keeps its value, since when, by whom and why."""
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    kept, counting = {}, settings
    if settings.published_warehouse.exists():
        with Warehouse.of(settings).reading_caught_up() as reader:
            kept, counting = settings_table.changes_in_force(reader), settings_table.in_force(reader, settings)
    rows = []
    for row in Settings.describe():
        name = row["name"]
        is_tried = name in settings.given and name not in (settings_table.ALWAYS_KEPT & kept.keys())
        stored = kept.get(name, dict.fromkeys(("value", "changed_at", "changed_by", "note")))
        rows.append(
            {
                "name": name,
                "value": counting.shown(name),
                "from": "variable" if is_tried else "warehouse" if name in kept else "default",
                **{key: row[key] for key in ("default", "unit", "allowed", "source", "variable")},
                "in_warehouse": stored["value"],
                **{key: stored[key] for key in ("changed_at", "changed_by", "note")},
            }
        )
    if form != "table":
        terminal.show(rows, list(rows[0]), form)
        return
    terminal.table(rows, ("name", "value", "from", "unit", "allowed", "source", "variable"))
    if kept:
        terminal.say()
        terminal.table(
            [{"in force": name, **change} for name, change in kept.items()],
            ("in force", "value", "changed_at", "changed_by", "note"),
        )


class _KeptSetting(click.ParamType[str]):
    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        known = Settings.kept_names()
        name, is_pair, rest = str(value).partition("=")
        if value in known:
            return str(value)
        if is_pair and name.strip() in known:
            self.fail(f"name and value are two words: {name.strip()} {rest.strip()}", param, ctx)
        near = did_you_mean(name.strip().lower(), known)
        self.fail(
            f"{value!r} is no setting that a warehouse keeps{near}; `perfreg settings list` names them", param, ctx
        )


@command("set", example='perfreg settings set omega 0.5 --note "fewer misses"', group=settings_group, computes=True)
@click.argument("name", type=_KeptSetting(), metavar="NAME")
@click.argument("value", type=ANY_TEXT)
@click.option("--note", type=ANY_TEXT, help="Why; kept with the change.")
@click.option("--who", default=whoever_asks, help="Who; kept with the change. Default: the user who asks.")
def settings_set(settings: Settings, name: str, value: str, note: str | None, who: str | None) -> None:
    """Changes a setting that results depend on: logged, in force for everybody who uses this warehouse, and everything
    that depends on it is computed again. Verdicts at other ω stay. `perfreg settings list` names them all."""
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse import verdicts as verdict_table
    from perfreg_assets.warehouse.connection import Warehouse

    settings_table.meant(name, value)  # before a warehouse is made for it
    if not settings.warehouse.exists():
        terminal.note(f"{settings.warehouse} is a new warehouse")
    with Warehouse.of(settings).writing() as writer:
        changed = settings_table.change(writer, name, value, note, who)
        verdict_table.evaluate_current(writer)  # so that every run has a current verdict
    terminal.say(f"{name} = {value}" if changed else f"{name} was {value} already")
    bring_up_to_date(settings)


@command("review", example='perfreg review notes-026 --status rejected --note "battery was low"', computes=True)
@click.argument("run_id")
@click.option("--status", type=click.Choice(["confirmed", "rejected", "accepted"]))
@click.option("--withdraw", is_flag=True, help="Takes back what was said: it is as if nobody had reviewed it.")
@click.option("--note", type=ANY_TEXT, help="Why; kept with the review.")
@click.option("--reviewer", default=whoever_asks, help="Who says so; default: the user who asks.")
def review(
    settings: Settings, run_id: str, status: str | None, withdraw: bool, note: str | None, reviewer: str | None
) -> None:
    """Says what a person found: confirmed (out of future histories), rejected (false alarm), accepted (new normal); or
    withdraws what was said before. All that was said is kept.

    RUN_ID is a run's, or a benchmark_run_id.
    """
    from perfreg_assets.warehouse import benchmarks, reviews
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_warehouse

    if (status is None) is not withdraw:
        raise ValueError("give either --status or --withdraw")
    require_warehouse(settings)
    with Warehouse.of(settings).writing() as writer:
        is_benchmark = bool(benchmarks.known(writer, [run_id]))
        if status is None:
            take_back = benchmarks.withdraw if is_benchmark else reviews.withdraw
            take_back(writer, run_id, note=note, reviewer=reviewer)
        else:
            add = benchmarks.review if is_benchmark else reviews.add
            add(writer, run_id, status, note=note, reviewer=reviewer)
    terminal.say(f"{run_id}: {status or reviews.WITHDRAWN}")
    bring_up_to_date(settings)


@command("exclude", example='perfreg exclude notes-015 --reason "the device was charging"', computes=True)
@click.argument("run_id")
@click.option("--reason", required=True, help="Why; it stands beside the run from then on.")
def exclude(settings: Settings, run_id: str, reason: str) -> None:
    """Takes a run out of the histories of later ones; nothing is deleted."""
    _set_excluded(settings, run_id, reason)


@command("include", example="perfreg include notes-015", computes=True)
@click.argument("run_id")
def include(settings: Settings, run_id: str) -> None:
    """Takes an exclusion back."""
    _set_excluded(settings, run_id, None)


@command("dismiss", example="perfreg dismiss quarantined-1f11389e59eb951e", computes=True)
@click.argument("run_ids", nargs=-1, required=True, type=ANY_TEXT)
def dismiss(settings: Settings, run_ids: tuple[str, ...]) -> None:
    """Takes refused folders off the lists of what was not taken in. The folders stay as they are: given again, they are
    looked at again. No run that was taken in is deleted."""
    from perfreg_assets.warehouse import runs
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_warehouse

    require_warehouse(settings)
    with Warehouse.of(settings).writing() as writer:
        keys = runs.dismiss(writer, run_ids)
    terminal.say(f"{how_many(len(set(run_ids)), 'refused folder')} dismissed")
    if settings.dagster_home.is_dir():
        tell_refused(settings, keys)
    refresh_pages(settings)


def _set_excluded(settings: Settings, run_id: str, reason: str | None) -> None:
    from perfreg_assets.warehouse import runs
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_warehouse

    require_warehouse(settings)
    with Warehouse.of(settings).writing() as writer:
        if reason is not None:
            runs.exclude(writer, run_id, reason)
            told = "in no history"
        else:
            told = "in histories again" if runs.include(writer, run_id) else "was not excluded; nothing is changed"
    terminal.say(f"{run_id}: {told}")
    bring_up_to_date(settings)
