-- A row is a name of a series with what it means, its unit, and which direction is better.
CREATE VIEW marts.series_names AS
SELECT
    known.series,
    known.unit,
    CASE
        WHEN regexp_matches(known.series, '^cpu_freq_[0-9]+$') THEN 'frequency'
        WHEN regexp_matches(known.series, '^(cpu|cycles|threads|io|block)_') THEN 'load'
        WHEN regexp_matches(known.series, '^(rss|swap|heap)_') THEN 'memory'
        WHEN regexp_matches(known.series, '^net_') THEN 'network'
        WHEN regexp_matches(known.series, '^frames_') THEN 'frames'
        WHEN regexp_matches(known.series, '^(energy|power)') THEN 'energy'
        ELSE 'other'
    END AS kind,
    CASE
        WHEN regexp_matches(known.series, '^cpu_freq_[0-9]+$') THEN 'NOT_APPLICABLE'
        WHEN known.series = 'frames_app' THEN 'HIGHER_IS_BETTER'
        WHEN regexp_matches(known.series, '^(cpu|cycles|threads|io|block|rss|swap|heap|net|frames_janky|energy|power)') THEN 'LOWER_IS_BETTER'
        ELSE 'NOT_APPLICABLE'
    END AS polarity,
    CASE
        WHEN known.series = 'cpu_app' THEN 'Running time of the app''s processes on all cores; 1 is one core busy.'
        WHEN known.series = 'cpu_total' THEN 'Running time of all processes on all cores; 1 is one core busy.'
        WHEN regexp_matches(known.series, '^cpu_app_core_[0-9]+$') THEN 'Running time of the app''s processes on this core.'
        WHEN regexp_matches(known.series, '^cpu_core_[0-9]+$') THEN 'Running time of all processes on this core.'
        WHEN regexp_matches(known.series, '^cpu_freq_[0-9]+$') THEN 'Frequency of this core.'
        WHEN known.series = 'cycles_app' THEN 'Running time of the app''s processes weighted by the frequency of the cores.'
        WHEN known.series = 'cycles_total' THEN 'Running time of all processes weighted by the frequency of the cores.'
        WHEN known.series = 'rss_app' THEN 'Resident memory of the app''s processes.'
        WHEN known.series = 'rss_anon_app' THEN 'Resident memory of the app that is not backed by files, such as its heap.'
        WHEN known.series = 'rss_file_app' THEN 'Resident memory of the app that is backed by files, such as its code.'
        WHEN known.series = 'swap_app' THEN 'Memory of the app that was swapped out.'
        WHEN known.series = 'threads_running_app' THEN 'Threads of the app that ran during the interval.'
        WHEN known.series = 'io_wait_app' THEN 'Threads of the app that waited for I/O, on average.'
        WHEN known.series = 'block_io_operations' THEN 'Block operations queued or running on all devices, on average.'
        WHEN known.series = 'frames_app' THEN 'Frames the app presented.'
        WHEN known.series = 'frames_janky_app' THEN 'Frames that were late through the app''s own fault.'
        WHEN regexp_matches(known.series, '^net_received') THEN 'Bytes received over the network.'
        WHEN regexp_matches(known.series, '^net_sent') THEN 'Bytes sent over the network.'
    END AS description,
    known.run_count,
    known.missing_count
FROM (
    SELECT
        series.series,
        any_value(series.unit) AS unit,
        count(*) FILTER (WHERE NOT series.is_missing) AS run_count,
        count(*) FILTER (WHERE series.is_missing) AS missing_count
    FROM core.time_series AS series
    GROUP BY series.series
) AS known;

COMMENT ON VIEW marts.series_names IS 'A row is a name of a series with what it means, its unit, and which direction is better.';
COMMENT ON COLUMN marts.series_names.series IS 'Name of the series, such as cpu_app or rss_app.';
COMMENT ON COLUMN marts.series_names.unit IS 'Unit of the values.';
COMMENT ON COLUMN marts.series_names.kind IS 'load, memory, frequency, network, frames, energy or other.';
COMMENT ON COLUMN marts.series_names.polarity IS 'LOWER_IS_BETTER, HIGHER_IS_BETTER or NOT_APPLICABLE, in Perfetto''s words.';
COMMENT ON COLUMN marts.series_names.description IS 'What the series is; NULL for a name that this release does not know.';
COMMENT ON COLUMN marts.series_names.run_count IS 'Runs that have the series.';
COMMENT ON COLUMN marts.series_names.missing_count IS 'Runs whose trace does not have what it needs.';
