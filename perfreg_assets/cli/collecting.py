"""`perfreg collect`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.catalogue import AXES
from perfreg_assets.cli.root import command
from perfreg_assets.how_many import how_many
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.collection.batch import BatchOutcome
    from perfreg_assets.collection.errors import CollectionRecord


@command(
    "collect", example="perfreg collect --app com.rig.notes --apk notes-1.6.0.apk --time-limit 600", ends_itself=True
)
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
@click.option("--explorer-command", help="The explorer's program with its arguments, as one text; docs/collecting.md.")
@click.option("--strategy", help="Name of the strategy S; default: the explorer's name.")
@click.option("--time-limit", type=float, default=600.0, show_default=True, help="T, seconds.")
@click.option("--action-interval", type=float, default=2.0, show_default=True, help="I, seconds between actions.")
@click.option(
    "--endurance",
    metavar="TIME",
    help="Record for so long, e.g. 6h or 90m, judge windows as they come and store only the unusual ones; "
    "docs/reduction.md. Instead of --time-limit.",
)
@click.option("--reference", "reference_name", metavar="NAME", help="With --endurance: judge by a stored reference.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Sessions per build.")
@click.option("--seed", "seeds", type=click.IntRange(0), multiple=True, help="Repeatable: one per repeat.")
@click.option(
    "--for",
    "axes",
    metavar="AXIS,…",
    help="Record, besides scheduler, memory and CPU frequency, all that the series of some axes are made of: "
    f"{', '.join(AXES)}. What changes the load by itself (syscalls, heap, atrace) only by --data-source.",
)
@click.option(
    "--energy",
    is_flag=True,
    help="Record all that energy is made of: --for energy. The device's power profile is kept with the run.",
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
def collect(
    settings: Settings, sweep_only: bool, serial: str | None, endurance: str | None, reference_name: str | None,
    **options: Any,
) -> None:  # fmt: skip
    """Explores an app on a device while Perfetto records; leaves run folders, and nothing on the device."""
    from perfreg_assets.cli.endurance import resume_all
    from perfreg_assets.collection.sweep import sweep

    if sweep_only:
        swept = sweep(settings, serial=serial)
        for text in swept.cleaned:
            terminal.say(f"cleaned    {text}")
        for text in (*swept.remaining, *swept.unlisted):
            terminal.say(f"remaining  {text}")
        if not (swept.cleaned or swept.remaining or swept.unlisted):
            terminal.note("no collection left anything on a device")
        _tell_orphans(settings)
        resume_all(settings)
        sys.exit(1 if swept.remaining or swept.unlisted else 0)
    if endurance is not None:
        _endure(settings, serial, endurance, reference_name, **options)
        return
    if reference_name is not None:
        raise ValueError("--reference goes with --endurance; short collections are judged by their histories")
    if not _collect(settings, serial, **options):
        sys.exit(1)


def _tell_orphans(settings: Settings) -> None:
    """Rows of sessions whose process died after the run folder came into its place."""
    from perfreg_assets.collection import told_sessions
    from perfreg_assets.warehouse.connection import Warehouse

    if count := told_sessions.store(Warehouse.of(settings), settings):
        terminal.say(f"stored     {how_many(count, 'row')} of sessions that were killed before they were told")


def _collect(
    settings: Settings, serial: str | None, app: str | None, apks: tuple[Path, ...], out: Path | None, **options: Any
) -> bool:
    """Whether every session left a run folder; each session is a row of the warehouse either way."""
    from perfreg_assets.collection.batch import collect_batch
    from perfreg_assets.collection.builds import read_build

    if app is None and not apks:
        raise ValueError("name the app with --app, or a build with --apk")
    config = _collection_config(app or read_build(apks[0]).app, serial, **options)
    runs_out = (out or settings.inbox_dir).absolute()
    kept = _Kept(settings)
    with terminal.progress("collect") as show:
        batch = collect_batch(
            config,
            apks,
            settings=settings,
            runs_out=runs_out,
            progress=lambda progress: show(str(progress)),
            ended=kept.add,
        )
    for outcome in batch.outcomes:
        if outcome.error is not None:
            terminal.fail(f"[{outcome.error.reason}] {outcome.error}")
        elif outcome.result is not None:
            result = outcome.result
            terminal.say(
                f"{result.run_folder}   {how_many(result.step_count, 'step')}, "
                f"{how_many(result.state_count, 'state')}, "
                f"{result.record.trace_bytes or 0:,} bytes, stopped by {result.stop_reason}"
                + (f"; still on the device: {', '.join(result.leftovers)}" if result.leftovers else "")
            )
    if batch.skipped:
        terminal.fail(f"{how_many(batch.skipped, 'session')} not begun")
    if any(outcome.result is not None for outcome in batch.outcomes):
        watched = " (`perfreg ui` does so by itself)" if runs_out == settings.inbox_dir.absolute() else ""
        terminal.note(f"take them in: perfreg ingest {shlex.quote(str(out or settings.inbox_dir))}{watched}")
    kept.write()  # last: what became of the sessions is told, whether or not it can be stored
    return batch.is_complete


class _Kept:
    """Rows of sessions, written as each ends: one that is killed takes no earlier one's along. While the warehouse
    cannot be written the next sessions go on, and the rows wait for the end of one of them, or of another command."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._waiting: list[CollectionRecord] = []

    def add(self, outcome: BatchOutcome) -> None:
        from perfreg_assets.reasons import Rejected

        self._waiting.append(outcome.record)
        try:
            self.write()
        except Rejected as refused:
            terminal.note(f"the session is not in the warehouse yet, and tried again after the next: {refused}")

    def write(self) -> None:
        """Raises Rejected, as `Warehouse.writing` does."""
        from perfreg_assets.collection import told_sessions
        from perfreg_assets.warehouse.connection import Warehouse

        told_sessions.store(Warehouse.of(self._settings), self._settings, self._waiting)
        self._waiting.clear()


def _endure(
    settings: Settings, serial: str | None, duration: str, reference_name: str | None, app: str | None,
    apks: tuple[Path, ...], out: Path | None, **options: Any,
) -> None:  # fmt: skip
    import dataclasses

    from perfreg_assets.cli.endurance import endure, seconds_of
    from perfreg_assets.collection.builds import read_build

    if len(apks) > 1:
        raise ValueError("--endurance records one build; name one --apk")
    if app is None and not apks:
        raise ValueError("name the app with --app, or a build with --apk")
    if options["repeats"] > 1:
        raise ValueError("--endurance records one session; leave --repeats out")
    options = {**options, "time_limit": seconds_of(duration), "repeats": 1}
    config = _collection_config(app or read_build(apks[0]).app, serial, **options)
    if apks:
        config = dataclasses.replace(config, apk=str(apks[0]))
    endure(settings, config, reference_name, out)


_OWN_OPTIONS = {"app": "--app", "serial": "--device"}
"""Fields of the configuration that have an option of their own, which is not asked for by `--option`."""


def _collection_config(app: str, serial: str | None, **options: Any) -> Any:
    import dataclasses
    import json

    from perfreg_assets.collection.config import CollectionConfig
    from perfreg_assets.collection.perfetto_config import choose_sources

    axes = options["axes"]
    if options["energy"]:
        axes = ",".join(filter(None, (axes, "energy")))
    try:
        command = tuple(shlex.split(options["explorer_command"] or ""))
    except ValueError as error:
        raise ValueError(f"--explorer-command {options['explorer_command']}: {error}") from error
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
        "explorer_command": command,
        "strategy": options["strategy"],
        "time_limit_s": options["time_limit"],
        "action_interval_s": options["action_interval"],
        "repeats": options["repeats"],
        "seeds": options["seeds"] or None,
        "data_sources": choose_sources(axes, options["sources"]) or None,
        "max_battery_celsius": options["max_battery_celsius"],
        "max_bytes_per_minute": options["max_bytes_per_minute"],
        "reconnect_timeout_s": options["reconnect_timeout"],
        "clear_data": False if options["keep_data"] else None,
        **further,
    }
    for name, own in _OWN_OPTIONS.items():
        if name in further:
            raise ValueError(f"--option {name}: say it by {own}")
    unknown = sorted(set(further) - {spec.name for spec in dataclasses.fields(CollectionConfig)})
    if unknown:
        raise ValueError(f"--option {', '.join(unknown)}: not a field of the collection's configuration")
    return CollectionConfig(app=app, serial=serial, **{key: value for key, value in given.items() if value is not None})
