-- Begins of system calls of the app's threads. An atrace section may have such a name too, but not what it returned.
SELECT NULL AS ts
WHERE EXISTS (
  SELECT 1 FROM slice AS s JOIN args AS a USING (arg_set_id) WHERE s.name GLOB 'sys_*' AND a.key = 'ret'
)
UNION ALL
SELECT s.ts
FROM slice AS s
JOIN thread_track AS t ON t.id = s.track_id
WHERE t.utid IN (:utids) AND s.name GLOB 'sys_*'
  AND EXISTS (SELECT 1 FROM args AS a WHERE a.arg_set_id = s.arg_set_id AND a.key = 'ret');
