"""What a recording cost that was read in parts, and which slices it ran: sums of the parts', as of a look at the whole.

Which screen followed on the last known step is told by the next one, so that a part's end has to wait for its name; and
a slice that had not ended is as long as a later part says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from perfreg_assets.methods.power_states import SCOPES
from perfreg_assets.methods.slice_uses import SliceUses
from perfreg_assets.reasons import Reason
from perfreg_assets.traces.energies import (
    NOT_RECORDED,
    Charge,
    Energies,
    StateTime,
    StepCharge,
    ThreadCharge,
    at_most,
    every_charge,
    shortened,
)
from perfreg_assets.traces.method_energies import MethodCharge, sum_of
from perfreg_assets.traces.names import Names
from perfreg_assets.traces.profile_choice import Profiles
from perfreg_assets.traces.scope import Scope, Screens
from perfreg_assets.traces.slice_uses import (
    NO_SLICES,
    SliceSums,
    add_sums,
    app_slices,
    by_name,
    lengthen,
    slice_sums,
    uses_of,
)

_Call = tuple[str, str, str, int]
"""process, thread, slice, when it began."""
UNNAMED = "\0"
"""In place of a screen that the next step will name; no name has that letter."""
PROFILES_DIFFER = "parts of the recording were estimated by different power profiles, or its cores grouped differently"


@dataclass(frozen=True)
class PartCosts:
    """Of one part.

    Attributes:
        device: code name by the trace.
        energies: all of it, see `every_charge`.
        slices: None where it has none of the app's; of the screen after the last known step under `UNNAMED`.
        step_count: steps that were known when it was read.
        unended: slices that began in it and had not ended when it was read → screen, and how long they were by then.
        earlier: of slices that began before it, how long they were when it was read.
    """

    device: str
    energies: Energies
    slices: SliceSums | None
    step_count: int
    unended: dict[_Call, tuple[str, int]]
    earlier: dict[_Call, int]


def part_costs(scope: Scope) -> PartCosts:
    """Of the time of a scope's grid; its screens are those of the steps that are known so far.

    Raises:
        Rejected: ENGINE_…
    """
    found = every_charge(scope)
    count = len(scope.screens)
    slices = scope.once(app_slices)
    if slices is None:
        return PartCosts(scope.contents.code_name, found, None, count, {}, {})
    keys, numbers = by_name(slices, Names(scope.contents, scope.app))
    grid, behind = scope.grid, scope.contents.end_ns
    unended: dict[_Call, tuple[str, int]] = {}
    earlier: dict[_Call, int] = {}
    for start, end, code in zip(
        slices.start_ns.tolist(), slices.end_ns.tolist(), numbers[slices.code].tolist(), strict=True
    ):
        if start < grid.start_ns:
            earlier[*keys[code][:3], start] = end - start
        elif start < grid.end_ns and end >= behind:
            screen = next((name for until, name in scope.screens if start < until), UNNAMED)
            unended[*keys[code][:3], start] = screen, end - start
    return PartCosts(
        scope.contents.code_name, found, slice_sums(scope, slices, scope.screens, UNNAMED), count, unended, earlier
    )


class JoinedCosts:
    """Adds up parts as they come, in their order."""

    def __init__(self) -> None:
        self._first: PartCosts | None = None
        self._missing: Energies | None = None
        self._are_alike = True
        self._duration_s = self._late_s = self._outside_s = self._busy_s = self._fit_s = 0.0
        self._has_idle_states = True
        self._times: dict[tuple[int, float, str], StateTime] = {}
        self._charges: dict[tuple[str, str, str], list[Charge]] = {}
        self._rails_partly_ns: list[int] = []
        self._threads: dict[tuple[str, str, bool], float] = {}
        self._steps: dict[int, StepCharge] = {}
        self._methods: dict[tuple[str, str, str], MethodCharge] | None = None
        self._slices: SliceSums | None = None
        self._unnamed: dict[int, SliceSums] = {}
        self._unended: dict[_Call, tuple[str, int, int]] = {}
        self._part_count = 0

    def add(self, part: PartCosts, screens: Screens) -> None:
        """The next part.

        Args:
            screens: of all steps that are known by now.
        """
        self._part_count += 1
        self._add_slices(part, screens)
        found = part.energies
        self._first = self._first or part
        if found.reason_code is not None:
            self._missing = self._missing or found
        self._are_alike = self._are_alike and _estimator(found) == _estimator(self._first.energies)
        self._duration_s += found.duration_s
        self._late_s += (found.late_ratio or 0.0) * found.duration_s
        busy_s = sum(one.busy_s for one in found.times)
        self._busy_s += busy_s
        self._outside_s += (found.outside_ratio or 0.0) * busy_s
        self._fit_s += (found.chosen.fit_ratio if found.chosen else 0.0) * found.duration_s
        self._has_idle_states = self._has_idle_states and bool(found.has_idle_states)
        for time in found.times:
            key = time.cluster, time.frequency_khz, time.scope
            own = self._times.get(key)
            self._times[key] = time if own is None else _both(own, time)
        self._rails_partly_ns += found.rails_partly_ns
        for charge in found.charges:
            self._charges.setdefault((charge.component, charge.scope, charge.source), []).append(charge)
        for thread in found.threads:
            who = thread.process, thread.thread, thread.is_app
            self._threads[who] = self._threads.get(who, 0.0) + thread.charge_mas
        for step in found.steps:
            known = self._steps.get(step.step_index, StepCharge(step.step_index, "", 0.0, 0.0, 0.0))
            self._steps[step.step_index] = replace(
                known,
                screen=step.screen or known.screen,
                duration_s=known.duration_s + step.duration_s,
                app_mas=known.app_mas + step.app_mas,
                total_mas=known.total_mas + step.total_mas,
            )
        if not isinstance(found.methods, str):
            self._methods = self._methods or {}
            for method in found.methods:
                what = method.process, method.thread, method.method
                self._methods[what] = sum_of(self._methods[what], method) if what in self._methods else method

    def _add_slices(self, part: PartCosts, screens: Screens) -> None:
        self._name(screens)
        if part.slices is None:
            return
        self._slices = self._slices or {}
        for call, now_ns in part.earlier.items():
            if call in self._unended:
                screen, number, before_ns = self._unended[call]
                lengthen(self._of_screen(screen, number), (screen, *call[:3]), before_ns, now_ns)
                self._unended[call] = screen, number, now_ns
        # What is not there any more ended before this part began.
        self._unended = {call: one for call, one in self._unended.items() if call in part.earlier}
        known = {key: row for key, row in part.slices.items() if key[0] != UNNAMED}
        add_sums(self._slices, known)
        unnamed = {key: row for key, row in part.slices.items() if key[0] == UNNAMED}
        if unnamed:
            add_sums(self._unnamed.setdefault(part.step_count, {}), unnamed)
        for call, (screen, length_ns) in part.unended.items():
            self._unended[call] = screen, part.step_count, length_ns

    def _of_screen(self, screen: str, number: int) -> SliceSums:
        """Where the sums of a screen are that may not have its name yet."""
        assert self._slices is not None
        return self._unnamed[number] if screen == UNNAMED else self._slices

    def _name(self, screens: Screens, after: str | None = None) -> None:
        """Adds to its screen what waited for the name; with `after`, all of it."""
        for number, sums in list(self._unnamed.items()):
            if number >= len(screens) and after is None:
                continue
            del self._unnamed[number]
            name = screens[number][1] if number < len(screens) else after or ""
            assert self._slices is not None
            add_sums(self._slices, {(name, *key[1:]): row for key, row in sums.items()})
            self._unended = {
                call: (name, number, length) if (screen, count) == (UNNAMED, number) else (screen, count, length)
                for call, (screen, count, length) in self._unended.items()
            }

    # ---- what it comes to --------------------------------------------------------------------------
    def slices(self, screens: Screens) -> SliceUses | str:
        """By screen, or why there are none.

        Args:
            screens: of the whole path.
        """
        self._name(screens, "")
        return NO_SLICES if self._slices is None else uses_of(self._slices)

    def energies(self, screens: Screens, profiles: Profiles) -> Energies:
        """As of one look at the whole recording.

        Args:
            screens: of the whole path. profiles: of the run.
        """
        first = self._first
        if first is None:
            return NOT_RECORDED
        common = replace(
            first.energies,
            device=first.energies.device,
            duration_s=self._duration_s,
            charges=tuple(self._rail_charges()),
            own_profile_sha256=profiles.own_sha256,
            rails_partly_ns=tuple(self._rails_partly_ns),
            has_idle_states=self._has_idle_states if first.energies.has_idle_states is not None else None,
            late_ratio=self._late_s / self._duration_s if first.energies.late_ratio is not None else None,
            times=(),
            threads=(),
            steps=(),
        )
        if self._missing is not None:
            lacking = self._missing
            told = replace(
                common, reason_code=lacking.reason_code, reason=lacking.reason, methods=str(lacking.reason), chosen=None
            )
            if lacking.first_cores is None:  # no states of cores in it: the kernel's own times, where they were noted
                return at_most(replace(told, device="", first_cores=None), profiles, first.device)
            return replace(told, times=self._state_times() if self._are_alike else ())
        if not self._are_alike:
            code = Reason.SERIES_MISSING.code
            return replace(common, reason_code=code, reason=PROFILES_DIFFER, methods=PROFILES_DIFFER, chosen=None)
        chosen = first.energies.chosen
        assert chosen is not None
        return shortened(
            replace(
                common,
                outside_ratio=self._outside_s / self._busy_s if self._busy_s > 0 else 0.0,
                chosen=replace(chosen, fit_ratio=self._fit_s / self._duration_s if self._duration_s else 0.0),
                times=self._state_times(),
                charges=(*self._core_charges(), *common.charges),
                threads=tuple(ThreadCharge(*who, charge) for who, charge in self._threads.items()),
                steps=self._step_charges(screens),
                methods=NO_SLICES if self._methods is None else tuple(self._methods.values()),
            )
        )

    def _state_times(self) -> tuple[StateTime, ...]:
        order = sorted(self._times, key=lambda key: (key[0], key[1], SCOPES.index(key[2])))
        return tuple(self._times[key] for key in order)

    def _core_charges(self) -> list[Charge]:
        return [
            replace(parts[0], charge_mas=sum(one.charge_mas or 0.0 for one in parts))
            for parts in self._charges.values()
            if parts[0].charge_mas is not None
        ]

    def _rail_charges(self) -> list[Charge]:
        """Of the rails that were measured all along."""
        return [
            replace(parts[0], energy_mj=sum(one.energy_mj or 0.0 for one in parts))
            for parts in self._charges.values()
            if parts[0].energy_mj is not None and len(parts) == self._part_count
        ]

    def _step_charges(self, screens: Screens) -> tuple[StepCharge, ...]:
        if not screens:
            return ()
        return tuple(
            replace(one, screen=one.screen or (screens[index][1] if index < len(screens) else ""))
            for index, one in sorted(self._steps.items())
        )


def _estimator(found: Energies) -> tuple[object, ...]:
    """What charges were estimated by: only those of one can be added."""
    return found.chosen.profile.profile_id if found.chosen else None, found.first_cores


def _both(one: StateTime, other: StateTime) -> StateTime:
    return replace(
        one,
        busy_s=one.busy_s + other.busy_s,
        cluster_share_s=one.cluster_share_s + other.cluster_share_s,
        active_share_s=one.active_share_s + other.active_share_s,
    )
