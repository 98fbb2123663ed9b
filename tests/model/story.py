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
from story_of_kept import StoryOfKept
from story_of_words import OF_TRACES, SETTINGS

from perfreg_assets.model import archiving, retention
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import backup, tidying

STEPS = ("time_series", "history_sets", "barycenters", "distances", "verdicts", "discords", "causes")


class Story(StoryOfKept):
    """All of it: also the work that is done between."""

    def __init__(
        self, folder: Path, build: Callable[[Path], House] = House, build_fresh: Callable[[Path], House] = House
    ) -> None:
        super().__init__(folder, build)
        self.build_fresh = build_fresh
        self.backed_up: Left | None = None

    @rule()
    def settle(self) -> None:
        super().settle()

    @rule()
    def write_pages(self) -> None:
        self.house.write_pages()

    @rule(step=st.sampled_from(STEPS), version=st.none() | st.integers(0, 4))
    def take_step(self, step: str, version: int | None) -> None:
        keys = self.house.versions()
        self.house.steps()[step](keys if version is None else keys[version : version + 1])

    @rule()
    def read_again(self) -> None:
        self.house.read_again()

    @rule(setting=st.sampled_from(SETTINGS))
    def settle_by_other_settings(self, setting: tuple[str, str]) -> None:
        """What a process was given itself goes before what the warehouse keeps."""
        name, value = setting
        if self.left.has_unreadable and name in OF_TRACES:
            return
        mine = self.house.settings
        self.house.settings = mine.with_values(**{name: Settings.parsed(name, value)})
        self.settle()
        self.write_pages()
        self.house.settings = mine

    @rule()
    @precondition(lambda self: self.backed_up is None)
    def delete_traces(self) -> None:
        self.change(("keep_traces", "anomalous"))
        self.left.gone |= {one.run_id for one in retention.drop_due(self.house.warehouse, self.house.settings)}

    @rule()
    @precondition(lambda self: self.backed_up is None and not self.house.settings.exchange)
    def archive_traces(self) -> None:
        self.change(("reduction_after_days", "1e-9"))
        with self.house.warehouse.reading() as reader:
            run_ids = archiving.due_runs(reader, self.house.settings).run_ids
        self.house.archive(run_ids)
        self.left.archived |= set(run_ids)

    @rule()
    def tidy(self) -> None:
        tidying.tidy(self.house.warehouse, grace=timedelta(0))

    @rule()
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
            found, expected = self.house.told(), fresh(self.folder / "fresh", self.left, self.build_fresh).told()
            assert found.keys() == expected.keys()
            for name, told in expected.items():
                assert found[name] == told, name
        finally:
            shutil.rmtree(self.folder)
