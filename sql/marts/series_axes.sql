-- A row is a series or metric that was judged of a run, or is missing in one, with its axis.
CREATE VIEW marts.series_axes AS
SELECT
    names.series,
    -- What the app or its test reports of itself is in no catalogue.
    coalesce(any_value(known.axis), CASE WHEN any_value(names.is_reported) THEN 'app' END, 'other') AS axis
FROM core.judged_series AS names
LEFT JOIN core.series_definitions AS known ON regexp_full_match(names.series, known.name_pattern)
GROUP BY names.series;

COMMENT ON VIEW marts.series_axes IS 'A row is a series or metric that was judged of a run, or is missing in one, with its axis.';
