-- How many scheduling slices the trace has.
SELECT count(*) AS slice_count FROM sched_slice;
