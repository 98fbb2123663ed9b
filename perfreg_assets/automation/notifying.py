"""Notifications: new regressions go to a webhook, once each. Off unless `webhook_url` is set."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.reports.benchmark_site import family_page
from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.loading_causes import told_causes, told_version_causes
from perfreg_assets.reports.notify import Regression, notify
from perfreg_assets.warehouse import notifications as table
from perfreg_assets.warehouse import settings_table, version_verdicts

TOLD_BENCHMARKS = 5


@dg.sensor(
    name="new_regressions",
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Posts each new regression to the webhook, once, with a link to its page. Off unless one is set.",
)
def new_regressions(context: dg.SensorEvaluationContext, project: Project) -> dg.SkipReason:
    settings, warehouse = project.settings(), project.open()
    if not settings.webhook_url:
        return dg.SkipReason("no webhook is set (PERFREG_WEBHOOK_URL)")
    with warehouse.reading() as reader:
        pending, measured = table.pending(reader), table.pending_benchmarks(reader)
        of_all = table.pending_versions(reader)
        current = settings_table.in_force(reader, settings)
        judged = version_verdicts.of_versions(
            reader, {(row["app"], row["version_name"]) for row in pending}, current.omega, current.detector
        )
        of_run = told_causes(reader, [row["run_id"] for row in pending])
        versions: dict[str, set[str]] = defaultdict(set)
        for row in pending:
            versions[row["app"]].add(row["version_name"])
        of_version = {app: told_version_causes(reader, app, names) for app, names in versions.items()}

    def claim(key: str, run_id: str) -> bool:
        with warehouse.writing() as writer:
            return bool(table.claim(writer, [(key, run_id)]))

    def release(key: str) -> None:
        with warehouse.writing() as writer:
            table.release(writer, [key])

    of_runs = [
        _of_judged(
            row,
            version_verdict=_told(judged.get((row["app"], row["version_name"]), [])),
            causes=(*of_version[row["app"]][row["version_name"]], *of_run[row["run_id"]]),
        )
        for row in pending
    ]
    regressions = [*map(_of_version, of_all), *of_runs, *map(_of_benchmarks, measured)]
    outcome = notify(
        regressions,
        webhook_url=settings.webhook_url,
        reports_url=settings.reports_address,
        attempts=settings.webhook_attempts,
        timeout_s=settings.webhook_timeout_s,
        claim=claim,
        release=release,
    )
    for key, problem in (*outcome.refused, *outcome.uncertain):
        context.log.warning("%s: %s", key, problem)
    return dg.SkipReason(f"{len(outcome.sent)} of {len(regressions)} regressions posted")


def _told(verdicts: Sequence[dict[str, Any]]) -> str:
    """The sentence of a version as a whole; empty without a verdict."""
    return next((row["explanation"] for row in verdicts if row["axis"] == version_verdicts.WHOLE), "")


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
