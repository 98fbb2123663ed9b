"""What the trace processor finds in a part of a trace, to be compared between a trace and its cut."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from perfreg_assets.traces.cutting import Cut, cut_trace
from perfreg_assets.traces.event_types import count_events, survey
from perfreg_assets.traces.reduced import mark

MAX_BYTES = 1 << 34
FOREVER = 4_000_000_000_000_000_000
QUERIES = {
    "sched": """
        SELECT max(ts, {start}) AS begin, min(ts + iif(dur < 0, {forever}, dur), {end}) AS behind, cpu,
               ifnull(tid, -1) AS tid, ifnull(thread.name, '') AS thread, ifnull(process.name, '') AS process
        FROM sched JOIN thread USING (utid) LEFT JOIN process USING (upid)
        WHERE ts < {end} AND ts + iif(dur < 0, {forever}, dur) > {start}
          AND dur >= 0 AND utid NOT IN (SELECT utid FROM thread WHERE is_idle)""",
    "counters": """
        SELECT ts AS begin, 0 AS behind, 0 AS cpu, 0 AS tid, ifnull(name, '') || type AS thread,
               printf('%.6g', value) AS process
        FROM counter JOIN track ON track.id = track_id WHERE ts >= {start} AND ts < {end}""",
    # What cores and graphics were at when the part began, however long they had been.
    "held": """
        SELECT 0 AS begin, 0 AS behind, ifnull(track.cpu, -1) AS cpu, 0 AS tid, name AS thread,
               printf('%.6g', value) AS process
        FROM (SELECT track_id, value, max(ts) FROM counter WHERE ts < {start} GROUP BY track_id)
        JOIN (SELECT id, name, NULL AS cpu FROM gpu_counter_track UNION SELECT id, name, cpu FROM cpu_counter_track)
             AS track ON track.id = track_id
        WHERE name IN ('cpufreq', 'cpuidle', 'gpufreq')""",
    "slices": """
        SELECT ts AS begin, ts + dur AS behind, 0 AS cpu, ifnull(thread.tid, 0) AS tid,
               ifnull(slice.name, '') AS thread, ifnull(track.name, '') AS process
        FROM slice JOIN track ON track.id = slice.track_id
        LEFT JOIN thread_track ON thread_track.id = slice.track_id LEFT JOIN thread USING (utid)
        WHERE ts >= {start} AND dur >= 0 AND ts + dur < {end}
          -- Fences are begun and ended by kernel events of any core: one across a border ends another.
          AND ifnull(track.name, '') NOT LIKE 'fence-%'""",
    # Sections too that cross a border, as much of them as lies inside; but those of binder, fences and drivers.
    "crossing": """
        SELECT max(ts, {start}) AS begin, min(iif(dur < 0, {end}, ts + dur), {end}) AS behind,
               0 AS cpu, ifnull(thread.tid, 0) AS tid,
               ifnull(slice.name, '') AS thread, ifnull(track.name, '') AS process
        FROM slice JOIN track ON track.id = slice.track_id
        LEFT JOIN thread_track ON thread_track.id = slice.track_id LEFT JOIN thread USING (utid)
        WHERE ts < {end} AND (dur < 0 OR ts + dur > {start}) AND ifnull(track.name, '') NOT LIKE 'fence-%'
          AND NOT ifnull(slice.name, '') GLOB 'binder *' AND NOT ifnull(slice.name, '') GLOB 'dma_fence_*'
          AND ifnull(slice.name, '') NOT IN ('mdss_mdp_overlay_kickoff', 'display_commit', 'exynos_atomic_commit_tail',
                                             'wait_for_crtc_flip', 'wait_pingpong')
          -- The one section in all bundled traces that such a one ends: a binder transaction of its thread.
          AND NOT ifnull(slice.name, '') GLOB 'executeScript am start *TRIVIAL_STARTUP*'""",
    "samples": """
        SELECT ts AS begin, 0 AS behind, cpu, 0 AS tid, ifnull(frame.name, '') AS thread, '' AS process
        FROM perf_sample LEFT JOIN stack_profile_callsite AS site ON site.id = callsite_id
        LEFT JOIN stack_profile_frame AS frame ON frame.id = frame_id
        WHERE ts >= {start} AND ts < {end}""",
}
SCHEMA = {
    "begin": "int64", "behind": "int64", "cpu": "int64", "tid": "int64", "thread": "string", "process": "string",
}  # fmt: skip


def cut(source: Path, target: Path, *shares: tuple[float, float]) -> tuple[Cut, list[tuple[int, int]]]:
    """Keeps the given shares of a trace's time; what was done, and the stretches."""
    found = survey(source, MAX_BYTES)
    windows = count_events(source, MAX_BYTES, found, (), 250_000_000)
    length = windows.end_ns - windows.start_ns
    stretches = [(windows.start_ns + int(a * length), windows.start_ns + int(b * length)) for a, b in shares]
    with target.open("wb") as file:
        file.write(mark())
        return cut_trace(source, MAX_BYTES, stretches, windows.bundles, file.write), stretches


def found_in(session, start: int, end: int) -> dict[str, Counter]:
    """Rows of each kind, with how often each occurs."""
    result = {}
    for kind, sql in QUERIES.items():
        table = session.query(sql.format(start=start, end=end, forever=FOREVER), SCHEMA)
        result[kind] = Counter(zip(*(table[name].tolist() for name in SCHEMA), strict=True))
    return result


def losses(session) -> dict[str, int]:
    """Statistics of errors and lost data, above 0."""
    sql = """SELECT name, sum(value) AS value FROM stats
             WHERE severity IN ('error', 'data_loss') AND value > 0 GROUP BY name"""
    table = session.query(sql, {"name": "string", "value": "int64"})
    return dict(zip(table["name"].tolist(), table["value"].tolist(), strict=True))
