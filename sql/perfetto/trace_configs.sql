-- The configurations that the trace was recorded with, as text; none if the recorder did not keep it.
SELECT str_value AS config FROM metadata WHERE name = 'trace_config_pbtxt' AND str_value IS NOT NULL;
