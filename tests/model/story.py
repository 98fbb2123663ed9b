"""What happens to a warehouse, in any order; in the end it tells what a fresh one tells."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from pathlib import Path

from house import House
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from left import Left, fresh
from story_of_words import StoryOfWords

from perfreg_assets.model import retention
from perfreg_assets.partitions import to_key
from perfreg_assets.warehouse import backup, tidying

STEPS = ("time_series", "history_sets", "barycenters", "distances", "verdicts", "discords", "causes")


class Story(StoryOfWords):
    """All of it: also the work that is done between."""

    def __init__(self, folder: Path, build: Callable[[Path], House] = House) -> None:
        super().__init__(folder, build)
        self.backed_up: Left | None = None

    @rule()
    def settle(self) -> None:
        super().settle()

    @rule()
    def write_pages(self) -> None:
        self.house.write_pages()

    @rule(step=st.sampled_from(STEPS))
    def take_step(self, step: str) -> None:
        keys = sorted({to_key(made.app, made.version) for made in self.folders.values()})
        if self.house.is_there:
            self.house.steps()[step](keys)

    @rule()
    @precondition(lambda self: self.house.is_there and self.backed_up is None)
    def delete_traces(self) -> None:
        self.change(("keep_traces", "anomalous"))
        self.left.gone |= {one.run_id for one in retention.drop_due(self.house.warehouse, self.house.settings)}

    @rule()
    @precondition(lambda self: self.house.is_there)
    def tidy(self) -> None:
        tidying.tidy(self.house.warehouse, grace=timedelta(0))

    @rule()
    @precondition(lambda self: self.house.is_there)
    def back_up(self) -> None:
        backup.backup(self.house.warehouse, self.folder / "kept.tar")
        self.backed_up = deepcopy(self.left)

    @rule()
    @precondition(lambda self: self.backed_up)
    def restore(self) -> None:
        assert self.backed_up is not None
        backup.restore(self.house.warehouse, self.folder / "kept.tar", is_replacing=True)
        self.left = deepcopy(self.backed_up)

    def teardown(self) -> None:
        try:
            if self.house.is_there:
                found, expected = self.house.told(), fresh(self.folder / "fresh", self.left).told()
                assert found.keys() == expected.keys()
                for name, told in expected.items():
                    assert found[name] == told, name
        finally:
            shutil.rmtree(self.folder)
