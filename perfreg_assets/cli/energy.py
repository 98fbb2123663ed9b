"""`perfreg energy`: what a run cost, who spent it, and is it more than before; `perfreg profiles`: power profiles."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command, main
from perfreg_assets.cli.upkeep import bring_up_to_date
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.methods.power_profile import PowerProfile
    from perfreg_assets.model.energies import Report
    from perfreg_assets.warehouse.connection import Reader

_COLUMNS = ("component", "scope", "mAh", "mJ", "share", "change", "source")
_CSV = ("run_id", "component", "scope", "charge_mah", "energy_mj", "share", "change_ratio", "source")
_PROFILE_COLUMNS = ("device", "name", "origin", "dialect", "cores", "capacity_mah", "runs", "profile_id")
_SHOWN = 5


@command("energy", example="perfreg energy p7-001 --format json")
@click.argument("run_id", metavar="RUN")
@click.option(
    "--profile",
    "profile_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Another power_profile.xml or measured curve than the run's own; nothing is stored.",
)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def energy(settings: Settings, run_id: str, profile_path: Path | None, form: str) -> None:
    """Shows what a run cost: charge by component, for the app, for others and for wake-ups; with the share of all that
    the cores took and the change to the run's history; and the threads and screens that took most.

    An estimate by the device's power profile, unless the source is `rail`: what the device measured itself."""
    from perfreg_assets.model.energies import report
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse.of(settings).reading_caught_up() as reader:
        _require_run(reader, run_id)
        volts = settings_table.in_force(reader, settings).nominal_voltage_v
        other = _read(profile_path, volts) if profile_path else None
        found = report(reader, run_id, other)
    rows = [
        {
            "run_id": run_id,
            **{name: getattr(one, name) for name in ("component", "scope", "charge_mah", "energy_mj", "share")},
            "change_ratio": one.change_ratio,
            "source": one.source,
        }
        for one in found.costs
    ]
    if form == "json":
        terminal.show_object(_as_object(run_id, rows, found, other))
    elif form == "csv":
        terminal.show(rows, _CSV, form)
    else:
        _tables(rows, found)
    if other is None and found.state.reason:
        terminal.note(f"{run_id}: no estimate: {found.state.reason}")
    elif other is None:
        terminal.note(_told_by(found))


def _require_run(reader: Reader, run_id: str) -> None:
    if not reader.value("SELECT count(*) FROM core.runs WHERE run_id = ?", [run_id]):
        known = [name for (name,) in reader.rows("SELECT run_id FROM core.runs ORDER BY run_id")]
        near = get_close_matches(run_id, known, 3)
        raise Rejected(Reason.RUN_UNKNOWN, f"run {run_id!r}" + (f", did you mean {' or '.join(near)}?" if near else ""))


def _read(path: Path, volts: float) -> PowerProfile:
    from perfreg_assets.traces.power_profile import read_profile

    return read_profile(path, nominal_voltage_v=volts)[0]


def _as_object(run_id: str, rows: list[dict[str, Any]], found: Report, other: PowerProfile | None) -> dict[str, Any]:
    state = found.state
    return {
        "run_id": run_id,
        "components": [{name: value for name, value in row.items() if name != "run_id"} for row in rows],
        "series": found.series,
        "profile": {
            "profile_id": other.profile_id if other else state.profile_id,
            "name": None if other else state.profile_name,
            "origin": "given" if other else state.profile_origin,
            "is_foreign": None if other else state.is_foreign_profile,
            "fit_ratio": None if other else state.fit_ratio,
        },
        "reason_code": None if other else state.reason_code,
        "reason": None if other else state.reason,
        "run": found.whole,
        "threads": list(found.threads),
        "screens": list(found.screens),
        "accuracy": found.accuracy,
        "calibrated_mj": found.calibrated_mj,
    }


def _tables(rows: list[dict[str, Any]], found: Report) -> None:
    if rows:
        terminal.table([_told(row) for row in rows], _COLUMNS)
    for title, entries, amount in (
        ("threads that took most", found.threads, "charge_mah"),
        ("screens that took most", found.screens, "total_mah"),
    ):
        if entries:
            terminal.say()
            shown = [{**one, "mAh": one[amount], "app mAh": one.get("app_mah")} for one in entries[:_SHOWN]]
            is_thread = "thread" in entries[0]
            columns = ("process", "thread", "mAh") if is_thread else ("screen", "duration_s", "mAh", "app mAh")
            terminal.table(shown, columns, title=title)


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A row for people."""
    return {
        **row,
        "mAh": row["charge_mah"],
        "mJ": row["energy_mj"],
        "share": None if row["share"] is None else f"{row['share']:.1%}",
        "change": None if row["change_ratio"] is None else f"{row['change_ratio']:+.1%}",
    }


def _told_by(found: Report) -> str:
    """One line: by what it was estimated and how good that is."""
    state, parts = found.state, []
    parts.append(f"estimated by {state.profile_name} ({state.profile_origin})")
    if state.is_foreign_profile:
        parts.append("of another device, no more than a guess")
    if not state.has_idle_states:
        parts.append("without idle states, so what cores took awake without a thread is missing")
    if found.accuracy:
        parts.append(
            f"{found.accuracy['energy_ratio']:.2f} of what the rails of the cores measured, "
            f"r = {found.accuracy['correlation'] or 0:.3f}, MAPE {found.accuracy['mape_ratio'] or 0:.2f}"
        )
    if found.calibrated_mj is not None and found.estimated_mj:
        parts.append(f"calibrated {found.calibrated_mj:,.0f} mJ in place of {found.estimated_mj:,.0f}")
    elif not found.accuracy:
        parts.append("not calibrated: good for comparing, 20 to 45 % low where devices measured")
    return "; ".join(parts)


@command("energy-calibrate", example="perfreg energy-calibrate --device cheetah")
@click.option("--device", required=True, help="Code name of the device, as its build says it.")
def energy_calibrate(settings: Settings, device: str) -> None:
    """Fits scale and floor of a device's estimates to what its rails measured in its runs; half of the seconds judge
    what the other half gave. `perfreg energy` then says what a run cost by it; stored charges and verdicts stay."""
    from perfreg_assets.model.calibrating import calibrations
    from perfreg_assets.warehouse import power_calibrations
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse.of(settings).writing() as writer:
        rows = calibrations(writer, device)
        power_calibrations.store(writer, rows)
    names = ("device_name", "scale_ratio", "floor_mw", "run_count", "interval_count", "energy_ratio", "mape_ratio")
    terminal.table([vars(row) for row in rows], names)


@main.group()
def profiles() -> None:
    """Power profiles: what the cores of a device draw at each frequency."""


@command("list", group=profiles, example="perfreg profiles list")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def list_profiles(settings: Settings, form: str) -> None:
    """Shows the profiles that runs can be estimated by: those added, those that runs brought along, and those of the
    installation."""
    from perfreg_assets.model.profile_shelf import known_profiles
    from perfreg_assets.warehouse.connection import Warehouse

    warehouse = Warehouse.of(settings)
    if warehouse.published.exists():
        with warehouse.reading_caught_up() as reader:
            found = known_profiles(reader, settings)
    else:
        found = known_profiles(None, settings)
    rows = [
        {
            "device": one.device,
            "name": one.name,
            "origin": one.origin,
            "dialect": one.profile.dialect,
            "cores": one.profile.core_count,
            "capacity_mah": one.profile.capacity_mah,
            "runs": one.run_count,
            "profile_id": one.profile.profile_id if form != "table" else one.profile.profile_id[:12],
        }
        for one in found
    ]
    terminal.show(rows, _PROFILE_COLUMNS, form)
    for one in found:
        if one.same_as:
            terminal.note(f"{one.name}: its values are those of {one.same_as}, another chip's perhaps")


@command("check", group=profiles, example="perfreg profiles check power_profile.xml")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
def check_profile(settings: Settings, path: Path) -> None:
    """Says whether a power_profile.xml or a measured curve (freqbench's CSV) can be used, and what is in it."""
    profile = _read(path, settings.nominal_voltage_v)
    rows = [
        {
            "cluster": number,
            "first_core": profile.first_cores[number] if profile.first_cores else None,
            "frequencies": len(one.charge_ma),
            "MHz": None if one.khz is None else f"{one.khz[0] / 1e3:.0f}–{one.khz[-1] / 1e3:.0f}",
            "mA": f"{one.charge_ma[0]:g}–{one.charge_ma[-1]:g}",
            "cluster_ma": one.cluster_ma,
        }
        for number, one in enumerate(profile.clusters)
    ]
    terminal.table(rows, tuple(rows[0]))
    terminal.note(f"{path.name}: dialect {profile.dialect}, usable; {profile.profile_id[:12]}")
    _warn_of_copies(settings, profile, path.name)


@command("add", group=profiles, example="perfreg profiles add power_profile.xml --device cheetah")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--device", required=True, help="Code name of the device, as its build says it (cheetah, bluejay).")
def add_profile(settings: Settings, path: Path, device: str) -> None:
    """Makes a profile the one of a device. Traces of its runs that were estimated by another one, or by none, are read
    again; runs that came with a profile of their own keep it."""
    from perfreg_assets.traces.power_profile import read_profile
    from perfreg_assets.warehouse import power_profiles, settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse.of(settings).writing() as writer:
        volts = settings_table.in_force(writer, settings).nominal_voltage_v
        profile, content = read_profile(path, nominal_voltage_v=volts)
        described = power_profiles.described(
            profile, name=path.name, device=device, origin=power_profiles.ADDED, content=content
        )
        outdated = power_profiles.add(writer, described)
    terminal.say(f"{path.name} is the profile of {device} from now on; {len(outdated)} runs are read again")
    _warn_of_copies(settings, profile, path.name)
    bring_up_to_date(settings)


def _warn_of_copies(settings: Settings, profile: PowerProfile, name: str) -> None:
    from perfreg_assets.methods.power_profile import same_values
    from perfreg_assets.model.profile_shelf import known_profiles

    for one in known_profiles(None, settings):
        if same_values(profile, one.profile):
            terminal.note(f"{name}: its values are those of {one.name}, another chip's perhaps")
            return
