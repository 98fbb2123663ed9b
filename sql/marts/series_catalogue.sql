-- A row is a series or metric that this release knows, or a pattern of names (cpu_core_<n>), whether any run has it or not.
-- depends: polarity
CREATE VIEW marts.series_catalogue AS
SELECT
    known.definition_name,
    known.name_pattern,
    known.unit,
    known.kind,
    known.axis,
    known.worse,
    marts.polarity(known.worse) AS polarity,
    known.label,
    known.short_label,
    known.description,
    known.needed_sources,
    known.is_judged,
    coalesce(stored.run_count, 0) AS run_count
FROM core.series_definitions AS known
LEFT JOIN (
    SELECT matched.definition_name, count(DISTINCT named.run_id) AS run_count
    FROM (
        SELECT samples.run_id, samples.series FROM core.time_series AS samples WHERE NOT samples.is_missing
        UNION ALL
        SELECT measured.subject_id, measured.metric FROM core.measurements AS measured WHERE measured.subject_kind = 'run' AND measured.value IS NOT NULL
    ) AS named
    -- What was read of a run before it was quarantined stays.
    ANTI JOIN core.runs AS runs ON runs.run_id = named.run_id AND runs.is_quarantined
    -- Patterns are tried on each name once, not once more per run.
    JOIN (
        SELECT names.series, definitions.definition_name
        FROM (SELECT samples.series FROM core.time_series AS samples UNION SELECT measured.metric FROM core.measurements AS measured) AS names
        JOIN core.series_definitions AS definitions ON regexp_full_match(names.series, definitions.name_pattern)
    ) AS matched ON matched.series = named.series
    GROUP BY matched.definition_name
) AS stored ON stored.definition_name = known.definition_name;

COMMENT ON VIEW marts.series_catalogue IS 'A row is a series or metric that this release knows, or a pattern of names (cpu_core_<n>), whether any run has it or not.';
