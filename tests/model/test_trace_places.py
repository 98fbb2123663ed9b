"""Where files of registered runs lie: here, or in the exchange; and what they are at the moment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import row

from perfreg_assets.model import handover
from perfreg_assets.model.trace_places import GONE, profiles_of, state_of
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import attachments, runs
from perfreg_assets.warehouse.connection import Warehouse


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=tmp_path / "perfreg.duckdb", exchange=(tmp_path / "exchange").as_uri())


@pytest.fixture
def run(settings):
    """A registered run with a method trace and a screenshot."""
    made = row(1, version="1")
    beside = [
        attachments.AttachmentRow(run_id=made.run_id, file_name=name, kind=kind, bytes=1, sha256=name, ts_ns=None)
        for name, kind in (("art/cpu.trace", "method_trace"), ("0001.png", "screenshot"))
    ]
    with Warehouse.of(settings).writing() as writer:
        runs.upsert(writer, [made])
        attachments.replace(writer, [made.run_id], beside)
    return made


def _content(run, settings):
    with Warehouse.of(settings).reading() as reader:
        (profile,) = profiles_of(reader, {run.run_id: run}, settings)[run.run_id]
    assert (profile.name, profile.kind, profile.sha256) == ("art/cpu.trace", "method_trace", "art/cpu.trace")
    with profile.place as path:
        return path.read_text() if path.exists() else None


def test_a_profile_that_is_not_here_is_brought_from_the_exchange(run, settings, tmp_path):
    assert _content(run, settings) is None
    kept = tmp_path / "exchange" / handover.archive_name(run) / "art" / "cpu.trace"
    kept.parent.mkdir(parents=True)
    kept.write_text("in the exchange")
    assert _content(run, settings) == "in the exchange"
    own = settings.runs_dir / run.run_id / "art" / "cpu.trace"
    own.parent.mkdir(parents=True)
    own.write_text("here")
    assert _content(run, settings) == "here"


def test_a_file_is_another_when_its_content_moment_or_mode_is(run, settings):
    path = settings.runs_dir / run.run_id / "trace"
    seen = [state_of(run.run_id, "trace", settings)]
    assert seen == [GONE]
    path.parent.mkdir(parents=True)
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    seen.append(state_of(run.run_id, "trace", settings))
    assert state_of(run.run_id, "trace", settings) == seen[-1]
    for change in (lambda: path.write_bytes(b"two"), lambda: path.chmod(0o600), path.unlink):
        change()
        seen.append(state_of(run.run_id, "trace", settings))
    assert len({*seen}) == 4
    assert seen[-1] == GONE
    assert state_of(run.run_id, "trace/below", settings) == GONE
