-- A row is a name of a series that is in the warehouse, with what the catalogue says about it.
-- depends: polarity
CREATE VIEW marts.series_names AS
SELECT
    named.series,
    named.unit,
    known.kind,
    known.axis,
    known.worse,
    marts.polarity(known.worse) AS polarity,
    replace(replace(known.label, '<n>', regexp_extract(named.series, known.name_pattern, 1)), '<name>', regexp_extract(named.series, known.name_pattern, 1)) AS label,
    replace(replace(known.short_label, '<n>', regexp_extract(named.series, known.name_pattern, 1)), '<name>', regexp_extract(named.series, known.name_pattern, 1)) AS short_label,
    replace(known.description, '<n>', regexp_extract(named.series, known.name_pattern, 1)) AS description,
    coalesce(known.is_judged, false) AS is_judged,
    named.run_count,
    named.missing_count
FROM (
    SELECT
        series.series,
        any_value(series.unit) AS unit,
        count(*) FILTER (WHERE NOT series.is_missing) AS run_count,
        count(*) FILTER (WHERE series.is_missing) AS missing_count
    FROM core.time_series AS series
    GROUP BY series.series
) AS named
LEFT JOIN core.series_definitions AS known ON regexp_full_match(named.series, known.name_pattern);

COMMENT ON VIEW marts.series_names IS 'A row is a name of a series that is in the warehouse, with what the catalogue says about it: its unit, what sort it is, which axis it belongs to and which direction is worse; NULL where this release does not know the name.';
