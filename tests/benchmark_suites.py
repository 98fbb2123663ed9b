"""What tests of suites share: the small suite of the tests' data, and how one is written and run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perfreg_assets.benchmarks.running import run_suites
from perfreg_assets.benchmarks.suite import read_suite

FOLDER = Path(__file__).parent / "data" / "benchmark-suite"
SUITE = FOLDER / "suite.xml"
needs_java = pytest.mark.skipif(
    shutil.which("javac") is None or shutil.which("java") is None, reason="no JDK: javac and java are not on the PATH"
)


def written(folder, text, name="suite.xml"):
    """The path of a suite with this text."""
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def run_suite(suite):
    """What came of a suite (or the path of one) of one runner."""
    suite = read_suite(suite) if isinstance(suite, Path) else suite
    ((file,),) = run_suites([("", suite)], progress=lambda _: None).values()
    return file
