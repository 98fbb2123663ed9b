"""The job that records folders which are no run: they belong to no app version, so no asset can take them."""

from pathlib import Path

import dagster as dg

from perfreg_assets.assets import checks
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.taking_in import take_in
from perfreg_assets.assets.taking_in_benchmarks import is_benchmark_folder, take_in_folders
from perfreg_assets.partitions import to_key


class QuarantineConfig(dg.Config):
    """Folders that could not be read as a run."""

    folders: list[str]


@dg.op(description="Records folders that cannot be read as a run, each with its reason code and one sentence.")
def quarantine(context: dg.OpExecutionContext, config: QuarantineConfig, project: Project) -> None:
    benchmarks = [name for name in config.folders if is_benchmark_folder(Path(name))]
    take_in_folders(benchmarks, project.settings(), project.open(), context.log, from_inbox=True)
    folders = [name for name in config.folders if name not in benchmarks]
    refused = set[str]()
    is_any_refused = False
    for outcome in take_in(folders, project.settings(), project.open(), context.log, from_inbox=True):
        if outcome.rejected:
            is_any_refused = True
            if outcome.app and outcome.version_name:
                refused.add(to_key(outcome.app, outcome.version_name))
            context.log.warning(
                "quarantined %s [%s] %s", outcome.folder.name, outcome.rejected.reason, outcome.rejected
            )
        else:  # it was mended in between
            context.log.info("registered %s; materialise its app version to judge it", outcome.run_id)
    if is_any_refused:
        with project.open().reading_caught_up() as reader:
            checks.tell_refused(context.instance, reader, sorted(refused))


@dg.job(name="quarantine_folders", description="Records run folders that cannot be taken in.")
def quarantine_folders() -> None:
    quarantine()
