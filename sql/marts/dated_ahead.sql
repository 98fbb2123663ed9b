-- NULL where it did not begin after it was taken in: clocks differ by minutes.
CREATE MACRO marts.dated_ahead(started_at, taken_in_at) AS
CASE
    WHEN started_at > taken_in_at + INTERVAL 1 HOUR THEN format(
        'It is said to have begun {:,.0f} hours after it was taken in: a clock was ahead, or the zone is another. Histories and the order of versions go by it.',
        epoch(started_at - taken_in_at) / 3600
    )
END;

COMMENT ON MACRO marts.dated_ahead IS 'What is said of a run, or of benchmark results, that began after they were taken in; NULL of others.';
