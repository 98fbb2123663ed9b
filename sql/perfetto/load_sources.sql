-- Data sources that change the load, by what the trace holds: for traces that do not say how they were recorded.
SELECT 'syscalls' AS source
WHERE EXISTS (
  SELECT 1 FROM slice AS s JOIN args AS a USING (arg_set_id) WHERE s.name GLOB 'sys_*' AND a.key = 'ret'
)
UNION ALL
SELECT 'atrace'
WHERE EXISTS (SELECT 1 FROM track WHERE type GLOB 'atrace_*')
  OR EXISTS (
    SELECT 1
    FROM slice AS s
    JOIN track AS t ON t.id = s.track_id
    WHERE t.type = 'thread_execution' AND s.name NOT GLOB 'sys_*' AND s.name NOT GLOB 'binder *'
  )
UNION ALL
SELECT 'heap' WHERE EXISTS (SELECT 1 FROM heap_profile_allocation)
UNION ALL
SELECT 'java_heap' WHERE EXISTS (SELECT 1 FROM heap_graph_object)
UNION ALL
SELECT 'callstacks' WHERE EXISTS (SELECT 1 FROM perf_sample);
