-- Where too few earlier runs went a similar way, a run is compared with runs of any path, screen by screen.
ALTER TABLE core.history_sets ADD COLUMN way VARCHAR;
ALTER TABLE core.history_candidates ADD COLUMN screens_rank INTEGER;
COMMENT ON COLUMN core.history_sets.way IS 'path (or NULL, of earlier releases): the run is compared with its history; any_path: with the runs that have a screens_rank.';
COMMENT ON COLUMN core.history_candidates.screens_rank IS 'Place among the runs of any path that it can be compared with screen by screen, 1 is the latest.';
