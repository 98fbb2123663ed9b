-- ω is a finite number: to DuckDB NaN is larger than all numbers, so a check for "not negative" let it pass, and pages that
-- show such a verdict could not be written. A check cannot be changed: the table is copied, without what it forbids. No
-- function stands in the check: DuckDB 2.0 cannot replay a log of writes to a table whose check calls one.
CREATE TABLE core.finite_verdicts (
    distance_id  BIGINT NOT NULL,
    omega        DOUBLE NOT NULL CHECK (omega >= 0 AND omega <= 1e308),
    state        VARCHAR NOT NULL,
    is_anomalous BOOLEAN,
    code_version VARCHAR,
    evaluated_at TIMESTAMPTZ NOT NULL
);
INSERT INTO core.finite_verdicts SELECT * FROM core.verdicts WHERE isfinite(omega);
DROP TABLE core.verdicts;
ALTER TABLE core.finite_verdicts RENAME TO verdicts;
COMMENT ON TABLE core.verdicts IS 'A row is a verdict on a row of core.distances at one ω; old ones stay.';
COMMENT ON COLUMN core.verdicts.distance_id IS 'The measured distance that was judged.';
COMMENT ON COLUMN core.verdicts.omega IS 'ω, in interquartile ranges above the third quartile.';
COMMENT ON COLUMN core.verdicts.state IS 'anomalous, normal, improved, not_enough_history, incomplete_trace or series_missing.';
COMMENT ON COLUMN core.verdicts.is_anomalous IS 'NULL where nothing was judged.';
COMMENT ON COLUMN core.verdicts.code_version IS 'Version of this project that evaluated.';
COMMENT ON COLUMN core.verdicts.evaluated_at IS 'When it was first evaluated so (UTC).';

-- Two runs are too few to tell where a run stands out; a warehouse that asks for so few asks for three from now on.
INSERT INTO core.settings (changed_at, name, value, note)
SELECT now(), 'history_minimum', '3', 'raised from 2, which is too few to localise'
FROM (SELECT arg_max(value, changed_at) AS value FROM core.settings WHERE name = 'history_minimum') AS there
WHERE there.value = '2';
