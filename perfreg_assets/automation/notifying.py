"""Notifications: new regressions go to a webhook, once each. Off unless `webhook_url` is set."""

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.reports.pending import NO_WEBHOOK, post_pending


@dg.sensor(
    name="new_regressions",
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Posts each new regression to the webhook, once, with a link to its page. Off unless one is set.",
)
def new_regressions(context: dg.SensorEvaluationContext, project: Project) -> dg.SkipReason:
    settings = project.settings()
    if not settings.webhook_url:
        return dg.SkipReason(NO_WEBHOOK)
    count, outcome = post_pending(project.open(), settings)
    for key, problem in (*outcome.refused, *outcome.uncertain):
        context.log.warning("%s: %s", key, problem)
    return dg.SkipReason(f"{len(outcome.sent)} of {count} regressions posted")
