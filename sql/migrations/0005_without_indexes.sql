-- Tables that grow with the runs lose their primary keys; warehouse/without_indexes.py has copied them. With one, a
-- write of a single run rewrote 7 MB of index per table (DuckDB writes whole buffers of a tree that is changed all over),
-- without it .5 MB; the file is less than half as large. What a key kept unique, rows.Table keeps unique by `keys`.
COMMENT ON TABLE core.value_files IS 'A row is a file of the data folder.';
