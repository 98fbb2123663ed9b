"""What the asset checks ask: read for a few runs, equal to what a look at everything says."""

from __future__ import annotations

import pytest

from perfreg_assets.assets import checks
from perfreg_assets.warehouse import findings, reviews, runs
from perfreg_assets.warehouse.connection import Warehouse

# The slow references: both as they were when they looked at all runs.
_FALSE_ALARMS = """
SELECT
    count(*) AS runs, count(*) FILTER (is_anomalous) AS alarms,
    count(*) FILTER (is_anomalous AND review_status = 'rejected') AS rejected
FROM (
    SELECT is_anomalous, review_status FROM marts.runs WHERE is_anomalous IS NOT NULL
        AND coalesce(review_status, 'none') NOT IN ('confirmed', 'accepted')
    ORDER BY started_at DESC, run_id DESC LIMIT $latest
)
"""
_OF_PARTITIONS = """
SELECT findings.run_id, findings.series, findings.reason_code, findings.detail
FROM marts.data_quality AS findings JOIN core.runs AS runs USING (run_id)
WHERE runs.partition_key IN (SELECT unnest($keys::VARCHAR[]))
    AND (list_contains($codes, findings.reason_code) OR list_contains($scopes, findings.scope))
ORDER BY findings.run_id, findings.series, findings.reason_code
"""


@pytest.mark.parametrize("latest", [1, 2, 5, 12, 1000])
def test_false_alarms_are_those_among_the_latest_normal_runs(
    sample_copy: Warehouse, monkeypatch: pytest.MonkeyPatch, latest: int
) -> None:
    monkeypatch.setattr(findings, "_LOOKED_AT", 2)  # so that it has to look further
    with sample_copy.writing() as writer:
        alarms = writer.rows("SELECT run_id FROM marts.runs WHERE is_anomalous ORDER BY started_at DESC")
        for (run_id,), status in zip(alarms, ("confirmed", "accepted", "rejected"), strict=False):
            reviews.add(writer, run_id, status)
        assert findings.false_alarms(writer, latest) == writer.dicts(_FALSE_ALARMS, {"latest": latest})[0]


def test_alarms_that_nobody_rejected_are_no_false_alarms(sample_copy: Warehouse) -> None:
    """The demo's three alarms of five runs are all true, and the check failed on them."""
    with sample_copy.writing() as writer:
        alarms = "SELECT run_id FROM marts.runs WHERE is_anomalous AND review_status IS NOT DISTINCT FROM ?"
        rejected, others = ([run_id for (run_id,) in writer.rows(alarms, [status])] for status in ("rejected", None))
        result = checks.false_alarms_are_few(writer, [])
        assert result.passed
        assert result.metadata["unreviewed_alarms"].value == len(others)
        for run_id in others:
            reviews.add(writer, run_id, "rejected")
        result = checks.false_alarms_are_few(writer, [])
        assert not result.passed
        assert f"{len(rejected) + len(others)} false alarms" in result.description


def test_where_all_that_was_judged_is_reviewed_the_check_does_not_say_that_nothing_was_judged(
    sample_copy: Warehouse,
) -> None:
    with sample_copy.writing() as writer:
        for (run_id,) in writer.rows("SELECT run_id FROM marts.runs WHERE is_anomalous IS NOT NULL"):
            reviews.add(writer, run_id, "accepted")
        result = checks.false_alarms_are_few(writer, [])
    assert result.passed
    assert result.description.startswith("no run was judged, those left out that are excluded or whose alarm")


def test_an_excluded_run_is_no_false_alarm(sample_copy: Warehouse) -> None:
    rates = (
        "SELECT flagged_count, presumed_false_alarm_count FROM marts.false_alarm_rates "
        "WHERE is_current_setting AND detector = 'default' AND series = '*'"
    )
    with sample_copy.writing() as writer:
        before, known = findings.false_alarms(writer, 50), writer.rows(rates)
        (run_id,) = writer.rows(
            "SELECT run_id FROM marts.runs WHERE is_anomalous AND review_status IS NULL ORDER BY run_id LIMIT 1"
        )[0]
        runs.exclude(writer, run_id, "charging")
        after = findings.false_alarms(writer, 50)
        assert (after["runs"], after["alarms"]) == (before["runs"] - 1, before["alarms"] - 1)
        assert writer.rows(rates) == [tuple(count - 1 for count in known[0])]


def test_without_a_verdict_there_is_no_rate(warehouse: Warehouse) -> None:
    with warehouse.reading() as reader:
        assert findings.false_alarms(reader, 50) is None


def test_findings_of_some_versions_are_those_of_their_runs(sample: Warehouse) -> None:
    with sample.reading() as reader:
        keys = [key for (key,) in reader.rows("SELECT DISTINCT partition_key FROM core.runs ORDER BY 1")]
        for chosen in (keys[:1], keys[1:3], keys, []):
            named = {"keys": chosen, "codes": ["series_missing"], "scopes": ["history", "trace"]}
            found = findings.of_partitions(reader, chosen, codes=named["codes"], scopes=named["scopes"])
            expected = reader.rows(_OF_PARTITIONS, named)
            assert [(one.run_id, one.series, one.reason_code, one.detail) for one in found] == expected
            assert bool(expected) == bool(chosen)
