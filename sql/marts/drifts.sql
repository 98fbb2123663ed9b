-- A row is a series' level, growth or score over an app's latest versions under one configuration and in one scenario, and whether it drifts.
-- depends: drifts_of
CREATE VIEW marts.drifts AS
SELECT * FROM marts.drifts_of(NULL);

COMMENT ON VIEW marts.drifts IS 'A row is a series'' level, growth or score over an app''s latest versions under one configuration and in one scenario, and whether it drifts.';
