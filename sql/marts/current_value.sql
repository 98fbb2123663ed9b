-- The value in force of a setting, as text: the last one given.
CREATE MACRO marts.current_value(setting) AS
(SELECT arg_max(changes."value", changes.changed_at) FROM core.settings AS changes WHERE changes.name = setting);

COMMENT ON MACRO marts.current_value IS 'The value in force of a setting (detector, omega, …), as text: the last one given.';
