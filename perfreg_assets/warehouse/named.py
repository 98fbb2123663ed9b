"""Runs, apps and versions as people name them: a name that is not there is an error with the nearest that are."""

from __future__ import annotations

from perfreg_assets.near_names import did_you_mean
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Reader

_SHOWN = 3
# Of all names those that are a little alike, so that not every id of a large warehouse is compared letter by letter.
_ALIKE = """
SELECT DISTINCT {column} FROM core.runs WHERE {column} IS NOT NULL AND ($app IS NULL OR app = $app)
ORDER BY jaro_winkler_similarity({column}, $name) DESC, {column} LIMIT 50
"""
_LAST = """
SELECT {column} FROM core.runs WHERE {column} IS NOT NULL AND ($app IS NULL OR app = $app)
GROUP BY {column} ORDER BY max(started_at) DESC NULLS LAST, {column} LIMIT $count
"""
# Of one app in the order of its versions; those of several have none but time.
_LAST_VERSIONS = """
SELECT named.version_name
FROM core.runs AS named
LEFT JOIN marts.version_ranks AS versions ON versions.app = named.app AND versions.version_name = named.version_name
WHERE named.version_name IS NOT NULL AND ($app IS NULL OR named.app = $app)
GROUP BY named.version_name
ORDER BY
    CASE WHEN $app IS NOT NULL THEN max(versions.version_rank) END DESC NULLS LAST,
    max(versions.first_started_at) DESC NULLS LAST, named.version_name
LIMIT $count
"""
_IS_THERE = "SELECT count(*) FROM core.runs WHERE {column} = $name AND ($app IS NULL OR app = $app)"


def is_new(settings: Settings) -> bool:
    """Whether writing would make the warehouse; one that was lost comes back from the published copy when it is
    opened."""
    return not settings.warehouse.exists() and not settings.published_warehouse.exists()


def require_warehouse(settings: Settings) -> None:
    """Raises Rejected (WAREHOUSE_MISSING) where the file would be made by changing what cannot be in it yet."""
    if is_new(settings):
        raise Rejected(Reason.WAREHOUSE_MISSING, f"{settings.warehouse} does not exist")


def require_run(reader: Reader, run_id: str) -> None:
    """Raises Rejected (RUN_UNKNOWN) when there is no such run, quarantined ones included."""
    _require(reader, Reason.RUN_UNKNOWN, "run", "run_id", run_id)


def require_selection(reader: Reader, app: str | None, version_name: str | None) -> tuple[str | None, str | None]:
    """App and version as `spelt`; runs of this app and of this version (of the app, or of any) are there; None: any.

    Raises:
        Rejected: APP_UNKNOWN, VERSION_UNKNOWN.
    """
    app, version_name = spelt(reader, app, version_name)
    if app is not None:
        _require(reader, Reason.APP_UNKNOWN, "app", "app", app)
    if version_name is not None:
        _require(reader, Reason.VERSION_UNKNOWN, "version", "version_name", version_name, app)
    return app, version_name


def spelt(reader: Reader, app: str | None, version_name: str | None) -> tuple[str | None, str | None]:
    """The names as they were given where runs have them so; else without the blanks at their ends, which are none of
    most names: a file's last line break."""
    app = _spelt(reader, "app", app, None)
    return app, _spelt(reader, "version_name", version_name, app)


def _spelt(reader: Reader, column: str, name: str | None, app: str | None) -> str | None:
    if name is None or reader.value(_IS_THERE.format(column=column), {"name": name, "app": app}):
        return name
    return name.strip()


_SCENARIOS = """
SELECT DISTINCT scenario FROM core.runs
WHERE scenario IS NOT NULL AND version_name = $version_name AND ($app IS NULL OR app = $app)
"""


def require_scenario(reader: Reader, app: str | None, version_name: str, scenario: str) -> None:
    """Raises Rejected (SCENARIO_UNKNOWN) when no run of a version is of this scenario."""
    there = sorted(one for (one,) in reader.rows(_SCENARIOS, {"app": app, "version_name": version_name}))
    if scenario in there:
        return
    others = f" (it has {', '.join(there[:_SHOWN])}{' …' if len(there) > _SHOWN else ''})" if there else ""
    told = did_you_mean(scenario, there) or others or " (its runs have none)"
    raise Rejected(Reason.SCENARIO_UNKNOWN, f"scenario {scenario!r} of version {version_name}{told}")


def runs_like(reader: Reader, name: str) -> str:
    """` (did you mean a or b?)` of the runs whose ids are most like the name; empty where none is."""
    return _like(reader, "run_id", name, None)


def _like(reader: Reader, column: str, name: str, app: str | None) -> str:
    alike = reader.rows(_ALIKE.format(column=column), {"name": name, "app": app})
    return did_you_mean(name, [one for (one,) in alike])


def _require(reader: Reader, reason: Reason, what: str, column: str, name: str, app: str | None = None) -> None:
    if reader.value(_IS_THERE.format(column=column), {"name": name, "app": app}):
        return
    of_app = f" of {app}" if app else ""
    told = _like(reader, column, name, app)
    if not told:
        query = _LAST_VERSIONS if column == "version_name" else _LAST.format(column=column)
        last = reader.rows(query, {"app": app, "count": _SHOWN})
        told = f" (the latest {'are' if len(last) > 1 else 'is'} {', '.join(one for (one,) in last)})" if last else ""
    raise Rejected(reason, f"{what} {name!r}{of_app}{told}")
