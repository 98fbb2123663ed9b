"""Where files of registered runs lie: here, or in the exchange; and what they are at the moment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import row

from perfreg_assets.model import handover, trace_places
from perfreg_assets.model.trace_places import GONE, in_exchange, profiles_of, states_of
from perfreg_assets.objects import Objects
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import attachments, runs
from perfreg_assets.warehouse.connection import Warehouse


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "exchange").mkdir()
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


def _state(run, name, settings):
    ((key, state),) = states_of([(run, name)], settings).items()
    assert key == (run.run_id, name)
    return state


def test_a_file_is_another_when_its_content_moment_or_mode_is(run, settings):
    path = settings.runs_dir / run.run_id / "trace"
    seen = [_state(run, "trace", settings)]
    assert seen == [GONE]
    path.parent.mkdir(parents=True)
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    seen.append(_state(run, "trace", settings))
    assert _state(run, "trace", settings) == seen[-1]
    for change in (lambda: path.write_bytes(b"two"), lambda: path.chmod(0o600), path.unlink):
        change()
        seen.append(_state(run, "trace", settings))
    assert len({*seen}) == 4
    assert seen[-1] == GONE
    assert _state(run, "trace/below", settings) == GONE


@pytest.mark.parametrize("few", [0, 20], ids=["one look at all", "a look at each"])
def test_a_file_in_the_exchange_is_another_when_its_content_is(run, settings, place, few, monkeypatch):
    monkeypatch.setattr(trace_places, "_FEW_FOLDERS", few)
    settings = settings.with_values(exchange=place)
    exchange, name = Objects(place), f"{handover.archive_name(run)}/trace"
    seen = [_state(run, "trace", settings)]
    exchange.write(name, b"one")
    seen.append(_state(run, "trace", settings))
    assert _state(run, "trace", settings) == seen[-1]
    exchange.write(name, b"other")
    seen.append(_state(run, "trace", settings))
    here = settings.runs_dir / run.run_id / "trace"
    here.parent.mkdir(parents=True)
    here.write_bytes(b"one")
    seen.append(_state(run, "trace", settings))
    assert len({*seen}) == 4
    here.unlink()
    exchange.delete([name])
    assert seen[0] == _state(run, "trace", settings) == GONE


@pytest.mark.parametrize("few", [0, 20], ids=["one look at all", "a look at each"])
def test_what_the_exchange_keeps_is_there_whatever_was_fetched(run, settings, few, monkeypatch):
    monkeypatch.setattr(trace_places, "_FEW_FOLDERS", few)
    here = settings.runs_dir / run.run_id / run.trace_file
    here.parent.mkdir(parents=True)
    here.write_bytes(b"whole")
    assert in_exchange([run], settings) == set()
    name = f"{handover.archive_name(run)}/{run.trace_file}"
    Objects(settings.exchange).write(f"{handover.archive_name(run)}/run.json", b"{}")
    assert in_exchange([run], settings) == set()
    Objects(settings.exchange).write(name, b"whole")
    assert in_exchange([run], settings) == {run.run_id}
    assert in_exchange([run], settings.with_values(exchange=None)) == set()
