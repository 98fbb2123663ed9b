-- A row is how much the runs registered on a day take on disk of one kind, and how much all have taken until then.
-- depends: storage
CREATE VIEW marts.storage_growth AS
SELECT
    days.day,
    days.kind,
    days.run_count,
    days.stored_bytes,
    days.stored_bytes / days.run_count AS run_bytes,
    sum(days.stored_bytes) OVER (PARTITION BY days.kind ORDER BY days.day) AS total_bytes
FROM (
    SELECT
        (taken.registered_at AT TIME ZONE 'UTC')::DATE AS day,
        taken.kind,
        count(*) AS run_count,
        sum(taken.stored_bytes ORDER BY taken.stored_bytes) AS stored_bytes  -- in an order: sums of floats depend on it
    FROM marts.storage AS taken
    GROUP BY day, taken.kind
) AS days;

COMMENT ON VIEW marts.storage_growth IS 'A row is how much the runs registered on a day (UTC) take on disk of one kind as in marts.storage, per run, and all runs until then.';
