"""A trace without a run folder is held to what a stored reference is of, as far as both say it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from perfreg_assets.cli import main
from perfreg_assets.model.reference_fit import OTHER_BUILD, SAME, UNKNOWN, Origin, fit_of
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.event_types import count_events, survey
from perfreg_assets.traces.packets import framed
from tests.traces.long_traces import START_NS, write_long_trace

MAX_BYTES = 1 << 34
APP = "com.rig.media"
BUILD, NEXT_BUILD = (f"google/oriole/oriole:13/TQ1A.{number}/89:user/release-keys" for number in (1, 2))
OTHER_DEVICE = "google/cheetah/cheetah:13/TQ1A.1/89:user/release-keys"
ORIGIN = Origin("usual", APP, None, (BUILD,), frozenset({APP, "init"}))


def trace(path, *, app=APP, build=None, is_full=True, seconds=180):
    """Of an app, with the list of all processes or of some, and what build the device has."""
    write_long_trace(path, seconds, (0, 0))
    more = []
    if is_full:
        tree = proto.TracePacket(timestamp=START_NS)
        tree.process_tree.processes.add(pid=1).cmdline.append("init")
        tree.process_tree.processes.add(pid=100).cmdline.append(app)
        more.append(tree)
    if build is not None:
        more.append(proto.TracePacket(system_info=proto.SystemInfo(android_build_fingerprint=build)))
    told = path.read_bytes().replace(APP.encode(), app.encode())
    path.write_bytes(b"".join(framed(packet.SerializeToString()) for packet in more) + told)
    return path


def fit(path, origin=ORIGIN, *, app=None, device=None):
    found = survey(path, MAX_BYTES)
    events = count_events(path, MAX_BYTES, found, (), 10**9)
    return fit_of(origin, path.name, found, events, app=app, device=device)


def test_what_a_trace_says_of_itself_is_read(tmp_path):
    found = survey(trace(tmp_path / "t", build=BUILD, seconds=4), MAX_BYTES)
    assert (found.build, found.lists_processes) == (BUILD, True)
    untold = "Must use __system_property_read_callback()"
    found = survey(trace(tmp_path / "u", build=untold, is_full=False, seconds=4), MAX_BYTES)
    assert (found.build, found.lists_processes) == (None, False)


def test_a_trace_of_the_app_on_the_device_fits(tmp_path):
    found = fit(trace(tmp_path / "t", build=BUILD, seconds=4))
    assert (found.app, found.device, found.why) == (SAME, SAME, ())
    other = trace(tmp_path / "u", app="com.rig:media", build=BUILD, seconds=4)
    assert fit(other, replace(ORIGIN, app="com.rig", processes=frozenset({"com.rig:media"}))).app == SAME


def test_a_trace_whose_processes_are_all_of_others_is_refused(tmp_path):
    other = trace(tmp_path / "other.perfetto-trace", app="com.rig.other", build=BUILD, seconds=4)
    with pytest.raises(Rejected) as caught:
        fit(other)
    assert caught.value.reason is Reason.REFERENCE_OTHER
    said = "reference usual is of com.rig.media, and none of the 2 processes that other.perfetto-trace names is: "
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "why", ["part of the processes", "thread of its name", "the reference does not name it", "run folder"]
)
def test_a_trace_that_does_not_say_is_not_refused(tmp_path, why):
    origin, app, expected = ORIGIN, None, UNKNOWN
    path = trace(tmp_path / "t", app="com.rig.other", build=BUILD, seconds=4, is_full=why != "part of the processes")
    if why == "thread of its name":  # begun while it was recorded: its process has the name of the zygote's
        path.write_bytes(path.read_bytes().replace(b"decoder", b"g.media"))
        origin, expected = replace(ORIGIN, app="g.media", processes=frozenset({"g.media"})), SAME
    if why == "the reference does not name it":
        origin = replace(ORIGIN, processes=frozenset({"init"}))
    if why == "run folder":
        app, expected = APP, SAME
    found = fit(path, origin, app=app)
    assert found.app == expected
    assert bool(found.why) == (expected == UNKNOWN)


def test_another_device_is_refused_and_another_build_of_it_is_told(tmp_path):
    build = trace(tmp_path / "b", build=NEXT_BUILD, seconds=4)
    found = fit(build)
    assert (found.app, found.device) == (SAME, OTHER_BUILD)
    assert found.why == (f"the trace is of build {NEXT_BUILD}, reference usual of {BUILD}",)
    other = trace(tmp_path / "o", build=OTHER_DEVICE, seconds=4)
    with pytest.raises(Rejected) as caught:
        fit(other)
    assert caught.value.reason is Reason.REFERENCE_OTHER
    assert "is of device google/oriole/oriole, o of google/cheetah/cheetah" in str(caught.value)
    assert fit(other, replace(ORIGIN, device="lab"), app=APP, device="lab").device == OTHER_BUILD  # it was compared


@pytest.mark.parametrize(("builds", "own", "said"), [
    (None, BUILD, "was stored by an earlier release, which did not"), ((), BUILD, "do not say of what build"),
    ((BUILD,), None, "the trace does not say of what build it is"),
])  # fmt: skip
def test_builds_that_nobody_knows_are_told_as_unknown(tmp_path, builds, own, said):
    found = fit(trace(tmp_path / "t", build=own, seconds=4), replace(ORIGIN, builds=builds))
    assert found.device == UNKNOWN
    assert said in found.why[0]


def test_references_write_down_of_what_they_are_and_a_reduction_is_held_to_it(tmp_path):
    def call(*given):
        return CliRunner().invoke(main, [*map(str, given), "--warehouse", str(tmp_path / "w.duckdb")])

    usual = trace(tmp_path / "usual.perfetto-trace", build=BUILD)
    mixed = call("reference", "add", "m", usual, trace(tmp_path / "o.perfetto-trace", build=OTHER_DEVICE), "--app", APP)
    assert mixed.exit_code == 1
    assert "The reference is of another app, device or window" in mixed.stderr
    assert "of device google/cheetah/cheetah" in mixed.stderr
    assert call("reference", "add", "usual", usual, "--app", APP).exit_code == 0
    (row,) = json.loads(call("sql", "FROM marts.trace_references", "--format", "json").stdout)
    assert row["build_fingerprints"] == [BUILD]
    judged = ("--reference", "usual", "--format", "json", "--out", tmp_path / "kept")
    foreign = call("reduce", trace(tmp_path / "x.perfetto-trace", app="com.rig.other", build=BUILD), *judged)
    assert foreign.exit_code == 1
    assert "none of the 2 processes that x.perfetto-trace names is" in foreign.stderr
    near = call("reduce", trace(tmp_path / "n.perfetto-trace", build=NEXT_BUILD), *judged)
    assert near.exit_code == 0, near.output
    assert json.loads(near.stdout)[0]["fit"] == {"app": SAME, "device": OTHER_BUILD}
    assert f"the trace is of build {NEXT_BUILD}" in near.stderr
