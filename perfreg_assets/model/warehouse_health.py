"""Is the warehouse sound: the file that is written to, the published copy, the values beside them?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from perfreg_assets.how_many import how_many
from perfreg_assets.model.finding import FAILED, NOTICE, OK, Finding, guarded
from perfreg_assets.model.trace_places import found_again
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings, earlier_published_beside
from perfreg_assets.warehouse import benchmarks, examining, migrations, runs
from perfreg_assets.warehouse import traces as trace_table
from perfreg_assets.warehouse.connection import Reader, Warehouse
from perfreg_assets.warehouse.examining import Condition

AheadIn = Callable[[Reader], list[tuple[str, datetime]]]
"""Names and starts of what is in the future, the latest first."""
_DATED: Mapping[str, tuple[tuple[str, str], AheadIn]] = {
    "dates of runs": (("run", "runs"), runs.dated_in_future),
    "dates of benchmarks": (("file of benchmark results", "files of benchmark results"), benchmarks.dated_in_future),
}


def examine_warehouse(settings: Settings) -> list[Finding]:
    """Of both files and the data folder."""
    warehouse = Warehouse.of(settings)
    own_check, published_check = f"warehouse {warehouse.path.name}", f"warehouse {warehouse.published.name}"
    try:
        own, published = examining.examine(warehouse, timeout_s=settings.lock_timeout_s)
    except Rejected as rejected:
        state = NOTICE if rejected.reason is Reason.WAREHOUSE_LOCKED else FAILED
        return [Finding(own_check, state, rejected.detail, rejected.reason.sentence)]
    found = [
        guarded(own_check, lambda: _own(warehouse, own_check, own, published, settings.lock_timeout_s)),
        guarded(published_check, lambda: _published(warehouse, published_check, own, published)),
        *_earlier_copy(warehouse, own),
    ]
    if published.is_sound and not published.is_newer:
        found.append(guarded("values", lambda: _values(warehouse)))
        if not settings.exchange and published.version == migrations.latest_version():  # with one, others keep them
            found.append(guarded("registered traces", lambda: _traces(warehouse, settings)))
        if published.version == migrations.latest_version():
            found.append(guarded("traces noted as gone", lambda: _found_again(warehouse, settings)))
            found.append(guarded("registered folders", lambda: registered_folders(warehouse, settings)))
            for check, (nouns, ahead_in) in _DATED.items():
                found.append(guarded(check, partial(_dates, warehouse, check, nouns, ahead_in)))
    return found


def _own(warehouse: Warehouse, check: str, own: Condition, published: Condition, timeout_s: float) -> Finding:
    def bring_back() -> str:
        aside = examining.bring_back(warehouse, timeout_s=timeout_s)
        return f"brought back from {warehouse.published.name}" + (f", the old one is kept as {aside}" if aside else "")

    if own.is_sound:
        return _sound(warehouse, check, own, published)
    what = own.detail or f"it is {own.state}"
    if published.is_sound:
        return Finding(check, FAILED, what, f"bring it back from {warehouse.published.name}", bring_back)
    if _is_new(own, published):
        return _none_yet(check)
    return Finding(check, FAILED, what, Reason.WAREHOUSE_LOST.sentence)


def _is_new(own: Condition, published: Condition) -> bool:
    """Nothing was ever stored here."""
    return published.state == examining.MISSING and own.state in (examining.MISSING, examining.EMPTY)


def _none_yet(check: str) -> Finding:
    return Finding(check, NOTICE, "there is none yet", "run `perfreg ingest` or `perfreg demo`")


def _sound(warehouse: Warehouse, check: str, own: Condition, published: Condition) -> Finding:
    if own.is_newer:
        detail = f"schema version {own.version}, this release knows up to {migrations.latest_version()}"
        return Finding(check, FAILED, detail, Reason.WAREHOUSE_NEWER.sentence)
    if own.altered:
        return Finding(check, FAILED, own.altered, Reason.WAREHOUSE_ALTERED.sentence)
    if own.run_count < published.run_count:
        detail = f"{how_many(own.run_count, 'run')}, {published.run_count} are published"
        return Finding(check, FAILED, detail, Reason.WAREHOUSE_FEWER_RUNS.sentence)
    if own.version < migrations.latest_version():
        return Finding(
            check, NOTICE, f"schema version {own.version} of an earlier release",
            "bring it on, as the next write would", lambda: _again(warehouse, "brought on to this release"),
        )  # fmt: skip
    return Finding(check, OK, f"{how_many(own.run_count, 'run')}, schema version {own.version}")


def _published(warehouse: Warehouse, check: str, own: Condition, published: Condition) -> Finding:
    if not published.is_sound:
        if own.is_sound and not own.is_newer:
            what = published.detail or f"it is {published.state}"
            return Finding(check, FAILED, what, "publish again", lambda: _again(warehouse, "published again"))
        if _is_new(own, published):
            return _none_yet(check)
        reason = Reason.WAREHOUSE_NEWER if own.is_newer else Reason.WAREHOUSE_LOST
        return Finding(check, FAILED, published.detail or f"it is {published.state}", reason.sentence)
    if published.is_newer:
        detail = f"schema version {published.version}, this release knows up to {migrations.latest_version()}"
        return Finding(check, FAILED, detail, Reason.WAREHOUSE_NEWER.sentence)
    told = f"{how_many(published.run_count, 'run')}, schema version {published.version}"
    if warehouse.has_unpublished and own.is_sound:
        return Finding(
            check, NOTICE, f"{told}; something was written since", "publish it",
            lambda: _again(warehouse, "published"),
        )  # fmt: skip
    return Finding(check, OK, told)


def _earlier_copy(warehouse: Warehouse, own: Condition) -> list[Finding]:
    """The published copy of release 0.1.0 where it had another name: whoever opens it reads what was true then."""
    path = earlier_published_beside(warehouse.path)
    if path == warehouse.published or path.with_name(f"{path.name}.lock").exists():  # a warehouse of its own
        return []
    copy = examining.condition_of(path)
    if not copy.is_sound or not own.is_sound or copy.run_count > own.run_count:
        return []

    def remove() -> str:
        path.unlink()
        return "removed"

    told = (
        f"{path.name}, {how_many(copy.run_count, 'run')}: nothing writes to it; readers open {warehouse.published.name}"
    )
    return [Finding("copy of release 0.1.0", NOTICE, told, "remove it", remove)]


def _values(warehouse: Warehouse) -> Finding:
    count, missing = examining.missing_values(warehouse)
    if missing:
        detail = (
            f"{len(missing)} of {count} files of {warehouse.data.root} are not there or not whole, such as {missing[0]}"
        )
        return Finding("values", FAILED, detail, Reason.DATA_MISSING.sentence)
    return Finding("values", OK, f"{how_many(count, 'file')} in {warehouse.data.root}")


def registered_folders(warehouse: Warehouse, settings: Settings) -> Finding:
    """Whether the warehouse knows the runs whose files are kept: one that was restored lacks what came later."""
    with warehouse.reading() as reader:
        unknown = examining.unknown_runs(reader, settings.runs_dir)
    if not unknown:
        return Finding("registered folders", OK, f"the warehouse knows each of {settings.runs_dir}")
    runs = f"{how_many(len(unknown), 'run')} of {settings.runs_dir} {'is' if len(unknown) == 1 else 'are'}"
    more = " …" if len(unknown) > 1 else ""
    return Finding(
        "registered folders",
        NOTICE,
        f"{runs} not in the warehouse, such as {unknown[0]}",
        f"take in again what is wanted: `perfreg ingest {settings.runs_dir / unknown[0]}{more}`",
    )


def _traces(warehouse: Warehouse, settings: Settings) -> Finding:
    """Those that are not there although nobody deleted them by the setting `keep_traces`."""
    with warehouse.reading() as reader:
        kept = examining.kept_traces(reader)
    missing = [run_id for run_id, file in kept if not (settings.runs_dir / run_id / file).is_file()]
    if missing:
        detail = f"{len(missing)} of {len(kept)} are not in {settings.runs_dir}, such as {missing[0]}"
        advice = "verdicts stay; ingest the run folders again, or bring the folder back from a copy, to look into them"
        if settings.exchange_note_file.exists():
            advice = f"set PERFREG_EXCHANGE, where workers keep them; without one {advice}"
        return Finding("registered traces", NOTICE, detail, advice)
    return Finding("registered traces", OK, f"{len(kept)} in {settings.runs_dir}")


def _found_again(warehouse: Warehouse, settings: Settings) -> Finding:
    check = "traces noted as gone"
    with warehouse.reading() as reader:
        count, found = len(trace_table.gone(reader)), found_again(reader, settings)

    def note() -> str:
        with warehouse.writing() as writer:
            trace_table.note_gone(writer, found, is_gone=False)
        return "noted as there"

    if found:
        told = f"{len(found)} of {count} are where they are kept, such as {found[0]}"
        return Finding(check, NOTICE, told, "note them as there: they are read again where that is due", note)
    return Finding(check, OK, f"{count}, and none is where it was kept")


def _dates(warehouse: Warehouse, check: str, nouns: tuple[str, str], ahead_in: AheadIn) -> Finding:
    """Of what is in the future: every history begins with it, and its version is the latest where none has a code."""
    with warehouse.reading() as reader:
        ahead = ahead_in(reader)
    if not ahead:
        return Finding(check, OK, "none is in the future")
    name, started_at = ahead[0]
    told = f"{how_many(len(ahead), *nouns)} {'is' if len(ahead) == 1 else 'are'} dated in the future, such as {name}"
    return Finding(check, NOTICE, f"{told}: {started_at:%Y-%m-%d %H:%M} UTC", Reason.DATED_AHEAD.sentence)


def _again(warehouse: Warehouse, done: str) -> str:
    examining.publish_again(warehouse)
    return done
