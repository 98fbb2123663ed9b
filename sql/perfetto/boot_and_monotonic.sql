-- What the clock that goes on in a device's sleep and the one that stands still showed at the same moments.
SELECT boot.ts AS trace_ns, boot.clock_value AS boot_ns, monotonic.clock_value AS monotonic_ns
FROM clock_snapshot AS boot
JOIN clock_snapshot AS monotonic
  ON monotonic.snapshot_id = boot.snapshot_id AND monotonic.clock_id = :monotonic
WHERE boot.clock_id = :boot
ORDER BY boot.ts, boot.clock_value;
