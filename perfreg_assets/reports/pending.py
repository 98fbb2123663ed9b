"""What nobody was told of yet goes to the webhook, once each: by Dagster's sensor and by `perfreg notify` alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from perfreg_assets.reports.benchmark_site import family_page
from perfreg_assets.reports.in_flight import InFlight
from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.loading_causes import told_causes, told_version_causes
from perfreg_assets.reports.notify import Outcome, Regression, notify, settle
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import notifications as table
from perfreg_assets.warehouse import settings_table, version_verdicts
from perfreg_assets.warehouse.connection import Reader, Warehouse

NO_WEBHOOK = "no webhook is set (PERFREG_WEBHOOK_URL)"
TOLD_BENCHMARKS = 5


def pending(reader: Reader, settings: Settings) -> list[Regression]:
    """Regressions of runs, versions and files of benchmarks without notice or review, ready to be told."""
    of_run, of_benchmarks = table.pending(reader), table.pending_benchmarks(reader)
    of_all = table.pending_versions(reader)
    current = settings_table.in_force(reader, settings)
    judged = version_verdicts.of_versions(
        reader, {(row["app"], row["version_name"]) for row in of_run}, current.omega, current.detector
    )
    causes = told_causes(reader, [row["run_id"] for row in of_run])
    versions: dict[str, set[str]] = defaultdict(set)
    for row in of_run:
        versions[row["app"]].add(row["version_name"])
    in_several = {app: told_version_causes(reader, app, names) for app, names in versions.items()}
    of_runs = [
        _of_judged(
            row,
            **_told(judged.get((row["app"], row["version_name"]), [])),
            causes=(*in_several[row["app"]][row["version_name"]], *causes[row["run_id"]]),
        )
        for row in of_run
    ]
    return [*map(_of_version, of_all), *of_runs, *map(_of_benchmarks, of_benchmarks)]


def post_pending(warehouse: Warehouse, settings: Settings) -> tuple[int, Outcome]:
    """Posts what is pending to `webhook_url`, each at most once whoever else is posting: one process does at a time.

    Returns:
        How many were pending, and what became of them; of none of them while another process posts.

    Raises:
        ValueError: no webhook is set.
        Rejected: NOTIFICATION_REFUSED: it is no address; what was pending is. WAREHOUSE_LOCKED and its like: that one
            was told could not be written yet; the next call does, before it posts anything.
    """
    if not settings.webhook_url:
        raise ValueError(NO_WEBHOOK)

    def record(key: str, run_id: str) -> None:
        with warehouse.writing() as writer:
            table.record(writer, key, run_id)

    in_flight = InFlight(warehouse.path)
    with in_flight.alone() as is_alone:
        settled = settle(in_flight, record) if is_alone else Outcome()
        with warehouse.reading_caught_up() as reader:
            regressions = pending(reader, settings)
        if not is_alone:
            return len(regressions), settled
        posted = notify(
            regressions,
            webhook_url=settings.webhook_url,
            reports_url=settings.reports_address,
            attempts=settings.webhook_attempts,
            timeout_s=settings.webhook_timeout_s,
            in_flight=in_flight,
            record=record,
        )
    was_left = len(settled.sent) + len(settled.uncertain)
    return was_left + len(regressions), settled.and_then(posted)


def _told(verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a message says of a version as a whole; nothing without a verdict."""
    for row in verdicts:
        if row["axis"] == version_verdicts.WHOLE:
            return {"version_verdict": row["explanation"], "is_version_anomalous": bool(row["is_anomalous"])}
    return {}


def _of_version(row: dict[str, Any]) -> Regression:
    """A message of its own where only the runs together show it."""
    return _of_judged(row, page=version_page(row["app"], row["version_name"]))


def _of_judged(row: dict[str, Any], **more: Any) -> Regression:
    """Of a row of `notifications.pending` or `pending_versions`."""
    return Regression(
        notification_key=row["notification_key"],
        run_id=row["run_id"],
        app=row["app"],
        version_name=row["version_name"],
        explanation=row["explanation"],
        axes=tuple(row["axes"]),
        **more,
    )


def _of_benchmarks(row: dict[str, Any]) -> Regression:
    """A message per file of results, whatever number of them is slower."""
    slower = row["slower"]
    more = f" … and {len(slower) - TOLD_BENCHMARKS} more" if len(slower) > TOLD_BENCHMARKS else ""
    return Regression(
        notification_key=row["notification_key"],
        run_id=row["benchmark_run_id"],
        app=row["app"],
        version_name=row["version_name"],
        explanation=f"{len(slower)} of its benchmarks: {' '.join(slower[:TOLD_BENCHMARKS])}{more}",
        page=family_page(row["app"], row["device"], row["variant"], row["runner"]),
    )
