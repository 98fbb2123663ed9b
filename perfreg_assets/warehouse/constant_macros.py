"""What nearly every mart asks and hardly ever changes, written into the macros that say it.

By the files of sql/marts some macros ask tables: what a setting in force is, whether a name is a detector's and which
way that one goes. Each such question is a join more to plan, and most marts ask several: half the time in which DuckDB
plans a question to `marts.verdicts` or `marts.runs`, where the plan takes longer than the answer. So the answers are
written into the macros, which the planner works out, in the transaction that changes one. The tables stay what says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from perfreg_assets.warehouse.literals import literal

_Rows = Callable[[str], list[tuple[Any, ...]]]
_IN_FORCE = 'SELECT name, arg_max("value", changed_at) AS "value" FROM core.settings GROUP BY name'


def are_late(rows: _Rows) -> bool:
    """Whether a setting is in force that the macro does not say: somebody changed the table alone.

    Args:
        rows: runs a query on the warehouse.
    """
    [(count,)] = rows(f'SELECT count(*) FROM ({_IN_FORCE}) WHERE "value" IS DISTINCT FROM marts.current_value(name)')
    return bool(count)


def statements(rows: _Rows) -> list[str]:
    """The SQL that makes the macros say what the tables do.

    Args:
        rows: runs a query on the warehouse.
    """
    in_force = rows(f"{_IN_FORCE} ORDER BY name")
    detectors = rows("SELECT detector, way, fallback FROM core.detectors ORDER BY detector")
    names = ", ".join(literal(name) for name, _, _ in detectors)
    bodies = {
        "current_value(setting)": _looked_up("setting", in_force),
        "is_detector(name)": f"coalesce(name IN ({names}), false)" if names else "false",
        "only_way(wanted)": _looked_up("wanted", [(name, way) for name, way, other in detectors if way and not other]),
    }
    return [
        statement
        for macro, body in bodies.items()
        for statement in (
            f"CREATE OR REPLACE MACRO marts.{macro} AS {body}",
            f"COMMENT ON MACRO marts.{macro.partition('(')[0]} IS {literal(_comment(rows, macro.partition('(')[0]))}",
        )
    ]


def _looked_up(argument: str, answers: Iterable[tuple[str, str]]) -> str:
    """The answer to an argument, NULL to any other."""
    cases = " ".join(f"WHEN {literal(asked)} THEN {literal(answer)}" for asked, answer in answers)
    return f"CASE {argument} {cases} END" if cases else "NULL::VARCHAR"


def _comment(rows: _Rows, macro: str) -> str:
    """What the file of a macro says of it, which goes with the macro that is replaced."""
    [(said,)] = rows(
        "SELECT comment FROM duckdb_functions() WHERE database_name = current_database() AND schema_name = 'marts' "
        f"AND function_name = {literal(macro)}"
    )
    return str(said)
