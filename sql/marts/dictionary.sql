-- A row is a column of a mart, or a mart itself (column_name NULL), with its description: the data dictionary.
CREATE VIEW marts.dictionary AS
SELECT
    'view' AS object_type,
    views.view_name AS object_name,
    NULL::VARCHAR AS column_name,
    0 AS column_position,
    NULL::VARCHAR AS data_type,
    views.comment AS description
FROM duckdb_views() AS views
WHERE views.schema_name = 'marts' AND NOT views.internal
UNION ALL
SELECT 'view', columns.table_name, columns.column_name, columns.column_index, columns.data_type, columns.comment
FROM duckdb_columns() AS columns
WHERE columns.schema_name = 'marts' AND NOT columns.internal
UNION ALL
SELECT
    CASE WHEN functions.function_type = 'table_macro' THEN 'table macro' ELSE 'macro' END,
    functions.function_name || '(' || array_to_string(functions.parameters, ', ') || ')',
    NULL, 0, NULL, functions.comment
FROM duckdb_functions() AS functions
WHERE functions.schema_name = 'marts' AND NOT functions.internal;

COMMENT ON VIEW marts.dictionary IS 'A row is a column of a mart, or a mart itself (column_name NULL), with its description: the data dictionary.';
