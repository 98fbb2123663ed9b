"""Where in the session the anomalous series depart from their histories, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from perfreg_assets.detection import BY_SCREENS, localisation_of
from perfreg_assets.methods.discords import Localisation
from perfreg_assets.methods.localisation import localise
from perfreg_assets.model import freshness, inputs, readiness
from perfreg_assets.model.averaging import stored_average
from perfreg_assets.model.comparisons import Comparison, SampleStore
from perfreg_assets.model.freshness import Alarm, Stage
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.provenance import code_version
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import PathStep, screens_between
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import barycenters as barycenter_table
from perfreg_assets.warehouse import discords as table
from perfreg_assets.warehouse import paths as path_files
from perfreg_assets.warehouse import settings_table
from perfreg_assets.warehouse.connection import Warehouse


@dataclass(frozen=True)
class Localised:
    """What a step did: the series it localised, the windows it found, and what could not be computed."""

    series: list[tuple[str, str]]
    windows: list[table.DiscordRow]
    failures: list[table.ProfileRow]


@dataclass(frozen=True)
class _Found:
    """What is stored of one series of one run."""

    profile: table.ProfileRow
    windows: tuple[table.DiscordRow, ...] = ()


def localise_due(warehouse: Warehouse, settings: Settings, keys: Iterable[str], watch: Stopwatch) -> Localised:
    """Localises the series that are anomalous by their current verdict in some partitions, where that is due."""
    with warehouse.reading() as reader:
        settings = settings_table.in_force(reader, settings)
        planned = readiness.ready(reader, settings, Stage.DISCORD, keys).planned
        if not planned.run_ids:
            return Localised([], [], [])
        due = freshness.anomalous(reader, planned, settings)
        store = SampleStore(reader, [one.comparison for one in due])
        paths = path_files.find(reader, path_files.files_of(reader, planned.run_ids))
        averages = barycenter_table.find(
            reader, {inputs.barycenter_id(one, settings) for one, _ in due if one.has_barycenter}
        )

    def find(alarm: Alarm) -> _Found:
        one = alarm.comparison
        try:
            place = _localise(alarm, store, averages, settings)
            windows = _discord_rows(one, place, store.start_ns(one), paths.get(one.run_id, ()))
            return _Found(_profile_row(alarm, place, settings), tuple(windows))
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            # What is wrong with one series of one run says nothing of the others: it is stored as that, and told.
            return _Found(_failed_row(alarm, error, settings))

    with watch.measure("model"), ThreadPoolExecutor() as pool:
        found = list(pool.map(find, due))
    profiles, windows = [one.profile for one in found], [row for one in found for row in one.windows]
    with watch.measure("warehouse"), warehouse.writing() as writer:
        table.replace_runs(writer, planned.run_ids, profiles, windows)
    readiness.done(writer, Stage.DISCORD)
    failures = [row for row in profiles if row.failure is not None]
    return Localised([(one.run_id, one.series) for one, _ in due], windows, failures)


def _localise(
    alarm: Alarm, store: SampleStore, averages: dict[str, barycenter_table.BarycenterRow], settings: Settings
) -> Localisation:
    one = alarm.comparison
    history, target = store.samples(one)
    return localise(
        history,
        target,
        barycenter=stored_average(one, averages, settings),
        series=one.definition,
        interval_s=one.interval_s,
        mode=_mode(one, settings),
        window_s=settings.discord_window_s,
        quantile_low=settings.discord_quantile_low,
        quantile_high=settings.discord_quantile_high,
        skip_start_s=settings.discord_skip_start_s,
        skip_end_s=settings.discord_skip_end_s,
        backend=settings.matrix_profile_backend,
        alarm=alarm.score,
    )


def _mode(one: Comparison, settings: Settings) -> str:
    """The way in force; where paths differ there is no average whose discords could be looked for."""
    return localisation_of(settings.localisation, settings.detector) if one.way == "path" else BY_SCREENS


def _profile_row(alarm: Alarm, place: Localisation, settings: Settings) -> table.ProfileRow:
    one, (first, end) = alarm.comparison, place.examined
    return replace(
        _blank_row(alarm, settings),
        window_s=place.window * one.interval_s,
        profile=place.profile,
        threshold_low=place.threshold_low,
        threshold_high=place.threshold_high,
        examined_start_s=first * one.interval_s,
        examined_end_s=end * one.interval_s,
    )


def _failed_row(alarm: Alarm, error: Exception, settings: Settings) -> table.ProfileRow:
    one = alarm.comparison
    what = f"{one.series} of {one.run_id} ({type(error).__name__}: {error})"
    return replace(_blank_row(alarm, settings), failure=str(Rejected(Reason.LOCALISATION_FAILED, what)))


def _blank_row(alarm: Alarm, settings: Settings) -> table.ProfileRow:
    one = alarm.comparison
    return table.ProfileRow(
        run_id=one.run_id,
        series=one.series,
        localisation=_mode(one, settings),
        window_s=one.interval_s,
        profile=np.empty(0),
        threshold_low=None,
        threshold_high=None,
        parameters_hash=inputs.localisation_parameters(settings),
        input_hash=inputs.windows_hash(one, alarm.score, settings),
        code_version=code_version("methods"),
    )


def _discord_rows(
    one: Comparison, place: Localisation, start_ns: int, path: Sequence[PathStep]
) -> list[table.DiscordRow]:
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
                screens=screens_between(path, ns(start_s), ns(end_s)),
            )
        )
    return rows
