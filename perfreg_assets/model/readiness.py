"""What a step of a job works on, decided once in a job instead of anew by each of its steps.

What a step writes makes true what was ready for it, and changes nothing that was decided about the stages before. So
the next step looks at its own stage only, as long as nobody else wrote in between: the warehouse says which state was
read and which one was left. Else everything is decided anew; and before pages are written it always is
(`freshness.due_now`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from perfreg_assets.model import freshness, settled
from perfreg_assets.model.comparisons import Planned
from perfreg_assets.model.freshness import Decided, Stage
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.committed import State
from perfreg_assets.warehouse.connection import Reader, Writer


@dataclass(frozen=True)
class Ready:
    """Runs of some partitions that wait for a stage and nothing before it.

    Attributes:
        plan: their comparisons; None where the stage needs none.
    """

    runs: set[str]
    plan: Planned | None = None

    @property
    def planned(self) -> Planned:
        """Of a stage after the histories."""
        assert self.plan is not None
        return self.plan


@dataclass(frozen=True)
class _Known:
    """A decision, and where it holds: in this state, about these partitions, under these circumstances."""

    state: State
    keys: frozenset[str]
    circumstances: str
    decided: Decided


_KNOWN: dict[str, _Known] = {}
"""Path of a warehouse → what was decided last: the steps of a job follow each other in one process."""


def ready(reader: Reader, settings: Settings, stage: Stage, keys: Iterable[str]) -> Ready:
    """What waits for a stage in some partitions.

    Args:
        settings: those in force.
    """
    keys = list(keys)
    circumstances = settled.circumstances(settings)
    known = None if reader.state is None else _KNOWN.pop(reader.state.path, None)
    if known is not None and (
        (known.state, known.keys, known.circumstances) != (reader.state, frozenset(keys), circumstances)
        or known.decided.upto >= stage
    ):
        known = None
    decided = freshness.decide(reader, settings, keys, upto=stage, known=known.decided if known else None)
    # After causes nobody asks; where verdicts decide who is in a history, giving one may change what was decided.
    if reader.state is not None and stage is not Stage.CAUSE and not settings.history_excludes_anomalous:
        _KNOWN[reader.state.path] = _Known(reader.state, frozenset(keys), circumstances, decided)
    runs = decided.at(stage)
    return Ready(runs, None if decided.planned is None else decided.planned.only(sorted(runs)))


def done(writer: Writer, stage: Stage) -> None:
    """Says, after its block, that a writer wrote what was ready for a stage and nothing else."""
    if writer.state is None or writer.left is None:
        return
    known = _KNOWN.pop(writer.state.path, None)
    if known is not None and known.state == writer.state:
        rest = {run_id: one for run_id, one in known.decided.found.items() if one[0] is not stage}
        _KNOWN[writer.state.path] = replace(known, state=writer.left, decided=replace(known.decided, found=rest))
