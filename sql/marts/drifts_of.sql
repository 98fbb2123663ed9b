-- What drifts of an app, or of all at NULL: SELECT * FROM marts.drifts_of('com.rig.shop'), columns as marts.drifts. A filter on
-- the view does not reach what it is made of, which is looked at five times over.
-- Mann and Kendall's test (Mann 1945; ties only hold it back) of the latest versions, as many as make it surest, corrected
-- for the numbers tried. The drift began at the knee of the level line with a slope after it that fits best, or, where that
-- goes the other way, at the surest beginning; its slope is Theil's and Sen's, the line goes through the medians (Conover 1980).
-- depends: counted_runs, version_ranks, current_value, tail_of_score
CREATE MACRO marts.drifts_of(wanted) AS TABLE
WITH latest AS MATERIALIZED (
    -- The runs in which these versions are looked for; what came before is not read.
    SELECT ranked.*
    FROM (
        SELECT
            known.run_no, known.app, known.config_hash, known.scenario, known.device, known.version_name, versions.version_rank,
            concat_ws(' ', known.config_hash, known.scenario) AS setup,
            dense_rank() OVER (PARTITION BY known.app, known.config_hash, known.scenario ORDER BY versions.version_rank DESC) AS place
        FROM marts.counted_runs AS known
        JOIN marts.version_ranks AS versions ON versions.app = known.app AND versions.version_name = known.version_name
        WHERE wanted::VARCHAR IS NULL OR known.app = wanted::VARCHAR
    ) AS ranked
    WHERE ranked.place <= 96
),
points AS (
    -- The latest 24 versions, the last one first: what began earlier has become the app.
    SELECT * FROM (
        SELECT
            levels.*,
            -- row_number() <= 24 would be made into a list that is taken apart above joins, which DuckDB 2.0 fails on at times.
            count(*) OVER (
                PARTITION BY levels.app, levels.setup, levels.series, levels.measure ORDER BY levels.version_rank DESC
            ) AS place
        FROM (
            SELECT
                runs.app, runs.setup, any_value(runs.config_hash) AS config_hash, any_value(runs.scenario) AS scenario,
                any_value(runs.device ORDER BY runs.device) AS device, measured.series,
                runs.version_name, runs.version_rank, measured.measure, median(measured.value) AS value,
                any_value(measured.unit) AS unit
            FROM (
                SELECT levels.run_no, levels.series, 'level' AS measure, levels.mean AS value, levels.unit
                FROM core.series_levels AS levels
                UNION ALL
                SELECT levels.run_no, levels.series, 'growth', levels.growth_per_s, levels.unit || '/s'
                FROM core.series_levels AS levels
                UNION ALL
                -- How far from its history, which moves along: what gets further away from version to version.
                SELECT distances.run_no, distances.series, 'score', distances.distance, 'standard deviations'
                FROM core.distances AS distances
                JOIN core.detectors AS detectors ON detectors.detector = distances.detector AND detectors.scale = 'score'
                WHERE distances.is_latest AND distances.state = 'scored' AND distances.series <> '*'
                    AND distances.detector = marts.current_value('detector')
            ) AS measured
            JOIN latest AS runs ON runs.run_no = measured.run_no
            WHERE isfinite(measured.value)
            GROUP BY runs.app, runs.setup, measured.series, runs.version_name, runs.version_rank, measured.measure
        ) AS levels
    ) AS numbered
    WHERE numbered.place <= 24
),
pairs AS (
    SELECT
        older.app, older.setup, older.series, older.measure, older.place,
        sign(newer.value - older.value) AS sign, (newer.value - older.value) / (older.place - newer.place) AS slope
    FROM points AS older
    JOIN points AS newer
        ON newer.app = older.app AND newer.setup = older.setup AND newer.series = older.series
        AND newer.measure = older.measure AND newer.place < older.place
),
beginnings AS (
    -- Kendall's S of the latest `place` versions, for each place to begin at.
    SELECT
        added.app, added.setup, added.series, added.measure, added.place,
        sum(added.sign) OVER (PARTITION BY added.app, added.setup, added.series, added.measure ORDER BY added.place) AS s
    FROM (
        SELECT pairs.app, pairs.setup, pairs.series, pairs.measure, pairs.place, sum(pairs.sign) AS sign
        FROM pairs GROUP BY pairs.app, pairs.setup, pairs.series, pairs.measure, pairs.place
    ) AS added
),
surest AS (
    SELECT
        tested.app, tested.setup, tested.series, tested.measure,
        least(1, 2 * marts.tail_of_score(max(abs(tested.z))) * count(*)) AS drift_p_value,
        arg_max(sign(tested.s), (abs(tested.z), tested.place)) AS direction,
        arg_max(tested.place, (abs(tested.z), tested.place)) AS place
    FROM (
        SELECT
            beginnings.*,
            (beginnings.s - sign(beginnings.s))
            / sqrt(beginnings.place * (beginnings.place - 1) * (2 * beginnings.place + 5) / 18) AS z
        FROM beginnings WHERE beginnings.place >= 5
    ) AS tested
    GROUP BY tested.app, tested.setup, tested.series, tested.measure
),
knees AS (
    SELECT
        bent.app, bent.setup, bent.series, bent.measure,
        -- A fall before a rise may fit best, and is another trend than that which is sure: that one then.
        if(
            arg_max(sign(bent.slope), (coalesce(bent.r2, 0), bent.place)) = any_value(surest.direction),
            arg_max(bent.place, (coalesce(bent.r2, 0), bent.place)),
            any_value(surest.place)
        ) AS place
    FROM (
        SELECT
            began.app, began.setup, began.series, began.measure, began.place,
            regr_r2(points.value, greatest(0, began.place - points.place) ORDER BY points.place) AS r2,
            regr_slope(points.value, greatest(0, began.place - points.place) ORDER BY points.place) AS slope
        FROM points AS began
        JOIN points
            ON points.app = began.app AND points.setup = began.setup AND points.series = began.series
            AND points.measure = began.measure
        WHERE began.place >= 5
        GROUP BY began.app, began.setup, began.series, began.measure, began.place
    ) AS bent
    JOIN surest
        ON surest.app = bent.app AND surest.setup = bent.setup AND surest.series = bent.series
        AND surest.measure = bent.measure
    GROUP BY bent.app, bent.setup, bent.series, bent.measure
),
lines AS (
    SELECT
        knees.app, knees.setup, knees.series, knees.measure, knees.place,
        if(sign(median(pairs.slope)) = any_value(surest.direction), any_value(surest.drift_p_value), 1.0) AS drift_p_value,
        median(pairs.slope) AS slope
    FROM knees
    JOIN surest
        ON surest.app = knees.app AND surest.setup = knees.setup AND surest.series = knees.series
        AND surest.measure = knees.measure
    JOIN pairs
        ON pairs.app = knees.app AND pairs.setup = knees.setup AND pairs.series = knees.series
        AND pairs.measure = knees.measure AND pairs.place <= knees.place
    GROUP BY knees.app, knees.setup, knees.series, knees.measure, knees.place
),
fitted AS (
    SELECT
        points.app, points.setup, any_value(points.config_hash) AS config_hash, any_value(points.scenario) AS scenario,
        any_value(points.device ORDER BY points.place) AS device, points.series, points.measure,
        any_value(points.unit) AS unit, count(*) AS version_count,
        arg_min(points.version_name, points.place) AS version_name,
        any_value(lines.place) AS drift_version_count,
        any_value(lines.drift_p_value) AS drift_p_value,
        any_value(lines.slope) AS change_per_version_value,
        arg_max(points.version_name, points.place) FILTER (WHERE points.place <= lines.place) AS since_version_name,
        median(points.value) FILTER (WHERE points.place <= lines.place)
        - any_value(lines.slope) * (any_value(lines.place) - 1) / 2 AS fitted_first_value,
        median(points.value) FILTER (WHERE points.place <= lines.place)
        + any_value(lines.slope) * (any_value(lines.place) - 1) / 2 AS fitted_last_value
    FROM points
    LEFT JOIN lines
        ON lines.app = points.app AND lines.setup = points.setup AND lines.series = points.series
        AND lines.measure = points.measure
    GROUP BY points.app, points.setup, points.series, points.measure
),
told AS (
    SELECT
        fitted.*,
        CASE WHEN fitted.fitted_first_value > 0 AND fitted.fitted_last_value >= 0 AND fitted.measure <> 'score' THEN fitted.fitted_last_value / fitted.fitted_first_value - 1 END AS drift_change_ratio,
        CASE
            WHEN fitted.drift_p_value IS NULL THEN 'not_enough_versions'
            WHEN fitted.drift_p_value > 0.05 OR fitted.change_per_version_value = 0 THEN 'steady'
            WHEN fitted.measure = 'score' THEN if(fitted.change_per_version_value > 0, 'worse', 'better')
            WHEN known.worse IS NULL OR known.worse = 'either' THEN 'changing'
            WHEN (fitted.change_per_version_value > 0) = (known.worse = 'more') THEN 'worse'
            ELSE 'better'
        END AS drift_state
    FROM fitted
    LEFT JOIN core.series_definitions AS known ON regexp_full_match(fitted.series, known.name_pattern)
)
SELECT
    told.app, told.config_hash, told.device, told.series, told.measure, told.unit, told.drift_state, told.version_count,
    told.version_name, told.since_version_name, told.drift_version_count, told.drift_p_value, told.change_per_version_value,
    told.fitted_first_value, told.fitted_last_value, told.drift_change_ratio,
    CASE told.drift_state
        WHEN 'not_enough_versions' THEN format('{} of {}{}: {} of the 5 versions that a drift takes.', told.measure, told.series, coalesce(' in ' || told.scenario, ''), told.version_count)
        WHEN 'steady' THEN format('{} of {}{}: steady over {} versions.', told.measure, told.series, coalesce(' in ' || told.scenario, ''), told.version_count)
        ELSE concat(
            format('{} of {}{}: ', told.measure, told.series, coalesce(' in ' || told.scenario, '')),
            told.version_change_told, ' a version since ', told.since_version_name, ', ', told.change_told, ' in all',
            format(' ({} versions, p = {:.2g}).', told.drift_version_count, told.drift_p_value)
        )
    END AS explanation,
    told.scenario
FROM (
    -- Numbers as `readable` of the Python side tells them; of percent two digits, where the last one would be 0.
    SELECT
        sized.*,
        CASE
            WHEN sized.drift_change_ratio IS NOT NULL
                THEN format(CASE WHEN abs(sized.version_percent) < 0.05 THEN '{:+.2g} %' ELSE '{:+.1f} %' END, sized.version_percent)
            WHEN abs(sized.change_per_version_value) < 999.5 THEN format('{:+.3g} {}', sized.change_per_version_value, sized.unit)
            ELSE format('{}{:,.0f} {}', if(sized.change_per_version_value > 0, '+', ''), sized.change_per_version_value, sized.unit)
        END AS version_change_told,
        CASE
            WHEN sized.drift_change_ratio IS NOT NULL
                THEN format(CASE WHEN abs(sized.change_percent) < 0.5 THEN '{:+.2g} %' ELSE '{:+.0f} %' END, sized.change_percent)
            WHEN abs(sized.change_value) < 999.5 THEN format('{:+.3g} {}', sized.change_value, sized.unit)
            ELSE format('{}{:,.0f} {}', if(sized.change_value > 0, '+', ''), sized.change_value, sized.unit)
        END AS change_told
    FROM (
        SELECT
            told.*,
            100 * ((1 + told.drift_change_ratio) ** (1 / (told.drift_version_count - 1)) - 1) AS version_percent,
            100 * told.drift_change_ratio AS change_percent,
            told.fitted_last_value - told.fitted_first_value AS change_value
        FROM told
    ) AS sized
) AS told;

COMMENT ON MACRO TABLE marts.drifts_of IS 'What drifts of an app, or of all at NULL: SELECT * FROM marts.drifts_of(''com.rig.shop''), columns as marts.drifts; sooner than the view with a filter where there are many runs.';
