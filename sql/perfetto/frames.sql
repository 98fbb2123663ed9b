-- Frames as shown (Android 12 and later), with the kinds of jank of each, separated by ', '.
SELECT ts, upid, jank_type FROM actual_frame_timeline_slice ORDER BY ts;
