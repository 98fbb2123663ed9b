"""Is Dagster's home sound, and does it tell of runs that nobody works on any more?"""

from __future__ import annotations

import os

from perfreg_assets.automation.home import prepare_home
from perfreg_assets.automation.home_storage import damaged_files, unfinished_files
from perfreg_assets.model.finding import FAILED, NOTICE, OK, Finding, guarded
from perfreg_assets.settings import Settings

_CHECK, _RUNS = "Dagster's home", "Dagster's runs"


def examine_home(settings: Settings) -> list[Finding]:
    """Of its databases, and of the runs in them where they are sound."""
    home = guarded(_CHECK, lambda: _home(settings))
    return [home] if home.state != OK else [home, guarded(_RUNS, lambda: _runs(settings))]


def _home(settings: Settings) -> Finding:
    home = settings.dagster_home

    def make() -> str:
        before = os.environ.get("DAGSTER_HOME")
        try:
            prepare_home(settings)
        finally:  # that it points this process to the home is no part of mending
            if before is None:
                os.environ.pop("DAGSTER_HOME", None)
            else:
                os.environ["DAGSTER_HOME"] = before
        return "made whole"

    if not (home / "dagster.yaml").exists():
        return Finding(_CHECK, NOTICE, f"{home} is not there yet", "make it", make)
    if damaged := damaged_files(home):
        advice = f"move {home} away: the next command makes a new one, only the history of Dagster's runs is in it"
        return Finding(_CHECK, FAILED, f"{', '.join(damaged)} in {home} cannot be read", advice)
    if unfinished := unfinished_files(home):
        told = f"{', '.join(unfinished)} in {home} is missing or half made"
        return Finding(_CHECK, FAILED, told, "make it whole", make)
    return Finding(_CHECK, OK, str(home))


def _runs(settings: Settings) -> Finding:
    import dagster as dg  # noqa: PLC0415  (seconds, which a home that is not there does not need)

    from perfreg_assets.automation.run_launcher import call_failed, gone_worker  # noqa: PLC0415  (as above)

    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as instance:
        started = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
        gone = {run.run_id: pid for run in started if (pid := gone_worker(instance, run)) is not None}
    if not gone:
        return Finding(_RUNS, OK, f"{len(started)} under way")

    def give_up() -> str:
        with dg.DagsterInstance.from_config(str(settings.dagster_home)) as instance:
            for run_id, pid in gone.items():
                call_failed(instance, run_id, pid)
        return "called failed; what is due is asked for again"

    return Finding(
        _RUNS, NOTICE, f"{len(gone)} have no process any more, such as {next(iter(gone))}",
        "call them failed (`perfreg ui` does so within a minute)", give_up,
    )  # fmt: skip
