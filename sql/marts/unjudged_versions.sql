-- Versions of which marts.version_verdicts_at combines nothing by a detector, and why: SELECT * FROM marts.unjudged_versions(NULL).
-- Asked of runs and of what is measured at once, so that a filter on app and version reaches both.
-- depends: chosen_detector, counted_runs
CREATE MACRO marts.unjudged_versions(detector) AS TABLE
SELECT
    counted.app,
    counted.version_name,
    CASE WHEN counted.all_count = counted.quarantined_count THEN 'quarantined' ELSE 'not_judged' END AS state,
    counted.unmeasured_count AS run_count,
    concat(
        'The version as a whole is not judged: ',
        array_to_string(list_transform(
            list_filter(
                [
                    {'count': counted.quarantined_count, 'what': format('quarantined ({})', counted.reason_codes)},
                    {'count': counted.excluded_count, 'what': 'excluded'},
                    {'count': counted.rejected_count, 'what': 'rejected in a review'},
                    {'count': counted.unmeasured_count, 'what': 'not measured yet (perfreg status says what is due)'}
                ],
                lambda one: one."count" > 0
            ),
            lambda one, place: concat(
                CASE WHEN one."count" > 1 AND one."count" = counted.all_count THEN 'all ' END, one."count",
                CASE WHEN place > 1 THEN '' WHEN one."count" = 1 THEN ' run' ELSE ' runs' END,
                CASE WHEN one."count" = 1 THEN ' is ' ELSE ' are ' END, one.what
            )
        ), ', '),
        '.'
    ) AS explanation
FROM (
    SELECT
        given.app,
        given.version_name,
        count(*) AS all_count,
        count(*) FILTER (WHERE given.is_quarantined) AS quarantined_count,
        string_agg(DISTINCT given.reason_code, ', ' ORDER BY given.reason_code) FILTER (WHERE given.is_quarantined) AS reason_codes,
        count(*) FILTER (WHERE given.is_excluded AND NOT given.is_quarantined) AS excluded_count,
        count(*) FILTER (WHERE given.is_rejected AND NOT given.is_quarantined AND NOT given.is_excluded) AS rejected_count,
        count(*) FILTER (WHERE NOT given.is_quarantined AND NOT given.is_excluded AND NOT given.is_rejected) AS unmeasured_count
    FROM (
        SELECT
            runs.app, runs.version_name, runs.is_quarantined, runs.is_excluded, runs.reason_code,
            coalesce(seen.status = 'rejected', false) AS is_rejected, false AS is_measured
        FROM core.runs AS runs
        LEFT JOIN core.reviews_in_force AS seen ON seen.run_no = runs.run_no
        UNION ALL
        SELECT runs.app, runs.version_name, false, false, NULL, false, true
        FROM core.distances AS measured
        JOIN marts.counted_runs AS runs ON runs.run_no = measured.run_no
        WHERE measured.is_latest AND measured.detector = marts.chosen_detector(nullif(detector::VARCHAR, 'all'))
            AND (measured.series <> '*' OR measured.missing_series IS NOT NULL)
    ) AS given
    WHERE given.app IS NOT NULL AND given.version_name IS NOT NULL
    GROUP BY given.app, given.version_name
    HAVING NOT bool_or(given.is_measured)
) AS counted;

COMMENT ON MACRO TABLE marts.unjudged_versions IS 'Versions of which no run says anything by a detector, and why: how many of their runs are quarantined, excluded, rejected in a review or not measured yet. SELECT * FROM marts.unjudged_versions(NULL), of the detector in force. marts.version_verdicts has a row for each.';
