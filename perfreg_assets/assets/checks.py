"""Asset checks: what must hold before a verdict is worth anything, and what people should know about it.

Evaluated by the step that makes the asset, on the partitions of its run: a step of its own for each would cost as much
as computing does. The blocking ones stop the chain where a verdict would be wrong: the step fails, the rest of that
Dagster run is skipped and the partition shows why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import dagster as dg

from perfreg_assets.how_many import how_many
from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse import findings
from perfreg_assets.warehouse.connection import Reader

LATEST_RUNS = 50
FALSE_ALARMS_WORTH_A_LOOK = 0.2
LISTED = 50
"""So many findings and versions stand in a result: a backfill may be of thousands."""

Check = Callable[[Reader, Sequence[str]], dg.AssetCheckResult]


def _result(
    found: Sequence[findings.Finding],
    keys: Sequence[str],
    *,
    severity: dg.AssetCheckSeverity,
    what: str,
    of_no_version: int = 0,
) -> dg.AssetCheckResult:
    """Says of which versions: Dagster keeps one result of a check, that of the run that ended last.

    Args:
        of_no_version: so many of what was found belong to none.
    """
    whose = [f"of {keys[0] if len(keys) == 1 else how_many(len(keys), 'version')}"] if keys else []
    whose += [f"{of_no_version} of no version"] if of_no_version else []
    lines = [f"- `{one.run_id}` {one.series or ''} **{one.reason_code}** {one.detail or ''}" for one in found[:LISTED]]
    return dg.AssetCheckResult(
        passed=not found,
        severity=severity,
        description=f"{what}: {len(found) or 'none'}; {', '.join(whose)}",
        metadata={
            "count": len(found),
            "findings": dg.MetadataValue.md("\n".join(lines) or "none"),
            "versions": dg.MetadataValue.json(list(keys[:LISTED])),
        },
    )


def folders_are_taken_in(reader: Reader, keys: Sequence[str]) -> dg.AssetCheckResult:
    """Every folder that was given as a run is one; others are quarantined with a reason, and never judged. Those that
    do not say of which version they are count each time."""
    nameless = findings.refused_of_no_version(reader)
    found = [*findings.refused(reader, keys), *nameless]
    return _result(
        found, keys, severity=dg.AssetCheckSeverity.WARN, what="folders in quarantine", of_no_version=len(nameless)
    )


def traces_are_complete(reader: Reader, keys: Sequence[str]) -> dg.AssetCheckResult:
    """Every trace is whole; runs with another one are never judged."""
    found = findings.of_partitions(reader, keys, scopes=["trace"])
    return _result(found, keys, severity=dg.AssetCheckSeverity.WARN, what="traces that are not complete")


def samples_are_finite(reader: Reader, keys: Sequence[str]) -> dg.AssetCheckResult:
    """No NaN, no infinity, no empty series: blocks judging."""
    found = findings.of_partitions(reader, keys, codes=[Reason.SERIES_NOT_FINITE, Reason.SERIES_EMPTY])
    return _result(found, keys, severity=dg.AssetCheckSeverity.ERROR, what="series with samples that are not numbers")


def durations_match_the_configuration(reader: Reader, keys: Sequence[str]) -> dg.AssetCheckResult:
    """The explorations lasted as long as configuration C says."""
    found = findings.of_partitions(reader, keys, codes=[Reason.TIME_LIMIT_MISSED, Reason.TRACE_TOO_SHORT])
    return _result(found, keys, severity=dg.AssetCheckSeverity.WARN, what="runs with another duration")


def histories_are_large_enough(reader: Reader, keys: Sequence[str]) -> dg.AssetCheckResult:
    """Each run has enough earlier runs of a similar path; others are judged by runs of any path, or not at all."""
    found = findings.of_partitions(reader, keys, codes=[Reason.NOT_ENOUGH_HISTORY])
    return _result(
        found, keys, severity=dg.AssetCheckSeverity.WARN, what="runs with too few earlier ones of a similar path"
    )


def false_alarms_are_few(reader: Reader, keys: Sequence[str]) -> dg.AssetCheckResult:
    """Few of the latest runs raised an alarm that somebody rejected, at the current ω; others may be true."""
    counted = findings.false_alarms(reader, LATEST_RUNS)
    if counted is None:
        nothing = "no run was judged, those left out that are excluded or whose alarm was confirmed or accepted"
        return dg.AssetCheckResult(passed=True, description=nothing, metadata={"runs": 0})
    ratio, open_alarms = counted["rejected"] / counted["runs"], counted["alarms"] - counted["rejected"]
    return dg.AssetCheckResult(
        passed=ratio <= FALSE_ALARMS_WORTH_A_LOOK,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{how_many(counted['rejected'], 'false alarm')} among the latest "
        f"{how_many(counted['runs'], 'run')}, those left out whose alarm was confirmed or accepted; "
        f"{how_many(open_alarms, 'alarm')} that nobody reviewed (perfreg review RUN --status …)",
        metadata={"false_alarm_ratio": ratio, "runs": counted["runs"], "unreviewed_alarms": open_alarms},
    )


def everything_is_commented(reader: Reader, keys: Sequence[str]) -> dg.AssetCheckResult:
    """Every table, view and column that data teams query has a comment."""
    names = findings.uncommented(reader)
    return dg.AssetCheckResult(passed=not names, metadata={"uncommented": ", ".join(names) or "none"})


OF_ASSET: dict[str, tuple[Check, ...]] = {
    "runs": (folders_are_taken_in,),
    "traces": (traces_are_complete,),
    "time_series": (samples_are_finite, durations_match_the_configuration),
    "history_sets": (histories_are_large_enough,),
    "verdicts": (false_alarms_are_few, everything_is_commented),
}
BLOCKING: frozenset[Check] = frozenset({samples_are_finite})


def specs(*assets: str) -> list[dg.AssetCheckSpec]:
    """The checks of some assets, for `check_specs` of what makes them."""
    return [
        dg.AssetCheckSpec(check.__name__, asset=asset, description=check.__doc__, blocking=check in BLOCKING)
        for asset in assets
        for check in OF_ASSET[asset]
    ]


def results(reader: Reader, asset: str, keys: Iterable[str]) -> list[dg.AssetCheckResult]:
    """What the checks of an asset find about some partitions."""
    chosen = list(keys)
    return [
        check(reader, chosen)._replace(check_name=check.__name__, asset_key=dg.AssetKey(asset))
        for check in OF_ASSET[asset]
    ]


def tell_refused(instance: dg.DagsterInstance, reader: Reader, keys: Iterable[str]) -> None:
    """Evaluates `folders_are_taken_in` of some partitions where no step did: nothing was taken in as theirs."""
    tell(instance, reader, "runs", keys)


def tell(instance: dg.DagsterInstance, reader: Reader, asset: str, keys: Iterable[str]) -> None:
    """Evaluates the checks of an asset where no step did."""
    for one in evaluations(reader, asset, keys):
        instance.report_runless_asset_event(one)


def evaluations(reader: Reader, asset: str, keys: Iterable[str]) -> list[dg.AssetCheckEvaluation]:
    """The same as events, for a step that does not make the asset."""
    return [
        dg.AssetCheckEvaluation(
            asset_key=dg.AssetKey(asset),
            check_name=str(one.check_name),
            passed=one.passed,
            metadata=one.metadata,
            severity=one.severity,
            description=one.description,
        )
        for one in results(reader, asset, keys)
    ]
