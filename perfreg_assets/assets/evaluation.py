"""`evaluation`: how good the detectors are on labelled data, so that figures have a history."""

from pathlib import Path
from typing import Any

import dagster as dg

from perfreg_assets import bundled
from perfreg_assets.assets import presentation
from perfreg_assets.assets.project import Project
from perfreg_assets.evaluation.evaluate import OMEGAS, evaluate
from perfreg_assets.warehouse import evaluations


class EvaluationConfig(dg.Config):
    """Data set (public format 2; empty: the bundled simulated one) and protocol; see `perfreg evaluate --help`."""

    dataset: str = ""
    protocol: str = "thesis"
    repeats: int = 10
    history: int = 12
    seed: int = 0


@dg.asset(group_name="quality", kinds={"duckdb", "python"}, metadata=presentation.of_mart("evaluations"))
def evaluation(
    context: dg.AssetExecutionContext, config: EvaluationConfig, project: Project
) -> dg.MaterializeResult[None]:
    """Detectors measured by the thesis' protocol on labelled data: precision, recall, F1, false-positive rate and more.

    A history of k runs is drawn at random from the normal runs, all others are judged, R times [thesis 5].
    """
    dataset = Path(config.dataset) if config.dataset else bundled.evaluation_dataset()
    result = evaluate(
        dataset,
        protocol=config.protocol,
        repeats=config.repeats,
        history=config.history,
        seed=config.seed,
        omegas=sorted({*OMEGAS, project.settings().omega}),
        settings=project.settings(),
        progress=lambda done, total, what: context.log.debug("%d of %d: %s", done, total, what),
    )
    with project.open().writing() as writer:
        evaluation_id = evaluations.add(writer, result)
    return dg.MaterializeResult(
        metadata={
            "dataset": result["dataset"],
            "evaluation_id": evaluation_id,
            "seconds": result["seconds"],
            **_figures(result),
        }
    )


def _figures(result: dict[str, Any]) -> dict[str, float]:
    """The pooled rows as plain numbers, so that the UI plots them over time."""
    figures: dict[str, float] = {}
    for row in result["rows"]:
        if row["series"] != "all" or row["anomaly_kind"] != "all" or row["severity"] != "all":
            continue
        knob = f"level_{row['level']:g}" if row["level"] is not None else f"omega_{row['omega']:g}"
        for name in ("f1", "false_positive_rate", "mcc"):
            if row[name] is not None:
                figures[f"{row['detector']}_{knob}_{name}"] = float(row[name])
    return figures
