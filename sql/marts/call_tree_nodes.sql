-- A row is a node of the merged call tree of a service in a call log: a path of method names, with its share of time.
CREATE VIEW marts.call_tree_nodes AS
SELECT
    logs.call_log_id,
    logs.app,
    logs.version_name,
    logs.log_name,
    nodes.node_index,
    nodes.parent_index,
    nodes.service,
    nodes.method,
    nodes.depth_count,
    nodes.call_count,
    nodes.total_ms,
    nodes.self_ms,
    nodes.total_ms / nodes.call_count AS mean_ms,
    nodes.max_ms,
    nodes.max_self_ms,
    nodes.total_ms / nullif(parents.total_ms, 0) AS parent_share,
    nodes.total_ms / nullif(services.total_ms, 0) AS root_share,
    nodes.self_ms / nullif(services.total_ms, 0) AS self_share,
    nodes.parallel_count,
    nodes.parallel_count > 0 AS is_parallel,
    nodes.is_outermost
FROM core.call_tree_nodes AS nodes
JOIN core.call_logs AS logs ON logs.call_log_id = nodes.call_log_id
JOIN core.call_log_services AS services
    ON services.call_log_id = nodes.call_log_id AND services.service = nodes.service
LEFT JOIN core.call_tree_nodes AS parents
    ON parents.call_log_id = nodes.call_log_id AND parents.node_index = nodes.parent_index;

COMMENT ON VIEW marts.call_tree_nodes IS 'A row is a node of the merged call tree of a service in a call log: a path of method names, with its share of time.';
