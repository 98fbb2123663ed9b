"""Every command in a block of README and docs is run: here on a warehouse, by a test of its own, or not, and then why.

The list is closed: a command that is in no row fails, and so does a row that no page needs any more.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from tests.test_docs import PAGES, fences, simple_commands

sys.path.insert(0, str(Path(__file__).parent / "warehouse"))

import sample_warehouse

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"


@dataclass(frozen=True)
class Here:
    """Run in this file; `ends`: with one of these statuses."""

    ends: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class By:
    """Run by a test that needs more than a warehouse: `file`, in which `mention` stands."""

    file: str
    mention: str


@dataclass(frozen=True)
class Not:
    """Not run as it stands; `instead`: the file that checks as much of it as can be."""

    why: str
    instead: str


JUDGED = (0, 3, 4)
HOW: dict[str, Here | By | Not] = {
    # ---- on a warehouse ----
    "perfreg verdicts": Here(JUDGED),
    "perfreg status": Here(),
    "perfreg sql": Here(),
    "perfreg dictionary": Here(),
    "perfreg export parquet": Here(),
    "perfreg settings list": Here(),
    "perfreg causes": Here(JUDGED),
    "perfreg reference list": Here(),
    "perfreg notify --dry-run": Here(),
    "perfreg backup": Here(),
    "perfreg compare 1.4.0": Here(JUDGED),
    # ---- by tests of their own ----
    "perfreg review": By("tests/test_cli.py", '"review"'),
    "perfreg catch-up": By("tests/test_cli.py", '"catch-up"'),
    "perfreg exclude": By("tests/test_cli.py", '"exclude"'),
    "perfreg include": By("tests/test_cli.py", '"include"'),
    "perfreg settings set": By("tests/test_cli.py", '"settings", "set"'),
    "perfreg reevaluate": By("tests/test_cli.py", '"reevaluate"'),
    "perfreg restore": By("tests/test_cli.py", '"restore"'),
    "perfreg tidy": By("tests/automation/test_tidying.py", "tidy"),
    "perfreg archive": By("tests/assets/test_archiving.py", '"archive"'),
    "perfreg notify": By("tests/reports/test_notify.py", "def test_"),
    "perfreg causes --log": By("tests/test_cli_causes.py", "--log"),
    "perfreg impact": By("tests/test_cli_causes.py", "impact"),
    "perfreg inspect": By("tests/test_cli_first_day.py", '"inspect"'),
    "perfreg import": By("tests/test_cli_first_day.py", '"import"'),
    "find": By("tests/test_cli_first_day.py", '"-", *arguments'),
    "perfreg compare": By("tests/test_cli_first_day.py", '"compare"'),
    "perfreg bench": By("tests/test_cli_benchmarks.py", '"bench"'),
    "perfreg ingest": By("tests/test_process.py", "ingest"),
    "perfreg doctor": By("tests/automation/test_doctor.py", "doctor"),
    "perfreg power": By("tests/model/test_detection_power.py", "measure("),
    "perfreg evaluate": By("tests/evaluation/test_evaluate.py", "evaluate"),
    "perfreg energy": By("tests/test_cli_energy.py", '"energy"'),
    "perfreg profiles": By("tests/test_cli_energy.py", '"profiles"'),
    "perfreg energy-import": By("tests/model/test_method_logs.py", "energy-import"),
    "perfreg energy-calibrate": By("tests/test_cli_energy.py", "energy-calibrate"),
    "perfreg reduce": By("tests/test_cli_reduction.py", '"reduce"'),
    "perfreg reference add": By("tests/test_cli_reduction.py", '"add"'),
    "perfreg collect": By("tests/collection/test_collect.py", "collect("),
    "perfreg collect --sweep": By("tests/collection/test_endurance.py", '"--sweep"'),
    "perfreg serve": By("tests/reports/test_serve.py", "make_server"),
    "perfreg ui": By("tests/automation/conftest.py", '"ui"'),
    "perfreg worker": By("tests/automation/test_spreading.py", "worker"),
    "perfreg commit": By("tests/automation/test_spreading.py", "commit"),
    "docker compose": By("tests/containers.py", 'printed("docker compose'),
    "tar": By("tests/containers.py", 'startswith("tar ")'),
    "kubectl": By("tests/cluster.py", 'startswith("kubectl ")'),
    "helm install": By("tests/cluster.py", 'printed("helm install ")'),
    "python -m perfreg_assets.collection.run_schema": By("tests/collection/test_run_schema.py", "run_schema"),
    "pip install": By("tests/test_docs_other_tools.py", "PIP_DRY_RUN"),
    "dagster asset materialize": By("tests/assets/test_printed_command.py", '"dagster asset materialize"'),
    # ---- not as they stand ----
    "python3 -m venv": Not("installs for minutes; README's two one-liners are run unchanged there", ".ci/run"),
    ".venv/bin/pip": Not("installs for minutes; README's two one-liners are run unchanged there", ".ci/run"),
    ".venv/bin/perfreg demo": Not("takes a minute; README's two one-liners are run unchanged there", ".ci/run"),
    ".venv/bin/pytest": Not("this is it; README's two one-liners are run unchanged there", ".ci/run"),
    "export": Not("sets a variable for what follows", "tests/test_deploy.py"),
}
"""The first words of a command → how it is run; the longest row counts."""

SHOWN = [
    (page, body, words)
    for page, text in PAGES.items()
    if page != "CHANGELOG.md"
    for body in fences(text, "sh")
    for words in simple_commands(body)
]
NAMES = {
    "com.rig.": "com.example.",
    "1.4.0": "1.1.0",
    "1.5.0": "1.2.0",
    "p7-001": "shop-0000",
    "--only sort": "",
}


def row_of(words: list[str]) -> str | None:
    told = " ".join(words)
    return max((row for row in HOW if told == row or told.startswith((f"{row} ", row))), key=len, default=None)


@pytest.mark.parametrize("page", sorted({page for page, _, _ in SHOWN}))
def test_every_command_of_a_page_has_its_row(page):
    assert [shlex.join(words) for shown, _, words in SHOWN if shown == page and row_of(words) is None] == []


def test_no_row_is_left_over_and_what_stands_for_a_command_is_there():
    used = {row_of(words) for _, _, words in SHOWN}
    assert set(HOW) - used == set()
    for how in HOW.values():
        if isinstance(how, By):
            assert how.mention in (ROOT / how.file).read_text("utf-8"), how
        elif isinstance(how, Not):
            assert (ROOT / how.instead).is_file(), how
            assert how.why


def adapted(words: list[str]) -> list[str]:
    """With the names of the warehouse here."""
    told = "\0".join(words)
    for name, own in NAMES.items():
        told = told.replace(name, own)
    return re.sub(r"\bnotes-0(\d\d)\b", r"notes-00\1", told).split("\0")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    sample_warehouse.build(folder / "perfreg.duckdb", runs=72, samples=40)
    shutil.copytree(ROOT / "sql" / "examples", folder / "sql" / "examples")
    shutil.copy(DATA / "power-profiles" / "power_profile_pixel3a.xml", folder / "power_profile.xml")
    return folder


@pytest.mark.parametrize("name", [name for name, one in main.commands.items() if isinstance(one, click.Group)])
def test_the_example_of_a_group_runs_as_it_is_printed(place, tmp_path, monkeypatch, name):
    shutil.copytree(place, tmp_path / "place")
    monkeypatch.chdir(tmp_path / "place")
    (line,) = re.findall(r"Example:\n +perfreg (.*)", CliRunner().invoke(main, [name, "--help"]).stdout)
    done = CliRunner().invoke(main, shlex.split(line))
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize("page", sorted({page for page, _, words in SHOWN if isinstance(HOW.get(row_of(words)), Here)}))
def test_commands_for_a_warehouse_do_what_the_page_says(place, tmp_path, monkeypatch, page):
    """In the order of the page, on a copy of its own."""
    shutil.copytree(place, tmp_path / "place")
    monkeypatch.chdir(tmp_path / "place")
    failed = []
    for _, _, words in (one for one in SHOWN if one[0] == page):
        how = HOW[str(row_of(words))]
        if isinstance(how, Here):
            done = CliRunner().invoke(main, adapted(words)[1:])
            if done.exit_code not in how.ends:
                failed.append(f"{shlex.join(words)}: status {done.exit_code}: {done.stderr.strip()[-300:]}")
    assert failed == []
