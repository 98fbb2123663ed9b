-- What a series sums up to is computed once, when it is stored: a mart over all versions reads no samples.
-- The formulas stand here and nowhere else; NaN and infinity are left out, and what none is left of has no level.
CREATE MACRO core.level_of("values", interval_s) AS (
    list_transform(
        [list_filter("values", lambda sample: isfinite(sample))],
        lambda samples: {
            'sample_count': len(samples),
            'duration_s': len(samples) * interval_s,
            'mean': list_avg(samples),
            'minimum': list_min(samples),
            'median': list_aggregate(samples, 'median'),
            'percentile_95': list_aggregate(samples, 'quantile_cont', 0.95),
            'maximum': list_max(samples),
            'growth_per_s': CASE
                WHEN len(samples) >= 8
                THEN (list_avg(samples[-(len(samples) // 4):]) - list_avg(samples[:len(samples) // 4]))
                    / ((len(samples) - len(samples) // 4) * interval_s)
            END
        }
    )[1]
);

-- Without an index: warehouse/series_levels.py keeps (run_id, series) unique.
CREATE TABLE core.series_levels (
    run_id        VARCHAR NOT NULL,
    series        VARCHAR NOT NULL,
    unit          VARCHAR NOT NULL,
    sample_count  BIGINT NOT NULL CHECK (sample_count > 0),
    duration_s    DOUBLE NOT NULL,
    mean          DOUBLE NOT NULL,
    minimum       DOUBLE NOT NULL,
    median        DOUBLE NOT NULL,
    percentile_95 DOUBLE NOT NULL,
    maximum       DOUBLE NOT NULL,
    growth_per_s  DOUBLE
);
COMMENT ON TABLE core.series_levels IS 'A row is a stored series summed up in a few numbers.';
INSERT INTO core.series_levels BY NAME
SELECT run_id, series, unit, level.*
FROM (SELECT run_id, series, unit, core.level_of("values", interval_s) AS level FROM core.time_series WHERE NOT is_missing) AS stored
WHERE level.sample_count > 0;
