"""What `perfreg causes RUN` and `perfreg causes --app-version V` say: what grew in suspicious windows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfreg_assets import terminal
from perfreg_assets.catalogue import SERIES, definition_of, is_known
from perfreg_assets.near_names import did_you_mean
from perfreg_assets.settings import Settings

if TYPE_CHECKING:
    from perfreg_assets.methods.window_causes import Cause
    from perfreg_assets.model.cause_details import Detailed, Details
    from perfreg_assets.model.causes import Explanation
    from perfreg_assets.model.windows import Window
    from perfreg_assets.warehouse.connection import Reader

SHOWN_ROWS = 10
SHOWN_OF_A_WINDOW = 3
_WindowKey = tuple[str, float, float]
"""(series, start_s, end_s)."""
_COLUMNS = ("rank", "kind", "what", "growth", "before", "after", "share", "z")
_CSV = (
    *("rank", "kind", "process", "thread", "name", "path", "growth", "growth_share", "before", "after", "z", "scope"),
    *("start_s", "end_s", "series", "source", "perfetto"),
)
_GIVEN = ("kind", "process", "thread", "name", "path", "growth", "growth_share", "source")
"""As a stored row has it."""
_VERSION_CSV = (*_CSV[:-1], "run_count", "run_ids")


def show_run(
    settings: Settings,
    run_id: str,
    window: tuple[float, float] | None,
    series: str | None,
    form: str,
    limit: int | None,
    *,
    with_details: bool = False,
) -> None:
    """Causes of the run's suspicious windows, or of a window that was given, in seconds since the start of the run.

    Raises:
        Rejected: RUN_UNKNOWN, DATA_MISSING.
        ValueError: the window is none, or lies outside the run.
    """
    from perfreg_assets.model.windows import united
    from perfreg_assets.warehouse import causes as cause_table
    from perfreg_assets.warehouse.connection import Warehouse

    with Warehouse.of(settings).reading_caught_up() as reader:
        run = _run(reader, run_id)
        asked = _asked(reader, settings, run, window, series)
        apart = united(asked) if form == "folded" else []
        explained = _explained(reader, settings, run_id, [*asked, *apart])
        found, over_all = explained[: len(asked)], explained[len(asked) :]
        details = _details(reader, settings, run, [*asked, *apart]) if with_details and found else None
        stored = cause_table.from_traces(reader, run_id) if found and not with_details and window is None else []
        is_kept = form == "folded" and found and not with_details and window is None
        stacks = _kept_stacks(reader, run_id, asked) if is_kept else {}
    rows = [
        _row(run, one, cause, settings)
        for one in found
        for cause in (*one.ranking.listed, *(cause for cause in one.ranking.also_grew if cause.rank is not None))
    ]
    rows += (
        _stored_rows(run, found, stored, settings) if details is None else _detail_rows(run, found, details, settings)
    )
    if form == "folded":
        told = _stored_stacks(asked, stacks) if details is None else _told_stacks(details.windows[len(asked) :])
        sys.stdout.writelines(f"{line}\n" for line in _lines(told or _thread_stacks(over_all)))
    elif form == "table":
        shown = _of_each_window(rows, limit)
        _tables(shown)
        if len(shown) < len(rows):
            terminal.note(f"{len(shown)} of {len(rows)} rows; --limit 0 shows all")
    else:
        terminal.show(_of_each_window(rows, limit or 0), _CSV, form)
    told_of = {(row["series"], row["start_s"]) for row in rows if row["scope"] == "app"}
    for one in found:
        where = _where(one.window.series, one.window.start_s, one.window.end_s)
        if one.state != "ranked":
            terminal.note(f"{where}: {one.state}: {one.state_reason}")
        elif (one.window.series, one.window.start_s) not in told_of:
            terminal.note(f"{where}: nothing that is recorded grew notably")
        if one.disturbance:
            terminal.note(f"{where}: disturbed: {one.disturbance}")


def show_version(settings: Settings, app: str | None, version_name: str, form: str, limit: int | None) -> None:
    """What grew in at least three runs of a version.

    Raises:
        Rejected: APP_UNKNOWN, VERSION_UNKNOWN.
    """
    from perfreg_assets.warehouse import causes, version_verdicts
    from perfreg_assets.warehouse.connection import Warehouse
    from perfreg_assets.warehouse.named import require_selection

    with Warehouse.of(settings).reading_caught_up() as reader:
        app, known = require_selection(reader, app, version_name)
        version_name = known or version_name
        found = causes.of_version(reader, app, version_name)
        judged = [
            row
            for row in version_verdicts.listing(reader, app=app, version_name=version_name)
            if row["axis"] == version_verdicts.WHOLE
        ]
    rows = [_version_row(rank, one) for rank, one in enumerate(found, 1)]
    limit = (SHOWN_ROWS if form == "table" else 0) if limit is None else limit
    shown = rows[:limit] if limit else rows
    if form == "table":
        columns = ("rank", "series", "kind", "what", "growth", "before", "after", "share", "z", "runs")
        terminal.table([{**_told(row), "runs": row["run_count"]} for row in shown], columns)
    else:
        terminal.show(shown, _VERSION_CSV, form)
    if not rows:
        for whole in judged:
            terminal.note(f"{version_name}: {_no_causes(whole)}")


def _no_causes(whole: Mapping[str, Any]) -> str:
    """Why nothing is listed of a version, by its row of marts.version_verdicts."""
    if not whole["judged_count"]:
        return f"it was not asked what grew; {whole['explanation']}"
    if not whole["anomalous_count"]:
        return "none of its runs is anomalous by itself, so it was not asked what grew"
    return "nothing grew in the suspicious windows of three runs or more"


def _run(reader: Reader, run_id: str) -> dict[str, Any]:
    from perfreg_assets.warehouse.named import require_run

    require_run(reader, run_id)
    [found] = reader.dicts(
        "SELECT run_id, app, partition_key, state, reason, run_verdict, has_trace FROM marts.runs WHERE run_id = ?",
        [run_id],
    )
    return found


def _asked(
    reader: Reader, settings: Settings, run: dict[str, Any], window: tuple[float, float] | None, series: str | None
) -> list[Window]:
    """The windows to explain, the surest first."""
    from perfreg_assets.model import freshness
    from perfreg_assets.model.windows import window_of
    from perfreg_assets.warehouse import causes as cause_table
    from perfreg_assets.warehouse import settings_table, states

    if run["state"] != "complete":
        terminal.note(f"{run['run_id']} is {run['state']}: {run['reason'] or 'it was not looked at yet'}")
        return []
    in_force = settings_table.in_force(reader, settings)
    for one in freshness.due(reader, in_force, [run["partition_key"]]):
        if one.run_id == run["run_id"]:
            terminal.note(f"{one.run_id} is looked at again, this may change: {one.why}")
    others: list[str] = []
    if series is not None and not is_known(series):
        raise ValueError(f"no series {series}{did_you_mean(series, [one.name for one in SERIES])}")
    if window is None:
        alarms = states.alarms(reader, [run["run_id"]])
        suspicious = [
            one
            for one in cause_table.suspicious(reader, [run["run_id"]])[run["run_id"]]
            if (one.run_id, one.series) in alarms
        ]
        windows = [window_of(one, in_force) for one in suspicious if series in (None, one.series)]
        others = sorted({one.series for one in suspicious} - {series})
    else:
        if series is not None:
            _require_series(reader, run["run_id"], series)
        windows = [_given(reader, run, window, series or "cpu_app")]
    if not windows:
        verdict = run["run_verdict"] or "not judged yet"
        of_series = "" if series is None else f" of {series}"
        elsewhere = f", but of {', '.join(others)}" if others else ""
        terminal.note(
            f"{run['run_id']} is {verdict} and has no suspicious window{of_series}{elsewhere}; --window A B ranks any"
        )
    return windows


def _explained(reader: Reader, settings: Settings, run_id: str, windows: Sequence[Window]) -> list[Explanation]:
    """What grew in each window."""
    from perfreg_assets.model import causes
    from perfreg_assets.warehouse import settings_table

    if not windows:
        return []
    explainer = causes.explainers(reader, [run_id], settings_table.in_force(reader, settings))[run_id]
    return [explainer.explain(one) for one in windows]


def _kept_stacks(reader: Reader, run_id: str, windows: Sequence[Window]) -> dict[int, list[dict[str, Any]]]:
    """Place of a window -> its stacks, as they were kept when the run was explained."""
    from perfreg_assets.warehouse import causes as cause_table

    known = cause_table.windows(reader, run_id)
    stacks = cause_table.stacks(reader, [run_id]) if known else {}
    places = {(one.series, one.start_ns, one.end_ns): place for place, one in enumerate(windows)}
    found = {}
    for (_, series, index), (start_ns, end_ns) in known.items():
        place = places.get((series, start_ns, end_ns))
        if place is not None:
            found[place] = stacks.get((run_id, series, index), [])
    return found


def _require_series(reader: Reader, run_id: str, name: str) -> None:
    """Nothing explains a series that was not recorded; the threads that grew would be shown as its growth."""
    rows = reader.rows(
        "SELECT series FROM core.time_series WHERE run_id = ? AND NOT is_missing ORDER BY series", [run_id]
    )
    known = [series for (series,) in rows]
    if name not in known:
        raise ValueError(f"{run_id} has no {name}; it has {', '.join(known) or 'none at all'}")


def _given(reader: Reader, run: dict[str, Any], window: tuple[float, float], name: str) -> Window:
    from perfreg_assets.model.windows import Window

    start_s, end_s = window
    first, last = reader.rows(
        "SELECT min(start_ns), max(start_ns + sample_count * interval_s * 1e9) FROM core.time_series "
        "WHERE run_id = ? AND NOT is_missing",
        [run["run_id"]],
    )[0]
    length = (last - first) / 1e9 if first is not None else 0.0
    if not 0 <= start_s < end_s or start_s >= length:
        raise ValueError(
            f"--window {start_s:g} {end_s:g} is no part of the run, which has seconds 0 to {length:g}; "
            "give its begin and its end"
        )
    return Window(name, start_s, first + round(start_s * 1e9), first + round(min(end_s, length) * 1e9))


def _row(
    run: dict[str, Any], one: Explanation, cause: Cause, settings: Settings, source: str | None = None
) -> dict[str, Any]:
    from perfreg_assets.model.explaining import SOURCE_OF

    is_apart = cause in one.ranking.also_grew
    assert cause.rank is not None
    return {
        "rank": cause.rank + (len(one.ranking.listed) if is_apart else 0),
        "kind": cause.kind,
        "process": cause.process,
        "thread": cause.thread,
        "name": cause.name,
        "path": ";".join(cause.path) or None,
        "growth": cause.growth,
        "growth_share": cause.growth_share,
        "before": cause.history_median,
        "after": cause.value,
        "z": cause.z,
        "scope": cause.scope,
        "source": source or SOURCE_OF[cause.kind],
        **_place(run, one.window, settings),
    }


def _place(run: dict[str, Any], window: Window, settings: Settings) -> dict[str, Any]:
    """Where a row of a window belongs, and the way there."""
    from perfreg_assets.reports.links import perfetto_link

    link = perfetto_link(run["run_id"], window.start_ns, window.end_ns, app=run["app"], server=settings.reports_address)
    return {
        "start_s": window.start_s,
        "end_s": window.end_s,
        "series": window.series,
        "perfetto": link.local if run["has_trace"] else None,
    }


def _details(reader: Reader, settings: Settings, run: dict[str, Any], windows: Sequence[Window]) -> Details:
    """What the traces tell of the windows; what they do not is said."""
    from perfreg_assets.model.cause_details import explain_details
    from perfreg_assets.warehouse import settings_table

    in_force = settings_table.in_force(reader, settings)
    with terminal.progress("causes") as show:
        details = explain_details(reader, in_force, run["run_id"], windows, progress=show)
    for one in details.left_out:
        what = one.file_name if one.is_profile else "the trace"
        terminal.note(f"{what} of {one.run_id} cannot be read: {one.why}")
    for source, reason in details.missing.items():
        if reason is not None:
            terminal.note(f"{source}: {reason}")
    if details.sample_count:
        terminal.note(f"{details.without_stack_count} of {details.sample_count} call stack samples have no stack")
    return details


def _detail_rows(
    run: dict[str, Any], found: Sequence[Explanation], details: Details, settings: Settings
) -> list[dict[str, Any]]:
    """Rows behind those of their windows, source by source."""
    return [
        {**_row(run, one, cause, settings, source), "rank": _behind(one) + place}
        for one, detailed in zip(found, details.windows, strict=False)
        for place, (source, cause) in enumerate(
            ((source, cause) for source, rank in detailed.rankings.items() for cause in rank.listed), 1
        )
    ]


def _stored_rows(
    run: dict[str, Any], found: Sequence[Explanation], stored: Sequence[dict[str, Any]], settings: Settings
) -> list[dict[str, Any]]:
    """What was found in the trace when the run was explained, behind the rows of its windows."""
    rows = []
    for one in found:
        own = [row for row in stored if (row["series"], row["start_ns"]) == (one.window.series, one.window.start_ns)]
        for place, row in enumerate(own, 1):
            given = {key: row[key] for key in _GIVEN}
            rows.append(
                {
                    "rank": _behind(one) + place,
                    **given,
                    "before": row["history_median"],
                    "after": row["value"],
                    "z": row["z"],
                    "scope": row["scope"],
                    **_place(run, one.window, settings),
                }
            )
    return rows


def _behind(one: Explanation) -> int:
    """The last rank of what is known without the trace."""
    return len(one.ranking.listed) + sum(cause.rank is not None for cause in one.ranking.also_grew)


Stacks = dict[tuple[str, ...], list[float]]
"""process, thread, names from the outermost on → before and after, microseconds"""


def _told_stacks(windows: Sequence[Detailed]) -> Stacks:
    """Of slices, call stacks and methods, over windows that do not overlap."""
    from perfreg_assets.warehouse.causes import STACKS_OF_TIME

    stacks: Stacks = {}
    for one in windows:
        for ranking in (one.rankings[source] for source in STACKS_OF_TIME if source in one.rankings):
            for cause in ranking.causes:
                path = (cause.process, cause.thread or "", *cause.path)
                _add(stacks, path, cause.history_median, cause.value, one.window)
    return stacks


def _stored_stacks(windows: Sequence[Window], stacks: Mapping[int, Sequence[Mapping[str, Any]]]) -> Stacks:
    """The same from what was kept of windows when the run was explained: place of a window → its stacks.

    Kept is what a window took as a whole. Of windows that overlap the longest ones are taken, and what lies outside
    them is said: of it nobody knows what it took without the trace.
    """
    from perfreg_assets.warehouse.causes import STACKS_OF_TIME

    told: Stacks = {}
    left_out: dict[int, Window] = {}
    for source in STACKS_OF_TIME:
        own = {place: [row for row in rows if row["source"] == source] for place, rows in stacks.items()}
        having = [place for place, rows in own.items() if rows]
        taken: list[Window] = []
        for place in sorted(having, key=lambda place: (windows[place].start_ns - windows[place].end_ns, place)):
            window = windows[place]
            if not any(one.start_ns < window.end_ns and window.start_ns < one.end_ns for one in taken):
                taken.append(window)
                for row in own[place]:
                    path = (row["process"], row["thread"] or "", *row["stack"])
                    _add(told, path, row["history_median"], row["value"], window)
        left_out |= {place: windows[place] for place in having if not _is_covered(windows[place], taken)}
    for _, window in sorted(left_out.items()):
        terminal.note(
            f"{_where(window.series, window.start_s, window.end_s)}: not in the stacks, as longer windows overlap it; "
            "--details adds the seconds that are its own"
        )
    return told


def _is_covered(window: Window, taken: Sequence[Window]) -> bool:
    """Whether every moment of a window is in one of some that do not overlap."""
    inside = (min(one.end_ns, window.end_ns) - max(one.start_ns, window.start_ns) for one in taken)
    return sum(max(length_ns, 0) for length_ns in inside) == window.end_ns - window.start_ns


def _add(stacks: Stacks, path: tuple[str, ...], before: float | None, after: float, window: Window) -> None:
    length_us = (window.end_ns - window.start_ns) / 1e3
    counts = stacks.setdefault(path, [0.0, 0.0])
    counts[0] += (before or 0.0) * length_us
    counts[1] += after * length_us


def _version_row(rank: int, one: dict[str, Any]) -> dict[str, Any]:
    return {
        "rank": rank,
        **{key: one[key] for key in ("kind", "process", "thread", "name", "path")},
        "growth": one["growth_median"],
        "growth_share": one["growth_share_median"],
        "before": one["before_median"],
        "after": one["after_median"],
        "z": one["z_median"],
        "scope": one["scope"],
        **dict.fromkeys(("start_s", "end_s")),  # the windows of its runs lie elsewhere in each
        **{key: one[key] for key in ("series", "source", "app", "version_name", "run_count", "run_ids")},
    }


def _of_each_window(rows: Sequence[dict[str, Any]], limit: int | None) -> list[dict[str, Any]]:
    """The first ranks of each window, as they stand.

    Args:
        limit: how many of each; 0: all; None: as many as make `SHOWN_ROWS` together, and at least `SHOWN_OF_A_WINDOW`.
    """
    places: dict[_WindowKey, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(_window_of(row), []).append(place)
    if limit is None:
        limit = max(SHOWN_OF_A_WINDOW, SHOWN_ROWS // max(1, len(places)))
    first = (sorted(own, key=lambda place: (rows[place]["rank"], place))[: limit or None] for own in places.values())
    return [rows[place] for place in sorted(place for own in first for place in own)]


def _tables(rows: Sequence[dict[str, Any]]) -> None:
    """A table per window."""
    windows: dict[_WindowKey, list[dict[str, Any]]] = {}
    for row in rows:
        windows.setdefault(_window_of(row), []).append(row)
    for (series, start_s, end_s), own in windows.items():
        terminal.table([_told(row) for row in own], _COLUMNS, title=_where(series, start_s, end_s))
        if own[0]["perfetto"]:
            terminal.say(f"Perfetto: {own[0]['perfetto']}")
        terminal.say()


def _window_of(row: dict[str, Any]) -> _WindowKey:
    return row["series"], row["start_s"], row["end_s"]


def _where(series: str, start_s: float, end_s: float) -> str:
    return f"{series}, {start_s:g}–{end_s:g} s"


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A row for people: one name, and numbers with their unit."""
    from perfreg_assets.reports.causes_wording import amount, cause_name, share

    what = cause_name(row["kind"], row["process"], row["thread"], row["name"], row["source"])
    if row["scope"] == "other" and definition_of(row["series"]).is_of_app:
        what += " (also grew)"
    return {
        **row,
        "what": what,
        "growth": amount(row["growth"], row["kind"], is_difference=True),
        **{name: amount(row[name], row["kind"]) for name in ("before", "after")},
        "share": share(row["growth_share"]),
    }


def _thread_stacks(explained: Sequence[Explanation]) -> Stacks:
    """Process and thread alone, over windows that do not overlap."""
    stacks: Stacks = {}
    for one in explained:
        for cause in (*one.ranking.causes, *one.ranking.also_grew):
            if cause.kind == "thread":
                _add(stacks, (cause.process, cause.thread or ""), cause.history_median, cause.value, one.window)
    return stacks


def _lines(stacks: Mapping[tuple[str, ...], Sequence[float]]) -> Iterator[str]:
    for names, (before, after) in sorted(stacks.items()):
        stack = ";".join(" ".join(name.replace(";", ":").split()) for name in names)
        yield f"{stack} {round(before)} {round(after)}"
