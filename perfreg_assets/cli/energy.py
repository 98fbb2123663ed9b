"""`perfreg energy`: what a run cost, who spent it, and is it more than before; `perfreg profiles`: power profiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.cli.root import command, group
from perfreg_assets.cli.upkeep import bring_up_to_date
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.methods.power_profile import PowerProfile
    from perfreg_assets.model.energies import Fit, Report
    from perfreg_assets.warehouse.method_logs import MethodLogChargeRow, MethodLogRow
    from perfreg_assets.warehouse.power_profiles import StoredProfile

_COLUMNS = ("component", "scope", "mAh", "mJ", "share", "change", "source")
_CSV = ("run_id", "component", "scope", "charge_mah", "energy_mj", "share", "change_ratio", "source")
_PROFILE_COLUMNS = ("device", "name", "origin", "dialect", "cores", "capacity_mah", "runs", "profile_id")
_PART_COLUMNS = {
    "charge_mah": ("process", "thread", "mAh"),
    "total_mah": ("screen", "duration_s", "mAh", "app mAh"),
    "method_self_mah": ("thread", "method", "call_count", "mAh", "with calls"),
}
_CALIBRATION_COLUMNS = (
    "device_name",
    "profile_id",
    "scale_ratio",
    "floor_mw",
    "run_count",
    "interval_count",
    "energy_ratio",
    "mape_ratio",
)
_LOG_KEYS = (
    "method_log_id",
    "app",
    "version_name",
    "log_name",
    "device_name",
    "profile_id",
    "test_count",
    "thread_count",
)
_METHOD_COLUMNS = ("test", "thread", "method", "call_count", "method_self_mah", "method_mah")
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
    from perfreg_assets.model.profile_shelf import doubt_of
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_run

    with Warehouse.of(settings).reading_caught_up() as reader:
        require_run(reader, run_id)
        in_force = settings_table.in_force(reader, settings)
        other = _read(profile_path, in_force.nominal_voltage_v) if profile_path else None
        found = report(reader, run_id, other)
        doubt = doubt_of(reader, in_force, other, found.state.device_name) if other else found.state.profile_doubt
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
        terminal.show_object(_as_object(run_id, rows, found, other, doubt))
    elif form == "csv":
        terminal.show(rows, _CSV, form)
    else:
        _tables(rows, found)
    if _has_no_estimate(found, other):
        terminal.note(f"{run_id}: no estimate: {found.state.reason}")
        if any(one.source == "time_in_state" for one in found.costs):
            terminal.note(f"{run_id}: cpu_core is an upper bound: all cores at their frequencies, busy or not")
    else:
        terminal.note(_told_by(found, profile_path.name if profile_path else None, doubt))
    for one in found.partly_measured:
        terminal.note(
            f"{run_id}: {one.component} has no figure for the whole run: its counter is known in {one.known_count} of "
            f"{one.interval_count} intervals, with {one.mean_mw:,.0f} mW on average"
        )


def _read(path: Path, volts: float) -> PowerProfile:
    from perfreg_assets.traces.power_profile import read_profile

    return read_profile(path, nominal_voltage_v=volts)[0]


def _has_no_estimate(found: Report, other: PowerProfile | None) -> bool:
    """Whether the state's reason holds: another profile may do where the run's did not, unless there is nothing to put
    it on."""
    return found.state.reason is not None and (other is None or found.fit is None)


def _as_object(
    run_id: str, rows: list[dict[str, Any]], found: Report, other: PowerProfile | None, doubt: str | None
) -> dict[str, Any]:
    state, fit = found.state, found.fit
    has_none = _has_no_estimate(found, other)
    return {
        "run_id": run_id,
        "components": [{name: value for name, value in row.items() if name != "run_id"} for row in rows],
        "series": found.series,
        "partly_measured": [vars(one) for one in found.partly_measured],
        "profile": {
            "profile_id": other.profile_id if other else state.profile_id,
            "name": None if other else state.profile_name,
            "origin": "given" if other else state.profile_origin,
            "is_foreign": (fit.is_foreign if fit else None) if other else state.is_foreign_profile,
            "fit_ratio": (fit.fit_ratio if fit else None) if other else state.fit_ratio,
            "outside_ratio": (fit.outside_ratio if fit else None) if other else state.outside_ratio,
            "doubt": doubt,
        },
        "late_ratio": state.late_ratio,
        "reason_code": state.reason_code if has_none else None,
        "reason": state.reason if has_none else None,
        "run": found.whole,
        "threads": list(found.threads),
        "screens": list(found.screens),
        "methods": list(found.methods),
        "accuracy": found.accuracy,
        "calibrated_mj": found.calibrated_mj,
    }


def _tables(rows: list[dict[str, Any]], found: Report) -> None:
    if rows:
        terminal.table([_told(row) for row in rows], _COLUMNS)
    for title, entries, amount in (
        ("threads that took most", found.threads, "charge_mah"),
        ("screens that took most", found.screens, "total_mah"),
        ("methods that took most by themselves", found.methods, "method_self_mah"),
    ):
        if entries:
            terminal.say()
            shown = [
                {**one, "mAh": one[amount], "app mAh": one.get("app_mah"), "with calls": one.get("method_mah")}
                for one in entries[:_SHOWN]
            ]
            terminal.table(shown, _PART_COLUMNS[amount], title=title)


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A row for people."""
    return {
        **row,
        "mAh": row["charge_mah"],
        "mJ": row["energy_mj"],
        "share": None if row["share"] is None else f"{row['share']:.1%}",
        "change": None if row["change_ratio"] is None else f"{row['change_ratio']:+.1%}",
    }


def _fit_told(fit: Fit | None, of_samples: float | None) -> list[str]:
    """How far the profile fits, and of what that is the share: a trace's samples are not the busy time."""
    if fit is not None:
        return [f"the cores were at frequencies of its tables in {100 * fit.fit_ratio:.0f} % of their busy time"]
    if of_samples is None:
        return []
    return [f"its tables have {100 * of_samples:.0f} % of the samples of the cores' frequencies"]


def _told_by(found: Report, given: str | None, doubt: str | None) -> str:
    """One line: by what it was estimated, the profile of the given file or the run's own, and how good that is.

    Args:
        doubt: why the profile may be of another chip.
    """
    from perfreg_assets.methods.power_doubts import power_doubts

    state, fit = found.state, found.fit
    parts = [f"estimated by {given or state.profile_name} ({'given' if given else state.profile_origin})"]
    if fit.is_foreign if fit else state.is_foreign_profile:
        parts.append("of another device, no more than a guess")
        parts += _fit_told(fit, state.fit_ratio)
    elif doubt:
        parts.append(f"perhaps another chip's: {doubt}")
    parts += power_doubts(state.late_ratio, fit.outside_ratio if fit else state.outside_ratio)
    if not state.has_idle_states:
        parts.append("without idle states, so what cores took awake without a thread is missing")
    if found.accuracy:
        told = found.accuracy
        parts.append(f"{told['energy_ratio']:.2f} of what the rails of the cores measured")
        parts += [f"r = {told['correlation']:.3f}"] if told["correlation"] is not None else []
        parts += (
            [f"MAPE {told['mape_ratio']:.2f}"]
            if told["mape_ratio"] is not None
            else ["the rails did not vary, so neither r nor MAPE is known"]
        )
    if found.calibrated_mj is not None:
        parts.append(f"calibrated {found.calibrated_mj:,.0f} mJ in place of {found.estimated_mj:,.0f}")
    elif not found.accuracy:
        parts.append("not calibrated: good for comparing, 22 to 42 % low where devices measured")
    return "; ".join(parts)


@command("energy-calibrate", example="perfreg energy-calibrate --device cheetah")
@click.option("--device", required=True, help="Code name of the device, as its build says it.")
def energy_calibrate(settings: Settings, device: str) -> None:
    """Fits scale and floor of a device's estimates to what its rails measured in its runs; half of the seconds judge
    what the other half gave. `perfreg energy` then says what a run cost by it; stored charges and verdicts stay."""
    from perfreg_assets.model.calibrating import calibrations
    from perfreg_assets.warehouse import power_calibrations
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_warehouse

    require_warehouse(settings)
    with Warehouse.of(settings).writing() as writer:
        found = calibrations(writer, device)
        power_calibrations.store(writer, found.rows)
    terminal.table([{**vars(row), "profile_id": row.profile_id[:12]} for row in found.rows], _CALIBRATION_COLUMNS)
    for one in found.not_fitted:
        terminal.note(f"{device}: not calibrated by profile {one.profile_id[:12]}: {one.reason}")


@command("energy-import", example="perfreg energy-import logs.json --app com.rig.shop --app-version 1.5 --device flame")
@click.argument("path", metavar="LOGS.json", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--app", required=True, help="Application id.")
@click.option("--app-version", required=True, help="The version that was tested.")
@click.option("--device", help="Code name of the device, whose power profile is known.")
@click.option(
    "--profile", "profile_path", type=click.Path(dir_okay=False, path_type=Path), help="Its power_profile.xml instead."
)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def energy_import(
    settings: Settings, path: Path, app: str, app_version: str, device: str | None, profile_path: Path | None, form: str
) -> None:
    """Takes in a log of methods' entries and exits with the cores' times in state, and shows what each method took at
    most: all cores at the frequencies that they had, busy or not. Good for comparing versions, no estimate."""
    from perfreg_assets.collection.config import check_app_id
    from perfreg_assets.model import offered_profiles
    from perfreg_assets.model.method_logs import estimated
    from perfreg_assets.model.profile_shelf import of_device
    from perfreg_assets.traces.power_profile import read_profile
    from perfreg_assets.warehouse import method_logs, power_profiles, settings_table
    from perfreg_assets.warehouse.connection import Reader, Warehouse
    from perfreg_assets.warehouse.named import is_new

    if device is None and profile_path is None:
        raise ValueError("name the device with --device, or its power profile with --profile")
    check_app_id(app)

    def taken_in(reader: Reader | None) -> tuple[MethodLogRow, list[MethodLogChargeRow], StoredProfile]:
        used = settings if reader is None else settings_table.in_force(reader, settings)
        volts = used.nominal_voltage_v
        if profile_path is not None:
            profile, content = read_profile(profile_path, nominal_voltage_v=volts)
            name, origin = profile_path.name, power_profiles.RUN_FOLDER
        else:
            profile, content, name, origin = of_device(reader, used, device or "")
        row, charges = estimated(
            path, profile, app=app, version_name=app_version, device=device, nominal_voltage_v=volts
        )
        return row, charges, power_profiles.described(profile, name=name, device=device, origin=origin, content=content)

    found = taken_in(None) if is_new(settings) else None  # what is refused makes no warehouse
    with Warehouse.of(settings).writing() as writer:
        row, charges, profile = found or taken_in(writer)
        outdated = offered_profiles.keep(writer, settings_table.in_force(writer, settings), profile)
        method_logs.store(writer, row, charges)
    rows = [{**vars(one), "is_upper_bound": True} for one in charges]
    if form == "json":
        log = {name: getattr(row, name) for name in _LOG_KEYS}
        terminal.show_object({**log, "refused": [vars(one) for one in row.refused], "methods": rows})
    else:
        terminal.show(rows, _METHOD_COLUMNS, form)
    for one in row.refused:
        terminal.note(f"left out: {one.reason}")
    terminal.note(f"{path.name} is kept as {row.method_log_id}; upper bounds: all cores are paid for, busy or not")
    if outdated:  # a setting names the profile that came with it
        terminal.note(_read_again(outdated))


@group("profiles", example="perfreg profiles list")
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


@command("add", group=profiles, example="perfreg profiles add power_profile.xml --device cheetah", computes=True)
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--device", required=True, help="Code name of the device, as its build says it (cheetah, bluejay).")
def add_profile(settings: Settings, path: Path, device: str) -> None:
    """Makes a profile the one of a device. Traces of its runs are read again, and of those of its chip; runs that came
    with what was taken from their device keep that."""
    from perfreg_assets.model import offered_profiles
    from perfreg_assets.traces.power_profile import parse_profile, read_profile
    from perfreg_assets.warehouse import power_profiles, settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    _, content = read_profile(path, nominal_voltage_v=settings.nominal_voltage_v)  # before a warehouse is made for it
    with Warehouse.of(settings).writing() as writer:
        in_force = settings_table.in_force(writer, settings)
        profile = parse_profile(content, path.name, nominal_voltage_v=in_force.nominal_voltage_v)
        described = power_profiles.described(
            profile, name=path.name, device=device, origin=power_profiles.ADDED, content=content
        )
        before = power_profiles.find_added(writer, described.row.profile_id)
        outdated = offered_profiles.add(writer, in_force, described)
    terminal.say(f"{path.name} is the profile of {device} from now on; {_read_again(outdated)}")
    if before is not None and before.device_name != device:
        terminal.note(f"{path.name}: it is the profile of {before.device_name} no longer; a file is of one device")
    _warn_of_copies(settings, profile, path.name)
    bring_up_to_date(settings)


@command("remove", group=profiles, example="perfreg profiles remove cheetah", computes=True)
@click.argument("name", metavar="PROFILE")
def remove_profile(settings: Settings, name: str) -> None:
    """Takes back a profile that was added, by its device, file or id. What was added for the device before holds again,
    else what the installation brings; traces of the device's runs, and of those of its chip, are read again."""
    from perfreg_assets.model import offered_profiles
    from perfreg_assets.model.profile_shelf import offered_for
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.traces.profile_choice import BUNDLED
    from perfreg_assets.warehouse import power_profiles, settings_table
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_warehouse

    require_warehouse(settings)
    with Warehouse.of(settings).writing() as writer:
        row = power_profiles.find_added(writer, name)
        if row is None:
            raise Rejected(Reason.PROFILE_UNKNOWN, f"none was added as {name}")
        in_force = settings_table.in_force(writer, settings)
        outdated = offered_profiles.remove(writer, in_force, row)
        device = row.device_name or ""
        now = offered_for(writer, in_force, device)
    whose = "the installation's " if now is not None and now.origin == BUNDLED else ""
    told = "none is known of it now" if now is None else f"{whose}{now.name} holds from now on"
    terminal.say(f"{row.profile_name} is no longer the profile of {device}; {told}; {_read_again(outdated)}")
    bring_up_to_date(settings)


def _read_again(run_ids: Sequence[str]) -> str:
    return "1 run is read again" if len(run_ids) == 1 else f"{len(run_ids)} runs are read again"


def _warn_of_copies(settings: Settings, profile: PowerProfile, name: str) -> None:
    from perfreg_assets.methods.power_profile import same_values
    from perfreg_assets.model.profile_shelf import known_profiles

    for one in known_profiles(None, settings):
        if same_values(profile, one.profile):
            terminal.note(f"{name}: its values are those of {one.name}, another chip's perhaps")
            return
