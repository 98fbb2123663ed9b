"""The review of a run as an op, for those who work in Dagster's UI; `perfreg review` does the same."""

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.warehouse import reviews


class ReviewConfig(dg.Config):
    """confirmed: a regression, kept out of future histories; rejected: a false alarm; accepted: the new normal;
    withdrawn: as if nobody had reviewed it."""

    run_id: str
    status: str
    note: str | None = None
    reviewer: str | None = None


@dg.op(description="Records what a person found about a run. Reviews are kept, the last one counts.")
def review(context: dg.OpExecutionContext, config: ReviewConfig, project: Project) -> None:
    with project.open().writing() as writer:
        if config.status == reviews.WITHDRAWN:
            reviews.withdraw(writer, config.run_id, note=config.note, reviewer=config.reviewer)
        else:
            reviews.add(writer, config.run_id, config.status, note=config.note, reviewer=config.reviewer)
    context.log.info("%s: %s", config.run_id, config.status)


@dg.job(name="review_run", description="Records a review of a run.")
def review_run() -> None:
    review()
