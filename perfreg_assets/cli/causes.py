"""`perfreg causes` and `perfreg impact`; what it says of runs stands in run_causes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfreg_assets import terminal
from perfreg_assets.cli.given import PATTERN
from perfreg_assets.cli.root import command
from perfreg_assets.how_many import how_many
from perfreg_assets.named_files import write_named
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.methods.method_uses import Profile
    from perfreg_assets.model.call_logs import Analysis

_COLUMNS = {
    "causes": ("rank", "service", "method", "before_ms", "after_ms", "growth_share", "z", "seed_score", "max_ms"),
    "scores": ("rank", "method", "seed_score", "rms", "std", "service_count", "call_count", "mean_ms", "max_ms"),
    "services": ("service", "call_count", "min_ms", "mean_ms", "max_ms", "std_ms", "tree_count"),
    "slowest": ("rank", "service", "transaction", "elapsed_ms", "called_at"),
    "windows": ("service", "window_index", "window_at", "call_count", "calls_per_s", "mean_ms", "max_ms"),
}
_IMPACT_COLUMNS = ("method", "service", "self_share", "children_share", "calls", "mean_ms", "max_ms", "kind")


@command("causes", example="perfreg causes notes-011", begins_anew=True)
@click.argument("run_id", metavar="RUN", required=False)
@click.option(
    "--window",
    nargs=2,
    type=float,
    metavar="A B",
    help="Of a run: these seconds since its start instead of the suspicious windows.",
)
@click.option("--series", help="Of a run: this series alone. Default: all; of --window cpu_app.")
@click.option(
    "--details",
    is_flag=True,
    help="Of a run: slices, locks, call stacks and memory by process too; opens the traces of run and history once.",
)
@click.option("--log", type=click.Path(dir_okay=False, path_type=Path), help="Or: a call log.")
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="FILE|NAME…",
    help="Earlier logs: files, or names of stored logs.",
)
@click.option("--template", "template_text", type=PATTERN, metavar="T", help="What a line with a call looks like.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv", "folded"]), default="table", show_default=True
)
@click.option("--show", "what", type=click.Choice(list(_COLUMNS)), default="causes", show_default=True)
@click.option(
    "--limit",
    type=click.IntRange(0),
    help="Rows shown, of a run those of each window; 0: all. Default: 10 in a table, of many windows 3 each; else all.",
)
@click.option(
    "--minimum-ms", type=click.FloatRange(0), default=0.0, help="Only methods with mean and maximum above it."
)
@click.option("--window-s", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
@click.option("--app", type=PATTERN, help="Store the log: under this app …; or of --app-version: of this app alone.")
@click.option(
    "--app-version", type=PATTERN, help="… this version …; or without --log: what grew in runs of this version."
)
@click.option("--name", help="… and this name. Default: the file's.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="A page with flame graph and call trees.")
def causes(
    settings: Settings, run_id: str | None, window: tuple[float, float] | None, series: str | None,
    details: bool, log: Path | None,
    form: str, limit: int | None, app: str | None, app_version: str | None, **of_log: Any,
) -> None:  # fmt: skip
    """What grew in the suspicious windows of a run, against earlier runs on the same screens; in three runs of a
    version (--app-version); or which methods of a call log took longer than in earlier logs (--log).

    Of a run: threads and waits in core seconds per second, memory in bytes; threads of other processes stand apart.
    Of a log: self times per call of the service; without baselines what takes a large share of services. With --app
    and --app-version the log is stored, and is compared with the stored logs of other versions of the app.
    """
    from perfreg_assets.cli import run_causes

    if sum((run_id is not None, log is not None)) != 1 and (log is not None or app_version is None):
        raise ValueError("name a run, or give --app-version or --log")
    if log is None:
        _require_of_log_only(of_run=run_id is not None)
    elif window is not None or series is not None or details:
        raise ValueError("--window, --series and --details are of a run, not of a --log")
    if log is not None:
        app, app_version = app and app.strip(), app_version and app_version.strip()
        _of_log(settings, log, form=form, limit=limit, app=app, app_version=app_version, **of_log)
    elif run_id is not None:
        run_causes.show_run(settings, run_id, window, series, form, limit, with_details=details)
    elif app_version is not None:
        if form == "folded":
            raise ValueError("--format folded is of a run or of a log")
        run_causes.show_version(settings, app, app_version, form, limit)


_OF_LOG = {
    "baselines": "--baseline", "template_text": "--template", "what": "--show", "minimum_ms": "--minimum-ms",
    "window_s": "--window-s", "name": "--name", "html": "--html",
}  # fmt: skip


def _require_of_log_only(*, of_run: bool) -> None:
    """An option that would change nothing is a mistake.

    Raises:
        ValueError: it was given.
    """
    context = click.get_current_context()
    names = {**_OF_LOG, **({"app": "--app", "app_version": "--app-version"} if of_run else {})}
    given = [
        option
        for name, option in names.items()
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        others, this = ("--log or a version", "run") if of_run else ("--log", "version")
        raise ValueError(f"{', '.join(given)}: of a {others} only, not of a {this}")


def _of_log(
    settings: Settings, log: Path, *, baselines: tuple[str, ...], template_text: str | None, form: str, what: str,
    limit: int | None, minimum_ms: float, window_s: float, app: str | None, app_version: str | None,
    name: str | None, html: Path | None,
) -> None:  # fmt: skip
    from perfreg_assets.methods.jit import compilation_notice
    from perfreg_assets.model import call_logs
    from perfreg_assets.traces.call_log_template import DEFAULT_TEMPLATE, parse_template
    from perfreg_assets.warehouse.connection import Warehouse

    if (app is None) != (app_version is None) or (name is not None and app is None):
        raise ValueError("a log is stored under --app and --app-version together, and perhaps --name")
    if what != "causes" and form == "folded":
        raise ValueError("--format folded is of the call trees; leave --show out")
    template = parse_template(template_text or DEFAULT_TEMPLATE)
    with terminal.progress("causes") as show, compilation_notice():
        profiles: dict[str, Profile] = {}
        for one in baselines:
            show(one)
            profiles[one] = _baseline(settings, one, template)
        log_name = name or log.name
        if app and app_version and not baselines:
            profiles = _stored_baselines(settings, app, app_version)
        profiles, copies = call_logs.without_copies(profiles)
        show(log.name)
        found = call_logs.analyse(log, template, profiles, window_s=window_s, with_sha256=app is not None)
    if app and app_version:
        with Warehouse.of(settings).writing() as writer:
            call_logs.store(writer, found, app, app_version, log_name)
        terminal.note(f"stored as {app}/{app_version}/{log_name}")
    if html is not None:
        from perfreg_assets.reports.call_log_page import render_call_log_page

        others = list(profiles.values())
        write_named(html, render_call_log_page(found.path.name, found.trees, found.services, found.listed, others))
        terminal.note(f"page: {html}")
    for one, same in copies:
        terminal.note(f"{one} is left out: it is the same log as {same}, which counts once")
    for one in found.itself:
        terminal.note(f"{one} is the log itself and hides what grew")
    _tell(found)
    if form == "folded":
        from perfreg_assets.methods.folded import folded_lines

        sys.stdout.writelines(f"{line}\n" for line in folded_lines(found.trees, list(profiles.values())))
        return
    rows, hidden = _rows(found, what, minimum_ms)
    if what == "windows" and not rows:
        terminal.note("no windows: no call of a service has a time that can be read, as 2014-11-03 10:15:23.123")
    if hidden:
        terminal.note(f"{hidden} methods whose mean or longest call is below {minimum_ms:g} ms are not shown")
    from perfreg_assets.cli.run_causes import SHOWN_ROWS

    limit = (SHOWN_ROWS if form == "table" else 0) if limit is None else limit
    if limit and len(rows) > limit:
        terminal.note(f"{limit} of {len(rows)} rows; --limit 0 shows all")
        rows = rows[:limit]
    terminal.show(rows, _COLUMNS[what], form)


def _baseline(settings: Settings, name: str, template: Any) -> Profile:
    from perfreg_assets.model import call_logs
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.warehouse.connection import Warehouse

    if Path(name).exists():
        return call_logs.profile_of_file(Path(name), template)
    warehouse = Warehouse.of(settings)
    if not warehouse.published.is_file():
        raise Rejected(Reason.CALL_LOG_MISSING, f"baseline '{name}' is no file, and nothing is stored")
    with warehouse.reading_caught_up() as reader:
        return call_logs.profile_of_stored(reader, call_logs.named_log(reader, name).call_log_id)


def _stored_baselines(settings: Settings, app: str, version_name: str) -> dict[str, Profile]:
    """The newest stored logs of other versions; none in a warehouse that is not there yet."""
    from perfreg_assets.model import call_logs
    from perfreg_assets.warehouse.connection import Warehouse

    warehouse = Warehouse.of(settings)
    if not warehouse.published.is_file():
        return {}
    with warehouse.reading_caught_up() as reader:
        return {
            f"{row.app}/{row.version_name}/{row.log_name}": call_logs.profile_of_stored(reader, row.call_log_id)
            for row in call_logs.earlier_logs(reader, app, version_name)
        }


def _tell(found: Analysis) -> None:
    """What was read, and what was not, on stderr."""
    counts, trees = found.counts, found.trees.counts
    terminal.note(
        f"{found.path.name}: {how_many(counts.call_count, 'call')} in {how_many(len(found.trees.trees), 'tree')} of "
        f"{how_many(len(found.services), 'service')}, {how_many(len(found.scores), 'method')}"
    )
    if found.first_unfit:
        number, text = found.first_unfit
        terminal.note(
            f"{counts.unfit_count:,} of {counts.line_count:,} lines are no calls, the first is {number}: {text}"
        )
    if found.first_refused:
        told = ", ".join(f"{count:,} {code}" for code, count in counts.refused.items())
        number, text = found.first_refused
        terminal.note(f"refused calls: {told}; the first is line {number}: {text}")
    for count, one, several in (
        (
            counts.cut_last_line_count,
            "last line that is cut short and was left out",
            "last lines that are cut short and were left out",
        ),
        (
            counts.long_count,
            "line of more than 64 KiB, of which the rest was not looked at",
            "lines of more than 64 KiB, of which the rest was not looked at",
        ),
        (counts.not_utf8_count, "call with a name that is not UTF-8", "calls with a name that is not UTF-8"),
        (
            trees.orphan_count,
            "call without its parent: a root of its own",
            "calls without their parent: roots of their own",
        ),
        (
            trees.split_transaction_count,
            "transaction id that was used twice and told apart by time",
            "transaction ids that were used twice and told apart by time",
        ),
        (
            trees.refused_call_count,
            "call refused (call_log_label_twice): a label stands twice in its transaction",
            "calls refused (call_log_label_twice): a label stands twice in their transaction",
        ),
        (
            trees.parallel_count,
            "call whose children ran at the same time: its self time is 0",
            "calls whose children ran at the same time: their self time is 0",
        ),
        (
            counts.no_time_count,
            "call whose line has no time that can be read: no window counts it",
            "calls whose line has no time that can be read: no window counts them",
        ),
        (
            found.outside_count,
            "call whose time is so far from the others that no window counts it: it is wrong, or --window-s is too "
            "short for a log as long",
            "calls whose time is so far from the others that no window counts them: it is wrong, or --window-s is too "
            "short for a log as long",
        ),
    ):
        if count:
            terminal.note(how_many(count, one, several))
    if found.reason:
        terminal.note(f"{found.reason.code}: {found.reason.sentence}")
    if not found.baselines:
        terminal.note(
            "not_enough_history: no baseline, so methods are ranked by seed_score: what is big, not what grew"
        )
    else:
        told = (
            f"{how_many(len(found.listed), 'method')} grew notably" if found.listed else "nothing took notably longer"
        )
        terminal.note(f"{told}, against {how_many(len(found.baselines), 'earlier log')}")


def _rows(found: Analysis, what: str, minimum_ms: float) -> tuple[list[dict[str, Any]], int]:
    """(rows of what is shown, how many the second filter hides)."""
    if what == "services":
        return [vars(one) for one in found.services], 0
    if what == "slowest":
        return [{**vars(one), "called_at": _moment(one.time_ms)} for one in found.slowest], 0
    if what == "windows":
        return [{**vars(one), "window_at": _moment(one.start_ms)} for one in found.windows], 0
    rows = _score_rows(found) if what == "scores" else _cause_rows(found)
    kept = [row for row in rows if min(row["mean_ms"] or 0.0, row["max_ms"] or 0.0) >= minimum_ms]
    return kept, len(rows) - len(kept)


def _score_rows(found: Analysis) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            "method": one.method,
            "seed_score": one.score.score,
            "rms": one.score.rms,
            "std": one.score.std,
            "service_count": one.score.service_count,
            "call_count": one.call_count,
            "mean_ms": one.mean_ms,
            "max_ms": one.max_ms,
        }
        for rank, one in enumerate(found.scores, 1)
    ]


def _cause_rows(found: Analysis) -> list[dict[str, Any]]:
    """What grew; without baselines all methods by their score, each with the service of which it takes most."""
    scores = {one.method: one.score.score for one in found.scores}
    uses = {(use.service, use.method): use for use in found.uses}
    if found.baselines:
        rows = [{**vars(cause), "seed_score": scores.get(cause.method)} for cause in found.listed]
    else:
        calls = dict(zip(found.trees.services, found.trees.service_call_count.tolist(), strict=True))
        largest = {use.method: use for use in sorted(found.uses, key=lambda use: use.self_share)}
        rows = []
        for rank, one in enumerate(found.scores, 1):
            use = largest[one.method]
            rows.append(
                {
                    "rank": rank,
                    "service": use.service,
                    "method": one.method,
                    "before_ms": None,
                    "mad_ms": None,
                    "after_ms": use.self_ms / calls[use.service],
                    "growth_ms": None,
                    "growth_share": None,
                    "z": None,
                    "is_new": None,
                    "history_count": 0,
                    "seed_score": one.score.score,
                }
            )
    for row in rows:
        own = uses.get((row["service"], row["method"]))
        row["mean_ms"], row["max_ms"] = (own.mean_ms, own.max_ms) if own else (None, None)
    return rows


def _moment(time_ms: int | None) -> str | None:
    """As the log's clock showed it."""
    from datetime import UTC, datetime

    if time_ms is None:
        return None
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


@command("impact", example='perfreg impact "com.x.dao.LedgerDAO - executeSQL" --log now.txt.gz', begins_anew=True)
@click.argument("method")
@click.option("--log", type=click.Path(dir_okay=False, path_type=Path), help="In this log; default: the stored ones.")
@click.option("--template", "template_text", type=PATTERN, metavar="T", help="What a line with a call looks like.")
@click.option("--app", type=PATTERN, help="Only stored logs of this app.")
@click.option(
    "--app-version", type=PATTERN, help="Only stored logs of this version; default: the newest log of each app."
)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="A page that lists both sides.")
def impact(
    settings: Settings, method: str, log: Path | None, template_text: str | None, app: str | None,
    app_version: str | None, form: str, html: Path | None,
) -> None:  # fmt: skip
    """Which services use a method, and how much of their time is its own and below it: what to test again.

    METHOD is a whole name or a part of one. Of runs it is a slice of the app, where their traces have slices, or one of
    its threads, and the screens on which it ran are the services; shares are means over the runs with the screen, one
    in which it did not run there counts as 0.
    """
    rows = _impact_of_file(log, template_text) if log is not None else _impact_stored(settings, app, app_version)
    chosen = _chosen(rows, method)
    chosen.sort(key=lambda row: -(row["self_share"] + row["children_share"]))
    columns = _IMPACT_COLUMNS if log is not None else ("app", "version_name", "log_name", "run_count", *_IMPACT_COLUMNS)
    terminal.show(chosen, columns, form)
    if html is not None:
        from perfreg_assets.reports.impact_page import render_impact_page

        write_named(html, render_impact_page(method, chosen))
        terminal.note(f"page: {html}")
    services = {row["service"] for row in chosen if not row.get("run_ids")}
    screens = {row["service"] for row in chosen if row.get("run_ids") and row["service"]}
    counted = {"service": len(services), "screen": len(screens)}
    told = [how_many(count, what) for what, count in counted.items() if count]
    terminal.note(" and ".join(told) + " to test again")


def _impact_of_file(log: Path, template_text: str | None) -> list[dict[str, Any]]:
    from perfreg_assets.methods.call_trees import build_trees
    from perfreg_assets.methods.jit import compilation_notice
    from perfreg_assets.methods.method_uses import method_uses
    from perfreg_assets.traces.call_log import read_call_log
    from perfreg_assets.traces.call_log_template import DEFAULT_TEMPLATE, parse_template

    with terminal.progress("impact") as show, compilation_notice():
        show(log.name)
        uses = method_uses(build_trees(read_call_log(log, parse_template(template_text or DEFAULT_TEMPLATE)).calls))
    return [_impact_row(vars(use)) for use in uses]


def _impact_stored(settings: Settings, app: str | None, version_name: str | None) -> list[dict[str, Any]]:
    from perfreg_assets.model.thread_impact import thread_impact
    from perfreg_assets.reasons import Reason, Rejected
    from perfreg_assets.warehouse import call_logs, slice_uses
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_selection, spelt

    warehouse = Warehouse.of(settings)
    with warehouse.reading_caught_up() as reader:
        app, version_name = spelt(reader, app, version_name)
        logs = call_logs.find(reader, app, version_name, None)
        if version_name is None:
            logs = list({row.app: row for row in reversed(logs)}.values())
        of_runs = [{**row, "kind": "slice"} for row in slice_uses.impact(reader, app, version_name)]
        of_runs += [{**row, "kind": "thread"} for row in thread_impact(reader, app, version_name)]
        if not logs and not of_runs:
            if not call_logs.find(reader, app, None, None):  # a log's app and version may be of no run
                require_selection(reader, app, version_name)
            chosen = f"{app or 'any app'} {version_name or ''}".strip()
            raise Rejected(
                Reason.CALL_LOG_MISSING, f"no log of {chosen} is stored, and no run with slices or threads of the app"
            )
        named = {row.call_log_id: row for row in logs}
        of_logs = [
            {
                "app": named[use.call_log_id].app,
                "version_name": named[use.call_log_id].version_name,
                "log_name": named[use.call_log_id].log_name,
                "run_count": None,
                "run_ids": [],
                **_impact_row(vars(use)),
            }
            for use in call_logs.uses_of(reader, list(named))
        ]
    return [*of_logs, *({**row, "log_name": None, "run_count": len(row["run_ids"])} for row in of_runs)]


def _impact_row(use: dict[str, Any]) -> dict[str, Any]:
    names = ("method", "service", "self_share", "children_share", "self_ms", "children_ms", "mean_ms", "max_ms")
    return {**{name: use[name] for name in names}, "calls": use["call_count"], "kind": "method"}


def _chosen(rows: Sequence[dict[str, Any]], method: str) -> list[dict[str, Any]]:
    """Rows of the method of this name, or else of those whose name holds it."""
    from perfreg_assets.methods.thread_times import entity_name
    from perfreg_assets.near_names import nearest
    from perfreg_assets.reasons import Reason, Rejected

    found = [row for row in rows if row["method"] == method]
    for part in (method, entity_name(method)):  # what runs keep has # for every number
        found = found or [row for row in rows if part.lower() in row["method"].lower()]
    if not found:
        near = nearest(method, sorted({row["method"] for row in rows}), cutoff=0.3)
        raise Rejected(Reason.METHOD_UNKNOWN, f"'{method}'" + (f" (near: {', '.join(near)})" if near else ""))
    return found
