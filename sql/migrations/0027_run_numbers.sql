-- A number per run, in order of registration, in all tables that grow with the runs. Ids are hashes or names: whoever
-- looked for one run's rows compared the texts of a whole table. Numbers are quicker to read and to compare, and as rows
-- are stored in about their order, DuckDB passes over most of a table by its statistics.
ALTER TABLE core.runs ADD COLUMN run_no INTEGER;
UPDATE core.runs SET run_no = numbered.run_no
FROM (SELECT given.run_id, row_number() OVER (ORDER BY given.registered_at, given.run_id) AS run_no FROM core.runs AS given) AS numbered
WHERE runs.run_id = numbered.run_id;

ALTER TABLE core.attachments ADD COLUMN run_no INTEGER;
UPDATE core.attachments SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = attachments.run_id;

ALTER TABLE core.cause_runs ADD COLUMN run_no INTEGER;
UPDATE core.cause_runs SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = cause_runs.run_id;

ALTER TABLE core.cause_sources ADD COLUMN run_no INTEGER;
UPDATE core.cause_sources SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = cause_sources.run_id;

ALTER TABLE core.cause_windows ADD COLUMN run_no INTEGER;
UPDATE core.cause_windows SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = cause_windows.run_id;

ALTER TABLE core.causes ADD COLUMN run_no INTEGER;
UPDATE core.causes SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = causes.run_id;

ALTER TABLE core.discords ADD COLUMN run_no INTEGER;
UPDATE core.discords SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = discords.run_id;

ALTER TABLE core.distances ADD COLUMN run_no INTEGER;
UPDATE core.distances SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = distances.run_id;

ALTER TABLE core.energies ADD COLUMN run_no INTEGER;
UPDATE core.energies SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = energies.run_id;

ALTER TABLE core.energy_runs ADD COLUMN run_no INTEGER;
UPDATE core.energy_runs SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = energy_runs.run_id;

ALTER TABLE core.history_candidates ADD COLUMN run_no INTEGER;
ALTER TABLE core.history_candidates ADD COLUMN history_run_no INTEGER;
UPDATE core.history_candidates SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = history_candidates.run_id;
UPDATE core.history_candidates SET history_run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = history_candidates.history_run_id;

ALTER TABLE core.history_sets ADD COLUMN run_no INTEGER;
UPDATE core.history_sets SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = history_sets.run_id;

ALTER TABLE core.method_energies ADD COLUMN run_no INTEGER;
UPDATE core.method_energies SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = method_energies.run_id;

ALTER TABLE core.profiles ADD COLUMN run_no INTEGER;
UPDATE core.profiles SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = profiles.run_id;

ALTER TABLE core.run_barycenters ADD COLUMN run_no INTEGER;
UPDATE core.run_barycenters SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = run_barycenters.run_id;

ALTER TABLE core.series_levels ADD COLUMN run_no INTEGER;
UPDATE core.series_levels SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = series_levels.run_id;

ALTER TABLE core.slice_uses ADD COLUMN run_no INTEGER;
UPDATE core.slice_uses SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = slice_uses.run_id;

ALTER TABLE core.thread_times ADD COLUMN run_no INTEGER;
UPDATE core.thread_times SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = thread_times.run_id;

ALTER TABLE core.unread_traces ADD COLUMN run_no INTEGER;
UPDATE core.unread_traces SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = unread_traces.run_id;

ALTER TABLE core.time_in_state ADD COLUMN run_no INTEGER;
UPDATE core.time_in_state SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = time_in_state.run_id;

ALTER TABLE core.time_series ADD COLUMN run_no INTEGER;
UPDATE core.time_series SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = time_series.run_id;

ALTER TABLE core.timings ADD COLUMN run_no INTEGER;
UPDATE core.timings SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = timings.run_id;

ALTER TABLE core.traces ADD COLUMN run_no INTEGER;
UPDATE core.traces SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = traces.run_id;

ALTER TABLE core.measurements ADD COLUMN run_no INTEGER;
UPDATE core.measurements SET run_no = runs.run_no FROM core.runs AS runs WHERE measurements.subject_kind = 'run' AND runs.run_id = measurements.subject_id;

ALTER TABLE core.reviews ADD COLUMN run_no INTEGER;
UPDATE core.reviews SET run_no = runs.run_no FROM core.runs AS runs WHERE runs.run_id = reviews.run_id;
DROP VIEW core.reviews_in_force;
CREATE VIEW core.reviews_in_force AS
SELECT
    run_id,
    run_no,
    arg_max(status, reviewed_at) AS status,
    arg_max_null(note, reviewed_at) AS note,
    arg_max_null(reviewer, reviewed_at) AS reviewer,
    max(reviewed_at) AS reviewed_at
FROM core.reviews
GROUP BY run_id, run_no
HAVING arg_max(status, reviewed_at) <> 'withdrawn';
COMMENT ON VIEW core.reviews_in_force IS 'A row is the last review of a run, unless it was withdrawn.';
