-- A row is a series or metric that was judged of a run, or is missing in one, with its axis.
CREATE VIEW marts.series_axes AS
SELECT names.series, coalesce(any_value(known.axis), any_value(own.axis), 'other') AS axis
FROM (
    SELECT measured.series FROM core.distances AS measured
    UNION
    SELECT unnest(whole.missing_series) FROM core.distances AS whole WHERE len(whole.missing_series) > 0
) AS names
LEFT JOIN core.series_definitions AS known ON regexp_full_match(names.series, known.name_pattern)
-- What the app or its test reports of itself is in no catalogue.
LEFT JOIN (SELECT DISTINCT reported.metric, 'app' AS axis FROM core.measurements AS reported WHERE reported.subject_kind = 'run') AS own
    ON own.metric = names.series
WHERE names.series <> '*'
GROUP BY names.series;

COMMENT ON VIEW marts.series_axes IS 'A row is a series or metric that was judged of a run, or is missing in one, with its axis.';
