-- First and last timestamp of anything in the trace, in trace nanoseconds; about how many scheduling slices it has (by
-- the last one's number: counting them reads all), and whether it has any slice of what apps and system tell of themselves,
-- any sampled call stack, any sampled allocation, and memory of smaps; the build that the device ran; and for how long
-- it slept between its clocks' snapshots.
SELECT
  start_ts,
  end_ts,
  (SELECT coalesce(max(id) + 1, 0) FROM sched_slice) AS sched_count,
  EXISTS (SELECT 1 FROM slice) AS has_slices,
  EXISTS (SELECT 1 FROM perf_sample WHERE callsite_id IS NOT NULL)
  OR EXISTS (SELECT 1 FROM cpu_profile_stack_sample) AS has_call_stacks,
  EXISTS (SELECT 1 FROM heap_profile_allocation) AS has_heap,
  EXISTS (SELECT 1 FROM process_counter_track WHERE name GLOB 'mem.smaps.*') AS has_smaps,
  (SELECT str_value FROM metadata WHERE name = 'android_build_fingerprint') AS build,
  (
    SELECT coalesce(max(ahead_ns) - min(ahead_ns), 0)
    FROM (
      SELECT boot.clock_value - monotonic.clock_value AS ahead_ns
      FROM clock_snapshot AS boot
      JOIN clock_snapshot AS monotonic
        ON monotonic.snapshot_id = boot.snapshot_id AND monotonic.clock_id = :monotonic
      WHERE boot.clock_id = :boot
    )
  ) AS slept_ns
FROM trace_bounds;
