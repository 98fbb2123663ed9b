-- Number of block operations queued or running, per device, at every change.
INCLUDE PERFETTO MODULE linux.block_io;
SELECT ts, dev AS track, ops_in_queue_or_device AS value
FROM linux_active_block_io_operations_by_device
ORDER BY ts;
