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
    regexp_replace(known.label, '<(n|name)>', regexp_extract(named.series, known.name_pattern, 1), 'g') AS label,
    regexp_replace(known.short_label, '<(n|name)>', regexp_extract(named.series, known.name_pattern, 1), 'g') AS short_label,
    regexp_replace(known.description, '<(n|name)>', regexp_extract(named.series, known.name_pattern, 1), 'g') AS description,
    coalesce(known.is_judged, false) AS is_judged,
    named.run_count,
    named.missing_count
FROM (
    SELECT
        series.series,
        any_value(series.unit) AS unit,
        count(*) FILTER (WHERE NOT series.is_missing AND NOT runs.is_quarantined) AS run_count,
        count(*) FILTER (WHERE series.is_missing AND NOT runs.is_quarantined) AS missing_count
    FROM core.time_series AS series
    JOIN core.runs AS runs ON runs.run_no = series.run_no
    GROUP BY series.series
) AS named
LEFT JOIN core.series_definitions AS known ON regexp_full_match(named.series, known.name_pattern);

COMMENT ON VIEW marts.series_names IS 'A row is a name of a series that is in the warehouse, with what the catalogue says about it: its unit, what sort it is, which axis it belongs to and which direction is worse; NULL where this release does not know the name.';
