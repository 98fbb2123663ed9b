"""Several versions of an app in a row on one device, several sessions each: one exploratory session says little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfreg_assets.collection.builds import Build, check_build, read_build
from perfreg_assets.collection.collect import CollectionResult, collect
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.errors import CollectionError, CollectionRecord
from perfreg_assets.collection.progress import ProgressCallback
from perfreg_assets.reasons import Reason
from perfreg_assets.settings import Settings


@dataclass(frozen=True)
class BatchOutcome:
    """One session of a batch: exactly one of `result` and `error` is set."""

    build: Build | None
    repeat: int
    result: CollectionResult | None
    error: CollectionError | None

    @property
    def record(self) -> CollectionRecord:
        """The row for the warehouse."""
        end = self.result or self.error
        assert end is not None
        return end.record

    @property
    def ends_all(self) -> bool:
        """Whether the next session is not to be tried."""
        if self.error is not None:
            return self.error.is_interrupted or self.error.reason in _ENDS_ALL
        return self.result is not None and self.result.is_interrupted


@dataclass(frozen=True)
class BatchResult:
    outcomes: tuple[BatchOutcome, ...]
    skipped: int
    """Sessions not begun because the device was not usable any more, or the batch was told to end."""

    @property
    def is_complete(self) -> bool:
        return self.skipped == 0 and all(outcome.error is None for outcome in self.outcomes)


_TAKEN_BETWEEN_S = 3600.0
"""Who waits for the device may have it between two sessions; a batch that has begun goes on after that one."""
_ENDS_ALL = frozenset(
    {
        *(Reason.DEVICE_LOST, Reason.DEVICE_OFFLINE, Reason.DEVICE_UNAUTHORIZED, Reason.DEVICE_NOT_FOUND),
        *(Reason.NO_DEVICE, Reason.SEVERAL_DEVICES, Reason.DEVICE_BUSY, Reason.ADB_UNAVAILABLE),
        *(Reason.DEVICE_NO_SPACE, Reason.HOST_NO_SPACE, Reason.FOLDER_UNWRITABLE, Reason.ANDROID_TOO_OLD),
        *(Reason.COLLECTION_CANCELLED, Reason.COLLECTION_CUT_SHORT),
    }
)


def collect_batch(
    config: CollectionConfig,
    apks: Sequence[Path] = (),
    *,
    settings: Settings,
    runs_out: Path,
    progress: ProgressCallback = lambda _: None,
    attempt: int = 0,
    ended: Callable[[BatchOutcome], object] = lambda _: None,
) -> BatchResult:
    """`config.repeats` sessions of each build in turn, on one device; each is installed afresh and uninstalled.

    Without `apks`: sessions of `config.apk`, or of the app as it is on the device. A session that fails does not
    keep the next from being tried, unless the device or the disk is what failed. A device that goes away between two
    sessions is waited for as in one, and another that is attached meanwhile is left alone.

    Args:
        ended: called after each session, before the next begins.

    Raises:
        Rejected: a build is not readable, of another app or another version than is expected; nothing has been
            collected then.
    """
    builds: list[Build | None] = [read_build(Path(apk)) for apk in apks]
    if not builds:
        builds = [read_build(Path(config.apk)) if config.apk else None]
    for build in builds:
        if build is not None:
            check_build(build, app=config.app, version_name=config.version_name)
    planned = [(build, repeat) for build in builds for repeat in range(config.repeats)]
    outcomes: list[BatchOutcome] = []
    for build, repeat in planned:
        one = config
        if outcomes:
            one = replace(
                config,
                serial=outcomes[0].record.device_serial or config.serial,
                busy_wait_s=max(config.busy_wait_s, _TAKEN_BETWEEN_S),
                absent_wait_s=max(config.absent_wait_s, config.reconnect_timeout_s),
            )
        if build is not None:
            one = one.for_build(app=build.app, version_name=build.version_name, apk=build.path)
        try:
            result = collect(
                one, settings=settings, runs_out=runs_out, progress=progress, attempt=attempt, repeat=repeat
            )
            outcome = BatchOutcome(build, repeat, result, None)
        except CollectionError as error:
            outcome = BatchOutcome(build, repeat, None, error)
        outcomes.append(outcome)
        ended(outcome)
        if outcome.ends_all:
            break
    return BatchResult(tuple(outcomes), len(planned) - len(outcomes))
