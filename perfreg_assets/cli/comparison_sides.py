"""What A and B of a comparison mean: traces, run folders, runs or versions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfreg_assets import terminal
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.collection.run_folder import RunFolder
    from perfreg_assets.model.sides import Side, TraceOfSide


def side_of(
    settings: Settings, name: str, app: str | None, scenario: str | None, pattern: str | None
) -> tuple[Side, str | None]:
    """The runs that a name means, and of which app they are.

    Raises:
        Rejected: NO_TRACE_FOUND, PACKAGE_MISSING, TRACE_…, RUN_UNKNOWN, VERSION_UNKNOWN, SCENARIO_UNKNOWN,
            COMPARISON_AMBIGUOUS, WAREHOUSE_MISSING; what a run folder is refused for.
    """
    from perfreg_assets.model import sides
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import runs_like

    written = name.strip()
    path = Path(written)
    if path.exists():
        traces, app = _traces(settings, path, app and app.strip(), pattern)
        return sides.of_traces(written, traces, settings), app
    neither = f"{written} is neither a file nor a folder"
    if not settings.published_warehouse.is_file():
        what = f"{neither}, and runs and versions cannot be looked up: {settings.published_warehouse} does not exist"
        raise Rejected(Reason.WAREHOUSE_MISSING, what)
    try:
        return side_of_warehouse(settings, name, app, scenario, opens_traces=True)
    except Rejected as rejected:
        if rejected.reason is not Reason.VERSION_UNKNOWN:
            raise
        with Warehouse.of(settings).reading() as reader:
            near = runs_like(reader, written)
        raise Rejected(rejected.reason, f"{neither}, nor a run{near}; {rejected.detail}") from rejected


def _traces(
    settings: Settings, path: Path, app: str | None, pattern: str | None
) -> tuple[list[TraceOfSide], str | None]:
    from perfreg_assets.collection.bare_traces import find_bare_traces
    from perfreg_assets.collection.registry import find_run_folders
    from perfreg_assets.collection.run_folder import RUN_JSON, read_run_folder
    from perfreg_assets.model.sides import TraceOfSide

    folders = [one for one in find_run_folders([path]) if (one / RUN_JSON).is_file()] if path.is_dir() else []
    if folders:
        runs = [read_run_folder(one, settings) for one in folders]
        chosen = app or runs[0].app
        of_app = [run for run in runs if run.app == chosen]
        return [one for run in of_app for one in [_of_folder(run, settings)] if one is not None], chosen
    found = find_bare_traces([path], pattern)
    if found.refused:
        raise found.refused[0]
    app = app or _likeliest(settings, found.traces[0].path)
    return [TraceOfSide(one.path.name, one.path, app) for one in found.traces], app


def _of_folder(run: RunFolder, settings: Settings) -> TraceOfSide | None:
    """With the profiles beside the trace; None where run.json does not say how long it was meant to last."""
    from perfreg_assets.collection.attachments import profiles_beside
    from perfreg_assets.model.sides import TraceOfSide

    if run.time_limit_s is None:
        return None
    profiles, notes = profiles_beside(run, settings)
    label = run.stated_run_id or run.folder.name
    for note in notes:
        terminal.note(f"{label}: {note}")
    return TraceOfSide(label, run.trace_path, run.app, run.exploration, run.time_limit_s, tuple(profiles))


def _likeliest(settings: Settings, trace: Path) -> str:
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.traces.overview import look_over

    candidates = look_over(trace, settings).candidates
    if not candidates:
        raise Rejected(Reason.PACKAGE_MISSING, f"no process of {trace.name} looks like an app; name one with --app")
    terminal.note(f"comparing {candidates[0].name}, which ran most of what may be an app (--app names another)")
    return candidates[0].name


def side_of_warehouse(
    settings: Settings, name: str, app: str | None, scenario: str | None, *, opens_traces: bool
) -> tuple[Side, str | None]:
    """As `side_of`, of a run or a version of the warehouse.

    Args:
        opens_traces: for call stacks, where some were recorded.

    Raises:
        Rejected: RUN_UNKNOWN, APP_UNKNOWN, VERSION_UNKNOWN, SCENARIO_UNKNOWN, COMPARISON_AMBIGUOUS.
    """
    from perfreg_assets.model import sides
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.warehouse import runs
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_scenario, require_selection

    with Warehouse.of(settings).reading_caught_up() as reader:
        run_id = name.strip()
        own = runs.find(reader, [run_id], with_path=False)
        if own:
            return sides.of_warehouse(reader, run_id, [run_id], settings, opens_traces=opens_traces), own[run_id].app
        app, known = require_selection(reader, app, name)
        name = known or name
        if scenario is not None:
            require_scenario(reader, app, name, scenario)
        found = runs.whole_of_version(reader, name, app, scenario)
        apps = sorted({one.app for one in found})
        if len(apps) > 1:
            what = f"version {name} is one of {', '.join(apps)}"
            raise Rejected(Reason.COMPARISON_AMBIGUOUS, what)
        kinds = {(one.config_hash, one.scenario) for one in found}
        if len(kinds) > 1:
            told = ", ".join(sorted({one.scenario or "none" for one in found}))
            terminal.note(
                f"{name}: runs of {len(kinds)} configurations or scenarios ({told}) are taken together; --scenario"
            )
        ids = [one.run_id for one in found]
        side = sides.of_warehouse(reader, name, ids, settings, opens_traces=opens_traces)
        return side, apps[0] if apps else app
