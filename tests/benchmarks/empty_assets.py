"""What Dagster takes for itself: `python empty_assets.py HOME` materialises one partition of ten assets in a chain that
do nothing, with as many checks as perfreg's have, in a process of its own. HOME holds Dagster's own files, kept as
perfreg keeps them."""

import sys
from pathlib import Path
from typing import Any

import dagster as dg
import yaml

from perfreg_assets import bundled

COUNT, CHECKED = 10, 5
_STORAGES = ("event_log_storage", "schedule_storage")
VERSIONS = dg.DynamicPartitionsDefinition(name="versions")


def _asset(number: int) -> dg.AssetsDefinition:
    name = f"asset_{number}"
    checks = [dg.AssetCheckSpec("holds", asset=name)] if number < CHECKED else []

    @dg.asset(
        name=name,
        partitions_def=VERSIONS,
        deps=[f"asset_{number - 1}"] if number else [],
        check_specs=checks,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def nothing(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        context.log.info("nothing to do")
        results = [dg.AssetCheckResult(passed=True, check_name="holds") for _ in checks]
        return dg.MaterializeResult(metadata={"rows": 0}, check_results=results)

    return nothing


def _instance() -> dict[str, Any]:
    """perfreg's own storages; what a command writes of a run's output is nobody's here."""
    own = yaml.safe_load(bundled.dagster_yaml().read_text(encoding="utf-8"))
    nothing = {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
    return {**{key: own[key] for key in ("telemetry", *_STORAGES)}, "compute_logs": nothing}


def main(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "dagster.yaml").write_text(yaml.safe_dump(_instance()), encoding="utf-8")
    defs = dg.Definitions(
        assets=[_asset(number) for number in range(COUNT)],
        jobs=[dg.define_asset_job("everything", "*", partitions_def=VERSIONS)],
    )
    with dg.DagsterInstance.from_config(str(home)) as instance:
        instance.add_dynamic_partitions("versions", ["1.5.0"])
        job = defs.resolve_job_def("everything")
        done = job.execute_in_process(instance=instance, partition_key="1.5.0", raise_on_error=False)
    if not done.success:
        raise SystemExit("Dagster could not materialise assets that do nothing")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
