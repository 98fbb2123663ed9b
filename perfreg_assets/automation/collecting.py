"""Collecting from devices under Dagster: a job per device, its op in that device's own pool.

What a collection leaves is a run folder in the inbox; from there on the inbox sensor takes over.
"""

import dataclasses
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import dagster as dg

from perfreg_assets.assets.partitioning import app_versions
from perfreg_assets.assets.project import Project
from perfreg_assets.automation.reading import MAX_RUNTIME_TAG
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.errors import CollectionError
from perfreg_assets.partitions import DIMENSION, to_key
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import SettingError

if TYPE_CHECKING:
    from perfreg_assets.collection.collect import CollectionResult

_OP = "collect_session"
_WAITS_S = {"busy_wait_s": 3600.0, "absent_wait_s": 600.0}
"""A build is asked for once, so a run does not give up where somebody uses the device by hand or it is plugged in
again. It waits in one of Dagster's few places for runs."""
_REST_S = 3600.0
"""So long a run may take for all but what it waits for and explores: to cool down, install, fetch."""

COLLECTIONS = dg.AssetSpec(
    "collections",
    group_name="collect",
    kinds={"android", "perfetto"},
    partitions_def=app_versions,
    description=(
        "Sessions of automated exploration on a device while Perfetto records [thesis 4.1]. Materialised by the "
        "collect jobs; each one leaves a run folder in the inbox."
    ),
)


class CollectConfig(dg.Config):
    """Configuration C and its bounds. `options` are the further fields of CollectionConfig, by name."""

    app: str
    version_name: str | None = None
    apk: str | None = None
    time_limit_s: float = 600.0
    action_interval_s: float = 2.0
    explorer: str = "monkey"
    strategy: str | None = None
    attempt: int = 0
    repeat: int = 0
    options: dict[str, Any] = {}

    def to_collection(self, serial: str | None) -> CollectionConfig:
        """Raises Rejected for a value that cannot be collected with."""
        given: dict[str, Any] = _WAITS_S | {
            key: tuple(value) if isinstance(value, list) else value for key, value in self.options.items()
        }
        unknown = sorted(set(given) - {spec.name for spec in dataclasses.fields(CollectionConfig)})
        if unknown:
            raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"options {', '.join(unknown)[:200]} are not known")
        return CollectionConfig(
            app=self.app,
            version_name=self.version_name,
            apk=self.apk,
            serial=serial,
            time_limit_s=self.time_limit_s,
            action_interval_s=self.action_interval_s,
            explorer=self.explorer,
            strategy=self.strategy,
            **given,
        )


def named_devices(serials: Iterable[str]) -> tuple[str, ...]:
    """Each device once.

    Raises:
        SettingError: two of them would have jobs and pools of one name.
    """
    by_name: dict[str, str] = {}
    for serial in serials:
        other = by_name.setdefault(job_name(serial), serial)
        if other != serial:
            raise SettingError(
                f"devices: {other} and {serial} would both be collected by job {job_name(serial)}; name one of them"
            )
    return tuple(by_name.values())


def collect_jobs(serials: Iterable[str]) -> list[dg.JobDefinition]:
    """`collect` for the only attached device, or one job per named serial; of `named_devices`."""
    return [_collect_job(serial) for serial in serials] or [_collect_job(None)]


def session_run_config(config: dict[str, Any]) -> dict[str, Any]:
    """Run config of a collect job, whichever device it is of."""
    return {"ops": {_OP: {"config": config}}}


def session_tags(config: dict[str, Any]) -> dict[str, str]:
    """How long Dagster lets the run of a session go on: by its own limits, which may be beyond what dagster.yaml gives
    any run."""
    session = CollectConfig(**config).to_collection(None)
    longest_s = session.busy_wait_s + session.absent_wait_s + session.time_limit_s + _REST_S
    return {MAX_RUNTIME_TAG: str(round(longest_s))}


def job_name(serial: str | None) -> str:
    return "collect" if serial is None else f"collect_{_plain(serial)}"


def pool_name(serial: str | None) -> str:
    """One collection at a time per device: dagster.yaml gives every pool one slot."""
    return "device" if serial is None else f"device_{_plain(serial)}"


def _collect_job(serial: str | None) -> dg.JobDefinition:
    @dg.op(
        name=f"{_OP}{job_name(serial).removeprefix('collect')}",  # a code location has one op of a name
        pool=pool_name(serial),
        description="Explores a build on the device while Perfetto records; leaves a run folder in the inbox.",
    )
    def collect_session(context: dg.OpExecutionContext, config: CollectConfig, project: Project) -> None:
        from perfreg_assets.collection import told_sessions  # noqa: PLC0415  (adbutils: 90 ms that only devices need)
        from perfreg_assets.collection.collect import collect  # noqa: PLC0415

        settings, warehouse = project.settings(), project.open()
        try:
            result = collect(
                config.to_collection(serial),
                settings=settings,
                runs_out=settings.inbox_dir,
                progress=lambda progress: context.log.info("%s", progress),
                attempt=config.attempt,
                repeat=config.repeat,
            )
        except CollectionError as error:
            told_sessions.store(warehouse, settings, [error.record])
            if error.__cause__ is not None and not isinstance(error.__cause__, Exception):
                raise error.__cause__ from None  # Dagster's: the run was terminated
            raise dg.Failure(
                description=str(error), metadata={"reason_code": error.reason.code}, allow_retries=False
            ) from error
        told_sessions.store(warehouse, settings, [result.record])
        context.log_event(_materialisation(context, result))

    @dg.job(name=job_name(serial), description=f"One session on {serial or 'the only attached device'}.")
    def job() -> None:
        collect_session.alias(_OP)()

    return job


def _materialisation(context: dg.OpExecutionContext, result: "CollectionResult") -> dg.AssetMaterialization:
    record = result.record
    key = to_key(record.app, record.version_name)
    context.instance.add_dynamic_partitions(DIMENSION, [key])
    return dg.AssetMaterialization(
        COLLECTIONS.key,
        partition=key,
        metadata={
            "run_id": result.run_id,
            "device": record.device_serial or "",
            "stop_reason": result.stop_reason,
            "trace_bytes": record.trace_bytes or 0,
            "bytes_per_minute": record.bytes_per_minute or 0.0,
            "steps": result.step_count,
            "states": result.state_count,
            "functional_problems": -1 if result.problem_count is None else result.problem_count,
            "left_on_device": "; ".join(result.leftovers) or "nothing",
            **{f"seconds_{stage}": seconds for stage, seconds in result.seconds.items()},
        },
    )


def _plain(serial: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", serial)
