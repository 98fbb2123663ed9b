"""The workflows in docs/ci.md: their shell parts are run as a runner would, with every status that perfreg has."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from perfreg_assets.cli import main
from tests.test_docs import commands

PAGE = (Path(__file__).parents[1] / "docs" / "ci.md").read_text("utf-8")
GITHUB, GITLAB = (yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
STEPS = {step.get("name", step["run"]): step["run"] for step in GITHUB["jobs"]["perfreg"]["steps"] if "run" in step}
SCRIPTS = [*STEPS.values(), *GITLAB["performance"]["script"]]
ENVIRONMENT = {"APP": "com.rig.shop", "VERSION": "abc123", "GITHUB_REPOSITORY": "rig/shop"}


def shell(script: str, folder: Path, status: int, *, gh_status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs a script as GitHub's runner does; `perfreg` tells its arguments and ends with the status, `gh` tells its."""
    tools = folder / "bin"
    tools.mkdir()
    told = f'printf "%s\\n" "$@" > gh.txt; exit {gh_status}'
    for name, body in (("perfreg", f'echo "told: $@"; exit {status}'), ("gh", told)):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    environment = {**ENVIRONMENT, "PATH": f"{tools}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": "summary.md"}
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "conclusion", "end"), [(0, "success", 0), (3, "failure", 1), (4, "neutral", 0), (1, None, 1)]
)
def test_githubs_check_is_green_red_or_neither(tmp_path, status, conclusion, end):
    done = shell(STEPS["Judge"], tmp_path, status)
    assert done.returncode == end, done.stderr
    assert (tmp_path / "perfreg.xml").read_text().startswith("told: verdicts --app com.rig.shop --app-version abc123")
    assert "--format markdown" in (tmp_path / "summary.md").read_text()
    assert "--format github" in done.stdout
    if conclusion is None:
        assert not (tmp_path / "gh.txt").exists()
    else:
        assert f"conclusion={conclusion}" in (tmp_path / "gh.txt").read_text().splitlines()


@pytest.mark.parametrize(("status", "conclusion", "end"), [(0, "success", 0), (3, "failure", 1), (4, "neutral", 0)])
def test_a_pull_request_from_a_fork_ends_as_its_check_would(tmp_path, status, conclusion, end):
    """Its token may write no check run."""
    done = shell(STEPS["Judge"], tmp_path, status, gh_status=1)
    assert done.returncode == end, done.stderr
    (warning,) = (line for line in done.stdout.splitlines() if line.startswith("::warning::"))
    assert warning.endswith(f"the performance verdict is {conclusion}")
    assert "--format markdown" in (tmp_path / "summary.md").read_text()


def test_both_jobs_fetch_perfreg_before_they_install_it():
    first = GITHUB["jobs"]["perfreg"]["steps"][0]["with"]
    assert first["path"] == "perfreg"
    clone, install = GITLAB["performance"]["script"][:2]
    assert clone.split()[:2] == ["git", "clone"]
    assert clone.split()[-1] == "perfreg"
    assert install.startswith("pip install -c perfreg/")


@pytest.mark.parametrize("status", [0, 1, 3, 4])
def test_gitlabs_job_ends_with_perfregs_status(tmp_path, status):
    job = GITLAB["performance"]
    assert shell(job["script"][-1], tmp_path, status).returncode == status
    assert job["allow_failure"]["exit_codes"] == [4]
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).is_file()


def test_every_command_in_the_workflows_is_taken_as_it_is_shown():
    found = [arguments for script in SCRIPTS for arguments in commands(script)]
    assert {arguments[0] for arguments in found} == {"import", "verdicts"}
    for name, *arguments in found:
        one = main.commands[name]
        assert isinstance(one, click.Command)
        for parameter in one.params:
            if isinstance(parameter.type, click.Path):
                assert not parameter.type.exists
        one.make_context(name, list(arguments))


def test_what_the_cache_keeps_is_all_that_the_warehouse_is():
    steps = GITHUB["jobs"]["perfreg"]["steps"]
    restored, saved = (step for step in steps if step.get("uses", "").startswith("actions/cache"))
    cache = GITLAB["performance"]["cache"]
    assert restored["with"]["path"].split() == saved["with"]["path"].split() == cache["paths"]
    assert restored["with"]["key"] == saved["with"]["key"]
    assert steps[-1] is saved
    assert (saved["if"], cache["when"]) == ("always()", "always")  # red and neutral builds are history, too
