"""What runs cost, from the marts, for their pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from perfreg_assets.methods.power_doubts import power_doubts
from perfreg_assets.reports.data import CostRow, EnergyView, MethodCost, ScreenCost
from perfreg_assets.warehouse import energies
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.run_conditions import of

_SCOPES = ("app", "others", "wakeups")
_SHOWN_SCREENS = _SHOWN_METHODS = 10

_COSTS = """
SELECT run_id, component, scope, energy_source, charge_mah, energy_mj FROM marts.energies
WHERE is_estimated AND component LIKE 'cpu!_%' ESCAPE '!' AND {of} ORDER BY run_id, component
"""
_WHOLE = """
SELECT whole.run_id, whole.app_mah_per_h, whole.total_mah_per_h, whole.battery_ratio_per_h, whole.history_count,
       whole.app_change_ratio, whole.total_change_ratio, states.profile_name, states.is_foreign_profile,
       states.has_idle_states, states.profile_doubt, states.late_ratio, states.outside_ratio
FROM marts.energy_by_run AS whole JOIN marts.energy_states AS states ON states.run_no = whole.run_no
WHERE {of}
"""
_SCREENS = """
SELECT run_id, coalesce(screen, 'unknown') AS screen, duration_s, app_mah, total_mah FROM marts.energy_by_screen
WHERE {of} ORDER BY run_id, total_mah DESC, screen
"""
_METHODS = """
SELECT run_id, thread, method, method_self_mah, method_mah FROM marts.method_energies
WHERE {of} ORDER BY run_id, method_self_mah DESC, thread, method
"""


def load_energies(reader: Reader, run_ids: Sequence[str]) -> dict[str, EnergyView]:
    """run_id → what it cost, of runs that were estimated."""
    named = of(reader, run_ids)
    costs: dict[str, dict[str, dict[str, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for row in reader.dicts(_COSTS.format(of=named)):
        costs[row["run_id"]][row["component"]][row["scope"]] = row
    screens: dict[str, list[ScreenCost]] = defaultdict(list)
    for row in reader.dicts(_SCREENS.format(of=named)):
        screens[row.pop("run_id")].append(ScreenCost(**row))
    methods: dict[str, list[MethodCost]] = defaultdict(list)
    for row in reader.dicts(_METHODS.format(of=named)):
        if len(methods[run_id := row.pop("run_id")]) < _SHOWN_METHODS:
            methods[run_id].append(MethodCost(**row))
    accuracy = {row.pop("run_id"): row for row in energies.accuracies(reader, run_ids)}
    found = {}
    for row in reader.dicts(_WHOLE.format(of=of(reader, run_ids, "whole.run_no"))):
        run_id = row.pop("run_id")
        found[run_id] = EnergyView(
            doubts=power_doubts(row.pop("late_ratio"), row.pop("outside_ratio")),
            **row,
            costs=tuple(
                CostRow(component, *(own[scope]["charge_mah"] if scope in own else 0.0 for scope in _SCOPES))
                for component, own in sorted(costs[run_id].items(), key=lambda one: one[0] != "cpu_core")
            ),
            screens=tuple(screens[run_id][:_SHOWN_SCREENS]),
            methods=tuple(methods[run_id]),
            **accuracy.get(run_id, {}),
        )
    return found
