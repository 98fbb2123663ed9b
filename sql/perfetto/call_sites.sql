-- All call stacks: a call site is a frame below its parent, which called it.
SELECT c.id, c.parent_id, coalesce(f.deobfuscated_name, f.name) AS name, m.name AS mapping
FROM stack_profile_callsite AS c
JOIN stack_profile_frame AS f ON f.id = c.frame_id
LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping
ORDER BY c.id;
