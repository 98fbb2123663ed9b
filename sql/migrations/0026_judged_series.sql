-- A run that lacks nothing has no list: what is asked beside every verdict passes over them by the statistics of the file.
UPDATE core.distances SET missing_series = NULL WHERE len(missing_series) = 0;

-- Which series and metrics are judged at all is asked beside every verdict, and was told by a look at all distances.
CREATE TABLE core.judged_series (
    series      VARCHAR NOT NULL,
    is_reported BOOLEAN NOT NULL
);
INSERT INTO core.judged_series
SELECT names.series, names.series IN (SELECT reported.metric FROM core.measurements AS reported WHERE reported.subject_kind = 'run')
FROM (
    SELECT measured.series FROM core.distances AS measured WHERE measured.series <> '*'
    UNION
    SELECT unnest(whole.missing_series) FROM core.distances AS whole WHERE len(whole.missing_series) > 0
) AS names
ORDER BY names.series;
COMMENT ON TABLE core.judged_series IS 'A row is a series or metric that was judged of a run, or was missing in one.';
