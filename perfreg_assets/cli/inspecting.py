"""`perfreg inspect`: what is in a trace, and what could be judged."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.catalogue import DATA_SOURCES, SERIES, SeriesDefinition
from perfreg_assets.cli.answer import FINER_GRID
from perfreg_assets.cli.root import command
from perfreg_assets.readable import readable_quantity
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.traces.grid import Series
    from perfreg_assets.traces.overview import Overview

_PROCESSES_SHOWN = 8


@command("inspect", example="perfreg inspect trace.perfetto-trace.gz --app com.rig.shop", begins_anew=True)
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--app", help="Application id; default: the process that may be an app and ran most.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def inspect(settings: Settings, trace: Path, app: str | None, form: str) -> None:
    """Says what is in a trace: device, length, processes that may be the app; which series it could be judged by, and
    for the others which data source to record. Needs no warehouse, goes by settings and power profiles of one that is
    there, and stores nothing. Exit status: 0 it was read, 1 it could not be, or holds no process of --app (what it
    holds is shown all the same)."""
    from perfreg_assets.collection.bare_traces import require_trace
    from perfreg_assets.model.profile_shelf import of_warehouse
    from perfreg_assets.traces.overview import look_over

    require_trace(trace)
    settings, shelf = of_warehouse(settings)
    with terminal.progress("inspect") as show:
        show(f"reading {trace.name}")
        profiles = shelf.for_trace(trace, settings)
        found = look_over(trace, settings, app, with_series=True, profiles=profiles)
    told = told_of(found, settings)
    if form == "json":
        terminal.show_object(told)
    else:
        _show(told, trace, settings.interval_s)
    if app is not None and not told["is_app_there"]:
        raise _not_there(found, app)


def _not_there(found: Overview, app: str) -> Rejected:
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.traces.app_candidates import offered

    none = f"none of its {found.process_count} processes has that name{offered(found.processes, app)}"
    return Rejected(Reason.PACKAGE_MISSING, f"{app} is not in {found.path.name}, {none}")


def told_of(found: Overview, settings: Settings) -> dict[str, Any]:
    """What is said of a trace, as JSON has it."""
    health, lack = found.health, _lack(found)
    return {
        "trace": found.path.name,
        "trace_bytes": found.facts.file_bytes,
        "trace_sha256": found.facts.sha256,
        "device": found.device.description,
        "android_release": found.device.release,
        "android_sdk": found.device.sdk,
        "started_at": found.started_at,
        "start_ns": found.recorded_ns[0],
        "end_ns": found.recorded_ns[1],
        "duration_s": found.duration_s,
        "app": found.app,
        "is_app_there": bool(health and health.app_processes),
        "is_complete": bool(health and health.is_complete),
        "reason_code": lack.code if health and lack else None,
        "reason": f"{health.detail}: {lack.sentence}" if health and lack else None,
        "data_sources": list(health.data_sources) if health else [],
        "load_sources": list(health.load_sources or ()) if health else [],
        "process_count": found.process_count,
        "candidates": [
            {"process": one.name, "cpu_s": one.cpu_s, "process_count": one.process_count} for one in found.candidates
        ],
        "series": _all_series(found.series, settings, _unlooked(found)),
    }


def _lack(found: Overview) -> Reason | None:
    """Why the trace is not whole; None where it is, or where it lacks no more than an app to look for."""
    from perfreg_assets.reasons import Reason

    reason = found.health.reason if found.health else None
    return None if found.app is None and reason is Reason.PACKAGE_MISSING else reason


def _unlooked(found: Overview) -> str | None:
    """Why the trace was not asked for series, which are an app's; None where it was."""
    if found.app is None:
        return "there is no app to look for"
    is_there = found.health is not None and found.health.app_processes
    return None if is_there else "the app is not in the trace"


def _all_series(series: tuple[Series, ...], settings: Settings, unlooked: str | None) -> list[dict[str, Any]]:
    told = [_series(one, series, settings) for one in SERIES if one.kind != "scalar"]
    if unlooked is not None:  # which of them it could give, and what to record for the others, is not known
        return [row | {"reason": unlooked, "record": []} for row in told]
    there = {source for one in SERIES for row in told if row["series"] == one.name and row["is_recorded"]
             for source in one.sources}  # fmt: skip
    for row in told:
        if row["axis"] == "energy" and there.issuperset(row["record"]):
            row["record"] = []  # what it lacks is a power profile, which `reason` says
    return told


def _series(one: SeriesDefinition, series: tuple[Series, ...], settings: Settings) -> dict[str, Any]:
    """A series of the catalogue; those that are numbered or named count as one, which is there when any of them is."""
    own = [found for found in series if re.fullmatch(one.pattern, found.name)]
    recorded = [found for found in own if found.values is not None]
    means = [float(found.values.mean()) for found in recorded if found.values is not None and found.values.size]
    reasons = [found.missing_reason for found in own if found.values is None]
    return {
        "series": one.name,
        "axis": one.axis,
        "unit": one.unit,
        "is_recorded": bool(recorded),
        "is_judged": one.name in settings.judged_series or (one.is_judged_where_recorded and bool(recorded)),
        "series_count": len(recorded),
        "sample_count": max((found.values.size for found in recorded if found.values is not None), default=0),
        "mean": sum(means) / len(means) if means else None,
        "reason": None if recorded else next(iter(reasons), "the trace has none"),
        "record": [] if recorded else list(one.sources),
        "changes_load": "; ".join(
            DATA_SOURCES[name].changes_load for name in one.sources if DATA_SOURCES[name].changes_load
        ) or None,
    }  # fmt: skip


def _show(told: dict[str, Any], trace: Path, interval_s: float) -> None:
    from perfreg_assets.model.comparisons import too_short

    def short(one: dict[str, Any]) -> str | None:
        return too_short(one["sample_count"], interval_s)

    absent = "none was found" if told["app"] is None else f"{told['app']} is not in the trace"
    rows = [
        ("trace", f"{told['trace']}, {told['trace_bytes']:,} bytes"),
        ("device", told["device"] or "not told: name it with --device when importing"),
        ("started", str(told["started_at"] or "not told")),
        ("duration", f"{told['duration_s']:.1f} s"),
        ("app", told["app"] if told["is_app_there"] else absent),
        ("whole", "yes" if told["is_complete"] else f"no: {told['reason'] or 'no app to look for'}"),
    ]
    terminal.table([{"": name, "what": what} for name, what in rows], ("", "what"))
    terminal.say()
    shown = told["candidates"][:_PROCESSES_SHOWN]
    if shown:
        terminal.table(
            [{"may be the app": one["process"], "CPU s": one["cpu_s"], "processes": one["process_count"]}
             for one in shown],
            ("may be the app", "CPU s", "processes"),
        )  # fmt: skip
        terminal.say()
    there = [one for one in told["series"] if one["is_recorded"]]
    if there:
        terminal.table(
            [
                {
                    "could be judged": one["series"], "axis": one["axis"],
                    "mean": "–" if one["mean"] is None else readable_quantity(one["mean"], one["unit"]),
                    "by default": "too short" if short(one) else "yes" if one["is_judged"] else "on demand",
                }
                for one in there
            ],
            ("could be judged", "axis", "mean", "by default"),
        )  # fmt: skip
        terminal.say()
        if (why := next(filter(None, map(short, there)), None)) is not None:
            terminal.note(f"too short to be judged: {why} {FINER_GRID}")
    if not told["is_app_there"]:
        if told["app"] is None and told["reason"] is None:
            terminal.note("no process looks like an app: perfreg inspect TRACE --app NAME looks for one of that name")
        return
    terminal.table(
        [
            {"missing": one["series"], "axis": one["axis"], "record": ", ".join(one["record"]), "why": one["reason"]}
            for one in told["series"]
            if not one["is_recorded"]
        ],
        ("missing", "axis", "record", "why"),
    )
    device = "" if told["device"] else " --device DEVICE"
    terminal.note(
        f"import it: perfreg import {shlex.quote(str(trace))} --app {told['app']} --app-version VERSION{device}"
    )
