"""Whatever the order of arrivals, settings, reviews and steps, and whatever is killed: the warehouse ends the same."""

from __future__ import annotations

import random
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from seeds import seeds
from synthetic import REGRESSIONS, RUNS, Disturbed, Project, reader_of

from perfreg_assets.assets.outstanding import Outstanding
from perfreg_assets.automation.asking import LONGEST_PAUSE_S, earlier, tags
from perfreg_assets.automation.upkeep import digest_of, due_requests

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@pytest.fixture(scope="module")
def fed_in_order(made_once):
    """(number of changes, rules) → the marts of a warehouse that was fed in order of start time, the changes made
    after the last run to a copy of one that was fed for all."""

    @cache
    def marts(change_count, **rules):
        def fill(folder):
            project = Project(folder, reader_of(REGRESSIONS), **rules)
            for first in (0, 6):
                project.arrive(*RUNS[first : first + 6])
                project.settle()

        project = Project(made_once("-".join(["made-in-order", *rules]), fill), reader_of(REGRESSIONS), **rules)
        for change in CHANGES[:change_count]:
            change(project)
        project.settle()
        return project.snapshot()

    return marts


# ---- order does not matter -----------------------------------------------------------------------
CHANGES = [
    lambda project: project.change("omega", "0"),
    lambda project: project.change("detector", "iqr"),
    lambda project: project.change("detector", "default"),
    lambda project: project.change("omega", "0.5"),
    lambda project: project.review("made-003", "confirmed"),
    lambda project: project.review("made-010", "rejected"),
    lambda project: project.withdraw("made-003"),
    lambda project: project.review("made-003", "accepted"),
]
FEW = 3
"""After so many of them nobody reviewed anything."""


@pytest.mark.parametrize("seed", seeds(2))  # of it all changes, of half of the others a few
@pytest.mark.parametrize("rules", [{}, {"history_excludes_anomalous": True, "history_same_version": True}])
def test_any_order_of_arrivals_settings_and_reviews_ends_in_the_same_warehouse(make, fed_in_order, seed, rules):
    chance = random.Random(seed)
    runs = chance.sample(RUNS, len(RUNS))
    changes = list(CHANGES)
    if chance.random() < 0.5:
        changes = changes[:FEW]
    project = make("mixed", **rules)
    project.arrive(runs[0], *(run for run in RUNS if run.run_id in ("made-003", "made-010")))
    pending = list(changes)
    for run in runs[1:]:
        project.arrive(run)
        if chance.random() < 0.25:
            project.settle()
        if pending and chance.random() < 0.4:
            pending.pop(0)(project)
    for change in pending:
        change(project)
    project.settle()
    mixed, fresh = project.snapshot(), fed_in_order(len(changes), **rules)
    assert set(mixed) == set(fresh)
    for name, rows in fresh.items():
        assert mixed[name] == rows, name


# ---- steps, arrivals and deaths interleaved ------------------------------------------------------
class Scheduler:
    """Dagster runs whose steps take turns by chance; some are killed between two steps. Ticks ask for what is due."""

    def __init__(self, project, seed, arrivals):
        self.project, self.chance, self.arrivals = project, random.Random(seed), list(arrivals)
        self.running: list[tuple[list[str], list[str]]] = []
        self.asked: list[tuple[dict[str, str], float]] = []
        self.clock = 0.0
        self.depth = 0

    def meanwhile(self):
        """Something else, while a step is between reading and writing."""
        if self.depth:
            return
        self.depth += 1
        if self.arrivals and self.chance.random() < 0.3:
            self.project.arrive(self.arrivals.pop())
        if self.running and self.chance.random() < 0.2:
            self.step(self.chance.randrange(len(self.running)))
        self.depth -= 1

    def tick(self):
        due = Outstanding(tuple(self.project.due()), {})
        busy = {key for keys, _ in self.running for key in keys}
        wanted, _ = due_requests(due, earlier(self.asked), busy=busy, now=self.clock)
        for key in wanted:
            self.asked.append((tags([digest_of(due, key)]), self.clock))
            self.running.append(([key], [name for name in due.of(key).assets if name in self.project.steps()]))

    def step(self, index):
        keys, left = self.running[index]
        if not left or self.chance.random() < 0.08:  # done, or killed
            del self.running[index]
            return
        name = left.pop(0)
        house = Disturbed(self.project.settings.warehouse, self.meanwhile, publish_every_s=3600.0)
        self.project.steps(house)[name](keys)

    def work(self):
        for _ in range(600):
            self.clock += LONGEST_PAUSE_S / 8
            if self.arrivals and self.chance.random() < 0.3:
                self.project.arrive(self.arrivals.pop())
            if self.chance.random() < 0.5 or not self.running:
                self.tick()
            if self.running:
                self.step(self.chance.randrange(len(self.running)))
            elif not self.arrivals and not self.project.due():
                return
        raise AssertionError(f"still due: {self.project.due()}")


@pytest.mark.parametrize("seed", seeds(0))
def test_no_run_falls_between_two_dagster_runs(make, fed_in_order, seed):
    project = make("interleaved")
    shuffled = random.Random(seed).sample(RUNS, len(RUNS))
    project.arrive(shuffled.pop())
    Scheduler(project, seed, shuffled).work()
    interleaved, fresh = project.snapshot(), fed_in_order(0)
    for name, rows in fresh.items():
        assert interleaved[name] == rows, name
