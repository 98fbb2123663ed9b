"""Asset checks: what must hold before a verdict is worth anything, and what people should know about it.

The blocking ones stop the chain where a verdict would be wrong: the rest of that Dagster run is skipped and the
partition shows why.
"""

from collections.abc import Sequence

import dagster as dg

from perfreg_assets.assets.project import Project
from perfreg_assets.partitions import DIMENSION
from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse import findings

LATEST_RUNS = 50
FALSE_ALARMS_WORTH_A_LOOK = 0.2


def _result(found: Sequence[findings.Finding], *, severity: dg.AssetCheckSeverity, what: str) -> dg.AssetCheckResult:
    lines = [f"- `{one.run_id}` {one.series or ''} **{one.reason_code}** {one.detail or ''}" for one in found[:50]]
    return dg.AssetCheckResult(
        passed=not found,
        severity=severity,
        description=f"{len(found)} {what}" if found else f"no {what}",
        metadata={"count": len(found), "findings": dg.MetadataValue.md("\n".join(lines) or "none")},
    )


def _keys(context: dg.AssetCheckExecutionContext) -> list[str]:
    """The partitions of this run; all of them when the check is run by itself."""
    if context.has_partition_key or context.has_partition_key_range:
        return list(context.partition_keys)
    return list(context.instance.get_dynamic_partitions(DIMENSION))


@dg.asset_check(asset="traces", description="Every trace is whole; runs with another one are never judged.")
def traces_are_complete(context: dg.AssetCheckExecutionContext, project: Project) -> dg.AssetCheckResult:
    with project.open_in(context).reading() as reader:
        found = findings.of_partitions(reader, _keys(context), scopes=["trace"])
    return _result(found, severity=dg.AssetCheckSeverity.WARN, what="traces that are not complete")


@dg.asset_check(asset="time_series", blocking=True, description="No NaN, no infinity, no empty series: blocks judging.")
def samples_are_finite(context: dg.AssetCheckExecutionContext, project: Project) -> dg.AssetCheckResult:
    with project.open_in(context).reading() as reader:
        found = findings.of_partitions(reader, _keys(context), codes=[Reason.SERIES_NOT_FINITE, Reason.SERIES_EMPTY])
    return _result(found, severity=dg.AssetCheckSeverity.ERROR, what="series with samples that are not numbers")


@dg.asset_check(asset="time_series", description="The explorations lasted as long as configuration C says.")
def durations_match_the_configuration(context: dg.AssetCheckExecutionContext, project: Project) -> dg.AssetCheckResult:
    with project.open_in(context).reading() as reader:
        found = findings.of_partitions(reader, _keys(context), codes=[Reason.TIME_LIMIT_MISSED, Reason.TRACE_TOO_SHORT])
    return _result(found, severity=dg.AssetCheckSeverity.WARN, what="runs with another duration")


@dg.asset_check(asset="history_sets", description="Each run has enough comparable earlier runs to be judged.")
def histories_are_large_enough(context: dg.AssetCheckExecutionContext, project: Project) -> dg.AssetCheckResult:
    with project.open_in(context).reading() as reader:
        found = findings.of_partitions(reader, _keys(context), codes=[Reason.NOT_ENOUGH_HISTORY])
    return _result(found, severity=dg.AssetCheckSeverity.WARN, what="runs without enough history")


@dg.asset_check(
    asset="verdicts", description="Share of alarms among the latest runs that nobody confirmed, at the current ω."
)
def false_alarms_are_few(context: dg.AssetCheckExecutionContext, project: Project) -> dg.AssetCheckResult:
    with project.open_in(context).reading() as reader:
        counted = findings.false_alarms(reader, LATEST_RUNS)
    if counted is None:
        return dg.AssetCheckResult(passed=True, description="nothing was judged yet", metadata={"runs": 0})
    ratio = counted["alarms"] / counted["runs"]
    return dg.AssetCheckResult(
        passed=ratio <= FALSE_ALARMS_WORTH_A_LOOK,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{counted['alarms']} alarms in the latest {counted['runs']} runs that nobody confirmed",
        metadata={"false_alarm_ratio": ratio, "runs": counted["runs"], "alarms": counted["alarms"]},
    )


@dg.asset_check(asset="verdicts", description="Every table, view and column that data teams query has a comment.")
def everything_is_commented(context: dg.AssetCheckExecutionContext, project: Project) -> dg.AssetCheckResult:
    with project.open_in(context).reading() as reader:
        names = findings.uncommented(reader)
    return dg.AssetCheckResult(passed=not names, metadata={"uncommented": ", ".join(names) or "none"})


ALL = [
    traces_are_complete,
    samples_are_finite,
    durations_match_the_configuration,
    histories_are_large_enough,
    false_alarms_are_few,
    everything_is_commented,
]
