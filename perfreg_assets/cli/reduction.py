"""`perfreg reduce` and `perfreg reference`: long traces made small, and what they are judged by."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.cli.reading import NOTHING_JUDGED
from perfreg_assets.cli.root import command, group
from perfreg_assets.how_many import how_many
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.model.reduction_document import Reduced, Reduction
    from perfreg_assets.model.trace_source import Source
    from perfreg_assets.model.window_judging import Learned
    from perfreg_assets.warehouse.references import ReferenceRow

_COLUMNS = ("trace", "bytes_before", "bytes_after", "reduction", "kept_s", "of_s", "stretches", "written")
_ARCHIVE_COLUMNS = ("run_id", "bytes_before", "bytes_after", "reason")
_REFERENCE_COLUMNS = ("reference_name", "app", "device", "window_s", "window_count", "created_at")


@command("reduce", example="perfreg reduce long.perfetto-trace --out kept/")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to write to.")
@click.option(
    "--reference", "reference_name", metavar="NAME", help="A stored reference; default: each one's own begin."
)
@click.option("--window", "window_s", type=float, metavar="S", help="Seconds in a window, instead of the setting.")
@click.option(
    "--mode",
    type=click.Choice(["default", "knn", "seed"]),
    help="How windows are scored, instead of the setting; seed: the published method as printed.",
)
@click.option(
    "--store", is_flag=True, help="Keep windows and seconds in the warehouse: marts.trace_windows and others."
)
@click.option("--html", is_flag=True, help="Write a page beside each trace: events, divergence, score, what is kept.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def reduce(
    settings: Settings, paths: tuple[Path, ...], out: Path, reference_name: str | None, window_s: float | None,
    mode: str | None, store: bool, html: bool, form: str,
) -> None:  # fmt: skip
    """Writes smaller traces: what is unlike the reference is kept whole, with a second before and after.

    PATH is a trace, a run folder or a folder of them. Each gets a folder below --out with the trace, which Perfetto
    opens, and perfreg.reduction.json: every window with its scores, and how often what happened in each second, dropped
    ones as well. The originals stay as they are, and so does what an earlier call has written of the same traces with
    the same options. Exit status 1 when one of them could not be reduced, 4 when nothing of any was judged.
    """
    from perfreg_assets.collection.bare_traces import require_trace
    from perfreg_assets.methods.jit import compilation_notice
    from perfreg_assets.model.reduction import reduce_once
    from perfreg_assets.model.references import require_fit

    settings = _chosen(settings, window_s, mode)
    sources, refused = _sources(paths, settings)
    names = [name for name, _ in sources]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two of the traces would be written as {name}; reduce them one by one")
    made: list[Reduction] = []
    for name, error in refused:
        terminal.fail(f"{name} [{error.reason.code}] {error}")
    with terminal.progress("reduce") as show, compilation_notice():
        learned, row = _learned(settings, reference_name, window_s)
        for name, source in sources:
            show(name)
            try:
                require_trace(source.path)
                if row is not None:
                    require_fit(row, source)
                one = reduce_once(source, out / name, settings, learned)
            except Rejected as error:
                refused.append((name, error))
                terminal.fail(f"{name} [{error.reason.code}] {error}")
                continue
            # One after the other: whatever ends the call leaves none without the rest of what was asked for.
            _finish(one, settings, html=html, store=store)
            made.append(one)
    rows = [_row(one, form) for one in made]
    terminal.show(rows, _COLUMNS if form != "json" else list(rows[0]) if rows else [], form)
    if refused:
        sys.exit(1)
    if made and all(map(_is_all_learned_from, made)):
        sys.exit(NOTHING_JUDGED)


@command("archive", example="perfreg archive --days 90")
@click.option("--days", type=float, metavar="N", help="Instead of the setting reduction_after_days.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def archive(settings: Settings, days: float | None, form: str) -> None:
    """Reduces or deletes registered traces of normal runs, as `perfreg ui` does every night.

    Of runs that were registered N days ago or earlier; anomalous and reviewed ones, and those with functional problems,
    keep theirs. Series and verdicts were computed from the whole traces and stay. 0 days: never, which is the default.
    What the setting keep_traces does not keep is deleted; by default all traces are kept. Traces in an exchange are
    whole or deleted, never reduced.
    """
    from perfreg_assets.methods.jit import compilation_notice
    from perfreg_assets.model.archiving import archive_due
    from perfreg_assets.model.retention import drop_due
    from perfreg_assets.warehouse.connection import Warehouse

    if days is not None:
        settings = settings.with_values(reduction_after_days=days)
    with terminal.progress("archive") as show, compilation_notice():
        dropped = drop_due(Warehouse.of(settings), settings, progress=show)
        archiving = archive_due(Warehouse.of(settings), settings, progress=show)
    done = archiving.done
    rows = [{**vars(one), "bytes_after": 0, "reason": None} for one in dropped] + [vars(one) for one in done]
    terminal.show(rows, _ARCHIVE_COLUMNS, form)
    saved = sum((one.bytes_before or 0) - one.bytes_after for one in done if one.bytes_after is not None)
    terminal.note(f"{how_many(sum(one.reason is None for one in done), 'trace')} reduced, {saved:,} bytes saved")
    if not (done or dropped or archiving.in_exchange):
        terminal.note(_why_none(settings, days))
    if archiving.in_exchange:
        terminal.note(
            f"{how_many(archiving.in_exchange, 'trace')} in the exchange left whole: only those on this machine are "
            "reduced, and keep_traces says which are deleted there"
        )
    if dropped:
        freed = sum(one.bytes_before or 0 for one in dropped)
        terminal.note(f"{how_many(len(dropped), 'trace')} deleted that keep_traces does not keep, {freed:,} bytes")
    elsewhere = sum(one.bytes_elsewhere for one in dropped) + sum(one.bytes_elsewhere for one in done)
    if elsewhere:
        terminal.note(
            f"{elsewhere:,} bytes of these stay on the disk: another folder has the same files, inbox/.taken or one "
            "that was given; deleted there they are free"
        )
    if dropped or any(one.bytes_after is not None for one in done):
        terminal.note(
            "pages lead to these traces as if they were whole until they are written again: by `perfreg catch-up`, "
            "or by `perfreg serve` and `perfreg ui` themselves"
        )


def _why_none(settings: Settings, days: float | None) -> str:
    from perfreg_assets.warehouse import settings_table
    from perfreg_assets.warehouse.connection import Warehouse

    if days is None:
        with Warehouse.of(settings).reading() as reader:
            days = settings_table.in_force(reader, settings).reduction_after_days
    if days == 0:
        return "reduction_after_days is 0, which is never: --days N, or perfreg settings set reduction_after_days N"
    return f"no normal run that was registered {days:g} days ago or earlier has a trace that is still to be reduced"


@group("reference", example="perfreg reference list")
def reference() -> None:
    """What long traces are judged by: the windows of correct runs, under a name."""


@command("add", example="perfreg reference add shop-usual runs/shop-001 runs/shop-002", group=reference)
@click.argument("name")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--window", "window_s", type=float, metavar="S", help="Seconds in a window, instead of the setting.")
@click.option("--app", help="Of bare traces: the application id. Run folders say it.")
@click.option("--device", help="Of bare traces: the device. Run folders say it.")
def add(
    settings: Settings, name: str, paths: tuple[Path, ...], window_s: float | None, app: str | None, device: str | None
) -> None:
    """Stores the windows of correct runs as a reference.

    PATH is a trace, a run folder (of which the exploration counts) or a folder of them; all of one app on one device.
    Runs in which functional problems were found are refused, and so are recordings that lost events.
    """
    from dataclasses import replace

    from perfreg_assets.collection.bare_traces import require_trace
    from perfreg_assets.methods.jit import compilation_notice
    from perfreg_assets.model.references import reference_of
    from perfreg_assets.warehouse import references as table
    from perfreg_assets.warehouse.connection import Warehouse

    settings = _chosen(settings, window_s, None)
    found, refused = _sources(paths, settings)
    if refused:  # what is made of the others would be another reference than was asked for
        raise refused[0][1]
    sources = [replace(one, app=one.app or app, device=one.device or device) for _, one in found]
    for one in sources:
        require_trace(one.path)
    with terminal.progress("reference"), compilation_notice():
        row = reference_of(name, sources, settings)
    with Warehouse.of(settings).writing() as writer:
        if not table.add(writer, row):
            raise Rejected(Reason.REFERENCE_EXISTS, name)
    terminal.say(
        f"{name}: {how_many(len(row.counts), 'window')} of {row.window_s:g} s from {how_many(len(sources), 'trace')}, "
        f"{how_many(len(row.event_types), 'type')} of events"
    )


@command("list", example="perfreg reference list", group=reference)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def list_references(settings: Settings, form: str) -> None:
    """Lists the stored references."""
    from perfreg_assets.warehouse import references as table
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse.of(settings).reading_caught_up() as reader:
        terminal.show(table.listing(reader), _REFERENCE_COLUMNS, form)


def _chosen(settings: Settings, window_s: float | None, mode: str | None) -> Settings:
    values: dict[str, Any] = {"reduction_window_s": window_s, "reduction_mode": mode}
    return settings.with_values(**{name: value for name, value in values.items() if value is not None})


def _learned(
    settings: Settings, name: str | None, window_s: float | None
) -> tuple[Learned, ReferenceRow] | tuple[None, None]:
    from perfreg_assets.model.references import learned_of
    from perfreg_assets.warehouse.connection import Warehouse

    if name is None:
        return None, None
    with Warehouse.of(settings).reading_caught_up() as reader:
        learned, row = learned_of(reader, name, settings)
    if window_s is not None and window_s != row.window_s:
        raise Rejected(Reason.REFERENCE_OTHER, f"{name} has windows of {row.window_s:g} s, --window says {window_s:g}")
    return learned, row


def _sources(
    paths: tuple[Path, ...], settings: Settings
) -> tuple[list[tuple[str, Source]], list[tuple[str, Rejected]]]:
    """(name of the folder to write, trace) of everything that was named, a trace that is named twice is one; and
    (name, why) of the run folders that are refused."""
    from perfreg_assets.collection.registry import find_run_folders
    from perfreg_assets.collection.run_folder import RUN_JSON, read_run_folder
    from perfreg_assets.model.trace_source import Source

    found: list[tuple[str, Source]] = []
    refused: list[tuple[str, Rejected]] = []
    for path in paths:
        if not path.is_dir():
            found.append((path.name.split(".perfetto-trace")[0].removesuffix(".gz"), Source(path)))
            continue
        folders = [one for one in find_run_folders([path]) if (one / RUN_JSON).is_file()]
        for folder in folders:
            try:
                run = read_run_folder(folder, settings)
            except Rejected as error:
                refused.append((folder.name, error))
                continue
            problems = tuple(str(problem.get("kind")) for problem in run.functional_problems or ())
            found.append(
                (folder.name, Source(run.trace_path, run.app, run.device, run.config.hash, run.exploration, problems))
            )
        if not folders:
            raise Rejected(Reason.TRACE_FILE_MISSING, f"{path}: no run folder is in it; name traces by their files")
    return list({os.path.realpath(source.path): (name, source) for name, source in found}.values()), refused


def _name(made: Reduction) -> str:
    """With its folder: traces of run folders are all called alike."""
    return f"{made.path.parent.name}/{made.path.name}"


def _is_all_learned_from(made: Reduction) -> bool:
    """Whether no window is left to be judged by the others."""
    told = made.told
    reference_s = told["parameters"]["reference_s"]
    before_last_ns = round(told["window_s"] * 1e9) * (len(told["windows"]) - 1)
    return reference_s is not None and before_last_ns < round(reference_s * 1e9)


def _write_page(made: Reduction, settings: Settings, *, stays: bool) -> bool:
    """Whether it was written: one that is there may stay."""
    from perfreg_assets.reports.reduction_page import PAGE, render_reduction_page
    from perfreg_assets.whole_files import write_whole

    page = made.path.with_name(PAGE)
    if stays and page.exists():
        return False
    told = render_reduction_page(made.told, made.path.parent.name, server=settings.reports_address)
    write_whole(page, told.encode(), is_durable=False)
    terminal.note(f"page: {page}")
    return True


def _store(made: Reduction, settings: Settings, *, stays: bool) -> bool:
    """Whether the warehouse was given it: a row that is there may stay, and that of a run's own trace does."""
    from perfreg_assets.model.reduction_document import row_of
    from perfreg_assets.warehouse import reductions
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse.of(settings).writing() as writer:
        if run_id := reductions.run_reduced_in_place(writer, made.told["original_sha256"]):
            terminal.note(
                f"{_name(made)}: of run {run_id}, whose own trace was reduced in its place; that is what is stored"
            )
            return False
        if stays and reductions.is_stored(writer, made.told["original_sha256"], made.told["sha256"]):
            return False
        reductions.store(writer, row_of(made))
        return True


def _row(made: Reduction, form: str) -> dict[str, Any]:
    told = made.told
    if form == "json":
        return {**told, "path": str(made.path)}
    kept_ns = sum(one["end_ns"] - one["start_ns"] for one in told["stretches"])
    return {
        "trace": _name(made),
        "bytes_before": told["bytes_before"],
        "bytes_after": told["bytes_after"],
        "reduction": round(told["bytes_before"] / told["bytes_after"], 1),
        "kept_s": round(kept_ns / 1e9, 1),
        "of_s": round((told["end_ns"] - told["start_ns"]) / 1e9, 1),
        "stretches": len(told["stretches"]),
        "written": str(made.path),
    }


def _finish(made: Reduction, settings: Settings, *, html: bool, store: bool) -> None:
    """Adds what was asked for besides the trace, and says what deserves a word, on stderr."""
    from perfreg_assets.model.reduced_before import ReducedBefore

    asked = [(what, add) for what, is_asked, add in (("page", html, _write_page), ("row", store, _store)) if is_asked]
    if isinstance(made, ReducedBefore):
        added = [what for what, add in asked if add(made, settings, stays=True)]
        also = f"; added now: its {' and its '.join(added)}" if added else ""
        terminal.note(f"{_name(made)}: reduced before, of the same trace and with the same parameters{also}")
    else:
        for _, add in asked:
            add(made, settings, stays=False)
        _tell_of_windows(made)
    if _is_all_learned_from(made):
        seconds = len(made.told["windows"]) * made.told["window_s"]
        terminal.note(
            f"{_name(made)}: nothing was judged: all of its {seconds:.0f} s are what it was to be judged by; "
            "take a stored reference (`perfreg reference add`) or a smaller reduction_reference_s"
        )


def _tell_of_windows(made: Reduced) -> None:
    name, told, windows, cut = _name(made), made.told, made.windows, made.cut
    count = sum(one["is_anomalous"] for one in told["windows"])
    terminal.note(
        f"{name}: {count} of {len(told['windows'])} windows are unusual (theta {told['theta']:.3g}, "
        f"alpha {told['alpha']:.3g}, {told['reference_windows']} reference windows)"
    )
    for why in windows.fit.why if windows.fit is not None else ():
        terminal.note(f"{name}: {why}")
    if windows.learned.name is not None and windows.learned.seen is None:
        terminal.note(
            f"{name}: reference {windows.learned.name} was stored by an earlier release, which did not write down all "
            "types of its events: what it never had is not told apart from what is rare there"
        )
    for count, said in (
        (sum(cut.unknown.values()), "packets of a kind that is not known were kept"),
        (int(windows.events.is_lossy.sum()), "windows were kept because the recording lost events there"),
        (windows.events.unplaced_count, "events on a clock that the trace does not tell of were not judged"),
        (windows.events.broken_count, "bundles of kernel events are damaged and were not judged"),
    ):
        if count:
            terminal.note(f"{name}: {count:,} {said}")
