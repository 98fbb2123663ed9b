-- Launches of apps, and how long after each one's begin its first frame and its full display were there (ns).
INCLUDE PERFETTO MODULE android.startup.startups;
INCLUDE PERFETTO MODULE android.startup.time_to_display;
SELECT
    launch.ts,
    launch.package,
    launch.startup_type,
    shown.time_to_initial_display AS initial_ns,
    shown.time_to_full_display AS full_ns
FROM android_startups AS launch
JOIN android_startup_time_to_display AS shown USING (startup_id)
ORDER BY launch.ts;
