"""`perfreg collect --endurance`: hours of recording, of which the unusual is stored."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfreg_assets import terminal
from perfreg_assets.named_files import write_named
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.collection.config import CollectionConfig
    from perfreg_assets.model.window_judging import Learned

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
_PLACES = "collections/endurance-places"


def seconds_of(text: str) -> float:
    """6h, 90m, 30s or 1800 as seconds.

    Raises:
        ValueError: it is none of these.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    seconds = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
    if seconds <= 0:
        raise ValueError(f"--endurance {text}: write a time such as 6h, 90m or 1800s")
    return seconds


def endure(settings: Settings, config: CollectionConfig, reference_name: str | None, out: Path | None) -> None:
    """Collects once, judges the run and tells what is stored where.

    Raises:
        Rejected: REFERENCE_UNKNOWN; REFERENCE_OTHER: the reference is of another app; as `collect_endurance`, of which
            the warehouse has a row then; as `endurance_runs.register`.
        ValueError: windows of such a length cannot be judged while they are recorded.
    """
    from perfreg_assets.assets import endurance_runs
    from perfreg_assets.cli.reading import show_verdicts
    from perfreg_assets.cli.upkeep import bring_up_to_date
    from perfreg_assets.collection.endurance import collect_endurance
    from perfreg_assets.collection.errors import CollectionError
    from perfreg_assets.methods.jit import compilation_notice
    from perfreg_assets.methods.warmup import warm_up_reduction
    from perfreg_assets.model.profile_shelf import of_warehouse
    from perfreg_assets.model.recording_parts import PartReader
    from perfreg_assets.model.watching import TraceWatch, require_even
    from perfreg_assets.model.window_judging import window_ns
    from perfreg_assets.warehouse.connection import Warehouse

    out = (out or default_out(settings)).absolute()
    note_place(settings, out)
    settings, shelf = of_warehouse(settings)
    learned = _learned(settings, reference_name, config.app)
    require_even(learned.window_ns if learned is not None else window_ns(settings))
    watches: list[TraceWatch] = []

    def watching(folder: Path, lag_s: float) -> TraceWatch:
        parts = PartReader(config.app, settings, profiles=lambda: shelf.while_collected(folder, settings))
        watches.append(TraceWatch(folder, settings, learned, lag_s=lag_s, app=config.app, parts=parts))
        return watches[0]

    warm_up_reduction()  # in the middle of a recording, nobody would look after the session for as long as it takes
    with terminal.progress("collect") as show, compilation_notice():
        try:
            result = collect_endurance(
                config,
                settings=settings,
                out=out,
                watching=watching,
                has_reference=learned is not None,
                progress=lambda progress: show(str(progress)),
            )
        except CollectionError as error:
            _record(settings, error.record)
            if watches:
                terminal.note(f"what was stored until then: {watches[0].folder}")
            resume_all(settings)
            raise
    _tell(settings, watches[0])
    try:
        run_id = endurance_runs.register(watches[0], settings, Warehouse.of(settings), shelf)
    except Rejected:
        _record(settings, dataclasses.replace(result.record, run_id=None))
        raise
    _record(settings, result.record)
    resume_all(settings)  # what the device had of an earlier one was fetched before this one began
    bring_up_to_date(settings)
    show_verdicts(settings, {run_id})


def _learned(settings: Settings, name: str | None, app: str) -> Learned | None:
    """The stored reference of a name, which has to be of the app."""
    from perfreg_assets.model.references import learned_of, require_fit
    from perfreg_assets.model.trace_source import Source
    from perfreg_assets.warehouse.connection import Warehouse

    if name is None:
        return None
    with Warehouse.of(settings).reading_caught_up() as reader:
        learned, row = learned_of(reader, name, settings)
    require_fit(row, Source(Path("the recording"), app))
    return learned


def default_out(settings: Settings) -> Path:
    """Where folders of collections go that are told no other place."""
    return settings.home_dir / "endurance"


def note_place(settings: Settings, out: Path) -> None:
    """Remembers where collections were told to go: what is left over of a killed one is looked for there."""
    places = _places(settings)
    if out not in places:
        path = settings.home_dir / _PLACES
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(str(out))}\n")


def _places(settings: Settings) -> list[Path]:
    path = settings.home_dir / _PLACES
    told = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    return [default_out(settings), *(Path(one) for one in told)]


def resume_all(settings: Settings) -> None:
    """Judges what was fetched of killed collections and was not judged; what cannot be judged stays, and is told."""
    from perfreg_assets.collection.endurance import NO_RUN
    from perfreg_assets.collection.journal import unfinished_journals
    from perfreg_assets.collection.sweep import journal_dir
    from perfreg_assets.model.resuming import left_over, resume

    debts = [debt for journal in unfinished_journals(journal_dir(settings)) for debt in journal.debts]
    awaited = {debt.arguments[1] for debt in debts if debt.kind == "recording"}  # some of it is on a device yet
    for folder in left_over(dict.fromkeys(_places(settings))):
        if str(folder) in awaited:
            continue
        try:
            watch = resume(folder, settings)
        except Rejected as error:
            terminal.fail(f"{folder}: what was fetched is not judged and stays as it is: [{error.reason.code}] {error}")
            continue
        _tell(settings, watch)
        if watch.was_killed:
            terminal.note(f"{folder.name} was killed: {NO_RUN}")


def _record(settings: Settings, record: Any) -> None:
    from perfreg_assets.collection import told_sessions
    from perfreg_assets.warehouse.connection import Warehouse

    told_sessions.store(Warehouse.of(settings), settings, [record])


def _tell(settings: Settings, watch: Any) -> None:
    """The page, the rows of the warehouse, and a line."""
    from perfreg_assets.model.reduction_document import row_of
    from perfreg_assets.reports.reduction_page import PAGE, render_reduction_page
    from perfreg_assets.warehouse import reductions
    from perfreg_assets.warehouse.connection import Warehouse

    assert watch.finished is not None  # a recording without events is refused
    made, told = watch.finished
    page = render_reduction_page(told, watch.folder.name, server=settings.reports_address)
    write_named(watch.folder / PAGE, page)
    with Warehouse.of(settings).writing() as writer:
        reductions.store(writer, row_of(made))
    kept = sum(one["end_ns"] - one["start_ns"] for one in told["stretches"]) / 1e9
    whole = (told["windows"][-1]["end_ns"] - told["windows"][0]["start_ns"]) / 1e9
    terminal.say(
        f"{watch.folder}   {kept:,.1f} of {whole:,.0f} s kept in {len(told['files'])} files, "
        f"{told['bytes_after']:,} of {told['bytes_before']:,} bytes"
    )
    for one in told["unseen"]:
        terminal.note(f"{(one['end_ns'] - one['start_ns']) / 1e9:.1f} s were not recorded, at {one['start_ns']} ns")
