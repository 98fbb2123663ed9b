"""`discords`: where in the session an anomalous series departs from its history, to the second."""

from concurrent.futures import ThreadPoolExecutor

import dagster as dg

from perfreg_assets.assets import comparisons, presentation
from perfreg_assets.assets.barycenters import barycenter_id
from perfreg_assets.assets.comparisons import SCORED, Comparison
from perfreg_assets.assets.project import Project
from perfreg_assets.assets.stopwatch import Stopwatch
from perfreg_assets.methods.barycenter import Barycenter
from perfreg_assets.methods.discords import Localisation
from perfreg_assets.methods.localisation import localise
from perfreg_assets.partitions import app_versions
from perfreg_assets.provenance import code_version
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import barycenters as barycenter_table
from perfreg_assets.warehouse import discords as table
from perfreg_assets.warehouse import runs as run_table
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse import verdicts as verdict_table
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.distances import RUN_LEVEL
from perfreg_assets.warehouse.runs import RunRow

LOCALISATION_PARAMETERS = (
    *("interval_s", "localisation", "discord_window_s", "discord_quantile_low", "discord_quantile_high"),
    *("discord_skip_start_s", "discord_skip_end_s", "history_size"),
)


@dg.asset(
    group_name="verdict",
    kinds={"duckdb", "numba"},
    partitions_def=app_versions,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=["verdicts", "barycenters", "time_series"],
    metadata={"dagster/table_name": "marts.discords"},
)
def discords(context: dg.AssetExecutionContext, project: Project) -> None:
    """Suspicious windows of the series that the current verdict calls anomalous, and only of those [thesis 4.3].

    Mode `thesis`: matrix profile AB-join of the series against its barycenter, z-normalised, above its own
    quantiles 0.90 and 0.95. Mode `default`: for load, the seconds in which a model of two states, usual and excess,
    puts the run into excess; for memory, from the onset of a ramp, sawtooth or step. Start and end of the session
    are left out. In seconds and in trace nanoseconds.
    """
    watch = Stopwatch()
    settings, warehouse = project.settings(), project.open()
    with warehouse.reading() as reader:
        settings = settings.with_values(localisation=settings_table.current(reader)["localisation"])
        judged = run_table.ids_of_partitions(reader, context.partition_keys)
        anomalous = {key: _anomalous(reader, ids) for key, ids in judged.items()}
        wanted = {pair for pairs in anomalous.values() for pair in pairs}
        loaded = comparisons.load(reader, sorted({run_id for run_id, _ in wanted}), settings)
        due = [one for one in loaded if (one.run_id, one.series) in wanted and one.state == SCORED]
        ids = [barycenter_id(one, settings) for one in due]
        averages = barycenter_table.find(reader, set(ids))
    with watch.measure("model"), ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda one, key: _localise(one, averages[key], settings), due, ids))
    profiles = [_profile_row(one, place, settings) for one, place in zip(due, found, strict=True)]
    windows = [row for one, place in zip(due, found, strict=True) for row in _discord_rows(one, place)]
    with watch.measure("warehouse"), warehouse.writing() as writer:
        table.replace_runs(writer, [run_id for ids in judged.values() for run_id in ids], profiles, windows)
    with warehouse.reading() as reader:
        few = len(judged) <= presentation.PICTURED_PARTITIONS
        pictures = {key: presentation.picture(reader, ids, settings) for key, ids in judged.items() if few}
        described = presentation.columns(reader, "marts.discords")
    for key, pairs in anomalous.items():
        mine = [row for row in windows if (row.run_id, row.series) in pairs]
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": len(mine),
                "anomalous_series": len(pairs),
                "discords": len(mine),
                "suspicious_seconds": round(sum(row.end_s - row.start_s for row in mine), 3),
                **pictures.get(key, {}),
                **described,
                **watch.metadata(len(anomalous)),
            },
            partition_key=key,
        )


def _anomalous(reader: Reader, run_ids: list[str]) -> set[tuple[str, str]]:
    current = settings_table.current(reader)
    rows = verdict_table.figures(reader, run_ids, float(current["omega"]), current["detector"])
    return {
        (row["run_id"], row["series"]) for row in rows if row["state"] == "anomalous" and row["series"] != RUN_LEVEL
    }


def _localise(one: Comparison, average: barycenter_table.BarycenterRow, settings: Settings) -> Localisation:
    history, target = one.samples
    return localise(
        history,
        target,
        barycenter=Barycenter(average.values, average.inertia, average.iteration_count),
        series=one.definition,
        interval_s=one.interval_s,
        mode=settings.localisation,
        window_s=settings.discord_window_s,
        quantile_low=settings.discord_quantile_low,
        quantile_high=settings.discord_quantile_high,
        skip_start_s=settings.discord_skip_start_s,
        skip_end_s=settings.discord_skip_end_s,
        backend=settings.matrix_profile_backend,
    )


def _profile_row(one: Comparison, place: Localisation, settings: Settings) -> table.ProfileRow:
    return table.ProfileRow(
        run_id=one.run_id,
        series=one.series,
        localisation=settings.localisation,
        window_s=place.window * one.interval_s,
        profile=place.profile,
        threshold_low=place.threshold_low,
        threshold_high=place.threshold_high,
        parameters_hash=settings.hash_of(*LOCALISATION_PARAMETERS),
        code_version=code_version("methods"),
    )


def _discord_rows(one: Comparison, place: Localisation) -> list[table.DiscordRow]:
    assert one.target is not None
    start_ns = one.target.start_ns or 0

    def ns(seconds: float) -> int:
        return start_ns + round(seconds * 1e9)

    rows = []
    for index, window in enumerate(place.windows):
        start_s, end_s, peak_s = (edge * one.interval_s for edge in (window.start, window.end, window.peak))
        rows.append(
            table.DiscordRow(
                run_id=one.run_id,
                series=one.series,
                window_index=index,
                start_s=start_s,
                end_s=end_s,
                peak_s=peak_s,
                start_ns=ns(start_s),
                end_ns=ns(end_s),
                confidence=window.confidence,
                profile_value=window.profile_value,
                screens=_screens(one.paths.get(one.run_id), ns(start_s), ns(end_s)),
            )
        )
    return rows


def _screens(run: RunRow | None, start_ns: int, end_ns: int) -> tuple[str, ...]:
    """The screens shown in the window, in order: the one in force when it begins and those that follow."""
    steps = [step for step in (run.path if run and run.path else ()) if step.ts_ns is not None and step.ts_ns < end_ns]
    before = [step for step in steps if step.ts_ns <= start_ns][-1:]
    shown = [step.screen for step in (*before, *(step for step in steps if step.ts_ns > start_ns)) if step.screen]
    return tuple(dict.fromkeys(shown))
