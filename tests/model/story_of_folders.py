"""What becomes of run folders, as a part of a story."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import made_reading
from house import House
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from left import Left
from made_folders import BROKEN, Made, eleven

from perfreg_assets.run import POWER_PROFILE
from perfreg_assets.warehouse import runs as run_table

NAMES = tuple(eleven())
RUNS = tuple(str(made.run_id) for made in eleven().values())
CHANGES = (
    *({"time_limit_s": 60.0}, {"has_crashed": True}, {"app": "com.rig.other"}, {"version": "2"}, {"version": "4"}),
    *(
        {"hour": 30.0},
        {"hour": 2.5},
        {"version_code": 7},
        {"route": 2},
        {"end_s": 80},
        {"scenario": "x"},
        {"unit": "c"},
    ),
    *({"lacks": "rss_app"}, {"metric": 300.0}),
    *({"content": "another"}, {"is_damaged": True}, {"run_id": "another"}),
    *({"profile": "low.xml"}, {"profile": "high.xml"}, {"profile": "other.xml"}, {"profile": None}),
)
_REFUSED = "SELECT run_id FROM core.runs WHERE is_quarantined AND trace_file IS NULL"


class StoryOfFolders(RuleBasedStateMachine):
    """Folders arrive in any order, once or again, are mended, broken and corrected.

    Attributes:
        folders: name → what the folder says and holds now.
    """

    def __init__(self, folder: Path, build: Callable[[Path], House] = House) -> None:
        super().__init__()
        self.folder, self.copies = folder, 0
        self.house, self.left = build(folder / "house"), Left()
        self.folders = eleven()
        for name, made in self.folders.items():
            made.write(folder / "given" / name)

    def settle(self) -> None:
        self.house.settle()

    @initialize(names=st.permutations(NAMES), at_once=st.integers(1, 8), later=st.integers(0, 8))
    def begin(self, names: list[str], at_once: int, later: int) -> None:
        self.give(names[:at_once])
        self.settle()
        if later:
            self.give(names[at_once : at_once + later] or names[:1])

    @rule(names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    def give(self, names: list[str]) -> None:
        for name, one in zip(names, self.house.register([self.folder / "given" / n for n in names]), strict=True):
            self.copies += 1
            copy = shutil.copytree(self.folder / "given" / name, self.folder / "copies" / str(self.copies) / name)
            if one.rejected is None:
                before = self.left.taken.get(one.run_id)
                if one.is_new or before is None or _brings(copy) - _brings(before):
                    self.left.taken[one.run_id] = copy  # else it keeps what it brought along before
                    self.left.archived.discard(one.run_id)
                self.left.gone.discard(one.run_id)
                self.left.refused.pop(name, None)
            else:
                self.left.refused[name] = copy
                self.left.taken.pop(one.run_id, None)  # it was in quarantine since it was read

    @rule(run_id=st.sampled_from(RUNS))
    def give_under_another_name(self, run_id: str) -> None:
        """Once more, as it was taken in."""
        if run_id in self.left.taken:
            self.copies += 1
            copy = shutil.copytree(self.left.taken[run_id], self.folder / "copies" / str(self.copies) / f"of {run_id}")
            (one,) = self.house.register([copy])
            assert one.rejected is None
            if one.is_new:
                self.left.taken[run_id] = copy
                self.left.archived.discard(run_id)
            self.left.gone.discard(run_id)

    @rule(name=st.sampled_from(NAMES))
    def give_while_an_engine_fails(self, name: str) -> None:
        """It is read once it was given again."""
        made_reading.UNREADABLE.add(self.folders[name].content)
        try:
            self.give([name])
            self.settle()
        finally:
            made_reading.UNREADABLE.clear()
        self.give([name])

    @rule(name=st.sampled_from(NAMES), change=st.sampled_from(CHANGES), is_let_in=st.booleans(), is_back=st.booleans())
    def correct(self, name: str, change: dict[str, object], is_let_in: bool, is_back: bool) -> None:
        before = self.folders[name]
        if is_let_in and before.run_id in self.left.taken:
            self.exclude(before.run_id)
        self._write(name, replace(before, **change))  # type: ignore[arg-type]
        self.give([name])
        if is_back:
            self._write(name, before)
            self.give([name])

    @rule(name=st.sampled_from(NAMES), how=st.sampled_from(BROKEN), is_mended=st.booleans())
    def break_it(self, name: str, how: str, is_mended: bool) -> None:
        before = self.folders[name]
        self._write(name, replace(before, broken=how))
        self.give([name])
        if is_mended:
            self._write(name, replace(before, broken=None))
            self.give([name])

    def _write(self, name: str, made: Made) -> None:
        self.folders[name] = made
        made.write(self.folder / "given" / name)

    @rule()
    @precondition(lambda self: self.left.refused)
    def dismiss(self) -> None:
        with self.house.warehouse.writing() as writer:
            run_table.dismiss(writer, [row for (row,) in writer.rows(_REFUSED)])
        self.left.refused.clear()

    @rule(run_id=st.sampled_from(RUNS))
    def exclude(self, run_id: str) -> None:
        if run_id in self.left.taken:
            with self.house.warehouse.writing() as writer:
                run_table.exclude(writer, run_id, "because")
            self.left.excluded.add(run_id)

    @rule()
    @precondition(lambda self: self.left.excluded)
    def include(self) -> None:
        with self.house.warehouse.writing() as writer:
            run_table.include(writer, run_id := min(self.left.excluded))
        self.left.excluded.remove(run_id)


def _brings(folder: Path) -> set[bytes]:
    return {file.read_bytes() for file in folder.glob(POWER_PROFILE)}
