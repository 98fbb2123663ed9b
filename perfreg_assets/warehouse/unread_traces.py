"""Traces, and profiles beside them, that could not be read when the causes of runs were looked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from perfreg_assets.reasons import Reason
from perfreg_assets.warehouse import run_conditions
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import OF_RUN, Table, load

GIVEN_AGAIN = ""


@dataclass(frozen=True, kw_only=True)
class UnreadRow:
    """A row of core.unread_traces.

    Attributes:
        run_id: whose causes were looked for. member_id: whose file it is: the same run, or one of its history.
        file_name: relative to the run's folder. file_state: what the file was then, see `trace_places.states_of`;
            `GIVEN_AGAIN` where it is to be tried again whatever it is.
    """

    run_id: str
    member_id: str
    file_name: str
    file_state: str
    reason: str


UNREAD = Table("core.unread_traces", UnreadRow, ("run_id",), ("run_id", "member_id", "file_name"), OF_RUN)


def find(reader: Reader, run_ids: Iterable[str] | None = None) -> list[UnreadRow]:
    """Those of some runs (default: all), by run and file."""
    chosen = "true" if run_ids is None else run_conditions.of(reader, run_ids)
    return load(reader, UNREAD, f"{chosen} ORDER BY run_id, member_id, file_name")


def ask_again(writer: Writer, member_ids: Collection[str]) -> None:
    """Has files of some runs tried again that were not read because of the engine or its limits: another may read them.
    What is wrong with the others is theirs, and stays so until they are other files."""
    if not member_ids:
        return
    of_engine = [reason.sentence for reason in Reason if reason.is_of_engine]
    writer.execute(
        f"UPDATE {UNREAD.name} SET file_state = ? WHERE list_contains(?, member_id) "
        "AND EXISTS (SELECT 1 FROM unnest(?) AS sentences(told) WHERE ends_with(reason, told))",
        [GIVEN_AGAIN, sorted(member_ids), of_engine],
    )
