"""Assembles the project for Dagster. Computes nothing; commands and tests assemble their own with other resources."""

from __future__ import annotations

from typing import Any

import dagster as dg

from perfreg_assets.assets.barycenters import barycenters
from perfreg_assets.assets.benchmarks import benchmark_results, benchmark_verdicts
from perfreg_assets.assets.causes import causes
from perfreg_assets.assets.discords import discords
from perfreg_assets.assets.distances import distances
from perfreg_assets.assets.evaluation import evaluation
from perfreg_assets.assets.history_sets import history_sets
from perfreg_assets.assets.marts import mart_specs
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.reduced_traces import trace_windows_and_reduced_traces
from perfreg_assets.assets.reports import reports
from perfreg_assets.assets.runs import runs
from perfreg_assets.assets.traces import traces_and_time_series
from perfreg_assets.assets.verdicts import verdicts
from perfreg_assets.automation import archiving, collecting, committing, jobs, sensors
from perfreg_assets.automation.forgetting import forgetting
from perfreg_assets.automation.new_builds import new_builds_sensor
from perfreg_assets.automation.notifying import new_regressions
from perfreg_assets.automation.policies import with_policies
from perfreg_assets.automation.progress import NAME as PROGRESS
from perfreg_assets.automation.progress import progress_logger
from perfreg_assets.automation.quarantine import quarantine_folders
from perfreg_assets.automation.reading import READ_JOB
from perfreg_assets.automation.retention import drop_unneeded_traces, nightly_retention
from perfreg_assets.automation.reviewing import review_run
from perfreg_assets.automation.tidying import nightly_tidying, tidy_data_folder
from perfreg_assets.settings import Settings

COMPUTED = [
    runs,
    traces_and_time_series,
    history_sets,
    barycenters,
    distances,
    verdicts,
    discords,
    causes,
    benchmark_results,
    benchmark_verdicts,
    trace_windows_and_reduced_traces,
    reports,
    evaluation,
]


def build_defs(*, resources: dict[str, Any] | None = None) -> dg.Definitions:
    """All assets, jobs and sensors; `resources` replaces the ones named in it (tests bring their own project)."""
    settings = Settings.from_environment()
    serials = collecting.named_devices(settings.devices)
    collecting_jobs = collecting.collect_jobs(serials)
    known_jobs: list[jobs.Job] = [
        jobs.ingest_runs,
        jobs.judge_versions,
        jobs.import_benchmarks,
        quarantine_folders,
        review_run,
        tidy_data_folder,
        archiving.reduce_old_traces,
        drop_unneeded_traces,
        *collecting_jobs,
        *([committing.commit_results] if settings.exchange else []),
    ]
    elsewhere = [READ_JOB] if settings.exchange else []
    forget_old_runs, nightly_forgetting = forgetting([*(job.name for job in known_jobs), *elsewhere])
    return dg.Definitions(
        assets=[
            collecting.COLLECTIONS,
            *mart_specs(),
            *dg.with_source_code_references(COMPUTED),
        ],
        jobs=[*known_jobs, forget_old_runs],
        schedules=[nightly_forgetting, nightly_tidying, nightly_retention, archiving.nightly_reduction],
        sensors=[
            sensors.run_folders,
            sensors.upkeep,
            new_builds_sensor(collecting_jobs, serials),
            new_regressions,
            *([committing.results] if settings.exchange else []),
        ],
        resources={"project": Project(), **(resources or {})},
        # Steps share compiled kernels and the engine's cache in one process; numerics are parallel inside a step.
        executor=dg.in_process_executor,
        loggers={"console": dg.colored_console_logger, PROGRESS: progress_logger},
    ).map_asset_specs(func=with_policies)
