"""Whatever is done to a warehouse, in the end it tells what a fresh one tells that is given what is left of it at once:
marts and pages; and then nothing is due, nothing is written."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

sys.path.insert(0, str(Path(__file__).parent))

from made_folders import BROKEN, TRACE, Made, eleven, reader_in
from seeds import seeds
from synthetic import APP, START, Project

from perfreg_assets.assets.outstanding import outstanding, write_all_pages
from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.collection import registry
from perfreg_assets.model import benchmarks as benchmark_model
from perfreg_assets.model import retention
from perfreg_assets.model.stopwatch import Stopwatch
from perfreg_assets.partitions import to_key
from perfreg_assets.warehouse import backup, benchmarks, tidying, traces, verdicts
from perfreg_assets.warehouse import runs as run_table

NAMES = tuple(eleven())
RUNS = tuple(made.run_id for made in eleven().values())
STEPS = ("time_series", "history_sets", "barycenters", "distances", "verdicts", "discords", "causes")
STATUSES = ("confirmed", "rejected", "accepted")
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
    *({"content": "another"}, {"is_damaged": True}, {"run_id": "another"}),
)
SETTINGS = (
    *(("omega", value) for value in ("0", "0.75", "3")),
    *(("detector", value) for value in ("default", "iqr", "screens")),
    *(("history_excludes_anomalous", value) for value in ("true", "false")),
    *(("history_same_version", value) for value in ("true", "false")),
    *(("path_similarity_minimum", value) for value in ("0.1", "0.8")),
    *(("interval_s", value) for value in ("1", "2")),
    *(("recheck", value) for value in ("dbscan", "lof")),
    *(("judged_series", value) for value in ("cpu_app,cpu_total,rss_app", "cpu_app")),
    *(("localisation", value) for value in ("detector", "thesis")),
    *(("benchmark_change_minimum", value) for value in ("0.05", "0.5")),
    *(("duration_tolerance_ratio", value) for value in ("0.1", "1")),
)
OF_TRACES = ("interval_s", "duration_tolerance_ratio")


@dataclass
class Left:
    """What a warehouse is given in the end.

    Attributes:
        taken: run → a copy of its folder as it was taken in.
        refused: folder name → a copy of it as it was refused.
        gone: runs whose trace was deleted.
        files: (benchmark file, version).
    """

    taken: dict[str, Path] = field(default_factory=dict)
    refused: dict[str, Path] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    benchmark_reviews: dict[str, str] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    settings: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    files: set[tuple[Path, str]] = field(default_factory=set)


class House(Project):
    """A made-up project with everything: registration of folders, benchmarks and pages, too."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda *_: None, judged_series=("cpu_app", "rss_app"))
        self.inspect = reader_in(self.settings)

    @property
    def is_there(self) -> bool:
        return self.warehouse.published.exists()

    def register(self, folders: Sequence[Path]) -> list[registry.Registration]:
        return registry.register(folders, self.settings, self.warehouse, to_key)

    def import_benchmarks(self, files: Sequence[Path], version: str) -> None:
        taken = take_in(files, Origin(app=APP, version_name=version))
        with self.warehouse.writing() as writer:
            benchmarks.add(writer, [one.measured for one in taken if one.measured is not None])

    def settle(self) -> None:
        if self.is_there:
            super().settle()
            benchmark_model.measure_due(self.warehouse, self.settings, Stopwatch())

    def write_pages(self) -> list[str]:
        return write_all_pages(self.warehouse.reading_caught_up, self.settings) if self.is_there else []

    def told(self) -> dict[str, object]:
        """Marts and pages, once nothing is due; asserts that nothing is written any more then."""
        self.settle()
        self.write_pages()
        files = (self.settings.warehouse, self.warehouse.published)
        before = [file.stat() for file in files]
        self.settle()
        assert self.write_pages() == []
        assert [file.stat() for file in files] == before, "written though nothing was due"
        with self.warehouse.reading() as reader:
            left = outstanding(reader, self.settings)
        assert not left.keys, left
        told: dict[str, object] = {**self.snapshot()}
        del told["series_axes"]  # of what was judged at any time
        root = self.settings.reports_dir
        for page in [*root.rglob("*.html"), *root.rglob("*.js")]:
            if "assets" not in page.parts and page.name != "omega.html":  # it tells of each ω that was ever asked for
                told[str(page.relative_to(root))] = _timeless(page.read_text("utf-8"), str(self.settings.warehouse))
        return told


def _timeless(text: str, place: str) -> str:
    """A page without moments of writing, which are after those of all runs."""
    return re.sub(r"20(?!26-01)\d\d-\d\d-\d\d[T ]?[\d:.]*(Z| UTC)?", "then", text.replace(place, "here"))


class Story(RuleBasedStateMachine):
    """What people do to a warehouse."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.copies = folder, 0
        self.house, self.left = House(folder / "house"), Left()
        self.folders = eleven()
        self.backed_up: Left | None = None
        for name, made in self.folders.items():
            made.write(folder / "given" / name)

    @initialize(names=st.permutations(NAMES), at_once=st.integers(1, 8), later=st.integers(0, 8))
    def begin(self, names: list[str], at_once: int, later: int) -> None:
        self.give(names[:at_once])
        self.settle()
        if later:
            self.give(names[at_once : at_once + later] or names[:1])

    # ---- run folders -------------------------------------------------------------------------------
    @rule(names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    def give(self, names: list[str]) -> None:
        for name, one in zip(names, self.house.register([self.folder / "given" / n for n in names]), strict=True):
            self.copies += 1
            copy = shutil.copytree(one.folder, self.folder / "copies" / str(self.copies) / name)
            if one.rejected is None:
                self.left.taken[one.run_id] = copy
                self.left.gone.discard(one.run_id)
                self.left.refused.pop(name, None)
            else:
                self.left.refused[name] = copy
                self.left.taken.pop(one.run_id, None)  # it was in quarantine since it was read

    @rule(name=st.sampled_from(NAMES), change=st.sampled_from(CHANGES), is_let_in=st.booleans(), is_back=st.booleans())
    def correct(self, name: str, change: dict, is_let_in: bool, is_back: bool) -> None:
        before = self.folders[name]
        if is_let_in and before.run_id in self.left.taken:
            self.exclude(before.run_id)
        self._write(name, replace(before, **change))
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

    # ---- what people say ---------------------------------------------------------------------------
    @rule(run_id=st.sampled_from(RUNS), status=st.sampled_from(STATUSES))
    def review(self, run_id: str, status: str) -> None:
        if run_id in self.left.taken:
            self.house.review(run_id, status)
            self.left.reviews[run_id] = status

    @rule()
    @precondition(lambda self: self.left.reviews)
    def withdraw(self) -> None:
        run_id, _ = self.left.reviews.popitem()
        self.house.withdraw(run_id)

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

    # ---- settings ----------------------------------------------------------------------------------
    @rule(setting=st.sampled_from(SETTINGS))
    def change(self, setting: tuple[str, str]) -> None:
        if self.left.gone and setting[0] in OF_TRACES:
            return  # what was read of a trace that is gone stays
        self.house.change(*setting)
        self.left.settings |= dict([setting])

    @rule(omega=st.sampled_from((0.25, 1.0)), detector=st.sampled_from(("default", "iqr")))
    def evaluate(self, omega: float, detector: str) -> None:
        with self.house.warehouse.writing() as writer:
            verdicts.evaluate(writer, omega, detector)

    # ---- benchmarks --------------------------------------------------------------------------------
    @rule(number=st.integers(0, 7), version=st.sampled_from("12345"))
    def measure(self, number: int, version: str) -> None:
        file = self.folder / "benchmarks" / f"{number}.json"
        file.parent.mkdir(exist_ok=True)
        level = 130.0 if number == 6 else 100.0 + number % 3
        raw = [[level + launch + 0.1 * k for k in range(9)] for launch in range(3)]
        metric = {"score": level, "scoreUnit": "us/op", "rawData": raw}
        entry = {"jmhVersion": "1", "benchmark": "com.x.Bench.sort", "mode": "avgt", "primaryMetric": metric}
        file.write_text(json.dumps([entry]))
        os.utime(file, [(START + timedelta(hours=number)).timestamp()] * 2)
        self.house.import_benchmarks([file], version)
        self.left.files.add((file, version))

    # ---- work --------------------------------------------------------------------------------------
    @rule()
    def settle(self) -> None:
        self.house.settle()

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
        backup.restore(self.house.warehouse, self.folder / "kept.tar", is_replacing=True)
        self.left = deepcopy(self.backed_up)

    # ---- the end -----------------------------------------------------------------------------------
    def teardown(self) -> None:
        try:
            if self.house.is_there:
                self._compare()
        finally:
            shutil.rmtree(self.folder)

    def _compare(self) -> None:
        found, expected = self.house.told(), fresh(self.folder / "fresh", self.left).told()
        assert found.keys() == expected.keys()
        for name, told in expected.items():
            assert found[name] == told, name


_REFUSED = "SELECT run_id FROM core.runs WHERE is_quarantined AND trace_file IS NULL"


def fresh(folder: Path, left: Left) -> House:
    """A warehouse that is given what is left, at once."""
    house = House(folder)
    for setting in left.settings.items():
        house.change(*setting)
    for file, version in sorted(left.files):
        house.import_benchmarks([file], version)
    house.register(sorted(left.taken.values()))
    house.register(sorted(left.refused.values()))
    for run_id, status in left.reviews.items():
        house.review(run_id, status)
    with house.warehouse.writing() as writer:
        for run_id in left.excluded:
            run_table.exclude(writer, run_id, "because")
    house.settle()
    gone = left.gone & left.taken.keys()
    for run_id in gone:
        (house.settings.runs_dir / run_id / TRACE).unlink()
    with house.warehouse.writing() as writer:
        traces.note_gone(writer, sorted(gone), is_gone=True)
    return house


@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_a_warehouse_tells_what_a_fresh_one_tells(tmp_path_factory):
    few = settings(max_examples=len(seeds(0, 1)), stateful_step_count=16, phases=[Phase.generate])
    run_state_machine_as_test(lambda: Story(tmp_path_factory.mktemp("story")), settings=few)


def test_another_interval_is_said_of_values_without_a_course_too(tmp_path, no_waiting_for_the_disk):
    """A start-up time is not measured again for it; its distance and verdict went on saying the interval before."""
    house = House(tmp_path)
    folders = [made.write(tmp_path / "given" / name) for name, made in list(eleven().items())[:7]]
    house.register(folders)
    house.settle()
    house.change("interval_s", "2")
    house.settle()
    for mart in ("distances WHERE is_latest", "verdicts WHERE is_current"):
        found = house.rows(f"SELECT DISTINCT series, interval_s FROM marts.{mart}")
        assert {row["interval_s"] for row in found} == {2.0}
        assert "startup_initial_display_cold" in {row["series"] for row in found}
