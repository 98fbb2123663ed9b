-- A row is a change of a current setting, with a mark on the one in force.
CREATE VIEW marts.settings AS
SELECT
    changes.name,
    changes."value",
    changes.changed_at,
    changes.note,
    row_number() OVER (PARTITION BY changes.name ORDER BY changes.changed_at DESC) = 1 AS is_current,
    changes.changed_by
FROM core.settings AS changes;

COMMENT ON VIEW marts.settings IS 'A row is a change of a current setting (detector, omega, localisation, …); nothing is forgotten.';
