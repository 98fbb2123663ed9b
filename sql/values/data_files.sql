-- Where the files of a kind are: in the folder that the variable perfreg_data names, else where they were when the file
-- was written.
CREATE OR REPLACE MACRO core.data_files(kind) AS
    -- What DuckDB would read as a pattern stands for itself.
    regexp_replace(coalesce(getvariable('perfreg_data')::VARCHAR, '$root'), '([*?\[])', '[\1]', 'g')
    || '/' || kind || '/**/*.parquet';

COMMENT ON MACRO core.data_files IS 'Pattern of the files of a kind (series, thread_times, slice_uses, cause_stacks, profiles, barycenters, paths) in the data folder. SET VARIABLE perfreg_data says where the folder is when it was moved.';
