-- A review can be withdrawn: by a further row, because reviews are history. A check cannot be changed: the tables are copied.
CREATE TABLE core.wider_reviews (
    -- Without an index: warehouse/reviews.py gives each review of a run a moment of its own.
    reviewed_at TIMESTAMPTZ NOT NULL,
    run_id      VARCHAR NOT NULL,
    status      VARCHAR NOT NULL CHECK (status IN ('confirmed', 'rejected', 'accepted', 'withdrawn')),
    note        VARCHAR,
    reviewer    VARCHAR
);
INSERT INTO core.wider_reviews SELECT reviewed_at, run_id, status, note, reviewer FROM core.reviews ORDER BY reviewed_at;
DROP TABLE core.reviews;
ALTER TABLE core.wider_reviews RENAME TO reviews;
COMMENT ON TABLE core.reviews IS 'A row is somebody''s judgement of a run, or that one is withdrawn; the last one per run is in force, none is deleted.';

CREATE TABLE core.wider_benchmark_reviews (
    reviewed_at      TIMESTAMPTZ NOT NULL,
    benchmark_run_id VARCHAR NOT NULL,
    status           VARCHAR NOT NULL CHECK (status IN ('confirmed', 'rejected', 'accepted', 'withdrawn')),
    note             VARCHAR,
    reviewer         VARCHAR
);
INSERT INTO core.wider_benchmark_reviews
SELECT reviewed_at, benchmark_run_id, status, note, reviewer FROM core.benchmark_reviews ORDER BY reviewed_at;
DROP TABLE core.benchmark_reviews;
ALTER TABLE core.wider_benchmark_reviews RENAME TO benchmark_reviews;
COMMENT ON TABLE core.benchmark_reviews IS 'A row is somebody''s judgement of a file of results, or that one is withdrawn; the last one is in force, none is deleted.';

-- What everybody asks who wants to know what people say now; core.reviews is for those who tell the story.
CREATE VIEW core.reviews_in_force AS
SELECT
    run_id,
    arg_max(status, reviewed_at) AS status,
    arg_max_null(note, reviewed_at) AS note,
    arg_max_null(reviewer, reviewed_at) AS reviewer,
    max(reviewed_at) AS reviewed_at
FROM core.reviews
GROUP BY run_id
HAVING arg_max(status, reviewed_at) <> 'withdrawn';
COMMENT ON VIEW core.reviews_in_force IS 'A row is the last review of a run, unless it was withdrawn.';

CREATE VIEW core.benchmark_reviews_in_force AS
SELECT
    benchmark_run_id,
    arg_max(status, reviewed_at) AS status,
    arg_max_null(note, reviewed_at) AS note,
    arg_max_null(reviewer, reviewed_at) AS reviewer,
    max(reviewed_at) AS reviewed_at
FROM core.benchmark_reviews
GROUP BY benchmark_run_id
HAVING arg_max(status, reviewed_at) <> 'withdrawn';
COMMENT ON VIEW core.benchmark_reviews_in_force IS 'A row is the last review of a file of results, unless it was withdrawn.';
